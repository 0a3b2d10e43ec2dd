# SPDX-License-Identifier: Apache-2.0
"""`halocline pir` from end to end, and what it refuses."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from halocline.cli.app import app
from small_retrieval import random_records
from typer.testing import CliRunner

RECORDS = random_records(20, 100)


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Runs a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()

    def run(*args, status=0):
        result = runner.invoke(app, ["pir", *(str(each) for each in args)])
        assert result.exit_code == status, result.output + repr(result.exception)
        return result

    return run


def build(call, *more):
    Path("records.bin").write_bytes(RECORDS.tobytes())
    return call("build", "records.bin", "--record-bytes", 100, "--params", "pir-n2048", "-o", "db.hlr", *more)


def test_the_whole_way(call):
    assert "failure probability" in build(call, "--info", "info.json", "--json", "built.json").stdout
    built = json.loads(Path("built.json").read_text())
    assert (built["records"], built["params"]) == (20, "pir-n2048")
    call("keygen", "me", "--info", "info.json")
    assert Path("me/pir-secret.hlr").stat().st_mode & 0o777 == 0o600
    mine = ("--info", "info.json", "--secret", "me/pir-secret.hlr", "--index", 13)
    call("query", *mine, "-o", "query.hlr")
    done = call(
        "answer",
        "db.hlr",
        "--keys",
        "me/pir-keys.hlr",
        "-q",
        "query.hlr",
        "-o",
        "answer.hlr",
        "--json",
        "t.json",
    )
    assert "1 answer " in done.stdout
    assert json.loads(Path("t.json").read_text())["seconds"]["rows"] > 0
    call("decode", *mine, "-q", "query.hlr", "-a", "answer.hlr", "-o", "record.bin")
    assert Path("record.bin").read_bytes() == RECORDS[13].tobytes()
    assert Path("record.bin").stat().st_mode & 0o777 == 0o600
    files = ("db.hlr", "info.json", "me/pir-secret.hlr", "me/pir-keys.hlr", "query.hlr", "answer.hlr")
    call("info", *files, "--json", "files.json")
    found = json.loads(Path("files.json").read_text())["files"]
    assert [each["kind"] for each in found] == [
        "database",
        "description",
        "retrieval secret",
        "retrieval keys",
        "retrieval query",
        "retrieval answer",
    ]
    assert found[0]["query_bytes"] == Path("query.hlr").stat().st_size == found[4]["file_bytes"]
    assert len({each["client"] for each in found[2:]}) == 1
    call("info", "db.hlr", "-o", "again.json")
    assert Path("again.json").read_bytes() == Path("info.json").read_bytes()


def test_keys_and_absent_keys(call):
    Path("names.json").write_text(json.dumps({f"n{i}": f"value {i}" for i in range(30)}))
    call("build", "names.json", "--keywords", "--params", "pir-n2048", "-o", "n.hlr", "--info", "i.json")
    call("keygen", "me", "--info", "i.json")
    for key, expected in (("n7", b"value 7"), ("absent", None)):
        mine = ("--info", "i.json", "--secret", "me/pir-secret.hlr", "--key", key)
        call("query", *mine, "-o", "q")
        call("answer", "n.hlr", "--keys", "me/pir-keys.hlr", "-q", "q", "-o", "a")
        done = call("decode", *mine, "-q", "q", "-a", "a", "-o", "v", status=0 if expected else 1)
        if expected:
            assert Path("v").read_bytes() == expected
            Path("v").unlink()
        else:
            assert "no such key" in done.stderr
            assert not Path("v").exists()
    Path("names.txt").write_text("a\tone\nb\ttwo\n")
    call("build", "names.txt", "--keywords", "--params", "pir-n2048", "-o", "t.hlr")
    assert call("lookup", "t.hlr", "--key", "b", "-o", "-").stdout == "two"
    call("lookup", "t.hlr", "--key", "c", "-o", "-", status=1)


def test_arrays_and_lookup_by_number(call):
    np.save("records.npy", RECORDS.view(np.uint32))
    call("build", "records.npy", "--params", "pir-n2048", "-o", "db.hlr")
    call("lookup", "db.hlr", "--index", 19, "-o", "r")
    assert Path("r").read_bytes() == RECORDS[19].tobytes()


def test_refused(call):
    build(call, "--info", "info.json")
    call("keygen", "me", "--info", "info.json")
    call("keygen", "me", "--info", "info.json", status=1)
    call("keygen", "me", "--info", "info.json", "--force")
    mine = ("--info", "info.json", "--secret", "me/pir-secret.hlr", "-o", "q")
    for options, why in (
        (("query", *mine), "one of --index, --key and --wanted"),
        (("query", *mine, "--index", 1, "--key", "x"), "one of --index, --key and --wanted"),
        (("query", *mine, "--index", 20), "20 records"),
        (("query", *mine, "--key", "x"), "no keys"),
        (("build", "records.bin", "-o", "x.hlr"), "give --record-bytes"),
        (("build", "records.bin", "--record-bytes", 100, "--rows", 3, "-o", "x.hlr"), "power of two"),
        (("build", "records.bin", "--record-bytes", 100, "--rows", 9999, "-o", "x.hlr"), "--rows: got 9999"),
        (("build", "records.bin", "--record-bytes", 100, "--movable", "-o", "x.hlr"), "with --keywords"),
        (("build", "records.bin", "--keywords", "--rows", 4, "-o", "x.hlr"), "without --keywords"),
        (("build", "records.bin", "--record-bytes", 7, "-o", "x.hlr"), "whole records"),
        (("build", "records.bin", "--record-bytes", 100, "-o", "-"), "standard output"),
        (("build", "records.bin", "--record-bytes", 100, "--spare", 1, "-o", "x.hlr"), "--keywords"),
        (("build", "records.bin", "--record-bytes", 100, "--params", "paper", "-o", "x.hlr"), "at least 128"),
        (("build", "missing", "--record-bytes", 100, "-o", "x.hlr"), "missing"),
        (("info", "records.bin"), ""),
        (("info", "missing"), "missing"),
        (("answer", "db.hlr", "--keys", "me/pir-keys.hlr", "-q", "records.bin", "-o", "a"), "--query"),
        (("answer", "info.json", "--keys", "me/pir-keys.hlr", "-q", "q", "-o", "a"), ""),
        (("lookup", "db.hlr", "--index", 20, "-o", "-"), "20 records"),
    ):
        assert why in call(*options, status=1).stderr.replace("\n", " "), options
    assert not Path("x.hlr").exists()
    call("build", "records.bin", "--params", "other", "-o", "x.hlr", status=2)
    call("answer", "db.hlr", "--storage", "disk", "--keys", "k", "-q", "q", "-o", "a", status=2)


def test_bench(call):
    arguments = ("--set", "pir-n2048", "--size", "64KiB", "--batch", "1,2", "--clients", 2)
    shown = call("bench", *arguments, "--repetitions", 1, "--storage", "transformed,raw", "--json", "b.json")
    assert "On the wire" in shown.stdout
    content = json.loads(Path("b.json").read_text())
    assert content["suite"] == "pir"
    assert len(content["rows"]) == 4
    assert all(row["queries_per_second"] > 0 and row["stage_seconds"]["rows"] > 0 for row in content["rows"])
    assert "On the wire" in call("bench", "--from", "b.json").stdout
    call("bench", "--set", "paper", status=1)
    assert "bench" in call("--help").stdout


def test_a_killed_build_leaves_no_half_file(tmp_path: Path) -> None:
    source, target = tmp_path / "records.bin", tmp_path / "db.hlr"
    with open(source, "wb") as file:
        file.truncate(400 << 20)
    target.write_bytes(b"old")
    program = "from halocline.cli import main; main()"
    arguments = ["pir", "build", str(source), "--record-bytes", "4096", "-o", str(target)]
    child = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not list(tmp_path.glob(".db.hlr.partial-*")) and time.monotonic() < until:
        time.sleep(0.005)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert target.read_bytes() == b"old"
    source.write_bytes(RECORDS.tobytes())
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments[:-4], "--record-bytes", "100", "-o", str(target)],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(each.name for each in tmp_path.iterdir()) == ["db.hlr", "records.bin"]
