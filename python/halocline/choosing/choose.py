# SPDX-License-Identifier: Apache-2.0
"""The smallest secure parameters for a program."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..base.errors import Error, InvalidArgument, LevelExhausted, WrongType
from ..base.values import expect_call, kind_of, power_of_two
from ..ckks.params import Params
from ..tracing.replay import DeviceModel
from .candidates import LOG_N, MOST_DEPTH, Wanted, probe_params, secure_params, secure_presets
from .choice import Choice
from .evaluation import ROWS, Evaluation, TimeModel, evaluate, forecasts, least_bits
from .programs import Inputs, arguments_of, is_array, replaced, run_simulated

PROBE_DEPTHS = (24, 60, MOST_DEPTH)
"""Levels that a program is given to find how many it takes."""
ROOM_MARGIN = 1.0
"""Bits by which values may exceed those of the inputs given."""
LEAST_SCALE = 24.0
"""Bits; smaller scales leave no precision at any ring degree."""
ATTEMPTS = 3
"""Scales that are tried for one ring degree, and bounds of messages for one preset."""
BOOTSTRAPPED_LOG_N = 16
"""From this ring on, parameters with bootstraps are tried besides such without them."""
MOST_SCALE = 60.0
"""Bits that a scale may have."""
PRESETS_OF_RING = 2
"""With levels for bootstrapping, that are compared."""
BOOTSTRAPPED_RINGS = 2
"""Of which presets are compared."""
BOOTSTRAPS_BITS = 8
"""Each automatic bootstrap may fail with a probability so many bits below that of all of them."""


@dataclasses.dataclass(frozen=True)
class Needs:
    """What a program takes, found with more levels than it needs."""

    log_n: int
    """Of the ring that it was found with."""
    depth: int
    room_bits: float
    """log2 of the modulus of level 0 over the scale."""
    scale_bits: float
    """At that ring degree, for the precision that is wanted."""


def choose(
    program: Callable[..., Any],
    inputs: Inputs,
    precision: float = 20.0,
    failure: float = 2.0**-40,
    device: str | DeviceModel = "cpu",
    *,
    arrays: bool = False,
    seed: int = 0,
) -> Choice:
    """The smallest secure parameters under which `program` gives results of the wanted precision.

    The program is run on numbers with more levels than it needs (`simulate`), which shows how many it takes,
    how large its values become and how its errors grow. From this follow ring degree, number and size of
    primes; each candidate is then simulated itself, and executed on a ghost for keys, bytes, memory and time.

    inputs, arrays: typical ones, as for `simulate`: the forecast is for values of this size.
    precision: bits: the error of each slot of each result is below 2^-precision, the noise of encryption that
        is. Approximations, such as polynomials in place of functions, are part of the program.
    failure: probability with which an error may exceed its forecast, if errors are Gaussian, and with which
        one of the bootstraps of a run may fail.
    device: for the forecast of time: "cpu" (one core), "cuda:0" (an H200), or the name or file of a device
        model, or one.

    `choice.params` are the parameters; `print(choice)` shows the forecast and the alternatives.

    Raises InvalidArgument where no secure parameters do it, and says why; LevelExhausted where the program
    takes more levels than any parameters have; what the program raises.
    """
    if not callable(program):
        raise WrongType(f"choose: got {kind_of(program)}, expected a function of ciphertexts or arrays")
    expect_call(program, *arguments_of(inputs), "choose")
    wanted = least_bits(precision, "choose: precision")
    if not (isinstance(failure, int | float) and 0 < failure < 1):
        raise InvalidArgument(f"choose: failure: got {failure!r}, expected a probability between 0 and 1")
    model = TimeModel.of(device)
    search = _Search(program, inputs, wanted, float(failure), model, seed, bool(arrays))
    found = search.all()
    good = [each for each in found if not each.problem]
    if not good:
        raise InvalidArgument(search.refusal(found))
    return Choice(tuple(sorted(found, key=_rank)), wanted, float(failure), model.name)


def _rank(found: Evaluation) -> tuple[bool, bool, int, float]:
    """Such as meet the wishes first, then without bootstraps, small rings, short times.

    Presets come before others that save less than a tenth. With bootstraps, which may be fewer in a larger
    ring, only the time counts.
    """
    preset = found.params in _presets()
    ring = 0 if found.bootstraps else found.params.log_n
    return bool(found.problem), found.bootstraps > 0, ring, found.seconds * (0.9 if preset else 1.0)


def _presets() -> tuple[Params, ...]:
    return secure_presets(False) + secure_presets(True)


def _some_of_each_ring(presets: Sequence[Params]) -> Iterator[Params]:
    """The smallest ones."""
    for log_n in sorted({each.log_n for each in presets}):
        yield from [each for each in presets if each.log_n == log_n][:PRESETS_OF_RING]


class _Search:
    """The candidates of one program."""

    def __init__(
        self,
        program: Callable[..., Any],
        inputs: Inputs,
        precision: float,
        failure: float,
        model: TimeModel,
        seed: int,
        arrays: bool,
    ) -> None:
        self.program, self.inputs, self.model = program, inputs, model
        self.how: dict[str, Any] = {"seed": seed, "arrays": arrays}
        self.precision, self.failure = precision, failure
        self.refused: list[str] = []

    def all(self) -> list[Evaluation]:
        """Evaluations of all candidates that the program runs under."""
        needs = self.needs()
        found = [] if needs is None else list(self.plain(needs))
        smallest = min((each.params.log_n for each in found if not each.problem), default=LOG_N[-1])
        if smallest >= BOOTSTRAPPED_LOG_N and (needs is None or needs.scale_bits <= MOST_SCALE):
            found += self.bootstrapped(smallest)
        return found

    def needs(self) -> Needs | None:
        """What the program takes; None where it bootstraps itself or takes more levels than there are."""
        log_n = self.least_ring()
        for depth in PROBE_DEPTHS:
            try:
                made = run_simulated(
                    self.program, self.inputs, probe_params(log_n, depth), rows=ROWS, **self.how
                )
            except LevelExhausted as error:
                self.refused.append(f"without bootstraps: {error}")
                continue
            except InvalidArgument as error:
                if "bootstrap" not in str(error):
                    raise
                self.refused.append(str(error))
                return None
            core = made.engine.simulated
            outputs = forecasts(made, self.failure)
            if not outputs:
                raise InvalidArgument(
                    f"choose: the program returns {kind_of(made.result)} and nothing encrypted, so there is "
                    "nothing to be precise; return what is computed from its inputs: ciphertexts, encrypted "
                    "arrays, or lists of them"
                )
            worst = max((each.error for each in outputs), default=0.0)
            probed = math.log2(made.engine.params.level(0).scale)
            scale = probed + (math.log2(worst) if worst > 0 else -math.inf) + self.precision
            room = core.room_bits() + ROOM_MARGIN
            return Needs(log_n, made.engine.params.max_level - core.lowest, max(room, 1.0), scale)
        return None

    def least_ring(self) -> int:
        """log2 of the smallest ring degree that holds the inputs."""
        largest = 1

        def measure(values: Any) -> Any:
            nonlocal largest
            if not is_array(values, self.how["arrays"]):
                largest = max(largest, power_of_two(max(values.size, 1)))
            return values

        args, named = arguments_of(self.inputs)
        replaced([*args, *named.values()], measure)
        return max(LOG_N[0], largest.bit_length())

    def plain(self, needs: Needs) -> Iterator[Evaluation]:
        """Literals of the two smallest rings that do, and of each ring the preset with enough levels."""
        met = 0
        for log_n in range(max(needs.log_n, LOG_N[0]), LOG_N[-1] + 1):
            found = list(self.of_ring(log_n, needs))
            yield from found
            met += any(not each.problem for each in found)
            if met == 2:
                break
        for ring in range(needs.log_n, log_n + 1):
            deep = [each for each in secure_presets(False) if each.max_level >= needs.depth]
            fitting = [each for each in deep if each.log_n == ring]
            if fitting:
                yield from self.evaluated(min(fitting, key=lambda each: (each.max_level, each.log2_pq)))

    def of_ring(self, log_n: int, needs: Needs) -> Iterator[Evaluation]:
        """Candidates of one ring degree, with a larger scale where the first has too little precision."""
        # Noise of a division grows with the square root of N^2 where all slots are in use.
        scale = max(needs.scale_bits + 0.5 * (log_n - needs.log_n), LEAST_SCALE)
        for _ in range(ATTEMPTS):
            wanted = Wanted(needs.depth, math.ceil(4.0 * scale) / 4.0, needs.room_bits)
            found = [each for params in secure_params(log_n, wanted) for each in self.evaluated(params)]
            yield from found
            best = max((each.precision for each in found), default=math.inf)
            if best >= self.precision:
                return
            scale = math.log2(found[0].params.level(0).scale) + self.precision - best + 0.25

    def bootstrapped(self, most_log_n: int) -> Iterator[Evaluation]:
        """Presets with levels for bootstrapping in rings up to a size, until those of two rings do.

        Bootstraps are placed by the engine, besides those of the program itself.
        """
        failure = math.floor(math.log2(self.failure)) - BOOTSTRAPS_BITS
        met: set[int] = set()
        for params in _some_of_each_ring(secure_presets(True)):
            if params.log_n > most_log_n or (len(met) == BOOTSTRAPPED_RINGS and params.log_n not in met):
                return
            bound = 1.0
            for _ in range(ATTEMPTS):
                found = list(self.evaluated(params, {"log2_failure": failure, "message_bound": bound}))
                if not found or found[0].largest_message <= bound:
                    break
                bound = 2.0 ** math.ceil(math.log2(found[0].largest_message))
            yield from found
            met |= {each.params.log_n for each in found if not each.problem}

    def evaluated(self, params: Params, bootstrap: dict[str, float] | None = None) -> Iterator[Evaluation]:
        """The evaluation under parameters; nothing where the program does not run."""
        how = self.how | {"bootstrap": bootstrap}
        try:
            made = evaluate(self.program, self.inputs, params, self.model, failure=self.failure, **how)
        except Error as error:
            self.refused.append(f"{params.name}: {error}")
            return
        if not made.problem and made.precision < self.precision:
            problem = f"{made.precision:.1f} bits, expected {self.precision:g}"
            made = dataclasses.replace(made, problem=problem)
        yield made

    def refusal(self, found: list[Evaluation]) -> str:
        """Why no parameters do."""
        text = "choose: no secure parameters give results of "
        text += f"{self.precision:g} bits with failure probability 2^{math.log2(self.failure):.0f}"
        reasons = [f"{each.params.name}: {each.problem}" for each in found] + self.refused
        return (
            text
            + ("; " + "; ".join(reasons[:4]) if reasons else "")
            + (". Ask for less precision, take a program of fewer levels, or scale its values down")
        )
