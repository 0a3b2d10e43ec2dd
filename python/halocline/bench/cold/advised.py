# SPDX-License-Identifier: Apache-2.0
"""What the adviser chooses for a bootstrap whose keys are cold, with the speeds that were measured."""

from __future__ import annotations

import dataclasses

from ...base.names import Device
from ...base.values import byte_count
from ...ckks.params import Params
from ...engine.advice import Advice, advise_subject
from ...engine.engine import Engine
from ...tracing.links import Link
from ...tracing.replay import device_model, replay
from ...workloads.advice import workload_subject
from ...workloads.bootstrap.messages import make_bootstrapper

MODEL = "h200"
"""Device model whose times of operations are scaled to what was measured."""
_LATENCY = 10e-6


@dataclasses.dataclass(frozen=True)
class Speeds:
    """What was measured on the device."""

    warm_seconds: float
    """A bootstrap with default options and resident keys."""
    link_bytes_per_second: float
    """From pinned memory."""
    requests: int


def kernel_scale(params: Params, speeds: Speeds) -> float:
    """Factor on the times of the device model with which a bootstrap takes as long as it did.

    The second call counts, as in what was measured: the first one makes keys and encodes weights too.
    """
    bootstrapper = make_bootstrapper(params, {})
    engine = Engine(params, device="ghost")
    ct = engine.ghost_input(level=bootstrapper.input_level, slots=bootstrapper.slots, real=False)
    bootstrapper(ct)
    with engine.record() as trace:
        bootstrapper(ct)
    return speeds.warm_seconds / replay(trace, MODEL, "resident").compute_seconds


def advised(params: Params, speeds: Speeds, room: str, device: Device) -> tuple[Advice, float]:
    """The adviser's table for a bootstrap whose weights are there, and the scale that it used."""
    scale = kernel_scale(params, speeds)
    link = Link("pinned", speeds.link_bytes_per_second, _LATENCY, speeds.requests, "measured")
    model = device_model(MODEL)
    memory = min(byte_count(room, "room"), model.usable_bytes)
    subject = workload_subject("bootstrap", params)
    found = advise_subject(
        subject, memory, link, model, kernel_scale=scale, runs_on=device, only_keys_cold=True
    )
    return found, scale
