# SPDX-License-Identifier: Apache-2.0
"""Files of the slow tier truncated or overwritten while engines use them: right values, or an error."""

from __future__ import annotations

import os
from pathlib import Path

import halocline as hc
from attacks.case import Case, Finding, outcome
from attacks.samples import PROGRAMS, World, powers

CIPHERTEXTS = 24


class Spill:
    """Engines whose ciphertexts are in a file."""

    def __init__(self, world: World) -> None:
        self.world = world
        assert world.expected

    def attack(self, case: Case) -> None:
        """More ciphertexts than fit, damage to the file, then a use of all of them."""
        rng, world = case.rng, self.world
        policy = rng.choice(("lru", "planned"))
        tier = case.folder / "tier"
        tier.mkdir()
        engine = world.engine(policy, 0.5, memory_options=hc.MemoryOptions(tier_folder=tier))
        made = [world.x.to(engine) * 0.5 for _ in range(CIPHERTEXTS)]
        expected = made[0].to_bytes()
        damaged = self._damage(case, tier)
        lost = 0
        for each in made:
            got = outcome(each.to_bytes, f"{policy}: reading back")
            if isinstance(got, hc.Error):
                lost += 1
            elif got != expected:
                raise Finding(f"{policy}: a ciphertext changed after {damaged}")
        del made
        got = outcome(lambda: engine.run(powers, world.x).to_bytes(), f"{policy}: a run afterwards")
        if isinstance(got, bytes) and got != world.expected[PROGRAMS.index(powers)]:
            raise Finding(f"{policy}: a program's result changed after {damaged}, {lost} lost")

    def _damage(self, case: Case, tier: Path) -> str:
        rng = case.rng
        paths = [Path(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
        files = [path for path in paths if _target(path).startswith(str(tier))]
        if not files:
            return "nothing: there is no file"
        with open(rng.choice(files), "r+b") as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                return "nothing: the file is empty"
            at = rng.randrange(size)
            what = rng.choice(("truncation", "one bit", "a page", "swapped blocks"))
            if what == "truncation":
                file.truncate(at)
            elif what == "one bit":
                old = os.pread(file.fileno(), 1, at)
                os.pwrite(file.fileno(), bytes([(old or b"\0")[0] ^ (1 << rng.randrange(8))]), at)
            elif what == "a page":
                os.pwrite(file.fileno(), rng.randbytes(4096), at // 4096 * 4096)
            else:
                to = rng.randrange(size) // 4096 * 4096
                one, two = os.pread(file.fileno(), 4096, at // 4096 * 4096), os.pread(file.fileno(), 4096, to)
                os.pwrite(file.fileno(), two, at // 4096 * 4096)
                os.pwrite(file.fileno(), one, to)
        return what


def _target(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
