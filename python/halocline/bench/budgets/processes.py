# SPDX-License-Identifier: Apache-2.0
"""Workloads in processes of their own, so that peaks of resident memory, and caches, belong to one run."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...base.errors import Error

Report = dict[str, Any]


def run_in_process(workload: str, arguments: Sequence[str], *, may_fail: bool = False) -> Report:
    """The report of `halocline run WORKLOAD ARGUMENTS`.

    may_fail: a report that was written is returned although the command ended with an error.
    Raises Error with what the command said.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        command = [sys.executable, "-c", "from halocline.cli import main; main()", "run", workload]
        command += ["--json", str(path), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0 and not (may_fail and path.exists()):
            said = done.stderr.strip()[-500:]
            raise Error(f"bench: `halocline run {workload} {' '.join(arguments)}` failed: {said}")
        report: Report = json.loads(path.read_text())
        return report
