# SPDX-License-Identifier: Apache-2.0
"""The graph of a program, recorded on a ghost engine that never runs out of levels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.errors import InvalidArgument, WrongType
from ..base.values import expect, kind_of
from ..circuits.choice import CircuitChoice
from ..ckks.params import Params
from .automatic_runs import record
from .engine import Engine
from .program import shape_call
from .program_graph import ProgramGraph


def record_graph(
    params: Params,
    program: Callable[..., Any],
    *args: Any,
    circuits: CircuitChoice | None = None,
    bootstrap: Any = "auto",
    leave_out_bootstraps: bool = False,
) -> ProgramGraph:
    """What `program(*args)` does, as a graph: one node for each ciphertext, with the levels that it costs.

    The program is called on a ghost engine that bootstraps wherever levels are missing, so it never lacks
    any; these bootstraps are not part of the graph. Loops appear unrolled. `place` finds where bootstraps
    belong.

    params: parameters that can be bootstrapped. args: as for `trace_program`. circuits: as for `Engine`.
    bootstrap: "auto" or fields of `BootstrapOptions`: they decide which levels there are.
    leave_out_bootstraps: bootstraps of the program itself are left out too, and noted in `by_hand`;
        otherwise each is a node with a fixed level.

    Raises LevelExhausted where one operation costs more levels than a bootstrap gives; InvalidArgument for
    parameters that cannot be bootstrapped and programs that loop until levels run out, which never ends.
    """
    expect(params, Params, "record_graph")
    if not callable(program):
        raise WrongType(f"record_graph: got {kind_of(program)}, expected a function of ciphertexts")
    engine = Engine(params, device="ghost", circuits=circuits, bootstrap=bootstrap)
    if engine._automatic is None:
        raise InvalidArgument(
            'record_graph: bootstrap is None; expected "auto" or fields of BootstrapOptions'
        )
    engine._automatic.refresher.leaves_out_bootstraps = bool(leave_out_bootstraps)
    return record(engine, program, (tuple(shape_call(program, args, engine)), {}))
