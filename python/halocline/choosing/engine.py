# SPDX-License-Identifier: Apache-2.0
"""An engine on which programs compute with numbers and the noise of encryption."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ..base.errors import InvalidArgument
from ..base.values import expect, power_of_two, vector
from ..circuits.choice import CircuitChoice
from ..ckks.ciphertext import Ciphertext, bind_all
from ..ckks.params import Params
from ..engine.automatic_runs import Bootstrap
from ..engine.engine import Engine
from ..engine.program_identity import Arguments
from .native import SimulatedCore
from .noise import NoiseModel, NoiseSource, Rows


class SimulatedEngine(Engine):
    """An engine without encryption: its ciphertexts hold numbers, to which operations add their noise.

    params, circuits, bootstrap: as for `Engine`. rows: 1 without noise and `rows - 1` with it, each under a
    secret key of its own. seed: of the noise. Levels, scales, keys and refusals are those of a ghost engine
    that does the same.
    """

    def __init__(
        self,
        params: Params,
        rows: int = 2,
        seed: int = 0,
        *,
        circuits: CircuitChoice | None = None,
        bootstrap: Bootstrap | None = None,
    ) -> None:
        super().__init__(params, device="ghost", circuits=circuits, bootstrap=bootstrap)
        self.noise = NoiseSource(NoiseModel(params), rows, seed)
        self.simulated = SimulatedCore(self._native, self.noise, self._encoded_by, self._circuits.mode)
        self._encoded_log = []  # never taken: it says what circuits and bootstrappers were encoded here
        self._core: Any
        if self._automatic is None:
            self._core = self.simulated
        else:
            self._automatic.stand_in(self.simulated)

    def _encoded_by(self, native: Any) -> Any:
        """The circuit, or the bootstrapper, that a native one was encoded from here."""
        for source, level in self._encoded_log or ():
            kept = source._encoded.get(self)
            if kept is native or (isinstance(kept, dict) and kept.get(level) is native):
                return source
        raise InvalidArgument(
            "simulate: a circuit drops its weights after each use, so a simulation cannot look at them; let "
            "it keep them"
        )

    def encrypt(
        self, values: Any, level: int | None = None, slots: int | None = None, *, public: bool = False
    ) -> Ciphertext:
        """Numbers with the noise of a fresh encryption, as `Client.encrypt` takes them."""
        array, real = vector(values, "simulate")
        count = power_of_two(len(array)) if slots is None else slots
        if len(array) > count or count > self.params.slots:
            raise InvalidArgument(
                f"simulate: {len(array)} values in {count} slots; the parameters have {self.params.slots} "
                "slots in a ciphertext: give fewer values, or parameters of a larger ring"
            )
        level = self.params._fresh_level(level, "simulate: level")
        scale = self.params.level(level).scale
        shape = self._native.ghost_input(level, scale, count)
        exact: Rows = np.zeros((self.noise.rows, count), dtype=np.complex128)
        exact[:, : len(array)] = array
        rows = exact + self.noise.coefficients(self.noise.model.fresh(public), count, scale)
        return Ciphertext(self.simulated.made(shape, rows, "an input"), self, real)

    def decrypt_rows(self, ciphertext: Ciphertext) -> Any:
        """(rows, slots) of a ciphertext of this engine; real numbers where it is real."""
        rows = self._own(ciphertext, "decrypt").rows  # type: ignore[attr-defined]
        return rows.real if ciphertext.is_real else rows

    def compute(self, program: Callable[..., Any], arguments: Arguments) -> Any:
        """The program, bootstrapped where that is needed if the engine does so by itself."""
        self._place(program, arguments)
        return self._call(program, arguments)

    def run(self, program: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """A part of the program, called as it is."""
        for name in ("plan", "key", "optimize"):
            kwargs.pop(name, None)
        named = {name: bind_all(each, self._bind) for name, each in kwargs.items()}
        return program(*(bind_all(each, self._bind) for each in args), **named)

    # What has no contents to work with

    def _bind(self, ciphertext: Ciphertext) -> Ciphertext:
        if expect(ciphertext, Ciphertext, "to(engine)")._engine is self:
            return ciphertext
        raise InvalidArgument(
            "simulate: the ciphertext is encrypted; a simulation computes with numbers: give those"
        )

    def _add_encoded(self, ciphertext: Ciphertext, plain: Any) -> Any:
        """A sum with a vector that was encoded for this engine."""
        values = np.asarray(self._encoded_by(plain)._values(), dtype=np.complex128)
        return self._core.add_values(ciphertext._core, values)

    def ghost_input(self, **_: Any) -> NoReturn:
        """Refused: simulations have contents."""
        raise InvalidArgument("ghost_input: an engine of a simulation has contents; give values to `encrypt`")
