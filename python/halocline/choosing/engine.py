# SPDX-License-Identifier: Apache-2.0
"""An engine on which programs compute with numbers and the noise of encryption."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from .._core import Ciphertext as NativeCiphertext
from ..base.errors import InvalidArgument
from ..base.values import expect, power_of_two, vector
from ..circuits.bootstrapping import Bootstrapper
from ..circuits.choice import CircuitChoice
from ..circuits.encoded import EncodedCircuit
from ..ckks.ciphertext import Ciphertext, bind_all
from ..ckks.keys import KeyPlan
from ..ckks.params import Params
from ..engine.engine import Engine
from .linear_maps import apply_linear, linear_map
from .native import SimulatedCiphertext, SimulatedCore
from .noise import NoiseModel, NoiseSource, Rows


class SimulatedEngine(Engine):
    """An engine without encryption: its ciphertexts hold numbers, to which operations add their noise.

    params: as for `Engine`. rows: 1 without noise and `rows - 1` with it, each under a secret key of its own.
    seed: of the noise. Levels, scales, keys and refusals are those of a ghost engine that does the same.
    """

    def __init__(
        self, params: Params, rows: int = 2, seed: int = 0, *, circuits: CircuitChoice | None = None
    ) -> None:
        super().__init__(params, device="ghost", circuits=circuits)
        self.ghost = Engine(params, device="ghost", circuits=circuits)
        """Encodes circuits, and decides about levels, scales and keys."""
        self.noise = NoiseSource(NoiseModel(params), rows, seed)
        self.simulated = SimulatedCore(self.ghost._core, self.noise)
        self._core = self.simulated  # type: ignore[assignment]
        self._elsewhere = _Circuits(self)
        self.bootstraps = 0
        """Ciphertexts that were bootstrapped."""
        self._failures = 0.0

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
        shape = self.ghost.ghost_input(level=level, slots=count)
        exact: Rows = np.zeros((self.noise.rows, count), dtype=np.complex128)
        exact[:, : len(array)] = array
        rows = exact + self.noise.coefficients(self.noise.model.fresh(public), count, shape.scale)
        return Ciphertext(self.simulated.made(shape._core, rows, "an input"), self, real)

    def decrypt_rows(self, ciphertext: Ciphertext) -> Any:
        """(rows, slots) of a ciphertext of this engine; real numbers where it is real."""
        rows = self._own(ciphertext, "decrypt").rows  # type: ignore[attr-defined]
        return rows.real if ciphertext.is_real else rows

    @property
    def log2_failure(self) -> float:
        """log2 of a bound on the probability that one of the bootstraps fails; -inf without any."""
        return math.log2(self._failures) if self._failures > 0 else -math.inf

    # What engines do that needs a native engine

    def _bind(self, ciphertext: Ciphertext) -> Ciphertext:
        if expect(ciphertext, Ciphertext, "to(engine)")._engine is self:
            return ciphertext
        raise InvalidArgument(
            "simulate: the ciphertext is encrypted; a simulation computes with numbers: give those"
        )

    def run(self, program: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The program, called."""
        for name in ("plan", "key", "optimize"):
            kwargs.pop(name, None)
        named = {name: bind_all(each, self._bind) for name, each in kwargs.items()}
        return program(*(bind_all(each, self._bind) for each in args), **named)

    @property
    def key_plan(self) -> KeyPlan:
        """The keys that a real run needs."""
        return self.ghost.key_plan

    def synchronize(self) -> None:
        """Nothing to wait for."""

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Phases of the ghost."""
        with self.ghost.phase(name):
            yield

    def ghost_input(self, **_: Any) -> NoReturn:
        """Refused: simulations have contents."""
        raise InvalidArgument("ghost_input: an engine of a simulation has contents; give values to `encrypt`")


class _Circuits:
    """What a simulated engine does of circuits that hold weights or constants of their own."""

    def __init__(self, engine: SimulatedEngine) -> None:
        self._engine = engine

    def switch(
        self, operation: str, inputs: Sequence[Any], steps: Sequence[int] = (), circuit: Any = None
    ) -> list[NativeCiphertext] | None:
        """Results of linear maps and bootstraps; None for all that the stand-in does itself."""
        sources = [each._core for each in inputs]
        if isinstance(circuit, EncodedCircuit):
            level = min(each.level for each in sources)
            native = circuit._on(self._engine.ghost, level)
            mode = self._engine._circuits.mode or circuit._mode
            return apply_linear(self._engine.simulated, native, mode, linear_map(circuit), sources)
        if isinstance(circuit, Bootstrapper):
            return [self._bootstrapped(circuit, each) for each in sources]
        return None

    def _bootstrapped(self, circuit: Bootstrapper, source: Any) -> SimulatedCiphertext:
        """The message, with an error of the forecast of the bootstrapper: a deviation from its mean bits."""
        engine = self._engine
        engine.bootstraps += 1
        engine._failures += circuit.options.iterations * 2.0**circuit.log2_failure_probability
        (ghost,) = engine.ghost._core.bootstrap(circuit._on(engine.ghost), [source.ghost])
        # Mean of the larger of two parts of a Gaussian error: 2 / sqrt(pi) deviations of one part.
        deviation = 2.0 ** -float(circuit.describe()["mean_bits"]) * math.sqrt(math.pi) / 2.0
        rows: Rows = source.rows.real.astype(np.complex128) if circuit.options.real else source.rows
        variance = np.full((engine.noise.rows, ghost.slots), 2.0 * deviation**2)
        return engine.simulated.made(ghost, rows + engine.noise.shaped(variance), "a bootstrap")

    def cancel(self) -> bool:
        """Nothing waits."""
        return False

    def counts(self) -> dict[str, Any]:
        """Nothing is done elsewhere."""
        return {}
