# SPDX-License-Identifier: Apache-2.0
"""Encrypted arrays as bytes: a line of JSON about the packing, then the containers of the ciphertexts.

    "halocline-array-1\n", bytes of the JSON (4, little endian), its blake2b hash (32), the JSON, containers

The JSON has shape, strides, slots, copies, clean and the bytes of each container. The ciphertexts' own
containers have checksums of their own. Readers trust nothing: see `read_container`.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from ..base.errors import CorruptData, InvalidArgument, KeyMismatch, WrongType
from ..base.files import parse_json
from ..base.limits import ARRAY_HEADER
from ..base.values import integer, shown
from ..ckks.ciphertext import Ciphertext
from ..ckks.params import Params
from .packing import Packing

MAGIC = b"halocline-array-1\n"
_HASH_BYTES = 32
_START = len(MAGIC) + 4 + _HASH_BYTES
_NAMES = {"shape", "strides", "slots", "copies", "clean", "bytes"}


def write_container(packing: Packing, clean: bool, parts: list[bytes]) -> bytes:
    """The bytes of an array."""
    header = {
        "shape": packing.shape,
        "strides": packing.strides,
        "slots": packing.slots,
        "copies": packing.copies,
        "clean": clean,
        "bytes": [len(each) for each in parts],
    }
    return joined(header, parts)


def joined(header: dict[str, Any], parts: list[bytes]) -> bytes:
    """A description and containers as one."""
    text = json.dumps(header).encode()
    return b"".join([MAGIC, len(text).to_bytes(4, "little"), _hash(text), text, *parts])


def read_container(
    data: bytes, params: Params | None, allow_insecure: bool
) -> tuple[Packing, bool, list[Ciphertext]]:
    """Packing, cleanness and ciphertexts, all checked.

    Sizes are compared with the bytes that are there before anything of such a size is made.
    """
    header, rest = _header(data)
    try:
        if set(header) != _NAMES or not isinstance(header["clean"], bool):
            raise InvalidArgument(
                f"its description has the entries {shown(sorted(header))}, expected {sorted(_NAMES)}"
            )
        sizes = [integer(each, "bytes of a ciphertext", 1) for each in header["bytes"]]
        packing = Packing(tuple(header["shape"]), tuple(header["strides"]), header["slots"], header["copies"])
    except (InvalidArgument, WrongType, TypeError) as error:
        raise _corrupt(str(error)) from None
    if sum(sizes) != len(rest):
        raise _corrupt(f"its ciphertexts have {len(rest)} bytes, {shown(sum(sizes))} are described")
    if packing.size > len(sizes) * packing.slots or packing.count != len(sizes):
        raise _corrupt(f"{len(sizes)} ciphertexts do not hold the shape {packing.shape}")
    parts: list[Ciphertext] = []
    at = 0
    for size in sizes:
        taken = bytes(rest[at : at + size])
        parts.append(Ciphertext.from_bytes(taken, params, allow_insecure=allow_insecure))
        params, at = parts[0].params, at + size
    if any(each.slots != packing.slots for each in parts):
        raise _corrupt(f"a ciphertext has other than {packing.slots} slots")
    if len({each.key_id for each in parts}) > 1:
        raise KeyMismatch("EncryptedArray: its ciphertexts belong to several secret keys")
    return packing, header["clean"], parts


def _header(data: bytes) -> tuple[dict[str, Any], memoryview]:
    if not data.startswith(MAGIC) or len(data) < _START:
        raise _corrupt("it is a file of another kind, or of another version")
    size = int.from_bytes(data[len(MAGIC) : len(MAGIC) + 4], "little")
    if size > min(ARRAY_HEADER, len(data) - _START):
        raise _corrupt("its description is truncated or too long")
    text = data[_START : _START + size]
    if _hash(text) != data[len(MAGIC) + 4 : _START]:
        raise _corrupt("its description was changed")
    header = parse_json(text, "EncryptedArray")
    if not isinstance(header, dict) or not all(
        isinstance(header.get(each), list) for each in ("bytes", "shape", "strides")
    ):
        raise _corrupt("its description is none of an array")
    return header, memoryview(data)[_START + size :]


def _hash(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=_HASH_BYTES).digest()


def _corrupt(why: str) -> CorruptData:
    return CorruptData(f"EncryptedArray: {why}; get the bytes again from where they were made")
