# SPDX-License-Identifier: Apache-2.0
"""Products and statistics of encrypted arrays on one device: times, levels, keys, errors.

Each program runs once to encode its weights, then some more times; the median of these counts, and the
processor time of the process beside it, because other programs may run on the machine.
"""

from __future__ import annotations

import dataclasses
import operator
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..arrays.array import EncryptedArray
from ..arrays.client import Client
from ..arrays.statistics import corrcoef
from ..base.errors import InvalidArgument
from ..base.names import device_name
from ..base.option_values import Count, Flag, Value
from ..base.options import Options, option
from ..ckks.named_params import named_params
from ..ckks.params import Params
from ..engine.engine import Engine
from .keeping import SILENT, Json, Watcher

SCHEMA = 1
_VARIANCES = (0.15, 0.75)
_PRODUCT_LEVELS = 3
_CORRELATION_LEVELS = 10

Array = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class ArrayOptions(Options):
    """Products and statistics of encrypted arrays."""

    subject: ClassVar[str] = "bench arrays"

    params: str = option("n15-d14", "Parameters: a preset, or a file.", Value("PRESET|FILE"))
    device: str = option(
        "cpu", "Where to compute: cpu, cuda:0, ... (`halocline info` lists them).", Value("DEVICE")
    )
    size: int = option(64, "Rows and columns of the matrices.", Count(1, 1024))
    samples: int = option(256, "Samples of each variable for correlations.", Count(2, 1 << 16))
    variables: int = option(16, "Variables for correlations.", Count(1, 256))
    repetitions: int = option(5, "Timed runs of each program.", Count())
    threads: int | None = option(None, "Worker threads; all processors by default.", Count(1, 1024))
    seed: int = option(0, "Seed of the numbers.", Count(0, metavar="SEED"))
    allow_insecure: bool = option(False, "Accept parameters below 128 bits of security (tests only).", Flag())


@dataclasses.dataclass(frozen=True)
class _Case:
    """A program, its arguments, the level at which they are encrypted, and the result in the clear."""

    name: str
    program: Callable[..., EncryptedArray]
    arguments: tuple[Array, ...]
    level: int
    wanted: Array


def run(options: ArrayOptions | None = None, watcher: Watcher = SILENT) -> Json:
    """The suite with its options, as `--json` writes it."""
    o = options or ArrayOptions()
    params = named_params(o.params, o.allow_insecure)
    cases = list(_cases(o, params))
    content: Json = {"schema": SCHEMA, "suite": "arrays", "device": o.device, "params": params.name}
    content |= {"threads": o.threads, "repetitions": o.repetitions, "seed": o.seed, "rows": []}
    client = Client(params, threads=o.threads)
    for done, case in enumerate(cases):
        watcher.progress(case.name, done, len(cases))
        content["rows"].append(_measured(case, client, o))
        watcher.row(case.name, content, done + 1, len(cases))
    return content


def _cases(o: ArrayOptions, params: Params) -> Iterator[_Case]:
    rng = np.random.default_rng(o.seed)
    x, y = rng.uniform(-1, 1, (2, o.size, o.size))
    top = params.max_level
    if top < _PRODUCT_LEVELS:
        raise InvalidArgument(
            f"bench arrays: parameters '{params.name}' have {top} levels; products take {_PRODUCT_LEVELS}"
        )
    shape = f"{o.size} x {o.size} x {o.size}"
    for level in dict.fromkeys((_PRODUCT_LEVELS, top)):
        yield _Case(f"{shape}, both encrypted", operator.matmul, (x, y), level, x @ y)
    yield _Case(f"{shape}, one plain", lambda x: x @ y, (x,), 1, x @ y)
    if top >= _CORRELATION_LEVELS:
        samples = rng.uniform(-1, 1, (o.samples, o.variables))
        samples *= np.sqrt(0.4 / samples.var(axis=0))
        yield _Case(
            f"correlations of {o.samples} x {o.variables}",
            lambda x: corrcoef(x, rowvar=False, variances=_VARIANCES),
            (samples,),
            _CORRELATION_LEVELS,
            np.corrcoef(samples, rowvar=False).astype(np.float64),
        )


def _measured(case: _Case, client: Client, o: ArrayOptions) -> dict[str, Any]:
    arrays = [client.encrypt_array(each, level=case.level) for each in case.arguments]
    keys = client.keys_for(case.program, *arrays)
    engine = Engine(client.params, keys, device=device_name(o.device), threads=o.threads)
    bound = [each.to(engine) for each in arrays]
    first, _, made = _timed(engine, case, bound)
    runs = [_timed(engine, case, bound)[:2] for _ in range(o.repetitions)]
    error = float(np.abs(client.decrypt(made) - case.wanted).max())
    return {
        "program": case.name,
        "level_in": case.level,
        "level_out": made.level,
        "seconds": statistics.median(wall for wall, _ in runs),
        "least_seconds": min(wall for wall, _ in runs),
        "processor_seconds": statistics.median(cpu for _, cpu in runs),
        "first_seconds": first,
        "keys": len(keys),
        "key_bytes": keys.nbytes,
        "peak_bytes": engine.stats()["peak_bytes"],
        "error": error,
    }


def _timed(engine: Engine, case: _Case, arrays: list[EncryptedArray]) -> tuple[float, float, EncryptedArray]:
    """(seconds, processor seconds of this process, result) of one run."""
    wall, cpu = time.perf_counter(), time.process_time()
    made = engine.run(case.program, *arrays)  # returns when the device has finished
    return time.perf_counter() - wall, time.process_time() - cpu, made
