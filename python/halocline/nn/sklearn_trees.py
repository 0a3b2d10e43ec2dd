# SPDX-License-Identifier: Apache-2.0
"""Decision trees without branches: comparisons, conditions counted for each leaf, sums of leaves.

All comparisons of features with thresholds are one `Step`. A leaf of depth d is reached if all of its d
conditions hold. Their number, plus what is missing to the depth D of the deepest leaf, is an integer from
0 to D, and the polynomial of degree D that is 0 at 0, ..., D - 1 and 1 at D tells whether it is D. So
trees of any number take the levels of one comparison, three linear maps and log2(D + 1) levels for the
polynomial.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..circuits.polynomial import Polynomial as PolynomialFunction
from .activations import Step
from .graph_builder import Builder, Value, only
from .layers import Array, Polynomial

TREES = (
    "DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor",
    "ExtraTreesClassifier", "ExtraTreesRegressor", "GradientBoostingClassifier", "GradientBoostingRegressor",
    "RandomForestClassifier", "RandomForestRegressor",
)  # fmt: skip

MAX_DEPTH = 12
"""Conditions of a leaf: errors of as many comparisons add up, and so do levels."""
MAX_NODES = 1 << 14
"""Different comparisons, and leaves, of all trees together."""


_Condition = tuple[int, float, bool]


class _Leaf(NamedTuple):
    """A leaf of a tree."""

    conditions: tuple[_Condition, ...]
    """(feature, threshold, whether the feature must be larger) on the way to it"""
    values: Array
    """What it adds to the outputs"""


def tree_values(b: Builder, step: Any, x: Value, samples: Array | None) -> Value:
    """The sums of the values of the leaves that are reached."""
    leaves, constant = _leaves(step)
    depth = max((len(each.conditions) for each in leaves), default=0)
    only(depth > 0, "trees without any split; their result does not depend on the input")
    only(depth <= MAX_DEPTH, f"trees of depth {depth}, supported are up to {MAX_DEPTH}; fit with max_depth")
    tests = sorted({(feature, threshold) for leaf in leaves for feature, threshold, _ in leaf.conditions})
    only(
        max(len(tests), len(leaves)) <= MAX_NODES,
        f"{len(tests)} comparisons, {len(leaves)} leaves, at most {MAX_NODES}",
    )
    holds = b.add(Step(b.alpha), b.matrix(x, *_comparisons(tests, b.shape_of(x)[0], samples)))
    number = {test: index for index, test in enumerate(tests)}
    counts, missing = np.zeros((len(leaves), len(tests))), np.zeros(len(leaves))
    for row, leaf in enumerate(leaves):
        missing[row] = depth - len(leaf.conditions)
        for feature, threshold, larger in leaf.conditions:
            counts[row, number[feature, threshold]] += 1.0 if larger else -1.0
            missing[row] += 0.0 if larger else 1.0
    reached = b.add(Polynomial(_all_of(depth)), b.matrix(holds, counts, missing))
    return b.matrix(reached, np.stack([each.values for each in leaves], axis=1), constant)


def _all_of(depth: int) -> PolynomialFunction:
    """1 at `depth`, 0 at the integers from 0 below it: a Chebyshev series on [0, depth]."""
    points = np.arange(depth + 1.0)
    at = 2 * points / depth - 1
    values = (points == depth).astype(np.float64)
    series = np.linalg.solve(np.polynomial.chebyshev.chebvander(at, depth), values)
    return PolynomialFunction(series, "chebyshev", (0.0, float(depth)))


def _comparisons(tests: list[tuple[int, float]], features: int, samples: Array | None) -> tuple[Array, Array]:
    """Matrix and bias of (feature - threshold) / range; ranges are powers of two, so that signs are exact."""
    weight, bias = np.zeros((len(tests), features)), np.zeros(len(tests))
    for row, (feature, threshold) in enumerate(tests):
        if samples is not None:
            reach = float(np.abs(samples[:, feature] - threshold).max())
        else:
            others = [other for index, other in tests if index == feature]
            reach = 2 * max(max(others) - min(others), abs(threshold) / 8)
        scale = 2.0 ** -np.ceil(np.log2(reach)) if reach > 0 else 1.0
        weight[row, feature], bias[row] = scale, -threshold * scale
    return weight, bias


def _leaves(step: Any) -> tuple[list[_Leaf], Array]:
    """Leaves of all trees with what they add, and what is added to that."""
    name = type(step).__name__
    only(getattr(step, "n_outputs_", 1) == 1, f"{getattr(step, 'n_outputs_', 1)} outputs; supported is one")
    if name.startswith("GradientBoosting"):
        return _boosted(step)
    trees = [step] if hasattr(step, "tree_") else list(step.estimators_)
    leaves = []
    for tree in trees:
        values = np.asarray(tree.tree_.value, dtype=np.float64)[:, 0, :]
        if name.endswith("Classifier"):  # counts of samples in older versions, shares in newer ones
            values = values / values.sum(axis=1, keepdims=True)
        leaves += _leaves_of(tree.tree_, values / len(trees))
    return leaves, np.zeros(len(leaves[0].values))


def _boosted(step: Any) -> tuple[list[_Leaf], Array]:
    """Leaves of gradient boosting; what it begins with is what its trees do not explain of one result."""
    outputs, leaves = step.estimators_.shape[1], []
    only(step.init is None or step.init == "zero", "an estimator as init; supported are None and 'zero'")
    for row in step.estimators_:
        for output, tree in enumerate(row):
            values = np.zeros((tree.tree_.node_count, outputs))
            values[:, output] = step.learning_rate * tree.tree_.value[:, 0, 0]
            leaves += _leaves_of(tree.tree_, values)
    zero = np.zeros((1, step.n_features_in_))
    score = step.decision_function(zero) if hasattr(step, "decision_function") else step.predict(zero)
    trees = [[step.learning_rate * tree.predict(zero)[0] for tree in row] for row in step.estimators_]
    return leaves, np.ravel(score) - np.sum(trees, axis=0)


def _leaves_of(tree: Any, values: Array) -> list[_Leaf]:
    """The leaves of a tree; values: (nodes, outputs)."""
    made: list[_Leaf] = []
    waiting: list[tuple[int, tuple[_Condition, ...]]] = [(0, ())]
    while waiting:
        node, conditions = waiting.pop()
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        if left < 0:
            made.append(_Leaf(conditions, values[node]))
            continue
        test = int(tree.feature[node]), float(tree.threshold[node])
        waiting.append((left, (*conditions, (*test, False))))
        waiting.append((right, (*conditions, (*test, True))))
    return made
