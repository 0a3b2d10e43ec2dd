# SPDX-License-Identifier: Apache-2.0
"""No output of a command replaces a secret or a file that the command reads."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from halocline.cli.app import app
from typer.testing import CliRunner


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the keys of two clients, a ciphertext and a store."""
    folder = tmp_path_factory.mktemp("made")
    for line in (
        f"keygen {folder}/k --params n13-d3 --rotations 1",
        f"pir build {folder}/records -o {folder}/db.hlr --info {folder}/db.json --record-bytes 16",
        f"pir keygen {folder}/p --info {folder}/db.json",
        f"keys put {folder}/store alice {folder}/k/keys.hlc",
        f"encrypt {folder}/x.txt -k {folder}/k/secret.hlc -o {folder}/x.hlc",
    ):
        (folder / "records").write_bytes(bytes(range(256)) * 4)
        (folder / "x.txt").write_text("0.5\n0.25\n")
        result = CliRunner().invoke(app, line.split())
        assert result.exit_code == 0, (line, result.output)
    return folder


@pytest.mark.parametrize("secret", ["k/secret.hlc", "p/pir-secret.hlr"])
@pytest.mark.parametrize(
    "line",
    [
        "keys get store alice -o SECRET",
        "keys list store --json SECRET",
        "encrypt x.txt -k k/public.hlc -o SECRET",
        "decrypt x.hlc -k k/secret.hlc -o SECRET",
        "eval -i x=x.hlc -k k/keys.hlc --expr x*x -o SECRET",
        "run digits --json SECRET",
        "pir info db.hlr --json SECRET",
        "pir build records -o SECRET --record-bytes 16",
        "info --json SECRET",
    ],
)
def test_secrets_are_kept(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, secret: str
) -> None:
    shutil.copytree(made, tmp_path / "made")
    monkeypatch.chdir(tmp_path / "made")
    before = Path(secret).read_bytes()
    result = CliRunner().invoke(app, line.replace("SECRET", secret).split())
    assert result.exit_code != 0, result.output
    assert Path(secret).read_bytes() == before
    said = " ".join(result.output.split())
    assert "secret" in said and "Traceback" not in said


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("eval -i x=x.hlc -k k/keys.hlc --expr x*x -o k/keys.hlc", "k/keys.hlc"),
        ("encrypt x.txt -k k/public.hlc -o k/public.hlc", "k/public.hlc"),
        ("decrypt x.hlc -k k/secret.hlc -o x.hlc", "x.hlc"),
    ],
)
def test_inputs_are_kept(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, kept: str
) -> None:
    shutil.copytree(made, tmp_path / "made")
    monkeypatch.chdir(tmp_path / "made")
    before = Path(kept).read_bytes()
    result = CliRunner().invoke(app, line.split())
    assert result.exit_code == 1 and "is also an input" in " ".join(result.output.split())
    assert Path(kept).read_bytes() == before
