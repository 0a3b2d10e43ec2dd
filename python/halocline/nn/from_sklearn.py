# SPDX-License-Identifier: Apache-2.0
"""Models from fitted scikit-learn estimators. Only their numbers are read: scikit-learn is not imported."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import Error, InvalidArgument, WrongType
from ..base.values import expect, integer, kind_of
from .activations import MAX_PRECISION, Decay, Sigmoid, Step, Tanh
from .decision import NONE, PAIRS, decision_of
from .graph_builder import Builder, Unsupported, Value, only
from .layers import Array, Layer, ReLU, real_array
from .model import INPUT, Model
from .sklearn_trees import TREES, tree_values

LINEAR = (
    "ARDRegression", "BayesianRidge", "ElasticNet", "ElasticNetCV", "HuberRegressor", "Lars", "Lasso",
    "LassoCV", "LassoLars", "LinearDiscriminantAnalysis", "LinearRegression", "LinearSVC", "LinearSVR",
    "LogisticRegression", "LogisticRegressionCV", "OrthogonalMatchingPursuit",
    "PassiveAggressiveClassifier", "PassiveAggressiveRegressor", "Perceptron", "Ridge", "RidgeCV",
    "RidgeClassifier", "RidgeClassifierCV", "SGDClassifier", "SGDRegressor", "TheilSenRegressor",
)  # fmt: skip
"""coef_ @ x + intercept_"""
KERNELS = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
NETWORKS = ("MLPClassifier", "MLPRegressor")
SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "PCA", "TruncatedSVD")
SIGMOID = ("LogisticRegression", "LogisticRegressionCV", "MLPClassifier", "GradientBoostingClassifier")
"""Classifiers of two classes whose probability is the logistic function of their score."""

_NEAREST = {
    "HistGradientBoosting": "GradientBoosting, with the same depth and number of trees",
    "XGB": "GradientBoosting of scikit-learn",
    "LGBM": "GradientBoosting of scikit-learn",
    "AdaBoost": "GradientBoosting",
    "KNeighbors": "SVC or SVR with kernel='rbf'",
    "GaussianProcess": "SVC or SVR with kernel='rbf'",
    "KernelRidge": "SVR",
    "NaiveBayes": "LogisticRegression",
    "NB": "LogisticRegression",
    "Normalizer": "StandardScaler",
    "PowerTransformer": "StandardScaler",
    "QuantileTransformer": "StandardScaler",
    "KBinsDiscretizer": "a decision tree",
    "KernelPCA": "PCA",
    "QuadraticDiscriminantAnalysis": "LinearDiscriminantAnalysis",
    "SearchCV": "what it found: best_estimator_",
    "CalibratedClassifier": "the classifier in it, calibrated by the client",
    "OneVs": "the classifier itself: LogisticRegression and SVC take several classes",
    "RANSAC": "the regressor in it: estimator_",
    "TransformedTarget": "the regressor in it, regressor_; the client transforms back",
    "Bagging": "RandomForest",
    "Voting": "RandomForest, or each of its estimators alone",
    "Stacking": "RandomForest, or each of its estimators alone",
    "IsolationForest": "OneClassSVM",
    "KMeans": "LogisticRegression on its labels",
    "PolynomialFeatures": "SVC or SVR with kernel='poly'",
    "SplineTransformer": "SVC or SVR with kernel='rbf'",
    "Imputer": "none: the client fills gaps before it encrypts",
    "Encoder": "none: the client encodes categories before it encrypts",
    "ColumnTransformer": "StandardScaler of all columns, or a transformation by the client",
    "Select": "none: the client leaves columns out before it encrypts",
    "VarianceThreshold": "none: the client leaves columns out before it encrypts",
    "PLS": "LinearRegression after PCA",
    "NMF": "TruncatedSVD",
    "GammaRegressor": "LinearRegression on the logarithm of what is predicted",
    "PoissonRegressor": "LinearRegression on the logarithm of what is predicted",
}


def from_sklearn(
    estimator: Any,
    *,
    samples: npt.ArrayLike | None = None,
    output: str = "decision",
    alpha: int = 10,
    precision: int = 12,
    metadata: Mapping[str, str] | None = None,
) -> Model:
    """The model of a fitted estimator, or of a pipeline of them, for inputs (batch, features).

    Its results (batch, outputs) are those of `decision_function`, for regressors and transformers those of
    `predict` and `transform`, for decision trees and forests the shares of classes. A classifier of two
    classes with one score has one output. `labels` makes classes of them, in the clear.

    Decision trees are evaluated without branches: all features are compared with all thresholds at once,
    then all leaves get 1 or 0 by a polynomial of how many of their conditions hold, then come the sums of
    the values of leaves. That takes about as many levels as one comparison and log2(depth + 1), whatever
    the number of trees. A feature nearer to a threshold than `sign_epsilon(alpha)` times the range of
    their difference gets a mixture of both sides. scikit-learn rounds what it gives to trees to float32;
    the model does not.

    samples: inputs (batch, features) like those to come; features of trees are scaled by their ranges, so
        that each threshold is as sharp as any other. Without them the thresholds tell the ranges.
    output: "decision", or "probability" for a classifier of two classes whose score goes through the logistic
        function. Softmax is left to the client.
    alpha, precision: of comparisons, and of smooth functions, in bits.

    @throws InvalidArgument that names the estimator or option that is not supported, and what is nearest
    """
    if output not in ("decision", "probability"):
        raise InvalidArgument(f"from_sklearn: output {output!r}, expected 'decision' or 'probability'")
    alpha = Step(integer(alpha, "from_sklearn: alpha")).alpha
    precision = integer(precision, "from_sklearn: precision", 1, MAX_PRECISION)
    steps = _steps(estimator)
    features = _features(estimator)
    builder = Builder((features,), alpha, precision)
    values = _samples(samples, features)
    x, known = Value(INPUT), dict(metadata or {})
    for name, step in steps:
        builder.wanted = name
        x = _named(builder, name, step, x, values)
    last = steps[-1][1]
    known |= _classes(last)
    if output == "probability":
        x, more = _probability(builder, last, x)
        known |= more
    if x.name == INPUT:
        raise InvalidArgument(
            f"from_sklearn: {kind_of(estimator)} leaves inputs as they are; there is no network"
        )
    return builder.model(x.name, known)


def _features(estimator: Any) -> int:
    """How many a fitted estimator takes."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise WrongType(
            f"from_sklearn: got {getattr(estimator, '__name__', kind_of(estimator))}, expected a fitted "
            "estimator or pipeline of scikit-learn"
        )
    features = getattr(estimator, "n_features_in_", None)
    if features is None:
        raise InvalidArgument(f"from_sklearn: {kind_of(estimator)} is not fitted; call fit before")
    return int(features)


