# SPDX-License-Identifier: Apache-2.0
"""Workloads as programs that advice is wanted for, and the options of `halocline run` for a variant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.errors import InvalidArgument
from ..ckks.params import Params
from ..engine.advice import Subject, Variant
from ..engine.engine import Engine
from .bootstrap.messages import make_bootstrapper
from .digits.circuit import DigitsCircuit
from .ghost_traces import PROGRAMS
from .wide_rotations.circuit import WideRotations

ADVISED = ("digits", "wide-rotations", "bootstrap", *PROGRAMS)
"""Workloads that advice is given for."""
_BATCHED = ("wide-rotations", "bootstrap")
_BOOTSTRAPPING = ("bootstrap", *PROGRAMS)
_SEEDED = ("bootstrap", "resnet20")


def workload_subject(name: str, params: Params, batches: Sequence[int] = ()) -> Subject:
    """A workload: what its engine evaluates for one input, or for `variant.batch` where it takes several.

    Linear maps stay as the workload has them: its command has no options for them.

    Raises InvalidArgument for workloads not in ADVISED, and for batches of those that take one input.
    """
    if name not in ADVISED:
        raise InvalidArgument(f"advise: no advice for '{name}'; expected one of: {', '.join(ADVISED)}")
    if batches and name not in _BATCHED:
        raise InvalidArgument(
            f"advise: {name} takes one input at a time; batches are for {' and '.join(_BATCHED)}"
        )
    return Subject(params, _preparing(name, params), batches, maps=False)


def _preparing(name: str, params: Params) -> Callable[[Engine, Variant], Callable[[], Any]]:
    if name in PROGRAMS:
        one = PROGRAMS[name](params)
        return lambda engine, variant: one(engine)
    if name == "bootstrap":
        bootstrapper = make_bootstrapper(params, {})

        def several(engine: Engine, variant: Variant) -> Callable[[], Any]:
            level, slots = bootstrapper.input_level, bootstrapper.slots
            inputs = [engine.ghost_input(level=level, slots=slots, real=False) for _ in range(variant.batch)]
            return lambda: bootstrapper(inputs)

        return several
    program: Any = DigitsCircuit(slots=params.slots)
    if name == "wide-rotations":
        program = WideRotations(slots=params.slots).program

    def all_slots(engine: Engine, variant: Variant) -> Callable[[], Any]:
        inputs = [engine.ghost_input() for _ in range(variant.batch)]
        return lambda: program(*inputs)

    return all_slots


def run_options(name: str, variant: Variant) -> str | None:
    """Options of `halocline run NAME` for a variant; None where the command cannot do all of it.

    Prefixes, regeneration and compositions are chosen by each run anyway.
    """
    said = variant.circuits.bootstrap_settings
    others = (variant.circuits.mode, variant.circuits.baby_count, variant.circuits.compact)
    if any(each is not None for each in others) or (said and name not in _BOOTSTRAPPING):
        return None
    if variant.seeds == "kept" and name not in _SEEDED:
        return None
    parts = [f"--set {key}={str(value).lower()}" for key, value in said.items()]
    parts += ["--seeded"] * (variant.seeds == "kept")
    parts += [f"--batches {variant.batch}"] * (name in _BATCHED)
    return " ".join(parts)
