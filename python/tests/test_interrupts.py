# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while a command imports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import halocline as hc
import pytest
from halocline.base.interrupts import is_command

INTERRUPTED = "raise KeyboardInterrupt\n"


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A program for which the import of numpy is interrupted, with the package that is tested."""
    (folder / "numpy.py").write_text(INTERRUPTED)
    package = Path(hc.__file__).parents[1]
    paths = [str(folder), str(package), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)


def test_a_command_says_one_line(tmp_path: Path) -> None:
    done = run(tmp_path, "-m", "halocline", "--help")
    assert done.returncode not in (0, 1) and done.stdout == ""
    assert done.stderr == "interrupted\n"


def test_the_installed_script_says_one_line(tmp_path: Path) -> None:
    (tmp_path / "halocline").write_text("from halocline.cli import main\nmain()\n")
    # A folder of that name would hide the package, a file does not.
    done = run(tmp_path, str(tmp_path / "halocline"), "--help")
    assert done.stderr == "interrupted\n"


def test_programs_keep_their_traceback(tmp_path: Path) -> None:
    done = run(tmp_path, "-c", "import halocline")
    assert "Traceback" in done.stderr and "KeyboardInterrupt" in done.stderr


def test_other_errors_of_a_command_are_shown(tmp_path: Path) -> None:
    (tmp_path / "halocline").write_text("import halocline.cli\n")
    run(tmp_path, "-c", "pass")
    (tmp_path / "numpy.py").write_text("1 / 0\n")
    package = Path(hc.__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{package}"}
    command = [sys.executable, str(tmp_path / "halocline")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert "ZeroDivisionError" in done.stderr and "interrupted" not in done.stderr


@pytest.mark.parametrize(
    ("first", "whole", "expected"),
    [
        ("/usr/bin/halocline", ["python", "/usr/bin/halocline"], True),
        ("halocline.exe", ["halocline.exe"], True),
        ("-m", ["python", "-m", "halocline", "info"], True),
        ("-m", ["python", "-m", "pytest", "halocline"], False),
        ("-m", ["python", "-m"], False),
        ("-c", ["python", "-c", "import halocline"], False),
        ("server.py", ["python", "server.py", "-m", "halocline"], False),
    ],
)
def test_which_processes_are_commands(
    first: str, whole: list[str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [first, "info"])
    monkeypatch.setattr(sys, "orig_argv", whole)
    assert is_command() is expected
