# SPDX-License-Identifier: Apache-2.0
"""The Python code in the pages for users runs as it stands there, block after block."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


def run_page(page: str) -> None:
    blocks = BLOCK.findall((ROOT / page).read_text())
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)


def test_readme(capsys: pytest.CaptureFixture[str]) -> None:
    run_page("README.md")
    assert capsys.readouterr().out.startswith("[1.499")


def test_quickstart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run_page("docs/quickstart.md")
    out = capsys.readouterr().out
    assert "rotation key for step 3 missing; add 3 to rotations" in out
    assert "has no multiplication left" in out
