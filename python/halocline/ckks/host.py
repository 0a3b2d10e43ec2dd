# SPDX-License-Identifier: Apache-2.0
"""The interface of an engine for ciphertexts and circuits, on which engines are built."""

from __future__ import annotations

from typing import Any, Protocol

import numpy.typing as npt

from .._core import Ciphertext as NativeCiphertext
from .._core import Engine as NativeEngine
from .params import Params


class Host(Protocol):
    """An engine as seen from below: `halocline.Engine` is one.

    Ciphertexts are Any here, because their own types are made of this one.
    """

    _core: NativeEngine
    _encoded_log: list[tuple[Any, int]] | None
    """Circuits and levels that were encoded for it; None where no list is kept."""
    _circuits: Any
    """What it decides about circuits: a `circuits.choice.CircuitChoice`."""

    @property
    def params(self) -> Params:
        """Parameters of everything that it computes with."""

    @property
    def device(self) -> str:
        """Name of the device."""

    def _bind(self, ciphertext: Any) -> Any:
        """The ciphertext as one of this engine's."""

    def _own(self, ciphertext: Any, operation: str) -> NativeCiphertext:
        """The native ciphertext, checked to belong to this engine."""

    def matvec(self, matrix: npt.ArrayLike, ct: Any) -> Any:
        """Product of a plain matrix with the vector in a ciphertext."""

    def inner_sum(self, ct: Any, count: int | None = None, stride: int = 1) -> Any:
        """Sum of rotations by multiples of a stride."""
