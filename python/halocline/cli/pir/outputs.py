# SPDX-License-Identifier: Apache-2.0
"""Checks of what `halocline pir` writes, before the work: no input, secret or database is overwritten."""

from __future__ import annotations

from pathlib import Path

from ... import _core
from ...base import limits
from ...base.errors import CorruptData, InvalidArgument
from ...base.files import NO_LIMIT, is_standard, read_file
from ..common import expect_writable
from ..kept_files import MESSAGE
from .asked import SUFFIX
from .describe import RECORDS

NOTE = "its note"
"""The name of the note of a query among outputs: the next query to the same file replaces both."""


def expect_outputs(
    command: str,
    outputs: dict[str, Path | None],
    inputs: dict[str, list[Path]],
    *,
    replaces_database: bool = False,
) -> None:
    """Raises InvalidArgument where an output is an input, another output, or holds what must not be lost.

    outputs, inputs: by the names of their options. Databases may be replaced by databases only.
    """
    files = {name: path for name, path in outputs.items() if path is not None and not is_standard(path)}
    for name, path in files.items():
        expect_writable(path)
        others = [(other, at) for other, at in files.items() if other != name]
        others += [(option, at) for option, paths in inputs.items() for at in paths]
        for option, at in others:
            if not is_standard(at) and _same(path, at):
                raise InvalidArgument(
                    f"{command}: {name} and {option} are both '{path}'; name another file for {name}"
                )
        kind = None if name == NOTE else _kept(path)
        if kind is not None and not (kind == "a database" and replaces_database and name == "--out"):
            raise InvalidArgument(
                f"{command}: {name} would replace '{path}', which is {kind}; "
                "name another file, or remove it first"
            )


def _same(first: Path, second: Path) -> bool:
    if first.exists() and second.exists():
        return first.samefile(second)
    return first.resolve() == second.resolve()


def _kept(path: Path) -> str | None:
    """What an existing file is, if it must not be lost; secrets are refused by `expect_writable`."""
    if not path.is_file():
        return None
    if path.name.endswith(SUFFIX):
        return "the note of a query"
    start = read_file(path, "output", NO_LIMIT, len(MESSAGE))
    if start.startswith(RECORDS):
        return "a database"
    if start != MESSAGE or path.stat().st_size > limits.RETRIEVAL_MESSAGES:
        return None
    try:
        found = _core.retrieval_message(read_file(path, "output", limits.RETRIEVAL_MESSAGES))
    except CorruptData:
        return None
    return "server keys of a client" if found["kind"] == "retrieval keys" else None
