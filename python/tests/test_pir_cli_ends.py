# SPDX-License-Identifier: Apache-2.0
"""`halocline pir build | keygen` that are ended: what is there was there before, or is complete."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from halocline.cli import key_files
from halocline.cli.app import app
from halocline.cli.signals import terminable
from small_retrieval import random_records
from typer.testing import CliRunner

RECORDS = random_records(20, 100)
BUILD = ("pir", "build", "records.bin", "--record-bytes", "100", "--params", "pir-n2048", "-o", "db.hlr")

ENDED_BUILD = """
import contextlib, os, signal
from halocline.cli.pir import build
@contextlib.contextmanager
def ending(what):
    yield lambda done, total: os.kill(os.getpid(), signal.{signal})
build.progress_bar = ending
signal.signal(signal.{signal}, signal.SIG_DFL)  # nohup ignores hang-ups, and so would all that it starts
from halocline.cli import main
main()
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_an_ended_build_leaves_nothing(tmp_path: Path, name: str) -> None:
    """The signal comes when records have been written, before the file is complete."""
    (tmp_path / "records.bin").write_bytes(RECORDS.tobytes())
    (tmp_path / "db.hlr").write_bytes(b"old")
    done = subprocess.run(
        [sys.executable, "-c", ENDED_BUILD.replace("{signal}", name), *BUILD],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 128 + getattr(signal, name), done.stderr
    assert (tmp_path / "db.hlr").read_bytes() == b"old"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["db.hlr", "records.bin"]


def test_signals_that_are_ignored_stay_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with terminable():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        with pytest.raises(SystemExit), terminable():
            os.kill(os.getpid(), signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "records.bin").write_bytes(RECORDS.tobytes())
    call(*BUILD[1:], "--info", "info.json")
    yield tmp_path


def call(*arguments: str, status: int = 0) -> str:
    done = CliRunner().invoke(app, ["pir", *arguments])
    assert done.exit_code == status, done.output + repr(done.exception)
    return done.stderr


def contents(at: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in at.iterdir() if each.is_file()}


def test_keygen_that_fails_changes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call("keygen", "me", "--info", "info.json")
    before = contents(folder / "me")
    assert set(before) == {"pir-secret.hlr", "pir-keys.hlr"}
    replace = os.replace

    def fail(source: Path, target: Path) -> None:
        if Path(target).name == "pir-secret.hlr" and contents(folder / "me") != before:
            monkeypatch.setattr(key_files.os, "replace", replace)
            raise OSError(5, "Input/output error")
        replace(source, target)

    monkeypatch.setattr(key_files.os, "replace", fail)
    assert "Input/output" in call("keygen", "me", "--info", "info.json", "--force", status=1)
    assert contents(folder / "me") == before
    call("keygen", "me", "--info", "info.json", "--force")
    after = contents(folder / "me")
    assert all(after[name] != before[name] for name in before)


KILLED_KEYGEN = """
import os, signal
from halocline.cli import key_files
replace = os.replace
def kill(source, target):
    os.kill(os.getpid(), signal.SIGKILL) if os.path.basename(target) == "{at}" else replace(source, target)
key_files.os.replace = kill
from halocline.cli import main
main()
"""


@pytest.mark.parametrize("at", ["pir-keys.hlr", "pir-secret.hlr"])
def test_keygen_that_is_killed_is_undone_by_the_next_one(folder: Path, at: str) -> None:
    call("keygen", "me", "--info", "info.json")
    before = contents(folder / "me")
    arguments = ["pir", "keygen", "me", "--info", "info.json", "--force"]
    done = subprocess.run([sys.executable, "-c", KILLED_KEYGEN.replace("{at}", at), *arguments], check=False)
    assert done.returncode == -signal.SIGKILL
    with contextlib.suppress(FileNotFoundError):
        assert (folder / "me/pir-secret.hlr").read_bytes() == before["pir-secret.hlr"]
    assert "interrupted" in call("keygen", "me", "--info", "info.json", status=1)  # which needs --force
    assert contents(folder / "me") == before


def test_a_first_keygen_that_is_killed_leaves_no_secret_without_keys(folder: Path) -> None:
    arguments = ["pir", "keygen", "me", "--info", "info.json"]
    program = KILLED_KEYGEN.replace("{at}", "pir-secret.hlr")
    done = subprocess.run([sys.executable, "-c", program, *arguments], check=False)
    assert done.returncode == -signal.SIGKILL
    assert "pir-secret.hlr" not in contents(folder / "me")
    call(*arguments[1:])
    assert set(contents(folder / "me")) == {"pir-secret.hlr", "pir-keys.hlr"}
