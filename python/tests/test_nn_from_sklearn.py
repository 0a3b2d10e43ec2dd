# SPDX-License-Identifier: Apache-2.0
"""Estimators of scikit-learn as models: equal in the clear, and encrypted."""

import halocline as hc
import halocline.nn as nn
import numpy as np
import pytest
from sklearn import (
    datasets,
    decomposition,
    discriminant_analysis,
    ensemble,
    linear_model,
    model_selection,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)

EXACT = 1e-9
"""Both compute in doubles, in another order."""


def classes(count=2, informative=4, samples=150):
    x, y = datasets.make_classification(
        samples, 6, n_informative=informative, n_classes=count, class_sep=1.5, random_state=count
    )
    # Trees see float32: such numbers are the same to both.
    return x.astype(np.float32).astype(np.float64), np.array(["one", "two", "three"])[y]


def numbers():
    x, y = classes()
    return x, x[:, 0] * 2 - x[:, 1] ** 2 + (y == "one")


REGRESSORS = [
    linear_model.LinearRegression(),
    linear_model.Ridge(),
    linear_model.Lasso(0.1),
    svm.LinearSVR(max_iter=5000),
    svm.SVR(kernel="linear"),
    svm.SVR(kernel="poly", degree=2, coef0=1.0),
    svm.SVR(),
    svm.NuSVR(kernel="sigmoid"),
    neural_network.MLPRegressor(hidden_layer_sizes=(8, 5), activation="tanh", max_iter=50),
    tree.DecisionTreeRegressor(max_depth=4),
    ensemble.RandomForestRegressor(5, max_depth=3),
    ensemble.GradientBoostingRegressor(n_estimators=10),
]
SCORED = [
    linear_model.LogisticRegression(),
    linear_model.SGDClassifier(),
    linear_model.RidgeClassifier(),
    discriminant_analysis.LinearDiscriminantAnalysis(),
    svm.LinearSVC(),
    svm.SVC(decision_function_shape="ovo"),
    svm.SVC(kernel="poly", decision_function_shape="ovo"),
    svm.NuSVC(kernel="linear", decision_function_shape="ovo"),
    ensemble.GradientBoostingClassifier(n_estimators=4, max_depth=2),
]
SHARES = [
    tree.DecisionTreeClassifier(max_depth=5),
    ensemble.RandomForestClassifier(6, max_depth=4),
    ensemble.ExtraTreesClassifier(6, max_depth=4),
]


def named(each):
    return type(each).__name__


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", REGRESSORS, ids=named)
def test_regressors(estimator):
    x, y = numbers()
    model = nn.from_sklearn(estimator.fit(x, y), samples=x)
    assert np.abs(model.forward(x)[:, 0] - estimator.predict(x)).max() < EXACT
    assert np.abs(nn.from_sklearn(estimator).forward(x)[:, 0] - estimator.predict(x)).max() < EXACT


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("estimator", SCORED, ids=named)
def test_classifiers_with_scores(estimator, count):
    x, y = classes(count)
    model = nn.from_sklearn(estimator.fit(x, y))
    scores = model.forward(x)
    assert np.abs(np.squeeze(scores) - estimator.decision_function(x)).max() < EXACT
    assert np.array_equal(nn.labels(model, scores), estimator.predict(x))
    assert nn.labels(model, scores[0]) == estimator.predict(x)[0]


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("estimator", SHARES, ids=named)
def test_trees_and_forests(estimator, count):
    x, y = classes(count)
    model = nn.from_sklearn(estimator.fit(x, y), samples=x)
    assert np.abs(model.forward(x) - estimator.predict_proba(x)).max() < EXACT
    assert np.array_equal(nn.labels(model, model.forward(x)), estimator.predict(x))
    assert model.metadata["classes"] == ",".join(estimator.classes_)
    steps = [node for node in model.nodes if isinstance(node.layer, nn.Step)]
    assert len(steps) == 1  # all comparisons at once


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_probabilities_and_networks():
    x, y = classes()
    for estimator in (
        linear_model.LogisticRegression(),
        neural_network.MLPClassifier((7,), activation="logistic", max_iter=30),
        ensemble.GradientBoostingClassifier(n_estimators=5),
    ):
        model = nn.from_sklearn(estimator.fit(x, y), output="probability")
        assert np.abs(model.forward(x)[:, 0] - estimator.predict_proba(x)[:, 1]).max() < EXACT
        assert np.array_equal(nn.labels(model, model.forward(x)), estimator.predict(x))


def test_pipelines_and_transformers():
    x, y = classes(3)
    for transformer in (
        preprocessing.StandardScaler(),
        preprocessing.StandardScaler(with_mean=False),
        preprocessing.StandardScaler(with_std=False),
        preprocessing.MinMaxScaler((-1, 1)),
        preprocessing.MaxAbsScaler(),
        preprocessing.RobustScaler(),
        decomposition.PCA(3),
        decomposition.PCA(3, whiten=True),
        decomposition.TruncatedSVD(2),
    ):
        model = nn.from_sklearn(transformer.fit(x))
        assert np.abs(model.forward(x) - transformer.transform(x)).max() < EXACT
    chain = pipeline.make_pipeline(
        preprocessing.StandardScaler(),
        "passthrough",
        decomposition.PCA(4),
        tree.DecisionTreeClassifier(max_depth=3),
    )
    model = nn.from_sklearn(chain.fit(x, y), samples=x)
    # What lies between is rounded to float32 by one of both: away from thresholds that changes nothing.
    assert np.mean(nn.labels(model, model.forward(x)) == chain.predict(x)) > 0.99
    names = [node.name for node in model.nodes]
    assert names[0] == "standardscaler" and model.node("pca").layer.weight.shape == (4, 6)


