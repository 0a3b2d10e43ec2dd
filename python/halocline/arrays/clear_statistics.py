# SPDX-License-Identifier: Apache-2.0
"""Statistics of numbers, as those of encrypted samples, for programs that run on both and calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..circuits.polynomial import interval
from .calibration import note
from .samples import ON_SAMPLES, Samples, plain, sampled


def _noted(what: str, samples: Any, found: npt.NDArray[Any], variances: Any) -> None:
    """Notes the variances that samples have, for the interval of 1 / sqrt(variance)."""
    if isinstance(samples, Samples):
        given = None if variances is None else interval(variances, f"{what}: variances")
        note(what, sampled(np.atleast_1d(found)), given, values="variances", least=0.0)


def clear_standardize(
    x: npt.ArrayLike, axis: int = 0, *, variances: Any = None, ddof: float = 0
) -> npt.NDArray[Any]:
    """Standard scores of numbers: what `standardize` is of encrypted samples."""
    array = plain(x)
    _noted("standardize", x, array.var(axis=axis, ddof=ddof), variances)
    scores = (array - array.mean(axis=axis, keepdims=True)) / array.std(axis=axis, ddof=ddof, keepdims=True)
    made: npt.NDArray[Any] = sampled(scores) if isinstance(x, Samples) else scores
    return made


def clear_corrcoef(
    x: npt.ArrayLike, y: npt.ArrayLike | None = None, rowvar: bool = True, *, variances: Any = None, **_: Any
) -> Any:
    """np.corrcoef of samples in the clear."""
    rows = [plain(each) for each in (x, y) if each is not None]
    rows = [np.atleast_2d(each) if rowvar or each.ndim < 2 else each.T for each in rows]
    _noted("corrcoef", x, np.concatenate(rows).var(axis=1), variances)
    found = np.asarray(np.corrcoef(np.concatenate(rows)))
    return sampled(found) if isinstance(x, Samples) else found


ON_SAMPLES[np.corrcoef] = clear_corrcoef
