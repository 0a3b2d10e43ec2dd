# SPDX-License-Identifier: Apache-2.0
"""Processes forked from one that owns a client, while its threads compute: no randomness twice, no hang."""

from __future__ import annotations

import hashlib
import os
import signal
import struct
import threading
import time
from pathlib import Path

import halocline as hc
import numpy as np
from attacks.case import Case, Finding
from attacks.samples import PROGRAMS, World

PATIENCE = 60.0
"""Seconds after which a child counts as hanging."""
REFUSED = 7
"""Exit status of a child in which an exception of the package refused some work."""


def limbs_of(data: bytes) -> bytes:
    """The sections with residues of a container, without its header and numbers."""
    directory, _, count = struct.unpack_from("<QQI", data, 40)
    out = b""
    for i in range(count):
        tag, _, _, offset, size = struct.unpack_from("<4sIQQQ", data, directory + 32 * i)
        if tag in (b"LIMB", b"KEYB", b"KEYA"):
            out += data[offset : offset + size]
    return out


class Forks:
    """A client and engines that children inherit."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.engine = world.engine("resident", 10.0)
        assert world.expected

    def attack(self, case: Case) -> None:
        """A random tree of processes, each of which encrypts, makes a key and evaluates."""
        rng = case.rng
        stop = threading.Event()
        busy = [
            threading.Thread(target=self._compute, args=(stop,), daemon=True)
            for _ in range(rng.randint(0, 2))
        ]
        for each in busy:
            each.start()
        folder = case.folder / "drawn"
        folder.mkdir()
        try:
            if rng.random() < 0.5:
                self.world.client.encrypt([0.0])  # a source that was used before, and one that was not
            children = [self._fork(folder, rng.randint(0, 1)) for _ in range(rng.randint(2, 3))]
            self._draw(folder)
            for child in children:
                self._wait(child)
        finally:
            stop.set()
            for each in busy:
                each.join(PATIENCE)
        drawn: dict[bytes, str] = {}
        for path in sorted(folder.iterdir()):
            for line in path.read_bytes().splitlines():
                name, digest = line.split()
                if digest in drawn:
                    raise Finding(f"{name.decode()} of {path.name} has the random words of {drawn[digest]}")
                drawn[digest] = f"{name.decode()} of {path.name}"

    def _compute(self, stop: threading.Event) -> None:
        while not stop.is_set():
            self.engine.run(PROGRAMS[0], self.world.x)

    def _fork(self, folder: Path, depth: int) -> int:
        child = os.fork()
        if child != 0:
            return child
        status = 1
        try:
            grandchildren = [self._fork(folder, 0)] if depth else []
            self._draw(folder)
            if self.engine.run(PROGRAMS[1], self.world.x).to_bytes() == self.world.expected[1]:
                status = 0
            for each in grandchildren:
                self._wait(each)
        except hc.Error:
            status = REFUSED
        finally:
            os._exit(status)

    def _draw(self, folder: Path) -> None:
        """Digests of what is random in this process's ciphertexts, keys and decryptions."""
        client, zeros = self.world.client, np.zeros(self.world.params.slots)
        made = {
            "seed and body": limbs_of(client.encrypt(zeros).to_bytes()),
            "public encryption": limbs_of(client.encrypt(zeros, public=True).to_bytes()),
            "rotation key": limbs_of(client.evaluation_keys([1], relinearization=False).to_bytes()),
            "flooding": client.decrypt(self.world.x, flooding_bits=20.0).tobytes(),
        }
        lines = [
            f"{name.replace(' ', '-')} {hashlib.blake2b(data).hexdigest()}" for name, data in made.items()
        ]
        (folder / f"{os.getpid()}-{time.monotonic_ns()}").write_text("\n".join(lines) + "\n")

    def _wait(self, child: int) -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                if os.WIFSIGNALED(status) or os.WEXITSTATUS(status) not in (0, REFUSED):
                    raise Finding(f"a child ended with status {status}")
                return
            time.sleep(0.01)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise Finding(f"a child hung for {PATIENCE} s")
