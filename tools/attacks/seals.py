# SPDX-License-Identifier: Apache-2.0
"""Mutations of bytes, and checksums made right again, so that damage reaches what lies behind them."""

from __future__ import annotations

import hashlib
import json
import random
import struct

import xxhash

PAGE = 4096
BLOCK = 65536
_EXTREMES = (
    0,
    1,
    2,
    3,
    7,
    255,
    256,
    4095,
    4096,
    65535,
    65536,
    1 << 31,
    (1 << 32) - 1,
    1 << 62,
    (1 << 64) - 1,
)
_WORDS = (
    b"-1", b"0", b"1e999", b"-1e999", b"NaN", b"Infinity", b"9223372036854775808", b"18446744073709551616",
    b"1" * 400, b'""', b"null", b"[]", b"{}", b"[" * 300, b"\xff\xfe", b"\x00", b"true", b"0.1", b"1e-320",
)  # fmt: skip


def mutate(rng: random.Random, data: bytes, text: bool = False) -> bytes:
    """One to four random changes of `data`."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if not out:
            return bytes(rng.randbytes(rng.randrange(64)))
        change = rng.choice(_TEXT_CHANGES if text else _CHANGES)
        change(rng, out)
    return bytes(out)


def _flip(rng: random.Random, out: bytearray) -> None:
    out[_place(rng, out)] ^= 1 << rng.randrange(8)


def _overwrite(rng: random.Random, out: bytearray) -> None:
    at = _place(rng, out)
    chunk = rng.randbytes(rng.choice((1, 2, 4, 8, 40)))[: len(out) - at]
    out[at : at + len(chunk)] = chunk


def _number(rng: random.Random, out: bytearray) -> None:
    width = rng.choice((1, 2, 4, 8))
    at = min(_place(rng, out) // width * width, max(0, len(out) - width))
    value = (rng.choice(_EXTREMES) + rng.choice((-1, 0, 0, 1))) % (1 << (8 * width))
    out[at : at + width] = value.to_bytes(width, "little")


def _truncate(rng: random.Random, out: bytearray) -> None:
    del out[_place(rng, out) :]


def _insert(rng: random.Random, out: bytearray) -> None:
    at = _place(rng, out)
    out[at:at] = rng.randbytes(rng.choice((1, 8, 64, 5000)))


def _repeat(rng: random.Random, out: bytearray) -> None:
    at = _place(rng, out)
    chunk = bytes(out[at : at + rng.choice((4, 16, 32, 4096))])
    to = _place(rng, out)
    out[to : to + rng.choice((0, len(chunk)))] = chunk


def _real(rng: random.Random, out: bytearray) -> None:
    at = min(_place(rng, out) // 8 * 8, max(0, len(out) - 8))
    value = rng.choice((float("nan"), float("inf"), -1.0, 0.0, 5e-324, 1e308, 2.0**-1022))
    out[at : at + 8] = struct.pack("<d", value)[: len(out) - at]


def _word(rng: random.Random, out: bytearray) -> None:
    """Puts a word in the place of a run of digits, or somewhere."""
    places = [i for i, c in enumerate(out) if 48 <= c <= 57]
    at = rng.choice(places) if places else _place(rng, out)
    end = at
    while end < len(out) and 48 <= out[end] <= 57:
        end += 1
    out[at:end] = rng.choice(_WORDS)


def _lines(rng: random.Random, out: bytearray) -> None:
    rows = bytes(out).split(b"\n")
    at = rng.randrange(len(rows))
    change = rng.randrange(3)
    if change == 0:
        del rows[at]
    elif change == 1:
        rows.insert(at, rng.choice(rows))
    else:
        to = rng.randrange(len(rows))
        rows[at], rows[to] = rows[to], rows[at]
    out[:] = b"\n".join(rows)


_CHANGES = (_flip, _overwrite, _number, _number, _truncate, _insert, _repeat, _real)
_TEXT_CHANGES = (_flip, _overwrite, _word, _word, _word, _lines, _truncate, _insert)


def _place(rng: random.Random, out: bytearray) -> int:
    """Headers and ends are hit as often as the bulk."""
    size = max(1, len(out))
    near = min(size, 256)
    return min(
        rng.choice((rng.randrange(near), size - 1 - rng.randrange(near), rng.randrange(size))), size - 1
    )


def seal_container(data: bytes) -> bytes:
    """A container with its checksums and digests computed again, as far as its header makes sense."""
    out = bytearray(data)
    if len(out) < PAGE:
        return data
    directory, length, count = struct.unpack_from("<QQI", out, 40)
    inside = directory >= PAGE and directory + length <= len(out) and 32 * count <= length
    if inside:
        at = directory + 32 * count
        for i in range(count):
            offset, size = struct.unpack_from("<QQ", out, directory + 32 * i + 16)
            padded = -(-size // PAGE) * PAGE
            if offset + padded > len(out):
                break
            for begin in range(offset, offset + padded, BLOCK):
                if at + 8 > directory + length:
                    break
                block = bytes(out[begin : min(begin + BLOCK, offset + padded)])
                struct.pack_into("<Q", out, at, xxhash.xxh64_intdigest(block))
                at += 8
        out[96:112] = hashlib.blake2b(bytes(out[directory : directory + length]), digest_size=16).digest()
    out[112:128] = hashlib.blake2b(bytes(out[:112]), digest_size=16).digest()
    return bytes(out)


def seal_client_spec(data: bytes) -> bytes:
    """A client's specification of a network with its identifier computed again, where it is JSON at all."""
    try:
        content = json.loads(data)
        if not isinstance(content, dict):
            return data
        content.pop("id", None)
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        return data
    name = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return json.dumps(content | {"id": name}).encode()


def seal_plan(data: bytes) -> bytes:
    """A plan file with its checksum (64-bit FNV-1a) computed again."""
    if len(data) < 8:
        return data
    state = 0xCBF29CE484222325
    for byte in data[:-8]:
        state = ((state ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return data[:-8] + struct.pack("<Q", state)
