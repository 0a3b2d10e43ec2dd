# SPDX-License-Identifier: Apache-2.0
"""Circuits with plain weights: described once, encoded for each engine and level at first use."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import _core
from ..base.errors import InvalidArgument, WrongType
from ..base.names import Mode
from ..base.values import expect, integer, kind_of
from ..ckks.ciphertext import Ciphertext
from ..ckks.host import Host
from ..ckks.keys import RELINEARIZATION
from .choice import MODES


class EncodedCircuit(ABC):
    """Base of circuits with plain weights; all of them cost one level.

    Calling one with a list of ciphertexts, one per input and all of `slots` slots, gives the list of outputs.
    Weights are copied, so that later changes of arrays that were given change nothing. They are encoded at
    the first use on an engine and level, and kept there as long as both live; they may be used on any number
    of engines, a ghost among them.

    mode: one of MODES. baby_count: baby steps of each giant step, 0 lets a cost model choose. compact: keep
    weights as integer coefficients, 8 bytes each at any level, and expand them at each use. An engine with a
    `CircuitChoice` has the last word on all three.
    """

    def __init__(
        self, slots: int, inputs: int, outputs: int, real: bool, mode: Mode, baby_count: int, compact: bool
    ) -> None:
        if mode not in MODES:
            raise InvalidArgument(f"{self._what}: unknown mode {mode!r}; expected one of: {', '.join(MODES)}")
        self._slots, self._inputs, self._outputs, self._real = slots, inputs, outputs, real
        self._mode, self._compact = mode, bool(compact)
        self._baby_count = integer(baby_count, f"{self._what}: baby_count", 0)
        self._encoded: weakref.WeakKeyDictionary[Host, dict[int, _core.Circuit]]
        self._encoded = weakref.WeakKeyDictionary()

    _what = "circuit"

    @abstractmethod
    def _make(self, engine: _core.Engine, how: _core.Encoding) -> _core.Circuit:
        """The circuit encoded for one engine."""

    def _diagonals(self) -> list[list[Mapping[int, Any]]] | None:
        """Diagonals of each output and input in the clear; None where nothing but a grid is kept of them."""
        return None

    @property
    def slots(self) -> int:
        """Number of slots that inputs must have."""
        return self._slots

    @property
    def inputs(self) -> int:
        """Number of input ciphertexts."""
        return self._inputs

    @property
    def outputs(self) -> int:
        """Number of output ciphertexts."""
        return self._outputs

    def encode(self, engine: Host, level: int | None = None) -> None:
        """Encodes the weights for an engine and input level now instead of at the first use."""
        self._on(engine, engine.params._level(level))

    def rotations(self, engine: Host, level: int | None = None) -> list[int]:
        """Rotation steps whose keys an evaluation at this input level needs."""
        params = engine.params
        elements = [element for element, _ in self._on(engine, params._level(level)).requests]
        steps = (params._core.rotation_of(element) for element in elements if element != RELINEARIZATION)
        return sorted(step for step in steps if step is not None)

    def cost(self, engine: Host, level: int | None = None) -> dict[str, int]:
        """Key switches, decompositions, divisions, plaintext products and keys of the diagonals."""
        return self._on(engine, engine.params._level(level)).cost

    def nbytes(self, engine: Host, level: int | None = None) -> int:
        """Bytes of the encoded weights."""
        return self._on(engine, engine.params._level(level)).nbytes

    def plain_bytes(self, engine: Host, level: int | None = None) -> int:
        """Bytes of the weights in the clear, needed while they are encoded: a complex number a slot."""
        return self.cost(engine, level)["plaintext_products"] * self._slots * np.dtype(np.complex128).itemsize

    def forget(self) -> None:
        """Drops the encoded weights of all engines."""
        self._encoded.clear()

    def _how(self, engine: Host, level: int) -> _core.Encoding:
        """How it is encoded for an engine: its own options, or those that the engine decides."""
        said = engine._circuits
        baby_count = self._baby_count if said.baby_count is None else said.baby_count
        compact = self._compact if said.compact is None else said.compact
        return _core.Encoding(said.mode or self._mode, level, self._slots, baby_count, compact)

    def _on(self, engine: Host, level: int) -> _core.Circuit:
        kept = self._encoded.setdefault(engine, {})
        if level not in kept:
            kept[level] = self._make(engine._native, self._how(engine, level))
            if engine._encoded_log is not None:
                engine._encoded_log.append((self, level))
        return kept[level]

    def _apply(self, inputs: Sequence[Ciphertext]) -> list[Ciphertext]:
        what = self._what
        if isinstance(inputs, Ciphertext):
            raise WrongType(f"{what}: got one ciphertext, expected a list of {self._inputs}")
        cts = [expect(each, Ciphertext, what) for each in inputs]
        if len(cts) != self._inputs:
            raise InvalidArgument(f"{what}: {len(cts)} inputs, expected {self._inputs}")
        engine = cts[0]._on(what)
        if engine._refreshes is not None:
            engine._refreshes.ready(cts, 1)  # weights are encoded for the level of the inputs
        sources = [engine._own(each, what) for each in cts]
        wrong = [each.slots for each in cts if each.slots != self._slots]
        if wrong:
            raise InvalidArgument(f"{what}: a ciphertext of {wrong[0]} slots, expected {self._slots}")
        elsewhere = engine._elsewhere
        made = None if elsewhere is None else elsewhere.switch("map", cts, circuit=self)
        if made is None:
            made = engine._core.apply_circuit(self._on(engine, min(each.level for each in cts)), sources)
        real = self._real and all(each.is_real for each in cts)
        return [Ciphertext(each, engine, real) for each in made]

    def __getstate__(self) -> dict[str, Any]:
        """The weights in the clear: what is encoded for an engine stays with it."""
        return {name: value for name, value in vars(self).items() if name != "_encoded"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._encoded = weakref.WeakKeyDictionary()

    def __call__(self, inputs: Sequence[Ciphertext]) -> list[Ciphertext]:
        """The outputs, one level below the lowest input."""
        return self._apply(inputs)

    def __program_identity__(self) -> EncodedCircuit:
        """For plans of programs that use it: itself, as its weights never change."""
        return self

    def __repr__(self) -> str:
        shape = f"{self._inputs} inputs, {self._outputs} outputs, {self._slots} slots"
        return f"{kind_of(self)}({shape}, {self._mode!r})"