def _samples(samples: Any, features: int) -> Array | None:
    if samples is None:
        return None
    values = real_array(samples, 2, "from_sklearn: samples")
    if values.shape[1] != features:
        raise InvalidArgument(
            f"from_sklearn: samples of {values.shape[1]} features, expected {features} as for fit"
        )
    return values


def labels(model: Model, scores: npt.ArrayLike) -> npt.NDArray[Any]:
    """The classes that results (batch, *model.output_shape) of a classifier stand for, in the clear.

    model: of `from_sklearn`; its metadata have the classes. One result alone gives one class.
    """
    names = expect(model, Model, "labels: model").metadata
    if "labels" not in names:
        raise InvalidArgument("labels: the model has no classes; it is no classifier that from_sklearn made")
    classes = np.array(json.loads(names["labels"]))
    values = np.asarray(scores, dtype=np.float64)
    single = values.shape == model.output_shape
    batch = values[np.newaxis] if single else values
    if batch.ndim != 2 or batch.shape[1:] != model.output_shape:
        raise InvalidArgument(
            f"labels: scores of shape {values.shape}, expected (batch, {model.output_shape[0]})"
        )
    found = decision_of(names, batch.shape[1])(batch)
    chosen: npt.NDArray[Any] = classes[found]
    return chosen[0] if single else chosen


