# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of long runs: the ciphertexts that are live at a bootstrap, in one file.

A file is written as a whole or not at all. It holds the fingerprint of the network, its weights, ranges and
parameters, the identifier of the secret key, and a hash of the encrypted input; the ciphertexts are
containers with checksums of their own.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..base import limits
from ..base.errors import CorruptData, InvalidArgument, KeyMismatch
from ..base.files import OWNER, file_only, parse_json, read_file, write_file
from ..base.values import expect, integer
from ..ckks.ciphertext import Ciphertext
from .layers import Layer
from .network import Network
from .steps import Values

MAGIC = b"halocline-checkpoint-1\n"
MAX_HEADER = 1 << 20
"""Bytes of the description in front of the ciphertexts."""
_HASH_BYTES = 32


class Checkpoint:
    """The file of one run."""

    def __init__(self, path: str | Path, compiled: Network, key_id: str | None = None) -> None:
        """key_id: the secret key of the run's engine, where it is known."""
        self.path = file_only(path, "checkpoint")
        self._key_id = key_id
        self._compiled, self._fingerprint = compiled, compiled.fingerprint
        self._input: str | None = None
        self.is_single = False
        """Whether the run began with a ciphertext, not with a list of them."""

    def expect_input(self, inputs: Sequence[Ciphertext], is_single: bool) -> None:
        """Names the input that the run began with; checkpoints of another one are refused."""
        self.is_single = is_single
        for ct in inputs:
            self._key_id = _same_key(ct.key_id, self._key_id, "run", "the input", "the engine")
        hashes = [_hash(ct.to_bytes()) for ct in inputs]
        self._input = hashes[0] if is_single else _hash(" ".join(hashes).encode())

    def save(self, position: int, values: Values) -> None:
        """Replaces the file by one with these values, after `position` segments."""
        cts = [(name, ct) for name, each in values.items() for ct in each]
        blobs = [(name, ct.to_bytes()) for name, ct in cts]
        header = {
            "fingerprint": self._fingerprint,
            "input": self._input,
            "single": self.is_single,
            "key": next((ct.key_id for _, ct in cts if ct.key_id is not None), self._key_id),
            "position": position,
            "values": [[name, len(blob), _hash(blob)] for name, blob in blobs],
        }
        text = json.dumps(header).encode()
        parts = [MAGIC, len(text).to_bytes(4, "little"), hashlib.blake2b(text, digest_size=32).digest(), text]
        write_file(self.path, b"".join([*parts, *(blob for _, blob in blobs)]), OWNER)

    def load(self) -> tuple[int, Values] | None:
        """Segments done and values after them; None where there is no file.

        @throws InvalidArgument for a checkpoint of another network or input; KeyMismatch for one of another
            secret key; CorruptData, IoError
        """
        if not _exists(self.path):
            return None
        header, rest = self._header(read_file(self.path, "checkpoint", limits.CHECKPOINT))
        self._check_owner(header)
        position, rows = header["position"], header["values"]
        if {name for name, _, _ in rows} != self._compiled.live_values(position) or not rows:
            raise self._corrupt(f"other values than those after {position} segments")
        values: Values = {}
        for name, size, digest in rows:
            blob, rest = rest[:size], rest[size:]
            if len(blob) != size or _hash(blob) != digest:
                raise self._corrupt(f"the ciphertext of {name!r} is truncated or changed")
            ct = Ciphertext.from_bytes(blob, self._compiled.params)
            # The description names the key for readers only; the check uses the identifier in each
            # ciphertext.
            self._expect_key(ct.key_id)
            values.setdefault(name, []).append(ct)
        if rest:
            raise self._corrupt(f"{len(rest)} bytes too many")
        self._check_counts(values)
        self._input, self.is_single = header["input"], header["single"]
        return position, values

    def _check_counts(self, values: Values) -> None:
        """Refuses values of different numbers of images."""
        most, least = math.inf, 0
        for name, cts in values.items():
            layout = self._compiled.layout_of(name)
            if len(cts) % layout.parts or any(ct.slots != layout.slots for ct in cts):
                raise self._corrupt(f"ciphertexts of {name!r} that do not make up whole images")
            most = min(most, len(cts) // layout.parts * layout.batch)
            least = max(least, (len(cts) // layout.parts - 1) * layout.batch + 1)
        if least > most:
            raise self._corrupt(f"a value of at least {least} images and one of at most {most}")

    def remove(self) -> None:
        """Deletes the file of a run that is done."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    def _header(self, data: bytes) -> tuple[dict[str, Any], bytes]:
        start = len(MAGIC) + 4 + _HASH_BYTES
        if not data.startswith(MAGIC) or len(data) < start:
            raise self._corrupt("it is no checkpoint of this version")
        size = int.from_bytes(data[len(MAGIC) : len(MAGIC) + 4], "little")
        text = data[start : start + size]
        digest = data[len(MAGIC) + 4 : start]
        if size > MAX_HEADER or len(text) != size:
            raise self._corrupt("its description is truncated")
        if hashlib.blake2b(text, digest_size=_HASH_BYTES).digest() != digest:
            raise self._corrupt("its description was changed")
        try:
            header = parse_json(text, "description")
            rows = [
                (expect(name, str, "name"), integer(count, "bytes", 1), expect(digest, str, "hash"))
                for name, count, digest in header["values"]
            ]
            made = {
                "fingerprint": expect(header["fingerprint"], str, "fingerprint"),
                "input": header["input"],
                "key": _key_of(header),
                "position": integer(header["position"], "position", 0),
                "single": expect(header.get("single", True), bool, "single"),
                "values": rows,
            }
        except (ValueError, KeyError, TypeError) as error:
            raise self._corrupt(f"its description cannot be read ({error})") from None
        return made, data[start + size :]

    def _expect_key(self, key_id: str | None) -> None:
        what = f"checkpoint '{self.path}'"
        self._key_id = _same_key(key_id, self._key_id, what, "it", "this run")

    def _check_owner(self, header: dict[str, Any]) -> None:
        self._expect_key(header["key"])
        if header["fingerprint"] != self._fingerprint:
            raise InvalidArgument(
                f"checkpoint '{self.path}': made by another network, or with other weights, ranges, options "
                f"or parameters (fingerprint {header['fingerprint']:.16}, expected "
                f"{self._fingerprint:.16}); continue with those, or remove the file"
            )
        if self._input is not None and header["input"] != self._input:
            raise InvalidArgument(
                f"checkpoint '{self.path}': made from another encrypted input; pass that one, or None to go "
                "on without it, or remove the file"
            )

    def _corrupt(self, what: str) -> CorruptData:
        return CorruptData(f"checkpoint '{self.path}': {what}; remove the file to begin anew")


def _same_key(key_id: str | None, other: str | None, what: str, first: str, second: str) -> str | None:
    """The key of both, where one of them is known. @throws KeyMismatch that names both"""
    if key_id is not None and other is not None and key_id != other:
        raise KeyMismatch(
            f"{what}: {first} belongs to the secret key {key_id}, {second} to the secret key {other}; "
            "continue with that client's keys, or remove the file to begin anew"
        )
    return other if key_id is None else key_id


def _key_of(header: dict[str, Any]) -> str | None:
    """The secret key that a description names; those of earlier versions name none."""
    key = header.get("key")
    return None if key is None else expect(key, str, "key")


def _exists(path: str) -> bool:
    """Whether a path exists; True where that cannot be determined, so that reading it raises the error."""
    try:
        os.stat(path)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=_HASH_BYTES).hexdigest()


def fingerprint_of(compiled: Network) -> str:
    """Hash of everything that a run's intermediate values depend on."""
    digest = hashlib.blake2b(digest_size=_HASH_BYTES)

    def mix(*values: Any) -> None:
        digest.update(json.dumps(values, default=repr, sort_keys=True).encode() + b"\n")

    mix(1, compiled.params.fingerprint, compiled.model.input_shape, compiled.model.output)
    for node in compiled.model.nodes:
        mix(node.name, node.inputs, type(node.layer).__name__)
        _mix_layer(node.layer, mix, digest.update)
    options = dataclasses.asdict(compiled.options)
    if not compiled.program.first_bootstrappers:  # networks without keep their names
        del options["first_bootstraps"], options["first_bootstrap"]
    if compiled.options.batch == 1:
        del options["batch"]
    mix(dict(compiled.ranges), options)
    mix({name: dataclasses.astuple(each) for name, each in compiled.program.schedule.steps.items()})
    for slots, each in compiled.program.bootstrappers.items():
        mix(slots, dataclasses.asdict(each.options))
    return digest.hexdigest()


def _mix_layer(layer: Layer, mix: Callable[..., None], update: Callable[[bytes], None]) -> None:
    """Weights and settings of a layer."""
    for name, value in sorted(vars(layer).items()):
        if isinstance(value, np.ndarray):
            mix(name, value.shape)
            update(np.ascontiguousarray(value, dtype=np.float64).tobytes())
        elif hasattr(value, "coefficients"):
            mix(name, value.basis, value.domain)
            update(np.ascontiguousarray(value.coefficients).tobytes())
        else:
            mix(name, value)
