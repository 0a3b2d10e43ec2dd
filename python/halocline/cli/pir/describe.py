# SPDX-License-Identifier: Apache-2.0
"""`halocline pir info`: what files of private retrieval are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ... import _core
from ...base import limits
from ...base.files import NO_LIMIT, is_standard, read_file
from ...base.progress import Progress
from ...pir import DatabaseInfo
from ..common import size
from ..kept_files import MESSAGE, RECORDS
from .common import open_database

_DESCRIPTION = b'{\n "format": "halocline retrieval database"'

Found = tuple[dict[str, Any], DatabaseInfo | None]


def is_retrieval(path: Path) -> bool:
    """Whether a file is one of private retrieval, by how it begins. Raises IoError."""
    start = read_file(path, "info", NO_LIMIT, len(_DESCRIPTION))
    return start.startswith((RECORDS, MESSAGE)) or start == _DESCRIPTION


def describe(path: Path, allow_insecure: bool, verify: Progress | None = None) -> Found:
    """What a file is, for JSON, and the public description that it is or has.

    verify: compares all checksums, and is called with what is done. Raises CorruptData.
    """
    if is_standard(path):
        info = DatabaseInfo.load(path, allow_insecure=allow_insecure)
        return {"file": "-", "kind": "description"} | info.describe(), info
    start = read_file(path, "pir info", NO_LIMIT, len(MESSAGE))
    if start.startswith(RECORDS):
        opened = open_database(path, allow_insecure)
        if verify is not None:
            opened.verify(verify)
        about = {"file": str(path), "kind": "database", "file_bytes": path.stat().st_size}
        return about | _verified(verify) | opened.info.describe(), opened.info
    if start == MESSAGE:
        data = read_file(path, "pir info", limits.RETRIEVAL_MESSAGES)
        return {"file": str(path)} | _message(data, verify is not None) | _verified(verify), None
    info = DatabaseInfo.load(path, allow_insecure=allow_insecure)
    return {"file": str(path), "kind": "description"} | info.describe(), info


def _verified(verify: Progress | None) -> dict[str, Any]:
    return {} if verify is None else {"verified": True}


def _message(data: bytes, every: bool) -> dict[str, Any]:
    """Of a file of messages: of the first one, whose length the header does not tell; `every` reads all."""
    starts = [at for at in _places(data) if at]
    found = _core.retrieval_message(data[: starts[0]] if starts else data)
    if every:
        for start, end in zip([0, *starts], [*starts, len(data)], strict=True):
            _core.retrieval_message(data[start:end])
    about = {"kind": found["kind"], "messages": len(starts) + 1, "file_bytes": len(data)}
    about |= {"client": found["client"].hex()}
    if found["kind"] == "retrieval keys":
        return about | {"key_shape": found["of"].hex(), "expansion_levels": found["levels"]}
    return about | {"scheme" if found["kind"] == "retrieval secret" else "database": found["of"].hex()}


def _places(data: bytes) -> list[int]:
    """Where messages of the same kind begin: at multiples of the distance of the first two."""
    second = data.find(data[:12], 1)
    while second > 0 and (len(data) % second or any(
        data[at : at + 12] != data[:12] for at in range(0, len(data), second)
    )):  # fmt: skip
        second = data.find(data[:12], second + 1)
    return list(range(0, len(data), second)) if second > 0 else [0]


def print_found(console: Console, about: dict[str, Any]) -> None:
    """A table of one file."""
    table = Table("what", "value", title=f"{about['file']}: {about['kind']}", title_justify="left")
    for name, value in _rows(about):
        table.add_row(name, value)
    console.print(table, markup=False)


def _rows(about: dict[str, Any]) -> list[tuple[str, str]]:
    rows = []
    for name, value in about.items():
        if name in ("file", "kind", "security_bits"):  # which "security" has too
            continue
        words = name.removesuffix("_bytes").replace("_", " ")
        if isinstance(value, dict):
            rows += [(f"{words}: {each}", text) for each, text in _rows(value)]
        elif name == "log2_failure" or name == "log2_false_positive":
            chance = "failure probability" if name == "log2_failure" else "false positives"
            rows.append((chance, f"2^{value:.1f}"))
        elif name.endswith("_bytes"):
            rows.append((words, size(value)))
        else:
            rows.append((words, f"{value:.1f}" if isinstance(value, float) else str(value)))
    return rows
