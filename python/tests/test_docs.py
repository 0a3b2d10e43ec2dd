# SPDX-License-Identifier: Apache-2.0
"""The Python code in the pages for users runs as it stands there, block after block."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHON = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
SHELL = re.compile(r"^```bash\n(.*?)^```", re.M | re.S)


def run_page(page: str) -> None:
    blocks = PYTHON.findall((ROOT / page).read_text())
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


def test_processes_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page("docs/guides/processes.md")
    assert (tmp_path / "secret.hlc").exists()


def test_arrays_guide(capsys: pytest.CaptureFixture[str]) -> None:
    run_page("docs/guides/arrays.md")
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "True"
    assert "strides (64, 1)" in out[2] and "strides (1, 64)" in out[3]


def test_sharing_page(capsys: pytest.CaptureFixture[str]) -> None:
    run_page("docs/concepts/sharing_results.md")
    assert float(capsys.readouterr().out.split()[-1]) > 23  # bits; the page says 24


def test_retrieval_guide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run_page("docs/guides/retrieval.md")
    assert "carol b'+1 234'\ndave None\n" in capsys.readouterr().out


def test_key_stores_guide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run_page("docs/guides/key_stores.md")
    assert "['alice']" in capsys.readouterr().out


def test_many_users_guide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run_page("docs/guides/many_users.md")
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["alice [0.06]", "bob [0.06]"] and lines[2].startswith("{'engine_bytes': ")


def test_profiling_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page("docs/guides/profiling.md")
    assert (tmp_path / "profile.pftrace").exists()


def test_reading_less_guide(capsys: pytest.CaptureFixture[str]) -> None:
    run_page("docs/guides/reading_less.md")
    assert "took " in capsys.readouterr().out


def test_memory_guide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run_page("docs/guides/memory.md")
    printed = capsys.readouterr().out
    assert "\n1\n1\n0\n0\n" in printed  # ghost passes of a lambda that is made anew
    assert "True True\nNone " in printed  # followed its plan, within the budget


def test_quickstart_command_line(tmp_path: Path) -> None:
    (tmp_path / "values.txt").write_text("0.5, -1, 0.25\n1\n")
    for block in SHELL.findall((ROOT / "docs/quickstart.md").read_text()):
        for line in block.splitlines():
            program, *arguments = shlex.split(line)
            assert program == "halocline"
            command = [sys.executable, "-c", "from halocline.cli import main; main()", *arguments]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    values = [float(word) for word in (tmp_path / "y.txt").read_text().split()]
    assert values == pytest.approx([1.5, 0.5625, 1.5, 0.75], abs=1e-4)


def test_command_line_page() -> None:
    run_page("docs/reference/command_line.md")
