# SPDX-License-Identifier: Apache-2.0
"""Which class a result stands for: the same in the clear, at clients and in reports of `prepare`."""

import dataclasses

import halocline as hc
import halocline.nn as nn
import numpy as np
import pytest
from halocline.nn.client_spec import ClientSpec, OutputSpec
from halocline.nn.decision import Decision, decision_of

sklearn = pytest.importorskip("sklearn")


def fitted(kind):
    """A pipeline of scikit-learn, its inputs, its labels."""
    from sklearn import datasets, linear_model, pipeline, preprocessing, svm

    load, estimator = {
        "binary": (datasets.load_breast_cancer, linear_model.LogisticRegression(max_iter=500)),
        "pairs": (datasets.load_iris, svm.SVC(kernel="poly", degree=2)),
        "several": (datasets.load_iris, linear_model.LogisticRegression(max_iter=500)),
        "numbers": (datasets.load_diabetes, linear_model.Ridge()),
    }[kind]
    x, y = load(return_X_y=True)
    return pipeline.make_pipeline(preprocessing.StandardScaler(), estimator).fit(x, y), x, y


def client_of(model, x, classes=None):
    params = hc.Params.preset("n15-d14")
    compiled = nn.compile(model, params, nn.calibrate(model, x))
    spec = ClientSpec.from_bytes(compiled.client_spec(classes=classes).to_bytes())
    client = nn.Client(spec, threads=1)
    engine = hc.Engine(params, client.evaluation_keys(), threads=1)
    return client, lambda rows: compiled.run(engine, client.encrypt(rows))


@pytest.mark.parametrize("kind", ["binary", "pairs", "several"])
def test_clients_name_the_class_that_the_estimator_predicts(kind):
    estimator, x, _ = fitted(kind)
    model = nn.from_sklearn(estimator)
    rows = x[np.random.default_rng(1).choice(len(x), 12, replace=False)]
    client, run = client_of(model, x)
    found = client.classify(run(rows), len(rows))
    assert found == [str(each) for each in estimator.predict(rows)]
    assert len(set(found)) > 1


def test_classes_of_a_binary_classifier_have_names():
    estimator, x, _ = fitted("binary")
    names = ["malignant", "benign"]
    for output in ("decision", "probability"):
        client, run = client_of(nn.from_sklearn(estimator, output=output), x, names)
        assert client.classify(run(x[:24]), 24) == [names[each] for each in estimator.predict(x[:24])]
    with pytest.raises(hc.InvalidArgument, match="3 classes for results of shape"):
        client_of(nn.from_sklearn(estimator), x, ["a", "b", "c"])


def test_numbers_have_no_class():
    estimator, x, y = fitted("numbers")
    model = nn.from_sklearn(estimator)
    client, run = client_of(model, x)
    with pytest.raises(hc.InvalidArgument, match="stand for no class"):
        client.classify(run(x[:2]), 2)
    assert nn.prepare(model, x).agreement is None
    assert "classes" not in str(nn.prepare(model, x))
    with pytest.raises(hc.InvalidArgument, match="stand for no class"):
        nn.prepare(model, x, y.astype(int))


@pytest.mark.parametrize("kind", ["binary", "pairs", "several"])
@pytest.mark.parametrize("named", [False, True])
def test_prepare_says_the_accuracy_of_the_estimator(kind, named):
    estimator, x, y = fitted(kind)
    if named:
        y = np.array(["zero", "one", "two"])[y]
        estimator.fit(x, y)
    model = nn.from_sklearn(estimator)
    score = estimator.score(x, y)
    found = nn.prepare(model, x, y)
    assert found.accuracy[0] == pytest.approx(score)
    assert found.agreement > 0.97
    with pytest.raises(hc.InvalidArgument, match="is no class of the model"):
        nn.prepare(model, x, np.full(len(y), "other"))
    if kind == "binary":
        likely = nn.prepare(nn.from_sklearn(estimator, output="probability"), x, y)
        assert likely.accuracy[0] == pytest.approx(score)
        assert likely.accuracy[1] == pytest.approx(score, abs=0.02)


def test_rules():
    values = np.array([[1.0, -1.0, 2.0], [-1.0, -2.0, -3.0]])
    assert Decision()(values).tolist() == [2, 0]
    assert Decision("one-vs-one")(values).tolist() == [0, 2]
    assert Decision("threshold", 0.5)(np.array([[0.4], [0.6]])).tolist() == [0, 1]
    assert [Decision("one-vs-one").classes(each) for each in (1, 3, 6)] == [2, 3, 4]
    for bad in (lambda: Decision("most"), lambda: Decision("threshold", np.nan)):
        with pytest.raises(hc.InvalidArgument):
            bad()
    for rule, count in (("one-vs-one", 4), ("threshold", 2)):
        with pytest.raises(hc.InvalidArgument):
            Decision(rule).classes(count)
    assert decision_of({}, 1).rule == "none"
    assert decision_of({}, 1, named=True) == Decision("threshold")


def test_specifications_check_the_rule():
    estimator, x, _ = fitted("several")
    model = nn.from_sklearn(estimator)
    compiled = nn.compile(model, hc.Params.preset("n14-d7"), nn.calibrate(model, x))
    output = compiled.client_spec().output
    assert isinstance(output, OutputSpec)
    with pytest.raises(hc.InvalidArgument, match="a threshold for results of 3 numbers"):
        dataclasses.replace(output, decision=Decision("threshold"))
