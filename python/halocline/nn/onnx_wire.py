# SPDX-License-Identifier: Apache-2.0
"""Counts what is in the bytes of a message before protobuf makes objects of it.

Protobuf takes 80 times the bytes of messages that are nearly empty, and has no limit. The wire format is
that of https://protobuf.dev/programming-guides/encoding; ONNX has no groups, which are refused.
"""

from __future__ import annotations

from typing import Any

from ..base.errors import CorruptData

MAX_FIELDS = 1 << 20
"""Fields of all messages in a file; weights are one field each, however long."""

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5


def check_fields(data: bytes, descriptor: Any, what: str, most: int = MAX_FIELDS) -> None:
    """CorruptData for more than `most` fields in a message of that type and all messages within, and for
    what is no message."""
    waiting, count = [(0, len(data), descriptor)], 0
    parts: dict[str, dict[int, Any]] = {}
    try:
        while waiting:
            at, end, kind = waiting.pop()
            if kind.full_name not in parts:
                parts[kind.full_name] = {each.number: each.message_type for each in kind.fields}
            within = parts[kind.full_name]
            while at < end:
                count += 1
                if count > most:
                    raise CorruptData(f"{what}: more than {most} fields, expected at most so many")
                number, wire, first, at = _field(data, at)
                if at > end:
                    raise IndexError
                if wire == _BYTES and within.get(number) is not None:
                    waiting.append((first, at, within[number]))
    except IndexError:
        raise CorruptData(f"{what}: no ONNX model (fields that are truncated or of unknown kinds)") from None


def _field(data: bytes, at: int) -> tuple[int, int, int, int]:
    """Number, wire type, and where the content begins and ends; IndexError for what is no field."""
    tag, at = _varint(data, at)
    number, wire = tag >> 3, tag & 7
    if tag >> 32:  # parsers differ in what they make of it
        raise IndexError
    if wire == _BYTES:
        size, at = _varint(data, at)
        return number, wire, at, at + size
    if wire == _VARINT:
        return number, wire, at, _varint(data, at)[1]
    if wire not in (_EIGHT_BYTES, _FOUR_BYTES):
        raise IndexError
    return number, wire, at, at + (8 if wire == _EIGHT_BYTES else 4)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of at most 64 bits, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise IndexError
