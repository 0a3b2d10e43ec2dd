# SPDX-License-Identifier: Apache-2.0
"""The folder of a long `halocline run`, from which an interrupted one goes on.

The command is client and server at once, so the folder holds what both of them would keep: checkpoints and
results are ciphertexts, but the client's secret key lies beside them, since without it a new process could
neither go on with them nor read them. Everything is removed when the run is done.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path

from ...base import limits
from ...base.errors import CorruptData, InvalidArgument, IoError, KeyMismatch
from ...base.files import file_only, parse_json, read_file, write_file
from ...base.locks import FileLock
from ...ckks.ciphertext import Ciphertext
from ...ckks.client import Client
from ...ckks.params import Params
from ...nn.layers import Array

ABOUT_FILE = "run.json"
LOCK_FILE = "run.lock"
KEY_FILE = "client.key"
FORMAT = "halocline-run"
VERSION = 1


class RunFolder:
    """State of one run: key of the client, results of finished inputs, checkpoint of the one that is on.

    One process at a time uses a folder, from `with RunFolder(...)` to the end of the block.
    """

    def __init__(self, path: str | Path, network: str, inputs: Array) -> None:
        """Makes the folder, or finds the run in it. network: fingerprint of the compiled network.

        @throws InvalidArgument where it belongs to a run of another network, or of other inputs, or another
            process uses it; CorruptData, IoError
        """
        self.path = Path(file_only(path, "checkpoint"))
        digests = [hashlib.blake2b(each.tobytes(), digest_size=32).hexdigest() for each in inputs]
        joined = hashlib.blake2b("".join(digests).encode(), digest_size=32).hexdigest()
        about = {"format": FORMAT, "version": VERSION, "network": network, "inputs": joined}
        self._count = len(inputs)
        self._key_id: str | None = None
        try:
            # No other user may put a key here.
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise IoError(
                f"checkpoint '{self.path}': no folder that can be used ({error.strerror})"
            ) from None
        self._lock = FileLock(self._file(LOCK_FILE), f"checkpoint '{self.path}'")
        try:
            self._begin(about)
        except BaseException:
            self._lock.close()
            raise

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *raised: object) -> None:
        self._lock.close()

    def _begin(self, about: dict[str, object]) -> None:
        """Checks the run that is here, or begins one."""
        if self._file(ABOUT_FILE).exists():
            self._check(read_file(self._file(ABOUT_FILE), "checkpoint", limits.RUN), about)
        elif others := [each.name for each in self._files() if each.exists()]:
            raise InvalidArgument(
                f"checkpoint '{self.path}': has {others[0]}, but no {ABOUT_FILE} that says of which run; "
                "name another folder"
            )
        else:
            write_file(self._file(ABOUT_FILE), (json.dumps(about, indent=2) + "\n").encode())

    def client(self, params: Params, threads: int | None = None) -> Client:
        """The client of the run: that of the key here, else a new one whose key is kept here."""
        path = self._file(KEY_FILE)
        if path.exists():
            found = Client.load(path, params, threads=threads)
            self._key_id = found.key_id
            return found
        if left := [each.name for each in self._files() if each.exists() and each.name != ABOUT_FILE]:
            raise CorruptData(
                f"checkpoint '{self.path}': has {left[0]}, but not the key '{KEY_FILE}' of its ciphertexts; "
                "remove the folder to begin anew"
            )
        made = Client(params, threads=threads)
        made.save_secret_key(path)
        self._key_id = made.key_id
        return made

    def checkpoint(self, index: int) -> Path:
        """The file for checkpoints of an input."""
        return self._file(f"input_{index}.checkpoint")

    def result(self, index: int, params: Params) -> Ciphertext | None:
        """The encrypted result of an input that is done.

        @throws KeyMismatch when it is not of the client of this folder
        """
        path = self._result(index)
        if not path.exists():
            return None
        found = Ciphertext.load(path, params)
        if None not in (found.key_id, self._key_id) and found.key_id != self._key_id:
            raise KeyMismatch(
                f"checkpoint '{self.path}': '{path.name}' belongs to the secret key {found.key_id}, "
                f"'{KEY_FILE}' is the secret key {self._key_id}; put back the file that belongs to it, or "
                "remove the folder to begin anew"
            )
        return found

    def keep_result(self, index: int, result: Ciphertext) -> None:
        """Writes the encrypted result of an input."""
        result.save(self._result(index))

    def finish(self) -> None:
        """Removes the files of the run, and the folder where nothing else is in it."""
        for path in self._files():
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
        self._lock.close()
        with contextlib.suppress(OSError):
            self.path.rmdir()

    def _file(self, name: str) -> Path:
        return self.path / name

    def _result(self, index: int) -> Path:
        return self._file(f"input_{index}.hlc")

    def _files(self) -> list[Path]:
        """All that may be there, in the order in which it goes: the key after what it can read."""
        each = [
            path for index in range(self._count) for path in (self.checkpoint(index), self._result(index))
        ]
        return [*each, self._file(KEY_FILE), self._file(ABOUT_FILE)]

    def _check(self, data: bytes, about: dict[str, object]) -> None:
        """Compares the description of the run in the folder with that of this one."""
        try:
            found = parse_json(data, ABOUT_FILE)
        except CorruptData:
            found = None
        if not isinstance(found, dict) or found.keys() != about.keys() or found["format"] != FORMAT:
            raise CorruptData(
                f"checkpoint '{self.path}': {ABOUT_FILE} describes no run; remove the folder to begin anew"
            )
        names = {"version": "another version", "network": "another network", "inputs": "other images"}
        if wrong := [text for name, text in names.items() if found[name] != about[name]]:
            raise InvalidArgument(
                f"checkpoint '{self.path}': holds a run with {' and '.join(wrong)} (weights, "
                "ranges, parameters and options count); continue with the same ones, or name another folder"
            )
