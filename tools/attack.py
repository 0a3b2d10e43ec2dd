# SPDX-License-Identifier: Apache-2.0
"""Attacks the whole product for a given time, as an attacker and as an unlucky operator would.

    tools/attack.py [--seconds 120] [--seed N] [--only NAME,...] [--case K] [--list]

Mutated files for every loader, forged plans, threads, forks, damaged files of the slow tier, and commands
that are killed or run short of disk, memory or files (`tools/attacks`). Each attack runs in a process of its
own. A crash, a hang, an exception of another package, memory beyond the limit, and a wrong result are
findings.
Prints the seed and how to repeat each finding; the exit status is 1 when there is one.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHARES = {"loaders": 0.3, "plans": 0.15, "threads": 0.15, "forks": 0.1, "spill": 0.1, "commands": 0.2}
"""Attacks and their parts of the time."""
PATIENCE = 180.0
"""Seconds without a new case after which a process counts as hanging."""


def main(arguments: list[str] | None = None) -> int:
    """Runs the attacks one after the other; 1 when something was found."""
    options = parse(arguments)
    if options.list:
        print("\n".join(SHARES))
        return 0
    print(f"attack: seed {options.seed}, {options.seconds:.0f} s: {', '.join(options.only)}", flush=True)
    total = sum(SHARES[name] for name in options.only)
    found = 0
    for name in options.only:
        seconds = 0.0 if options.case is not None else options.seconds * SHARES[name] / total
        found += attack(name, options.seed, options.case or 0, seconds)
    print(f"attack: {found} findings" if found else "attack: nothing found")
    return 1 if found else 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Options, checked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=120.0, help="time of all attacks together")
    parser.add_argument("--seed", type=int, help="of all random choices; drawn anew unless given")
    parser.add_argument("--only", default=",".join(SHARES), help="attacks, separated by commas")
    parser.add_argument("--case", type=int, help="only this case of one attack")
    parser.add_argument("--list", action="store_true", help="names of the attacks")
    options = parser.parse_args(arguments)
    options.only = options.only.split(",")
    unknown = [name for name in options.only if name not in SHARES]
    if unknown:
        parser.error(f"--only: unknown attacks {', '.join(unknown)}; expected some of {', '.join(SHARES)}")
    if options.case is not None and len(options.only) != 1:
        parser.error("--case needs one attack in --only")
    if not 0 < options.seconds < 1e7:
        parser.error(f"--seconds is {options.seconds}, expected above 0 and below 10 million")
    options.seed = secrets.randbits(32) if options.seed is None else options.seed
    return options


def attack(name: str, seed: int, first: int, seconds: float) -> int:
    """Runs one attack until its time is over, with a new process after each crash; the number of findings."""
    begin, cases, found = time.monotonic(), 0, 0
    while True:
        folder = Path(tempfile.mkdtemp(prefix="halocline-attack-"))
        left = max(0.0, seconds - (time.monotonic() - begin))
        lines, problem = run_worker(name, seed, first + cases, left, folder)
        for line in lines:
            if "what" in line:
                found += 1
                report(name, seed, line["case"], line["what"], folder)
        if problem is None:
            cases += sum(line.get("cases", 0) for line in lines)
            if not any("what" in line for line in lines):
                shutil.rmtree(folder, ignore_errors=True)
            break
        found += 1
        at = (folder / "case").read_text() if (folder / "case").exists() else "set-up"
        report(name, seed, at, problem, folder)
        if not at.isdigit():
            break
        cases = int(at) + 1 - first
        if time.monotonic() - begin >= seconds:
            break
    print(f"  {name}: {cases} cases in {time.monotonic() - begin:.0f} s, {found} findings", flush=True)
    return found


def report(name: str, seed: int, case: int | str, what: str, folder: Path) -> None:
    """One finding, and how to repeat it."""
    print(f"FOUND {name}, case {case}: {what}", file=sys.stderr)
    if str(case).isdigit():
        print(f"  tools/attack.py --seed {seed} --only {name} --case {case}", file=sys.stderr)
        print(f"  files: {folder}/case-{case}", file=sys.stderr, flush=True)


def run_worker(
    name: str, seed: int, first: int, seconds: float, folder: Path
) -> tuple[list[dict[str, object]], str | None]:
    """(lines that the process printed, what ended it early)."""
    tools = str(Path(__file__).resolve().parent)
    path = os.pathsep.join([tools, *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "attacks.worker", name, str(seed), str(first), str(seconds), str(folder)]
    with open(folder / "output", "w+") as out, open(folder / "errors", "w+") as err:
        process = subprocess.Popen(
            command, stdout=out, stderr=err, env=os.environ | {"PYTHONPATH": path}, start_new_session=True
        )
        problem = watch(process, folder / "case")
        out.seek(0)
        err.seek(0)
        lines = [json.loads(line) for line in out if line.startswith("{")]
        errors = err.read().strip()
    if problem is None and process.returncode != 0:
        problem = f"the process ended with status {process.returncode}: {errors[-2000:]}"
    elif problem is None and "Traceback" in errors:
        problem = f"a traceback in a thread or a child: {errors[-2000:]}"
    return lines, problem


def watch(process: subprocess.Popen[bytes], status: Path) -> str | None:
    """Waits for a process, which must begin a new case now and then."""
    last, since = "", time.monotonic()
    while process.poll() is None:
        time.sleep(0.2)
        now = status.read_text() if status.exists() else ""
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"it hung for {PATIENCE:.0f} s"
    return None


if __name__ == "__main__":
    sys.exit(main())