def _steps(estimator: Any) -> list[tuple[str, Any]]:
    """Names and estimators, pipelines in it laid out."""
    if type(estimator).__name__ != "Pipeline":
        return [(type(estimator).__name__.lower(), estimator)]
    made = []
    for name, step in estimator.steps:
        if step is not None and step != "passthrough":
            inner = _steps(step)
            made += [(name if len(inner) == 1 else f"{name}.{other}", each) for other, each in inner]
    if not made:
        raise InvalidArgument("from_sklearn: a pipeline without steps")
    return made


def _named(b: Builder, name: str, step: Any, x: Value, samples: Array | None) -> Value:
    """The values after a step; errors name it."""
    try:
        return _imported(b, step, x, samples)
    except AttributeError as error:
        raise InvalidArgument(
            f"from_sklearn: {name!r} ({kind_of(step)}) is not fitted, or of another version of scikit-learn "
            f"({error})"
        ) from None
    except (Unsupported, Error) as error:
        raise InvalidArgument(f"from_sklearn: {name!r} ({kind_of(step)}): {error}") from None


def _imported(b: Builder, step: Any, x: Value, samples: Array | None) -> Value:
    name = type(step).__name__
    if not type(step).__module__.startswith("sklearn."):
        nearest = next((f"; nearest is {text}" for key, text in _NEAREST.items() if key in name), "")
        raise Unsupported(f"a class of {type(step).__module__}; supported are those of scikit-learn{nearest}")
    if name in LINEAR:
        return b.matrix(x, _rows(step.coef_), np.atleast_1d(step.intercept_).ravel())
    if name in TREES:
        before = samples if x.name == INPUT else _forward(b, x, samples)
        return tree_values(b, step, x, before)
    made: dict[str, Callable[[Builder, Any, Value], Value]] = {
        **dict.fromkeys(SCALERS, _scaled),
        **dict.fromkeys(KERNELS, _kernel_machine),
        **dict.fromkeys(NETWORKS, _network),
    }
    if name in made:
        return made[name](b, step, x)
    supported = ", ".join(["Pipeline", *LINEAR, *KERNELS, *NETWORKS, *SCALERS, *TREES])
    nearest = next((f"; nearest is {text}" for key, text in _NEAREST.items() if key in name), "")
    raise Unsupported(f"not supported{nearest}. Supported are {supported}")


def _forward(b: Builder, x: Value, samples: Array | None) -> Array | None:
    """What the steps before make of the samples."""
    return None if samples is None else b.model(x.name, {}).forward(samples)


def _rows(values: Any) -> Array:
    """A matrix: one row of what is a vector."""
    dense = values.toarray() if hasattr(values, "toarray") else values
    return np.atleast_2d(np.asarray(dense, dtype=np.float64))


def _scaled(b: Builder, step: Any, x: Value) -> Value:
    name = type(step).__name__
    if name == "MinMaxScaler":
        only(not step.clip, "clip=True; supported is False")
        return b.affine(x, step.scale_, step.min_)
    if name in ("PCA", "TruncatedSVD"):
        weight = np.asarray(step.components_, dtype=np.float64)
        if getattr(step, "whiten", False):
            weight = weight / np.sqrt(step.explained_variance_)[:, np.newaxis]
        mean = getattr(step, "mean_", None)
        return b.matrix(x, weight, None if mean is None else -weight @ mean)
    center = getattr(step, "mean_" if name == "StandardScaler" else "center_", None)
    scale = 1.0 if step.scale_ is None else 1.0 / np.asarray(step.scale_)
    uses_center = center is not None and getattr(step, "with_mean", True)
    return b.affine(x, scale, -np.asarray(center) * scale if uses_center else 0.0)


def _kernel_machine(b: Builder, step: Any, x: Value) -> Value:
    """Sums of kernels with support vectors."""
    only(isinstance(step.kernel, str) and step.kernel != "precomputed", f"kernel {step.kernel!r:.40}")
    vectors, weights = _rows(step.support_vectors_), _pairs(step)
    if step.kernel == "linear":
        return b.matrix(x, weights @ vectors, np.ravel(step.intercept_))
    kernels = {"rbf": _gaussian, "poly": _polynomial, "sigmoid": _tangent}
    only(step.kernel in kernels, f"kernel {step.kernel!r}; supported are linear, {', '.join(kernels)}")
    values = kernels[step.kernel](b, step, x, vectors)
    return b.matrix(values, weights, np.ravel(step.intercept_))


