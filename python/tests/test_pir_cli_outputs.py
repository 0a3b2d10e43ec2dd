# SPDX-License-Identifier: Apache-2.0
"""What `halocline pir` refuses to overwrite, and the notes of queries that `decode` reads."""

import json
from pathlib import Path

import pytest
from halocline.cli.app import app
from small_retrieval import random_records
from typer.testing import CliRunner

RECORDS = random_records(20, 100)
SECRET, KEYS = "me/pir-secret.hlr", "me/pir-keys.hlr"
MINE = ("--info", "info.json", "--secret", SECRET)
ASKED = ("--keys", KEYS)


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Runs a command in a folder with a database, its description and a client."""
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()

    def run(*args, status=0):
        result = runner.invoke(app, ["pir", *(str(each) for each in args)])
        assert result.exit_code == status, result.output + repr(result.exception)
        return result

    Path("records.bin").write_bytes(RECORDS.tobytes())
    run(
        "build",
        "records.bin",
        "--record-bytes",
        100,
        "--params",
        "pir-n2048",
        "-o",
        "db.hlr",
        "--info",
        "info.json",
    )
    run("keygen", "me", "--info", "info.json")
    return run


def contents():
    return {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def test_inputs_secrets_and_databases_are_not_overwritten(call):
    call("query", *MINE, "--index", 3, "-o", "query.hlr")
    call("answer", "db.hlr", *ASKED, "-q", "query.hlr", "-o", "answer.hlr")
    before = contents()
    build = ("build", "records.bin", "--record-bytes", 100, "--params", "pir-n2048")
    for refused in (
        ("query", *MINE, "--index", 3, "-o", SECRET),
        ("query", *MINE, "--index", 3, "-o", KEYS),
        ("query", *MINE, "--index", 3, "-o", "db.hlr"),
        ("query", *MINE, "--index", 3, "-o", "info.json"),
        ("answer", "db.hlr", *ASKED, "-q", "query.hlr", "-o", "db.hlr"),
        ("answer", "db.hlr", *ASKED, "-q", "query.hlr", "-o", "query.hlr"),
        ("answer", "db.hlr", *ASKED, "-q", "query.hlr", "-o", "a.hlr", "--json", "a.hlr"),
        ("decode", *MINE, "-q", "query.hlr", "-a", "answer.hlr", "-o", "info.json"),
        ("decode", *MINE, "-q", "query.hlr", "-a", "answer.hlr", "-o", "./me/../db.hlr"),
        (*build, "-o", "records.bin"),
        (*build, "-o", SECRET),
        (*build, "-o", "new.hlr", "--info", "new.hlr"),
        (*build, "-o", "new.hlr", "--info", "db.hlr"),
        ("lookup", "db.hlr", "--index", 3, "-o", "db.hlr"),
    ):
        message = call(*refused, status=1).output
        assert "name another file" in " ".join(message.split()), (refused, message)
        assert contents() == before, refused
    call(*build, "-o", "db.hlr")  # a database may be replaced by the next one


def test_the_time_of_an_answer_is_that_of_all_stages(call):
    call("query", *MINE, "--index", 3, "-o", "query.hlr")
    call("answer", "db.hlr", *ASKED, "-q", "query.hlr", "-o", "answer.hlr", "--json", "t.json")
    seconds = json.loads(Path("t.json").read_text())["seconds"]
    stages = sum(seconds[name] for name in ("expansion", "completion", "rows", "columns", "answers"))
    assert seconds["total"] >= stages > 0


def test_decode_knows_what_was_asked_for(call):
    call("query", *MINE, "--index", 3, "-o", "a.hlr")
    call("query", *MINE, "--index", 17, "-o", "b.hlr")
    assert Path("a.hlr.asked").stat().st_mode & 0o777 == 0o600
    call("answer", "db.hlr", *ASKED, "-q", "a.hlr", "-q", "b.hlr", "-o", "both.hlr")
    for query, index in (("a.hlr", 3), ("b.hlr", 17)):
        call("decode", *MINE, "-q", query, "-a", "both.hlr", "-o", "record.bin")
        assert Path("record.bin").read_bytes() == RECORDS[index].tobytes()
    again = call("decode", *MINE, "-q", "a.hlr", "-a", "both.hlr", "-o", "r", "--index", 4, status=1)
    assert "asks for something else" in " ".join(again.output.split())
    Path("b.hlr.asked").write_bytes(Path("a.hlr.asked").read_bytes())
    foreign = call("decode", *MINE, "-q", "b.hlr", "-a", "both.hlr", "-o", "r", status=1)
    assert "note of other queries" in " ".join(foreign.output.split())
    for damage in ("{", "[]", '{"format": 9}', '{"format": 1, "queries": [], "index": true, "key": null}'):
        Path("b.hlr.asked").write_text(damage)
        call("decode", *MINE, "-q", "b.hlr", "-a", "both.hlr", "-o", "r", status=1)
    Path("b.hlr.asked").unlink()
    missing = call("decode", *MINE, "-q", "b.hlr", "-a", "both.hlr", "-o", "r", status=1)
    assert "give the --index or --key" in " ".join(missing.output.split())
    call("decode", *MINE, "-q", "b.hlr", "-a", "both.hlr", "-o", "record.bin", "--index", 17)
    assert Path("record.bin").read_bytes() == RECORDS[17].tobytes()
    assert not Path("r").exists()


def test_notes_are_kept_and_missed_ones_are_said(call):
    call("query", *MINE, "--index", 5, "-o", "n.hlr")
    call("answer", "db.hlr", *ASKED, "-q", "n.hlr", "-o", "n.answer")
    before = Path("n.hlr.asked").read_bytes()
    refused = call("decode", *MINE, "-q", "n.hlr", "-a", "n.answer", "-o", "n.hlr.asked", status=1)
    assert "the note of a query" in " ".join(refused.output.split())
    assert Path("n.hlr.asked").read_bytes() == before
    call("query", *MINE, "--index", 6, "-o", "n.hlr")  # the next query, with its note
    assert Path("n.hlr.asked").read_bytes() != before
    assert "no note is written" in " ".join(call("query", *MINE, "--index", 6, "-o", "-").stderr.split())
