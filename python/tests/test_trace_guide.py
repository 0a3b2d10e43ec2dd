# SPDX-License-Identifier: Apache-2.0
"""What stands in docs/guides/traces.md runs as it stands there."""

import re
import shlex
from pathlib import Path

import pytest
from halocline.cli.app import app
from typer.testing import CliRunner

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs" / "guides" / "traces.md").read_text()


def blocks(language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)
    assert found
    return found


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for line in "".join(blocks("bash")).splitlines():
        program, *arguments = shlex.split(line)
        assert program == "halocline"
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, f"{line}\n{done.output}"
    names = {each.name for each in tmp_path.iterdir()}
    assert {"live.png", "picture-scatter.png", "replays.html", "run-lru.json", "digits.hcplan"} <= names


def test_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks("python"):
        exec(compile(block, "traces.md", "exec"), names)
    assert "planned on h200" in capsys.readouterr().out
