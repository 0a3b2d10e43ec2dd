# SPDX-License-Identifier: Apache-2.0
"""Which class a result stands for: shared by `nn.labels`, `nn.prepare` and clients of networks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ..base.errors import InvalidArgument

LARGEST, THRESHOLD, PAIRS, NONE = "largest", "threshold", "one-vs-one", "none"
RULES = (LARGEST, THRESHOLD, PAIRS, NONE)


@dataclasses.dataclass(frozen=True)
class Decision:
    """How numbers become a class.

    rule: "largest", the largest of the numbers; "threshold", the second class where the only number is above
        `threshold`; "one-vs-one", most votes of pairs (0, 1), (0, 2), ..., (1, 2), ..., in which a number
        above 0 is a vote for the first class; "none", the numbers stand for no class.
    """

    rule: str = LARGEST
    threshold: float = 0.0

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise InvalidArgument(f"decision: rule {self.rule!r:.40}, expected one of: {', '.join(RULES)}")
        if not math.isfinite(self.threshold):
            raise InvalidArgument(f"decision: threshold is {self.threshold}, expected a finite number")

    def classes(self, values: int) -> int:
        """How many classes there are with results of so many numbers; 0 where they stand for none.

        Raises InvalidArgument where the rule does not fit.
        """
        if self.rule == NONE:
            return 0
        if self.rule == THRESHOLD:
            if values != 1:
                raise InvalidArgument(f"decision: a threshold for results of {values} numbers, expected 1")
            return 2
        if self.rule == LARGEST:
            return values
        count = (1 + math.isqrt(1 + 8 * values)) // 2
        if count * (count - 1) // 2 != values:
            raise InvalidArgument(
                f"decision: one-vs-one with results of {values} numbers, expected one for each pair"
            )
        return count

    def __call__(self, results: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Numbers of the classes of results (batch, ...).

        Raises InvalidArgument where results stand for no class.
        """
        flat = results.reshape(len(results), -1)
        count = self.classes(flat.shape[1])
        if not count:
            raise InvalidArgument("the results of this network are numbers that stand for no class")
        if self.rule == THRESHOLD:
            return (flat[:, 0] > self.threshold).astype(np.int64)
        if self.rule == LARGEST:
            return flat.argmax(axis=1).astype(np.int64)
        votes = np.zeros((len(flat), count))
        pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
        for (i, j), column in zip(pairs, flat.T, strict=True):
            votes[:, i] += column > 0
            votes[:, j] += column <= 0
        return votes.argmax(axis=1).astype(np.int64)


def decision_of(metadata: Mapping[str, str], values: int, named: bool = False) -> Decision:
    """That of a model with this metadata and results of so many numbers.

    named: classes are given by name, so that a single number without a rule has two of them: by its sign.
    """
    if metadata.get("scores") == PAIRS:
        return Decision(PAIRS)
    if values > 1:
        return Decision(NONE if metadata.get("scores") == NONE else LARGEST)
    if "threshold" in metadata or "labels" in metadata or named:
        return Decision(THRESHOLD, float(metadata.get("threshold", "0")))
    return Decision(NONE)