def test_what_is_not_supported_is_named():
    x, y = classes()
    for estimator, match in (
        (
            neighbors.KNeighborsClassifier().fit(x, y),
            r"KNeighborsClassifier.*nearest is SVC.*Supported are Pipeline",
        ),
        (ensemble.HistGradientBoostingClassifier(max_iter=2).fit(x, y), "nearest is GradientBoosting"),
        (linear_model.LogisticRegression(), "not fitted; call fit"),
        (svm.SVC(kernel="precomputed").fit(x @ x.T, y), "kernel"),
        (tree.DecisionTreeClassifier(max_depth=1, min_samples_leaf=150).fit(x, y), "without any split"),
        (
            tree.DecisionTreeRegressor().fit(np.arange(40.0)[:, None], 9.0 ** np.arange(40)),
            "depth .* max_depth",
        ),
        (preprocessing.MinMaxScaler(clip=True).fit(x), "clip"),
        (
            model_selection.GridSearchCV(linear_model.Ridge(), {"alpha": [1, 2]}).fit(*numbers()),
            "GridSearchCV.*nearest is what it found: best_estimator_",
        ),
    ):
        with pytest.raises(hc.InvalidArgument, match=match):
            nn.from_sklearn(estimator)
    with pytest.raises(hc.InvalidArgument, match="the client makes probabilities"):
        nn.from_sklearn(svm.SVC().fit(x, y), output="probability")
    with pytest.raises(hc.InvalidArgument, match="'decision' or"):
        nn.from_sklearn(linear_model.LogisticRegression().fit(x, y), output="class")
    for wrong, match in ((hc.Params, "got Params"), (linear_model.Ridge, "got Ridge"), ("svm", "got str")):
        with pytest.raises(hc.WrongType, match=match):
            nn.from_sklearn(wrong)
    with pytest.raises(hc.InvalidArgument, match="samples of 2 features, expected 6"):
        nn.from_sklearn(tree.DecisionTreeClassifier(max_depth=1).fit(x, y), samples=x[:, :2])
    regression = nn.from_sklearn(linear_model.LinearRegression().fit(*numbers()))
    with pytest.raises(hc.InvalidArgument, match="no classes"):
        nn.labels(regression, np.zeros((2, 1)))


def encrypted(model, x, preset, margin=1.1):
    """Decrypted results of the first inputs."""
    params = hc.Params.preset(preset, allow_insecure=True)
    compiled = nn.compile(model, params, nn.calibrate(model, x, margin))
    client = hc.Client(params)
    engine = hc.Engine(params, client.evaluation_keys(plan=compiled.key_plan))
    found = [compiled.decrypt(client, compiled.run(engine, compiled.encrypt(client, each))) for each in x[:3]]
    return np.array(found)


def test_logistic_regression_on_breast_cancer():
    data, y = datasets.load_breast_cancer(return_X_y=True)
    fitted = pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression()).fit(
        data, y
    )
    model = nn.from_sklearn(fitted)
    # Inputs reach thousands, scores ten: the scaler is folded into the weights.
    found = encrypted(model, data, "test-n10-d3")
    assert np.abs(found[:, 0] - fitted.decision_function(data[:3])).max() < 2.0**-4
    assert np.array_equal(nn.labels(model, found), fitted.predict(data[:3]))


def test_gaussian_kernel_encrypted():
    x, y = classes()
    fitted = pipeline.make_pipeline(preprocessing.StandardScaler(), svm.SVC()).fit(x, y)
    found = encrypted(nn.from_sklearn(fitted, precision=14), x, "test-n12-d14")
    # Some 100 kernels, each off by 2^-14 and by noise of that size, times weights of at most 1.
    assert np.abs(found[:, 0] - fitted.decision_function(x[:3])).max() < 100 * 2 * 2.0**-14


def test_gradient_boosting_encrypted():
    """Six trees of depth 2, bootstrapped; inputs that are far from all thresholds."""
    x, y = classes()
    fitted = ensemble.GradientBoostingClassifier(n_estimators=6, max_depth=2, learning_rate=0.5).fit(x, y)
    model = nn.from_sklearn(fitted, samples=x, alpha=8)
    differences = model.activations(x)[model.node(model.activation_nodes[0].name).inputs[0]]
    clear = np.abs(differences).min(axis=1) > 1.1 * np.abs(differences).max() * hc.sign_epsilon(8)
    assert clear.sum() > 3
    inputs = np.concatenate([x[clear][:3], x])
    found = encrypted(model, inputs, "test-n12-boot")
    # Two conditions of each leaf are off by 2^-8; leaves add up to about 3, and the polynomial's slope
    # is 1.5.
    assert np.abs(found[:, 0] - fitted.decision_function(inputs[:3])).max() < 3 * 2 * 1.5 * 2.0**-8 + 2.0**-6
