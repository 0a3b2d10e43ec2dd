# SPDX-License-Identifier: Apache-2.0
"""What commands do not overwrite: secrets, what takes long to make again, and files that they read."""

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
RECORDS = b"\x89HLR"
"""How databases of private retrieval begin."""
NOTE_SUFFIX = ".asked"
"""How names of notes of queries end."""

SECRET_KEY, CLIENT_SECRET = "a secret key", "the secret of a client"
DATABASE, NOTE, SERVER_KEYS = "a database", "the note of a query", "server keys of a client"
SECRETS = (SECRET_KEY, CLIENT_SECRET)


def kind_of_kept(path: Path) -> str | None:
    """Which of the five an existing file is; None for other files, and for damaged ones."""
    if not path.is_file():
        return None
    if path.name.endswith(NOTE_SUFFIX):
        return NOTE
    try:
        start = read_file(path, "output", NO_LIMIT, len(MESSAGE))
        if start.startswith(RECORDS):
            return DATABASE
        if start.startswith(CONTAINER):
            return SECRET_KEY if _core.inspect_file(str(path))["kind"] == "secret key" else None
        if start == MESSAGE and path.stat().st_size <= limits.RETRIEVAL_MESSAGES:
            found = _core.retrieval_message(read_file(path, "output", limits.RETRIEVAL_MESSAGES))
            return {"retrieval secret": CLIENT_SECRET, "retrieval keys": SERVER_KEYS}.get(found["kind"])
    except Error:
        return None
    return None


def is_same(first: Path, second: Path) -> bool:
    """Whether two names are of one file, there or not."""
    if first.exists() and second.exists():
        return first.samefile(second)
    return first.resolve() == second.resolve()


def expect_no_secret(path: Path) -> None:
    """Raises InvalidArgument where an output would replace a secret."""
    kind = kind_of_kept(path)
    if kind in SECRETS:
        raise InvalidArgument(
            f"the output '{path}' is {kind}, without which nothing can be decrypted; name another file, "
            "or remove it first"
        )


def expect_no_input(path: Path, inputs: Iterable[Path]) -> None:
    """Raises InvalidArgument where an output is a file that the same command reads."""
    if is_standard(path) or not path.is_file():
        return
    for each in inputs:
        if not is_standard(each) and each.is_file() and is_same(each, path):
            raise InvalidArgument(f"the output '{path}' is also an input; name another file")
