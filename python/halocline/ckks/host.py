# SPDX-License-Identifier: Apache-2.0
"""The interface of an engine for ciphertexts and circuits, on which engines are built."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

import numpy.typing as npt

from .._core import Ciphertext as NativeCiphertext
from .._core import Engine as NativeEngine
from .params import Params

MOST_RADIX = 64
"""Most rotations that one step of a sum adds. Beyond 8 their keys cost more than they save."""


class Elsewhere(Protocol):
    """Where key switches may be done in place of an engine: `halocline.remote.offload.Offload` is one."""

    def switch(
        self, operation: str, inputs: Sequence[Any], steps: Sequence[int] = (), circuit: Any = None
    ) -> list[NativeCiphertext] | None:
        """The results, in the engine; None where it shall compute them itself."""

    def cancel(self) -> bool:
        """Ends the requests that wait with Cancelled; whether there were any."""

    def counts(self) -> dict[str, Any]:
        """What was done elsewhere so far."""


class Refreshes(Protocol):
    """What bootstraps the ciphertexts of an engine by itself: `engine.refreshing.Refresher` is one."""

    def adopt(self, ciphertext: Any) -> bool:
        """Notes Python's object of a native ciphertext; whether that waits for its bootstrap."""

    def settle(self, ciphertext: Any) -> None:
        """Bootstraps a ciphertext that waits."""

    def ready(self, ciphertexts: Sequence[Any], levels: int) -> None:
        """Bootstraps those that have fewer levels than what comes costs, where that helps."""


class Host(Protocol):
    """An engine as seen from below: `halocline.Engine` is one.

    Ciphertexts are Any here, because their own types are made of this one.
    """

    _core: NativeEngine
    """The native engine, or what looks like it and sees all operations."""
    _native: NativeEngine
    """The native engine itself, for functions that take one."""
    _refreshes: Refreshes | None
    """What bootstraps ciphertexts by itself; None where nothing does."""
    _encoded_log: list[tuple[Any, int]] | None
    """Circuits and levels that were encoded for it; None where no list is kept."""
    _elsewhere: Elsewhere | None
    """Where its key switches may be done, if not here only."""
    _circuits: Any
    """What it decides about circuits: a `circuits.choice.CircuitChoice`."""
    _bootstrap_room: Any
    """What bootstraps may take of its budget: an `engine.bootstrap_room.BootstrapRoom`; None: as they are."""

    def _keep_more_seeds(self, elements: Collection[int]) -> None:
        """Keeps keys seeded besides, by Galois element, unless it was said which are."""

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

    def _add_encoded(self, ciphertext: Any, plain: Any) -> NativeCiphertext:
        """The sum of a ciphertext of this engine and an encoded vector."""

    def matvec(self, matrix: npt.ArrayLike, ct: Any) -> Any:
        """Product of a plain matrix with the vector in a ciphertext."""

    def inner_sum(self, ct: Any, count: int | None = None, stride: int = 1, radix: int = 2) -> Any:
        """Sum of rotations by multiples of a stride."""
