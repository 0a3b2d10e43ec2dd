# SPDX-License-Identifier: Apache-2.0
"""Under which conditions a benchmark measures: rows of runs that differ in them do not belong together."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ... import _core
from ...base.errors import Error, IoError
from ...base.options import Options, described
from ...bench.machine import processor, usable_cores
from ...tracing.replay import device_models

Json = dict[str, Any]

_BLOCK = 1 << 20


def conditions(options: Options) -> Json:
    """Options by their names on the command line, digests of the files that they name, and the computer.

    Raises IoError where a file cannot be read.
    """
    values = {each.flag: getattr(options, each.field) for each in described(type(options))}
    names = sorted({name for value in values.values() for name in _names(value)})
    return {
        "options": {flag: _plain(value) for flag, value in values.items()},
        "inputs": {name: _digest(Path(name)) for name in names if os.path.exists(name)},
        "computer": _computer(str(values.get("--device", "cpu"))),
    }


def difference(there: Json, wanted: Json) -> str:
    """The first condition in which a result differs, in words; empty where there is none."""
    for name, value in wanted.items():
        found = there.get(name)
        if found == value:
            continue
        if not isinstance(found, dict) or not isinstance(value, dict):
            return _worded(name, found, value)
        first = next(each for each in {**value, **found} if found.get(each) != value.get(each))
        said = f"other contents of '{first}':" if name == "inputs" else first
        return _worded(said, found.get(first), value.get(first))
    return ""


def _worded(name: str, found: Any, wanted: Any) -> str:
    return f"{name} {_typed(found):.300} instead of {_typed(wanted):.300}"


def _typed(value: Any) -> str:
    """A value as it is typed."""
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _names(value: Any) -> Iterator[str]:
    """Texts of a value that may name files."""
    if isinstance(value, str | Path):
        yield str(value)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _names(each)


def _plain(value: Any) -> Any:
    """A value as a file can have it."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def _digest(path: Path) -> str:
    """SHA-256 of a file, or of the names and digests of all files in a folder."""
    made = hashlib.sha256()
    try:
        if path.is_dir():
            for each in sorted(path.rglob("*")):
                if each.is_file():
                    made.update(
                        f"{each.relative_to(path)}\0{_digest(each)}\0".encode(errors="surrogateescape")
                    )
        elif path.is_file():  # no pipe, which would be read only once
            with path.open("rb") as file:
                while block := file.read(_BLOCK):
                    made.update(block)
    except OSError as error:
        raise IoError(f"bench: cannot read '{path}' ({error.strerror})") from None
    return made.hexdigest()


def _computer(device: str) -> Json:
    """Processors that this process may use, and the GPU."""
    found: Json = {"processor": processor(), "processors": usable_cores()}
    if device not in device_models():
        with contextlib.suppress(Error):  # no such device: the suite says so
            card = _core.report_device(device, False)
            found |= {name: card[name] for name in ("model", "total_bytes", "driver_version") if card}
    return found
