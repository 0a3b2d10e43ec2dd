# SPDX-License-Identifier: Apache-2.0
"""Bootstrapping: levels for ciphertexts that have none left."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Sequence
from typing import Any, get_args, overload

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import Ciphertext as NativeCiphertext
from ..base.errors import InvalidArgument
from ..base.names import Mode, Order
from ..base.values import ComplexVector, byte_count, expect, integer, positive, vector
from ..ckks.ciphertext import Ciphertext
from ..ckks.host import MOST_RADIX, Host
from ..ckks.keys import KeyPlan
from ..ckks.params import Params, expect_same
from ..memory.budget import MemoryOptions
from .choice import MODES, CircuitChoice
from .functions import WholeCircuit
from .matrix_ways import read_ways, way_text

ORDERS = get_args(Order)
"""CoeffToSlot first takes ciphertexts of level 0; SlotToCoeff first takes those of a few levels more."""

MOST_TOGETHER = 64
"""Most ciphertexts that go through EvalMod together."""


_ORGANISATION = ("cts_mode", "stc_mode", "compact", "baby_count", "cts_matrices", "stc_matrices")
"""Options that say how matrices are done."""


@dataclasses.dataclass(frozen=True)
class BootstrapOptions:
    """How ciphertexts are bootstrapped."""

    slots: int | None = None
    """A power of two; all slots of the parameters unless given."""
    order: Order = "cts_first"
    """One of ORDERS."""
    real: bool = False
    """Messages have real slots: imaginary parts are lost, and with full slots half of the work."""
    output_level: int = 0
    """Level of results: the lower, the less work, because every step has fewer primes. 0: the most. Below
    the highest level of messages, `stc_first` runs EvalMod once for sparse complex messages instead of twice.
    Parameters with 64-bit words have no other levels."""
    cts_levels: int = 0
    """Levels of CoeffToSlot; 0: what the parameters are made for, fewer where few slots need no more."""
    stc_levels: int = 0
    """Levels of SlotToCoeff; 0: likewise."""
    cts_mode: Mode = "double_hoisted"
    """How the rotations of CoeffToSlot are organised; "small_key" needs three keys for each level."""
    stc_mode: Mode = "double_hoisted"
    """The same for SlotToCoeff."""
    compact: bool = False
    """Keep the diagonals of both as integer coefficients, and expand them at each use. Those whose values
    repeat themselves are small as they are."""
    baby_count: int = 0
    """Baby steps of each giant step in both, unless 0 lets a cost model choose: fewer need fewer keys."""
    from_sparse: bool = False
    """The first matrix of CoeffToSlot is applied under the sparse secret, with keys of one digit, and takes
    no level: CoeffToSlot has one matrix more, and smaller ones. For 4 slots and more. Off by default because
    of patents: see docs/concepts/bootstrapping.md, "From the sparse secret"."""
    sum_radix: int = 0
    """Rotations that are added with one decomposition in the sum of sparse messages: 2, 4, 8, ... 64. More
    need more keys. 0: 2 with cts_mode="small_key", else what a cost model or `memory` chooses."""
    cts_stages: tuple[int, ...] = ()
    """Butterflies in each matrix of CoeffToSlot, which sum to log2(slots). Unless given even numbers, but 0
    in the first one, which then only adds rotations, with `from_sparse` and up to 2^11 slots."""
    cts_matrices: tuple[str, ...] = ()
    """How each matrix of CoeffToSlot is done, in place of `cts_mode`, `baby_count` and `compact`: text such
    as "8" (baby steps), "4 compact", "small_key" or "bsgs 8"; the first to be applied first."""
    stc_matrices: tuple[str, ...] = ()
    """The same for SlotToCoeff."""
    memory: int | str | None = None
    """What keys, diagonals and workspace of both may take, bytes or "2GiB": how each matrix is done is then
    chosen, and which keys stay seeded, for the shortest time when plans load what does not fit. None: the
    budget of an engine under policy "planned". 0: nothing is chosen. Where one of the options above says how
    matrices are done (modes, `compact`, `baby_count`, matrices), nothing is chosen either."""
    range: float = 0
    """Bound of EvalMod; 0: the least that `log2_failure` allows."""
    log2_failure: float = -32
    """log2 of the probability with which a bootstrap may fail, whatever the message."""
    allow_failure: bool = False
    """Accept what fails more often."""
    message_bound: float = 1
    """Coefficients of messages are at most this: 1 for slots of magnitude 1; those of random messages are
    about 1 / (2 sqrt(slots)). A smaller bound gives precision; a message that exceeds it loses much."""
    fraction: float = 0.0
    """What such a coefficient may be of the modulus: results are off by a relative (2 pi fraction)^2 / 6. 0:
    2^-10, and 2^-13 with SlotToCoeff first, which reduces slots."""
    arcsine_degree: int = 0
    """Degree of a correction of that error, odd, which takes levels of EvalMod."""
    tolerance: float = 2.0**-41
    """Error that the polynomial of EvalMod may have."""
    eval_mod_together: int = 0
    """Ciphertexts that go through EvalMod together at most, 1 to 64; one with a real and an imaginary part
    counts twice. The results are the same: fewer and larger steps, and more memory. 0: 2 on GPUs, else 1."""
    iterations: int = 1
    """Two give about twice the bits (Meta-BTS), for twice the time and one level."""

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise InvalidArgument(f"bootstrap: order {self.order!r}; expected one of: {', '.join(ORDERS)}")
        for mode in (self.cts_mode, self.stc_mode):
            if mode not in MODES:
                raise InvalidArgument(
                    f"bootstrap: unknown mode {mode!r}; expected one of: {', '.join(MODES)}"
                )
        if self.slots is not None:
            integer(self.slots, "bootstrap: slots", 1)
        for name in ("output_level", "cts_levels", "stc_levels", "arcsine_degree", "baby_count"):
            integer(getattr(self, name), f"bootstrap: {name}", 0)
        integer(self.sum_radix, "bootstrap: sum_radix", 0, MOST_RADIX)
        integer(self.iterations, "bootstrap: iterations", 1)
        integer(self.eval_mod_together, "bootstrap: eval_mod_together", 0, MOST_TOGETHER)
        read_ways(self.cts_matrices, "bootstrap: cts_matrices")
        read_ways(self.stc_matrices, "bootstrap: stc_matrices")
        for name in ("message_bound", "tolerance"):
            positive(getattr(self, name), f"bootstrap: {name}")
        if self.fraction != 0:
            positive(self.fraction, "bootstrap: fraction")

    @property
    def _is_organised(self) -> bool:
        """Whether some option says how matrices are done."""
        return any(getattr(self, name) != getattr(type(self), name) for name in _ORGANISATION)

    def _core_options(self) -> _core.BootstrapOptions:
        made = _core.BootstrapOptions()
        made.slots = self.slots or 0
        made.stc_first = self.order == "stc_first"
        made.real_only = bool(self.real)
        made.from_sparse = bool(self.from_sparse)
        made.cts_stages = [integer(each, "bootstrap: cts_stages", 0) for each in self.cts_stages]
        made.cts_ways = read_ways(self.cts_matrices, "bootstrap: cts_matrices")
        made.stc_ways = read_ways(self.stc_matrices, "bootstrap: stc_matrices")
        none = self.memory in (None, 0, "0")
        memory = 0 if none else byte_count(self.memory or 0, "bootstrap: memory")
        made.memory_bytes = 0 if self._is_organised else memory
        for name in (
            "output_level", "cts_levels", "stc_levels", "cts_mode", "stc_mode", "compact", "baby_count",
            "sum_radix", "range", "log2_failure", "allow_failure", "message_bound", "fraction",
            "arcsine_degree", "tolerance", "eval_mod_together", "iterations",
        ):  # fmt: skip
            setattr(made, name, getattr(self, name))
        return made


class Bootstrapper(WholeCircuit):
    """Bootstraps ciphertexts: `y = bootstrapper(x)`, or a list of them in one pass over the keys.

    params: parameters with levels for bootstrapping, such as the preset n16-boot.
    options: fields of `BootstrapOptions`, by name.

    Both transforms are encoded at the first use on an engine, and kept there as long as both live. There an
    engine with a budget and policy "planned" chooses how matrices are done, with the keys that it has, and
    which keys stay seeded: see `BootstrapOptions.memory`, and `describe`. A result has level `output_level`.
    The keys are those of `key_plan`; programs that bootstrap and are given to `halocline.key_plan` find them
    as well.
    """

    operation = "bootstrap"
    inputs = None

    def __init__(self, params: Params, **options: Any) -> None:
        self._params = expect(params, Params, "Bootstrapper")
        if unknown := options.keys() - {field.name for field in dataclasses.fields(BootstrapOptions)}:
            raise InvalidArgument(f"Bootstrapper: unknown options {', '.join(sorted(unknown))}")
        self._options = BootstrapOptions(**options)
        self._slots = self._options.slots or params.slots
        self._encoded: weakref.WeakKeyDictionary[Host, _core.Bootstrapper] = weakref.WeakKeyDictionary()
        self._ghost: _core.Bootstrapper | None = None
        self._facts: dict[str, Any] | None = None

    @property
    def params(self) -> Params:
        """Parameters that it is for."""
        return self._params

    @property
    def options(self) -> BootstrapOptions:
        """How it bootstraps."""
        return self._options

    @property
    def slots(self) -> int:
        """Slots that inputs must have."""
        return self._slots

    def describe(self, engine: Host | None = None) -> dict[str, Any]:
        """Levels, degree and range of EvalMod, failure probability, forecast of precision, bytes, matrices.

        engine: as it bootstraps there, where the budget may have decided how matrices are done; encodes for
            it. Otherwise as options say.
        """
        if engine is not None:
            facts, room = _readable(self._on(engine).describe()), engine._bootstrap_room
            return facts if room is None else facts | {"seeded_keys": len(room.seeds_of(self))}
        if self._facts is None:
            self._facts = _readable(self._any().describe())
        return dict(self._facts)

    @property
    def input_level(self) -> int:
        """Least level of an input."""
        return int(self.describe()["input_level"])

    @property
    def output_level(self) -> int:
        """Level of results."""
        return int(self.describe()["output_level"])

    def output_level_from(self, level: int) -> int:
        """The least level from `level` on that results of `lowered` can have; `output_level` at most."""
        facts = self.describe()
        first = max(integer(level, "bootstrap: level", 0), self.input_level + 1)
        # What EvalMod gives, less what is taken of it.
        taken = facts["raised_level"] - facts["cts_levels"] - facts["mod1_levels"] - self.output_level
        for each in range(first, 0 if self._options.output_level else self.output_level):
            if self._params._core.lowered_offset(each + taken) is not None:
                return each
        return self.output_level

    def lowered(self, level: int) -> Bootstrapper:
        """One whose results have the least level there is from `level` on, for programs that need no more.

        It has its own diagonals, and uses prefixes of the same keys. This one where it gives no more, where
        an `output_level` was asked for, and for parameters with 64-bit words, which have no other levels.
        """
        least = self.output_level_from(level)
        if least == self.output_level:
            return self
        return Bootstrapper(self._params, **dataclasses.asdict(self._options) | {"output_level": least})

    @property
    def log2_failure_probability(self) -> float:
        """log2 of the probability that a bootstrap fails, whatever the message."""
        return float(self.describe()["log2_failure_probability"])

    @property
    def key_plan(self) -> KeyPlan:
        """The keys that it uses, each with its level: `client.evaluation_keys(plan=...)` makes them.

        An engine that chooses by its budget needs some of these only; with `memory=`, they are those of the
        choice.
        """
        return KeyPlan(self._params, self._any().requests)

    def largest_coefficient(self, values: npt.ArrayLike) -> float:
        """The largest magnitude among the numbers that EvalMod will see of a message with these slots.

        For the client, before it encrypts: nothing encrypted can be checked. Coefficients w_j + i w_(j+n) =
        (1 / n) sum_k values_k zeta^(-j 5^k), zeta = exp(2 pi i / 4n); with SlotToCoeff first, the slots.
        """
        array, _ = vector(values, "bootstrap")
        slots: ComplexVector = np.zeros(self._slots, dtype=np.complex128)
        if len(array) > self._slots:
            raise InvalidArgument(f"bootstrap: {len(array)} values; expected at most {self._slots} slots")
        slots[: len(array)] = array
        if self._options.order == "cts_first":
            order = 4 * self._slots
            exponents = np.empty(self._slots, dtype=np.int64)
            power = 1
            for k in range(self._slots):
                exponents[k] = power
                power = power * 5 % order
            at_exponents = np.zeros(order, dtype=np.complex128)
            at_exponents[exponents] = slots
            slots = np.fft.fft(at_exponents)[: self._slots] / self._slots
        return float(np.maximum(np.abs(slots.real), np.abs(slots.imag)).max())

    def check_message(self, values: npt.ArrayLike) -> None:
        """Raises InvalidArgument for a message beyond `message_bound`, which would lose precision or more."""
        largest = self.largest_coefficient(values)
        if largest > self._options.message_bound:
            raise InvalidArgument(
                f"bootstrap: a coefficient of the message is {largest:.4g}; expected at most "
                f"{self._options.message_bound:.4g}: scale the message down, or raise message_bound"
            )

    def encode(self, engine: Host, level: int | None = None) -> None:
        """Encodes both transforms for an engine now instead of at the first use."""
        self._on(engine)

    def _any(self) -> _core.Bootstrapper:
        """Encoded for some engine, or a ghost: what does not depend on which."""
        for host, core in self._encoded.items():
            if not host._circuits.bootstrap_settings and host._bootstrap_room is None:
                return core
        if self._ghost is None:
            options = MemoryOptions()._bind(False, None, "bootstrapper")
            engine = _core.Engine.make(self._params._core, "ghost", 0, "resident", 0, False, options)
            self._ghost = _core.Bootstrapper.make(engine, self._options._core_options())
        return self._ghost

    def _options_with(self, said: CircuitChoice) -> BootstrapOptions:
        """Its options with what an engine decides in place of them."""
        decided = said.bootstrap_settings
        return dataclasses.replace(self._options, **({"memory": 0} | decided)) if decided else self._options

    @property
    def leaves_open(self) -> bool:
        """Whether an engine may decide how matrices are done: no option says it."""
        return self._options.memory is None and not self._options._is_organised

    def _compute(self, engine: Host, sources: Sequence[NativeCiphertext]) -> list[NativeCiphertext]:
        return engine._core.bootstrap(self._on(engine), sources)

    def _on(self, engine: Host, level: int = 0) -> _core.Bootstrapper:
        if engine not in self._encoded:
            expect_same(self._params, [("the engine", engine.params)], "bootstrap")
            options = self._options_with(engine._circuits)._core_options()
            room = engine._bootstrap_room
            if room is not None:
                room.prepare(self, options, self.leaves_open and not engine._circuits.bootstrap_settings)
            made = self._encoded[engine] = _core.Bootstrapper.make(engine._native, options)
            if room is not None:
                room.note(self, made)
            engine._keep_more_seeds(made.seeded_keys if room is None else room.seeds_of(self))
            if engine._encoded_log is not None:
                engine._encoded_log.append((self, 0))
        return self._encoded[engine]

    @overload
    def __call__(self, cts: Ciphertext) -> Ciphertext: ...
    @overload
    def __call__(self, cts: Sequence[Ciphertext]) -> list[Ciphertext]: ...
    def __call__(self, cts: Ciphertext | Sequence[Ciphertext]) -> Ciphertext | list[Ciphertext]:
        """The same messages at `output_level`; one ciphertext, or several of one engine."""
        many = [cts] if isinstance(cts, Ciphertext) else list(cts)
        if not many:
            return []
        engine = expect(many[0], Ciphertext, "bootstrap")._on("bootstrap")
        expect_same(self._params, [("the engine", engine.params)], "bootstrap")
        cores = self._apply([expect(each, Ciphertext, "bootstrap") for each in many])
        results = [
            Ciphertext(core, engine, each.is_real or self._options.real)
            for core, each in zip(cores, many, strict=True)
        ]
        return results[0] if isinstance(cts, Ciphertext) else results

    def __program_identity__(self) -> Bootstrapper:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Parameters and options: what is encoded for an engine stays with it."""
        return _bootstrapper, (self._params, dataclasses.asdict(self._options))

    def __repr__(self) -> str:
        changed = [
            f"{field.name}={value!r}"
            for field in dataclasses.fields(BootstrapOptions)
            if (value := getattr(self._options, field.name)) != field.default
        ]
        return f"Bootstrapper({', '.join([repr(self._params.name), *changed])})"


class BootstrapCircuit(WholeCircuit):
    """A bootstrap by its options alone, for whatever parameters ciphertexts have: what a key node gets."""

    operation = "bootstrap"
    inputs = None

    def __init__(self, options: BootstrapOptions) -> None:
        self.options = options
        self._made: dict[str, Bootstrapper] = {}

    def _compute(self, engine: Host, sources: Sequence[NativeCiphertext]) -> list[NativeCiphertext]:
        params = engine.params
        if params.fingerprint not in self._made:
            self._made[params.fingerprint] = Bootstrapper(params, **dataclasses.asdict(self.options))
        return self._made[params.fingerprint]._compute(engine, sources)


def _readable(facts: dict[str, Any]) -> dict[str, Any]:
    """With matrices as options name them."""
    texts = {name: [way_text(row) for row in facts[name]] for name in ("cts_matrices", "stc_matrices")}
    return facts | texts


def _bootstrapper(params: Params, options: dict[str, Any]) -> Bootstrapper:
    """What a pickle calls."""
    return Bootstrapper(params, **options)
