# SPDX-License-Identifier: Apache-2.0
"""The private note that `halocline pir query` leaves beside a query: what it asks for. `decode` reads it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

from ...base.errors import CorruptData, InvalidArgument
from ...base.files import OWNER, read_file, write_file
from ..kept_files import NOTE_SUFFIX

_FORMAT = 1
_LIMIT = 1 << 18


@dataclasses.dataclass(frozen=True)
class Asked:
    """What a query file asks for: a record or a key."""

    index: int | None
    key: str | None


def note_of(query: Path) -> Path:
    """The note of a query file."""
    return query.with_name(query.name + NOTE_SUFFIX)


def write_note(query: Path, queries: list[bytes], asked: Asked) -> Path:
    """Writes the note, readable by its owner only."""
    note = note_of(query)
    about = {"format": _FORMAT, "queries": _digests(queries), "index": asked.index, "key": asked.key}
    write_file(note, (json.dumps(about) + "\n").encode(), OWNER)
    return note


def read_note(query: Path, queries: list[bytes]) -> Asked | None:
    """What the queries of a file ask for; None where there is no note.

    Raises CorruptData for a damaged note, InvalidArgument for the note of other queries.
    """
    note = note_of(query)
    if not note.exists():
        return None
    found = _parsed(note)
    if found["queries"] != _digests(queries):
        raise InvalidArgument(f"pir decode: '{note}' is the note of other queries than '{query}' has")
    return Asked(found["index"], found["key"])


def chosen(noted: Asked | None, given: Asked | None, query: Path) -> Asked:
    """What is decoded: what the note says, and no option contradicts; without a note, what one says."""
    if noted is None:
        if given is None:
            raise InvalidArgument(
                f"pir decode: there is no note '{note_of(query)}'; give the --index or --key of the query, "
                "or --wanted"
            )
        return given
    if given is not None and given != noted:
        raise InvalidArgument(
            f"pir decode: '{query}' asks for something else than --index, --key or --wanted say; leave it out"
        )
    return noted


def _digests(queries: list[bytes]) -> list[str]:
    return [hashlib.blake2b(each, digest_size=16).hexdigest() for each in queries]


def _parsed(note: Path) -> dict[str, Any]:
    data = read_file(note, "pir decode", _LIMIT)
    try:
        found = json.loads(data)
    except ValueError as error:
        raise CorruptData(f"pir decode: '{note}' is no note of a query: {error}") from None
    if not isinstance(found, dict) or set(found) != {"format", "queries", "index", "key"}:
        raise CorruptData(f"pir decode: '{note}' is no note of a query")
    index, key = found["index"], found["key"]
    is_index = isinstance(index, int) and not isinstance(index, bool) and index >= 0 and key is None
    if found["format"] != _FORMAT or not (is_index or (index is None and isinstance(key, str))):
        raise CorruptData(f"pir decode: '{note}' has format {found['format']!r} or asks for nothing")
    return found
