# SPDX-License-Identifier: Apache-2.0
"""Checks of what `halocline pir` writes, before the work: no input, secret or database is overwritten."""

from __future__ import annotations

from pathlib import Path

from ...base.errors import InvalidArgument
from ...base.files import is_standard
from ..common import expect_writable
from ..kept_files import DATABASE, is_same, kind_of_kept

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
        expect_writable(path)  # refuses secrets
        others = [(other, at) for other, at in files.items() if other != name]
        others += [(option, at) for option, paths in inputs.items() for at in paths]
        for option, at in others:
            if not is_standard(at) and is_same(path, at):
                raise InvalidArgument(
                    f"{command}: {name} and {option} are both '{path}'; name another file for {name}"
                )
        kind = None if name == NOTE else kind_of_kept(path)
        if kind is not None and not (kind == DATABASE and replaces_database and name == "--out"):
            raise InvalidArgument(
                f"{command}: {name} would replace '{path}', which is {kind}; "
                "name another file, or remove it first"
            )
