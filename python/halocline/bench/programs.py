# SPDX-License-Identifier: Apache-2.0
"""Programs of cpp/bench/cuda that suites of `halocline bench` run: where they are, and what they write."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..base.errors import CorruptData, DeviceError, Error, InvalidArgument

_TIMEOUT_SECONDS = 300


def find_program(suite: str, name: str, given: Path | None = None) -> Path:
    """The program: the given one, that of `make cuda` in this checkout, or one on the PATH."""
    built = Path(__file__).resolve().parents[3] / "build" / "cuda" / name
    on_path = shutil.which(name)
    candidates = [given] if given else [built, *([Path(on_path)] if on_path else [])]
    for each in candidates:
        if each.is_file() and os.access(each, os.X_OK):
            return each
    raise InvalidArgument(
        f"bench {suite}: no program at '{candidates[0]}'; build it with `make cuda`, or name it with --binary"
    )


def run_program(suite: str, program: Path, arguments: Sequence[str]) -> str:
    """What the program writes with `--out FILE` and these arguments; ended after five minutes."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result"
        command = [str(program), "--out", str(result), *arguments]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise DeviceError(
                f"bench {suite}: '{program}' took more than {_TIMEOUT_SECONDS} s and was ended"
            ) from None
        if done.returncode != 0:
            raise Error(f"bench {suite}: '{program}' failed: {(done.stderr or done.stdout).strip()[-500:]}")
        try:
            return result.read_text()
        except OSError as error:
            raise CorruptData(f"bench {suite}: '{program}' wrote no result ({error})") from None