def _pairs(step: Any) -> Array:
    """Weights of the support vectors, one row for each pair of classes."""
    dual = _rows(step.dual_coef_)
    count = len(getattr(step, "classes_", ())) or 2
    if count == 2:
        return dual
    ends = np.cumsum([0, *step.n_support_])
    made = []
    for i in range(count):
        for j in range(i + 1, count):
            row = np.zeros(dual.shape[1])
            row[ends[i] : ends[i + 1]] = dual[j - 1, ends[i] : ends[i + 1]]
            row[ends[j] : ends[j + 1]] = dual[i, ends[j] : ends[j + 1]]
            made.append(row)
    return np.array(made)


def _gaussian(b: Builder, step: Any, x: Value, vectors: Array) -> Value:
    """exp(-gamma |x - s|^2) by |x|^2 - 2 s x + |s|^2, all around the mean of the support vectors."""
    gamma, middle = float(step._gamma), vectors.mean(axis=0)
    centred, around = b.affine(x, 1.0, -middle), vectors - middle
    squares = b.matrix(b.power(centred, 2), np.full(vectors.shape, gamma))
    products = b.matrix(centred, -2 * gamma * around, gamma * (around**2).sum(axis=1))
    return b.add(Decay(precision=b.precision), b.sum(squares, products))


def _polynomial(b: Builder, step: Any, x: Value, vectors: Array) -> Value:
    gamma, constant = float(step._gamma), float(step.coef0)
    return b.power(b.matrix(x, gamma * vectors, np.full(len(vectors), constant)), step.degree)


def _tangent(b: Builder, step: Any, x: Value, vectors: Array) -> Value:
    gamma, constant = float(step._gamma), float(step.coef0)
    return b.add(Tanh(precision=b.precision), b.matrix(x, gamma * vectors, np.full(len(vectors), constant)))


def _network(b: Builder, step: Any, x: Value) -> Value:
    """A multilayer perceptron up to what goes into its last activation."""
    made: dict[str, Callable[[], Layer]] = {
        "relu": lambda: ReLU(b.alpha),
        "tanh": lambda: Tanh(precision=b.precision),
        "logistic": lambda: Sigmoid(precision=b.precision),
    }
    last = len(step.coefs_) - 1
    for index, (weight, bias) in enumerate(zip(step.coefs_, step.intercepts_, strict=True)):
        x = b.matrix(x, np.asarray(weight).T, bias)
        if index < last and step.activation != "identity":
            only(step.activation in made, f"activation {step.activation!r}; supported are {', '.join(made)}")
            x = b.add(made[step.activation](), x)
    only(
        step.out_activation_ in ("identity", "logistic", "softmax"),
        f"out_activation_ {step.out_activation_!r}",
    )
    return x


def _classes(step: Any) -> dict[str, str]:
    """Classes of a classifier, for `labels`, and their names for clients."""
    found = getattr(step, "classes_", None)
    if found is None:
        return {"scores": NONE}
    if isinstance(found, list):
        raise InvalidArgument(f"from_sklearn: {kind_of(step)} with several outputs; supported is one")
    values = [each.item() if hasattr(each, "item") else each for each in found]
    known, names = {"labels": json.dumps(values)}, [str(each) for each in values]
    if not any("," in each or not each for each in names):
        known["classes"] = ",".join(names)
    pairs = type(step).__name__ in KERNELS and len(found) > 2
    return known | ({"scores": PAIRS} if pairs else {})


def _probability(b: Builder, step: Any, x: Value) -> tuple[Value, dict[str, str]]:
    name = type(step).__name__
    if name not in SIGMOID or b.shape_of(x) != (1,):
        raise InvalidArgument(
            f"from_sklearn: output='probability' of {name} with {b.shape_of(x)[0]} outputs; supported are "
            f"{', '.join(SIGMOID)} of two classes. Take 'decision': the client makes probabilities of "
            "it in the clear"
        )
    b.wanted = "probability"
    return b.add(Sigmoid(precision=b.precision), x), {"threshold": "0.5"}
