# SPDX-License-Identifier: Apache-2.0
"""Commands that are killed, or run short of disk, memory or files: all files are old or new, none is half."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import halocline as hc
import numpy as np
from attacks.case import Case, Finding
from attacks.samples import PRESET, World

VALUES = "0.5,-0.25,1,0.125"
BOUND = 2.0**-10
PATIENCE = 120.0
ROOM = 3 << 30
"""Address space of a command whose memory is not limited on purpose."""


class Commands:
    """A folder of keys and files which commands replace."""

    def __init__(self, world: World) -> None:
        self.folder = world.folder / "commands"
        self.folder.mkdir()
        (self.folder / "values.txt").write_text(VALUES)
        self.seconds: dict[str, float] = {}
        for name in ("keygen", "encrypt", "eval", "decrypt", "trace"):
            begin = time.monotonic()
            done = self._run(name)
            if done.returncode != 0:
                raise Finding(f"{name} fails undisturbed: {done.stderr}")
            self.seconds[name] = time.monotonic() - begin

    def attack(self, case: Case) -> None:
        """One command, disturbed in one way; afterwards all files must be whole and fit together."""
        rng = case.rng
        name = rng.choice(("keygen", "keygen", "encrypt", "eval", "decrypt", "trace"))
        how = rng.choice(("kill", "kill", "disk", "memory", "files"))
        if how == "kill":
            self._killed(name, rng.uniform(0.3, 1.05) * self.seconds[name])
        else:
            limit = {
                "disk": (resource.RLIMIT_FSIZE, int(2 ** rng.uniform(0, 19))),
                "memory": (resource.RLIMIT_AS, int(2 ** rng.uniform(28, 31.5))),
                "files": (resource.RLIMIT_NOFILE, rng.randint(6, 40)),
            }[how]
            self._limited(name, how, limit)
        if name == "keygen":
            # The next keygen repairs a kill between renames, also one that refuses to replace keys.
            self._run("keygen without --force")
        self._check(f"{name} disturbed by {how}")

    def _command(self, name: str) -> list[str]:
        f = str(self.folder)
        insecure = "--allow-insecure"
        return [sys.executable, "-m", "halocline"] + {
            "keygen": ["keygen", f, "--params", PRESET, "--rotations", "1", "--force", insecure],
            "keygen without --force": ["keygen", f, "--params", PRESET, insecure],
            "encrypt": ["encrypt", f"{f}/values.txt", "-o", f"{f}/x.hlc", "-k", f"{f}/secret.hlc", insecure],
            "eval": ["eval", "-k", f"{f}/keys.hlc", "-i", f"x={f}/x.hlc", "-o", f"{f}/y.hlc", "--expr", "x*x",
                     insecure],
            "decrypt": ["decrypt", f"{f}/y.hlc", "-k", f"{f}/secret.hlc", "-o", f"{f}/y.npy", insecure],
            "trace": ["trace", "record", "--expr", "x*x", "--params", PRESET, "-o", f"{f}/t.csv", insecure],
        }[name]  # fmt: skip

    def _start(self, name: str, prepare: Callable[[], None] | None = None) -> subprocess.Popen[str]:
        # One thread per library: address space is for what is tested.
        quiet = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
        return subprocess.Popen(
            self._command(name), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | quiet, start_new_session=True,
            preexec_fn=prepare,  # noqa: PLW1509 (this process has one thread)
        )  # fmt: skip

    def _run(self, name: str, prepare: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
        process = self._start(name, prepare)
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise Finding(f"{name} hung for {PATIENCE} s") from None
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def _killed(self, name: str, after: float) -> None:
        process = self._start(name)
        try:
            process.communicate(timeout=after)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    def _limited(self, name: str, how: str, limit: tuple[int, int]) -> None:
        def prepare() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(limit[0], (limit[1], limit[1]))

        done = self._run(name, prepare)
        if done.returncode == 0:
            return
        text = done.stderr.strip()
        # A limit can hit the interpreter or numpy while they start, before there is anything to be clean.
        if how != "disk" and ("halocline" not in text or "import" in text.lower()):
            return
        if done.returncode not in (1, 2) or "Traceback" in text or not text:
            raise Finding(f"{name} with {how} limited to {limit[1]}: status {done.returncode}, {text[-600:]}")

    def _check(self, what: str) -> None:
        """Keys load and fit together; ciphertexts are whole; a decryption by the keys of today is right."""
        try:
            self._check_keys()
        except hc.Error as error:
            raise Finding(f"{what}: the files do not fit together: {error}") from error
        for name in ("x.hlc", "y.hlc"):
            path = self.folder / name
            try:
                hc.Ciphertext.load(path, hc.Params.preset(PRESET, allow_insecure=True))
            except hc.Error as error:
                raise Finding(f"{what}: {name} is damaged: {error}") from error
        np.load(self.folder / "y.npy")
        hc.Trace.load(self.folder / "t.csv")
        leftovers = [p.name for p in self.folder.iterdir() if ".partial-" in p.name]
        for each in leftovers:  # allowed after a kill, and recognisable by their names
            (self.folder / each).unlink()
        for name in ("encrypt", "eval", "decrypt"):  # the next case begins with files of one key
            done = self._run(name)
            if done.returncode != 0:
                raise Finding(f"{what}: {name} fails afterwards: {done.stderr}")

    def _check_keys(self) -> None:
        params = hc.Params.preset(PRESET, allow_insecure=True)
        client = hc.Client.load(self.folder / "secret.hlc", params, threads=1)
        keys = hc.EvaluationKeys.load(self.folder / "keys.hlc", params)
        public = hc.PublicKey.load(self.folder / "public.hlc", params)
        values = np.array([0.5, -0.25, 1.0, 0.125])
        engine = hc.Engine(params, keys, threads=1)
        got = client.decrypt(engine.run(lambda x: (x * x).rotate(1), public.encrypt(values)))
        if np.abs(got - np.roll(values**2, -1)).max() > BOUND:
            raise Finding("keys of different secrets lie side by side")
