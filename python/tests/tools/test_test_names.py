# SPDX-License-Identifier: Apache-2.0
"""Names of tests have one style: `Suite.CamelCaseSentence` in C++, `test_snake_case_sentence` in Python."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
MACRO = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)
FUNCTION = re.compile(r"^ *def (test\w*)\(", re.MULTILINE)


def texts(pattern: str) -> list[str]:
    """Contents of the files of the repository that match."""
    command = ["git", "ls-files", "-z", pattern]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [ROOT / name for name in listed.split("\0") if name]
    return [file.read_text() for file in files if file.exists()]


def test_cpp_names_are_camel_case() -> None:
    names = [name for text in texts("cpp/tests/*.[ch]pp") for pair in MACRO.findall(text) for name in pair]
    assert len(names) > 1000
    assert [name for name in names if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name)] == []


def test_python_names_are_snake_case() -> None:
    names = [name for text in texts("python/tests/*.py") for name in FUNCTION.findall(text)]
    assert len(names) > 500
    assert [name for name in names if not re.fullmatch(r"test_[a-z][a-z0-9_]*", name)] == []
