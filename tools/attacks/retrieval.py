# SPDX-License-Identifier: Apache-2.0
"""Loaders of private retrieval: databases, descriptions, secrets, keys, queries, answers."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from attacks.case import Finding
from attacks.samples import World
from attacks.target import Target
from halocline import pir

_SMALL: dict[str, Any] = {"log_n": 10, "prime_bits": 30.0, "plain_bits": 8, "allow_insecure": True}


def seal_message(data: bytes) -> bytes:
    """A message with its checksum made right."""
    return data[:-8] + struct.pack("<Q", xxhash.xxh64(data[:-8]).intdigest()) if len(data) > 8 else data


class _Rig:
    """A small database with a client and a server that has its keys."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        records = np.arange(8 * 600, dtype=np.uint16).view(np.uint8).reshape(8, 1200)
        params = pir.Params("pir-n2048", **_SMALL)
        self.database = pir.Database.build(records, params, path=folder / "records.hlr")
        np.save(folder / "records.npy", records)
        self.array = (folder / "records.npy").read_bytes()
        self.names = pir.KeywordDatabase.build({f"k{i}": "v" * i for i in range(9)}, params)
        self.client = pir.Client(self.database.info)
        self.server = pir.Server(self.database, deadline=0.0, threads=1)
        self.keys = self.client.server_keys()
        self.server.add_client(self.keys)
        self.query = self.client.query(3)
        self.answer = self.server.answer(self.query.to_bytes())

    def path(self, name: str, data: bytes) -> Path:
        """A file with these bytes."""
        path = self.folder / name
        path.write_bytes(data)
        return path

    def open(self, data: bytes) -> None:
        """Records of a file must be the right ones, or refused."""
        opened = pir.Database.open(self.path("mutated.hlr", data), allow_insecure=True)
        if len(opened) > 100 or opened.info.record_bytes > 1 << 20:
            return
        for i in range(len(opened)):
            opened.record(i)

    def build(self, data: bytes) -> None:
        """An array that is taken has all of its bytes in the database."""
        built = pir.Database.build(self.path("mutated.npy", data), self.database.info.params)
        if len(built) * built.info.record_bytes >= len(data):
            raise Finding("records from nowhere")

    def describe(self, data: bytes) -> None:
        """A description that is taken must serve a client."""
        info = pir.DatabaseInfo.from_json(data, allow_insecure=True)
        info.describe()
        client = pir.Client(info)
        if info.table is not None:
            client.lookup_queries("k1")
        else:
            client.query(info.records - 1)

    def load_secret(self, data: bytes) -> None:
        """A secret that is taken makes queries."""
        pir.Client.load(self.path("mutated.secret", data), self.database.info).query(1)

    def ask(self, data: bytes) -> None:
        """A query that is taken gets an answer of the right length."""
        if len(self.server.answer(data)) != len(self.answer):
            raise Finding("an answer of another length")

    def send_keys(self, data: bytes) -> None:
        """Keys that are taken answer queries; those of the client itself come back afterwards."""
        try:
            name = self.server.add_client(data, replace=True)
            if name == self.client.id:
                self.server.answer(self.query.to_bytes())
        finally:
            self.server.add_client(self.keys, replace=True)

    def decode(self, data: bytes) -> None:
        """An answer that is taken gives a record of the right length."""
        if len(self.client.decode(self.query, data)) != 1200:
            raise Finding("a record of another length")


def retrieval_targets(world: World) -> dict[str, Target]:
    """The loaders, with samples that they take."""
    rig = _Rig(world.folder)
    rig.client.save(world.folder / "sample.secret", overwrite=True)
    secret = (world.folder / "sample.secret").read_bytes()
    records = (world.folder / "records.hlr").read_bytes()
    return {
        "retrieval database": Target(records, rig.open),
        "arrays of records": Target(rig.array, rig.build),
        "retrieval description": Target(rig.database.info.to_json().encode(), rig.describe, text=True),
        "keyword description": Target(rig.names.info.to_json().encode(), rig.describe, text=True),
        "retrieval secret": Target(secret, rig.load_secret, seal_message),
        "retrieval keys": Target(rig.keys, rig.send_keys, seal_message),
        "retrieval query": Target(rig.query.to_bytes(), rig.ask, seal_message),
        "retrieval answer": Target(rig.answer, rig.decode, seal_message),
    }
