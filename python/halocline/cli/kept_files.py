# SPDX-License-Identifier: Apache-2.0
"""What no command overwrites: secrets, and files that the same command reads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .. import _core
from ..base import limits
from ..base.errors import Error, InvalidArgument
from ..base.files import NO_LIMIT, is_standard, read_file

CONTAINER = b"\x89HLC"
"""How containers begin."""
MESSAGE = b"HALOPIR"
"""How messages, keys and secrets of private retrieval begin."""


def secret_in(path: Path) -> str | None:
    """Which secret an existing file is; None for other files, and for damaged ones."""
    if not path.is_file():
        return None
    try:
        start = read_file(path, "output", NO_LIMIT, len(MESSAGE))
        if start.startswith(CONTAINER):
            return "a secret key" if _core.inspect_file(str(path))["kind"] == "secret key" else None
        if start == MESSAGE and path.stat().st_size <= limits.RETRIEVAL_MESSAGES:
            found = _core.retrieval_message(read_file(path, "output", limits.RETRIEVAL_MESSAGES))
            return "the secret of a client" if found["kind"] == "retrieval secret" else None
    except Error:
        return None
    return None


def expect_no_secret(path: Path) -> None:
    """Raises InvalidArgument where an output would replace a secret."""
    kind = secret_in(path)
    if kind is not None:
        raise InvalidArgument(
            f"the output '{path}' is {kind}, without which nothing can be decrypted; name another file, "
            "or remove it first"
        )


def expect_no_input(path: Path, inputs: Iterable[Path]) -> None:
    """Raises InvalidArgument where an output is a file that the same command reads."""
    if is_standard(path) or not path.is_file():
        return
    for each in inputs:
        if not is_standard(each) and each.is_file() and each.samefile(path):
            raise InvalidArgument(f"the output '{path}' is also an input; name another file")
