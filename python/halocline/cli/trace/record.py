# SPDX-License-Identifier: Apache-2.0
"""Traces of workloads and programs on the ghost device, for `halocline trace record`.

Modules of workloads load numpy, scikit-learn and data, so each is imported when it is needed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...ckks.params import Params
from ...engine.program import trace_program
from ...memory.trace import Trace
from ..files import program_of
from ..script import script_errors


def ghost_trace(
    several: list[Params], workload: str | None, expr: str | None, script: Path | None, function: str
) -> Trace:
    """What a workload or program would do; programs, to fresh ciphertexts of all slots."""
    params = several[0]
    if workload is None:
        program, names = program_of(expr, script, function)
        with script_errors(script):
            return trace_program(params, program, *(np.zeros(params.slots) for _ in names)).trace
    if workload in ("bootstrap", "bm-bootstrap"):
        return _bootstraps(several, workload)
    if workload == "wide-rotations":
        from ...workloads.wide_rotations.circuit import WideRotations

        network = WideRotations(slots=params.slots)
        inputs = (np.zeros(params.slots) for _ in network.inputs())
        return trace_program(params, network.program, *inputs).trace
    if workload == "digits":
        from ...workloads.digits.circuit import DigitsCircuit

        return trace_program(params, DigitsCircuit(slots=params.slots), np.zeros(params.slots)).trace
    from ...workloads.ghost_traces import TRACES

    return TRACES[workload](params)


def _bootstraps(several: list[Params], workload: str) -> Trace:
    from ...papers.hybrid.bootstrap import Stage, joined_trace
    from ...papers.hybrid.kinds import KINDS

    kinds = list(KINDS) if workload == "bm-bootstrap" else ["full"]
    stages = [Stage(each, kinds, {}) for each in several]
    traces = [stage.rehearse(record=True).trace for stage in stages]
    return joined_trace(stages, [each for each in traces if each is not None])
