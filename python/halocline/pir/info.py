# SPDX-License-Identifier: Apache-2.0
"""The public description of a database: all that clients need of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import _core
from ..base import limits
from ..base.errors import CorruptData
from ..base.files import check_utf8, parse_json, read_file, write_file
from ..base.values import byte_string, expect
from .layout import describe_geometry, make_geometry
from .params import Params

FORMAT = "halocline retrieval database"
_FIELDS = {"format", "geometry", "table"}


class KeywordTable:
    """How keys and values lie in the records of a keyword database. Immutable."""

    def __init__(self, core: _core.KeywordLayout) -> None:
        self._core = core

    @property
    def queries(self) -> int:
        """Queries of each lookup, whatever the key."""
        return int(self._core.about()["hashes"])

    @property
    def max_value_bytes(self) -> int:
        """Bytes of the longest value that fits."""
        return int(self._core.about()["max_value_bytes"])

    def describe(self) -> dict[str, Any]:
        """hashes, slots and bytes of buckets, false positives."""
        return self._core.about()

    def __eq__(self, other: object) -> bool:
        return self._core == other._core if isinstance(other, KeywordTable) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._core.to_json())


class DatabaseInfo:
    """Parameters, number and length of records, and how they are arranged. Public, and immutable.

    A client trusts what it says of the number of records and nothing more: everything else is checked when it
    is read, security and failure probability too.
    """

    def __init__(self, core: _core.RetrievalGeometry, table: KeywordTable | None = None) -> None:
        self._core, self._table = core, table
        if table is None:
            return
        about = table.describe()
        if (about["buckets"], about["bucket_bytes"]) != (self.records, self.record_bytes):
            raise CorruptData(
                f"database description: a table of {about['buckets']} buckets of {about['bucket_bytes']} "
                f"bytes in a database of {self.records} records of {self.record_bytes}; they must be the same"
            )

    @property
    def params(self) -> Params:
        """Parameters of the scheme."""
        return Params._wrap(self._core.params)

    @property
    def records(self) -> int:
        """Number of records; of a keyword database, of its buckets."""
        return self._core.records

    @property
    def record_bytes(self) -> int:
        """Bytes of each record."""
        return self._core.record_bytes

    @property
    def table(self) -> KeywordTable | None:
        """How keys are looked up; None for a database without keys."""
        return self._table

    @property
    def fingerprint(self) -> str:
        """Hexadecimal name of the description: queries and answers carry it."""
        return self._core.fingerprint.hex()

    @property
    def key_shape(self) -> str:
        """Hexadecimal name of what server keys depend on: they serve other databases with the same one too,
        unless those have a deeper expansion."""
        return self._core.key_shape.hex()

    def describe(self) -> dict[str, Any]:
        """Sizes on the wire in bytes (query, server_keys, answer), security, failure probability, layout.

        `security` says who rates the parameters; `security_bits` is None where published tables do not.
        For a keyword database a lookup is `table["hashes"]` queries.
        """
        about = describe_geometry(self._core)
        return about | ({} if self._table is None else {"table": self._table.describe()})

    def to_json(self) -> str:
        """As text; `from_json` reads it."""
        table = None if self._table is None else json.loads(self._table._core.to_json())
        content = {"format": FORMAT, "geometry": json.loads(self._core.to_json()), "table": table}
        return json.dumps(content, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, *, allow_insecure: bool = False) -> DatabaseInfo:
        """A description from what `to_json` wrote. Checks everything.

        Raises CorruptData, InvalidArgument, InsecureParameters.
        """
        if isinstance(text, bytes | bytearray | memoryview):
            data = byte_string(text, "DatabaseInfo.from_json")
            check_utf8(data, "DatabaseInfo.from_json: the text")
            text = data.decode()
        expect(text, str, "DatabaseInfo.from_json")
        if len(text) > limits.RETRIEVAL_INFO:
            raise CorruptData(f"database description: more than {limits.RETRIEVAL_INFO} characters")
        content = parse_json(text, "database description")
        if not isinstance(content, dict) or set(content) != _FIELDS or content["format"] != FORMAT:
            raise CorruptData("database description: the text is none; expected what DatabaseInfo.save wrote")
        geometry = _core.RetrievalGeometry.from_json(_compact(content["geometry"]), bool(allow_insecure))
        if content["table"] is None:
            return cls(geometry)
        return cls(geometry, KeywordTable(_core.KeywordLayout.from_json(_compact(content["table"]))))

    def save(self, path: str | Path) -> None:
        """Writes a file, as a whole or not at all; "-" is standard output."""
        write_file(path, self.to_json().encode())

    @classmethod
    def load(cls, path: str | Path, *, allow_insecure: bool = False) -> DatabaseInfo:
        """A description from a file of `save`."""
        data = read_file(path, "database description", limits.RETRIEVAL_INFO)
        return cls.from_json(data, allow_insecure=allow_insecure)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DatabaseInfo):
            return NotImplemented
        return self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __reduce__(self) -> tuple[Callable[[str], DatabaseInfo], tuple[str]]:
        return DatabaseInfo.from_json, (self.to_json(),)

    def __repr__(self) -> str:
        keys = "" if self._table is None else ", looked up by key"
        return (
            f"pir.DatabaseInfo({self.records} records of {self.record_bytes} bytes{keys}; {self.params.name})"
        )


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def make_info(
    params: Params,
    records: int,
    record_bytes: int,
    *,
    device: str = "cpu",
    batch: int = 1,
    rows: int | None = None,
    memory: int | str | None = None,
    table: KeywordTable | None = None,
    identity: bytes | None = None,
) -> DatabaseInfo:
    """A description with the layout that costs least on a device.

    rows: N0, where it is to be given. memory: the server's budget, where the database may be larger.
    identity: 16 bytes that tell the database from others of its shape; fresh ones unless given.
    """
    core = make_geometry(
        params._core, records, record_bytes, device=device, batch=batch, rows=rows, memory=memory
    )
    chosen = os.urandom(16) if identity is None else byte_string(identity, "identity")
    return DatabaseInfo(core.with_id(chosen), table)
