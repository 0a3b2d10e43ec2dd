# SPDX-License-Identifier: Apache-2.0
"""Programs of cpp/bench/cuda that suites of `halocline bench` run: where they are, and what they write."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ..base.errors import CorruptData, DeviceError, Error, InvalidArgument

_TIMEOUT_SECONDS = 300
_POLL_SECONDS = 0.1


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


def run_program(
    suite: str, program: Path, arguments: Sequence[str], grown: Callable[[str], None] = lambda text: None
) -> str:
    """What the program writes with `--out FILE` and these arguments; ended after five minutes.

    grown: called with what is in the file whenever there is more.
    """
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result"
        watch(suite, [str(program), "--out", str(result), *arguments], result, grown, _TIMEOUT_SECONDS)
        try:
            return result.read_text()
        except OSError as error:
            raise CorruptData(f"bench {suite}: '{program}' wrote no result ({error})") from None


def watch(
    suite: str,
    command: Sequence[str],
    result: Path,
    grown: Callable[[str], None],
    timeout_seconds: float | None = None,
) -> None:
    """Runs a program that writes its rows to a file, and shows the file's text whenever there is more.

    The program is ended with this one: after Ctrl-C, an error of `grown`, the timeout. Raises Error with
    what it said where it fails.
    """
    seen, begin = 0, time.monotonic()
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(list(command), stdout=subprocess.DEVNULL, stderr=said, text=True) as process,
    ):
        try:
            ended = False
            while not ended:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_POLL_SECONDS)
                ended = process.poll() is not None
                size = result.stat().st_size if result.exists() else 0
                if size > seen:
                    seen = size
                    grown(result.read_text())
                if not ended and timeout_seconds is not None and time.monotonic() - begin > timeout_seconds:
                    raise DeviceError(
                        f"bench {suite}: '{command[0]}' took more than {timeout_seconds:g} s and was ended"
                    )
        except BaseException:
            process.kill()
            raise
        if process.returncode != 0:
            said.seek(0)
            raise Error(
                f"bench {suite}: '{command[0]}' failed with status {process.returncode}: "
                f"{said.read().strip()[-500:]}"
            )
