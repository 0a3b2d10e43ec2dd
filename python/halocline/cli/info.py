# SPDX-License-Identifier: Apache-2.0
"""`halocline info`: devices, instruction set, memory tiers and how fast they are; or what files are."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from .. import _core
from ..base.devices import available_devices, sycl_problem
from ..base.names import device_name
from ..ckks.params import Params
from ..engine.engine import Engine
from .common import JsonOption, command, origin, results_console, size, write_json
from .pir.describe import describe, is_retrieval, print_found

FilesArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[FILE]...", help="Files to describe, instead of the machine.", show_default=False
    ),
]

_COPY_BYTES = 64 << 20
_COPY_ROUNDS = 3


def _copy_speed() -> float:
    """Bytes per second of one thread copying DRAM, the best of a few rounds."""
    source = np.ones(_COPY_BYTES, dtype=np.uint8)
    target = np.empty_like(source)
    best = float("inf")
    for _ in range(_COPY_ROUNDS):
        begin = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - begin)
    return _COPY_BYTES / best


def _devices() -> list[dict[str, Any]]:
    """The description of each device of this build."""
    smallest = Params.preset("n13-d3")
    devices = []
    for name in available_devices():
        found = {"name": name} | Engine(smallest, device=device_name(name)).describe()
        report = _core.report_device(name, True)
        devices.append(found if report is None else found | {"report": report})
    return devices


def _cuda_version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _gpu_table(devices: list[dict[str, Any]]) -> Table | None:
    """Versions, memory and links of the GPUs, if there are any."""
    gpus = [each for each in devices if "report" in each]
    if not gpus:
        return None
    columns = ("free memory", "shared cache", "driver, runtime", "to device", "from device", "within")
    table = Table("device", "model", *columns, title="GPUs, and how fast pinned memory is copied")
    for each in gpus:
        r = each["report"]
        speeds = (r[f"{way}_device_per_second"] for way in ("to", "from", "within"))
        table.add_row(
            each["name"],
            f"{r['model']}, sm_{r['architecture']}",
            f"{size(r['free_bytes'])} of {size(r['total_bytes'])}",
            size(r["cache_bytes"]),
            f"{_cuda_version(r['driver_version'])}, {_cuda_version(r['runtime_version'])}",
            *(f"{speed / 1e9:.1f} GB/s" for speed in speeds),
        )
    return table


def _tiers() -> list[dict[str, Any]]:
    pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    speed = _copy_speed()
    dram = {
        "name": "host",
        "description": "DRAM, one thread copying",
        "bytes": pages * page,
        "read_bytes_per_second": speed,
        "write_bytes_per_second": speed,
    }
    file = {"name": "file"} | _core.measure_file_tier("")
    return [dram, file]


def _describe_file(path: Path) -> dict[str, Any]:
    """Header and metadata of a file; its contents are not checked."""
    return {"file": str(path)} | _core.inspect_file(str(path))


def _file_line(about: dict[str, Any]) -> str:
    parts = [about["kind"], size(about["bytes"]), f"format version {about['version']}"]
    parts += [f"parameters {about['parameters']}"]
    if about["kind"] in ("ciphertext", "plaintext"):
        parts += [f"{about['slots']} slots, level {about['level']}"]
    if about["kind"] not in ("parameters", "plaintext"):
        parts += [f"key {about['key_id'] or 'unknown'}"]
    return f"{about['file']}: {', '.join(parts)}"


def _file(path: Path, console: Console) -> dict[str, Any]:
    """Prints what a file is."""
    if is_retrieval(path):
        found, _ = describe(path, allow_insecure=True)  # it is shown, and nothing else
        print_found(console, found)
        return found
    row = _describe_file(path)
    console.print(_file_line(row), markup=False, soft_wrap=True)
    return row


@command
def info(files: FilesArgument = None, json: JsonOption = None) -> None:
    """Show devices, SIMD level, memory tiers and how fast they are now; or what FILEs are."""
    if files:
        rows = [_file(path, results_console(json)) for path in files]
        write_json(json, origin() | {"files": rows})
        return
    devices, tiers = _devices(), _tiers()
    console = results_console(json)
    console.print(f"halocline {_core.version} ({_core.commit}), policies: {', '.join(_core.policy_names())}")
    table = Table("device", "description", "SIMD", "threads", "memory", title="Devices")
    for each in devices:
        memory = size(each["memory_bytes"]) if each["memory_bytes"] else "-"
        table.add_row(each["name"], each["device"], each["simd"] or "-", str(each["threads"]), memory)
    console.print(table)
    problem = sycl_problem()
    if problem:
        console.print(f"SYCL cannot be used here: {problem}", markup=False, soft_wrap=True)
    gpus = _gpu_table(devices)
    if gpus is not None:
        console.print(gpus)
    table = Table("tier", "what", "size", "read", "write", title="Tiers")
    for each in tiers:
        speeds = (f"{each[f'{way}_bytes_per_second'] / 1e9:.2f} GB/s" for way in ("read", "write"))
        table.add_row(
            each["name"], each["description"], size(each["bytes"]) if "bytes" in each else "-", *speeds
        )
    console.print(table)
    policies = {"policies": _core.policy_names()}
    write_json(json, origin() | policies | {"devices": devices, "tiers": tiers})
