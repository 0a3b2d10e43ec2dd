# SPDX-License-Identifier: Apache-2.0
"""Runs the cases of one attack: `python -m attacks.worker NAME SEED FIRST SECONDS FOLDER`.

Writes the number of the case that it works on to the file `case`, so that a crash has a name, and one line of
JSON per finding to standard output; at the end a line with the number of cases.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any, Protocol

from attacks.case import Case, Finding
from attacks.commands import Commands
from attacks.forks import Forks
from attacks.loaders import Loaders
from attacks.plans import Plans
from attacks.samples import World
from attacks.spill import Spill
from attacks.threads import Threads


class Attack(Protocol):
    """What every attack is."""

    def attack(self, case: Case) -> None:
        """One case; raises Finding."""


ATTACKS: dict[str, Any] = {
    "loaders": Loaders,
    "plans": Plans,
    "threads": Threads,
    "forks": Forks,
    "spill": Spill,
    "commands": Commands,
}


def work(name: str, seed: int, first: int, seconds: float, folder: Path) -> None:
    """Cases first, first + 1, ... until the time is over; one case when `seconds` is 0."""
    end = time.monotonic() + seconds
    status = folder / "case"
    status.write_text("set-up")
    attack: Attack = ATTACKS[name](World(folder))
    number = first
    while number == first or time.monotonic() < end:
        status.write_text(str(number))
        case_folder = folder / f"case-{number}"
        case_folder.mkdir()
        try:
            attack.attack(Case(name, seed, number, case_folder))
        except Finding as found:
            print(json.dumps({"case": number, "what": str(found)}), flush=True)
        else:
            shutil.rmtree(case_folder, ignore_errors=True)
        number += 1
    print(json.dumps({"cases": number - first}), flush=True)


if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), Path(sys.argv[5]))
