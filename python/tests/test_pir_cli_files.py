# SPDX-License-Identifier: Apache-2.0
"""`halocline pir`: what is wanted in files, files that are recognised and verified, further options."""

import io
import json
from pathlib import Path

import halocline as hc
import numpy as np
import pytest
from halocline import pir
from halocline.cli.app import app
from small_retrieval import random_records, small_params
from typer.testing import CliRunner

RECORDS = random_records(20, 100)
SMALL = ("--record-bytes", 100, "--params", "pir-n2048")


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Runs a command in a folder with records.bin and names.json."""
    monkeypatch.chdir(tmp_path)
    Path("records.bin").write_bytes(RECORDS.tobytes())
    Path("names.json").write_text(json.dumps({f"n{i}": f"value {i}" for i in range(30)}))

    def run(*args, status=0, given=None):
        result = CliRunner().invoke(app, [str(each) for each in args], input=given)
        assert result.exit_code == status, result.output + repr(result.exception)
        return " ".join((result.stdout + result.stderr).split())

    return run


def test_what_is_wanted_can_come_in_a_file(call):
    call("pir", "build", "records.bin", *SMALL, "-o", "db.hlr", "--info", "i.json")
    call("pir", "keygen", "me", "--info", "i.json")
    mine = ("--info", "i.json", "--secret", "me/pir-secret.hlr")
    Path("number").write_text("13\n")
    call("pir", "query", *mine, "--wanted", "number", "-o", "q")
    call("pir", "answer", "db.hlr", "--keys", "me/pir-keys.hlr", "-q", "q", "-o", "a")
    Path("q.asked").unlink()
    call("pir", "decode", *mine, "-q", "q", "-a", "a", "-o", "r", "--wanted", "-", given="13")
    assert Path("r").read_bytes() == RECORDS[13].tobytes()
    call("pir", "lookup", "db.hlr", "--wanted", "-", "-o", "r", given="19\r\n")
    assert Path("r").read_bytes() == RECORDS[19].tobytes()
    for given in ("", "x7", "-7", "7 8", "\u0663", "9" * 30):
        said = call("pir", "lookup", "db.hlr", "--wanted", "-", "-o", "r", status=1, given=given)
        assert "expected one line, digits" in said
    said = call("pir", "lookup", "db.hlr", "--wanted", "-", "-o", "r", status=1, given="7654")
    assert "20 records" in said
    assert "7654" not in said
    said = call("pir", "lookup", "db.hlr", "--wanted", "number", "--index", 3, "-o", "r", status=1)
    assert "one of --index, --key and --wanted" in said


def test_keys_in_files_are_in_no_message(call):
    call("pir", "build", "names.json", "--keywords", "--params", "pir-n2048", "-o", "n.hlr")
    assert call("pir", "lookup", "n.hlr", "--wanted", "-", "-o", "-", given="n7\n").startswith("value 7")
    for key in ("secret" * 20_000, "secret"):
        said = call("pir", "lookup", "n.hlr", "--wanted", "-", "-o", "-", status=1, given=key)
        assert "secret" not in said
    said = call("pir", "lookup", "n.hlr", "--index", 3, "-o", "-", status=1)
    assert "looked up by key; give --key" in said


def test_different_keys_of_one_client_are_refused(call):
    call("pir", "build", "records.bin", *SMALL, "-o", "db.hlr", "--info", "i.json")
    call("pir", "keygen", "me", "--info", "i.json")
    info = pir.DatabaseInfo.load("i.json")
    Path("more.hlr").write_bytes(pir.Client.load("me/pir-secret.hlr", info).server_keys())
    call("pir", "query", "--info", "i.json", "--secret", "me/pir-secret.hlr", "--index", 3, "-o", "q")
    twice = ("--keys", "me/pir-keys.hlr", "--keys")
    call("pir", "answer", "db.hlr", *twice, "me/pir-keys.hlr", "-q", "q", "-o", "a")
    said = call("pir", "answer", "db.hlr", *twice, "more.hlr", "-q", "q", "-o", "a", status=1)
    assert "different keys of client" in said


def test_errors_of_the_library_name_options(call):
    call("pir", "build", "records.bin", *SMALL, "-o", "db.hlr", "--info", "i.json")
    call("pir", "keygen", "me", "--info", "i.json")
    call("pir", "query", "--info", "i.json", "--secret", "me/pir-secret.hlr", "--index", 3, "-o", "q")
    asked = ("db.hlr", "--keys", "me/pir-keys.hlr", "-q", "q", "-o", "a")
    said = call("pir", "answer", *asked, "--memory", "100KiB", status=1)
    assert "enough with --policy resident and --storage transformed" in said
    np.save("records.npy", RECORDS)
    arguments = ("--record-bytes", 7, "--params", "pir-n2048", "-o", "x.hlr")
    said = call("pir", "build", "records.npy", *arguments, status=1)
    assert "pir build: the array has 20 records of 100 bytes; leave --record-bytes out" in said
    call("pir", "build", "names.json", "--keywords", "--max-value", 3, *arguments[2:], status=1)
    call("pir", "keygen", "you", "--info", "i.json")
    said = call("pir", "answer", "db.hlr", "--keys", "you/pir-keys.hlr", *asked[3:], status=1)
    assert "name their file with --keys" in said


def test_info_recognises_files_of_private_retrieval(call):
    call(
        "pir", "build", "names.json", "--keywords", "--params", "pir-n2048", "-o", "n.hlr", "--info", "i.json"
    )
    call("pir", "keygen", "me", "--info", "i.json")
    files = ("n.hlr", "i.json", "me/pir-secret.hlr", "me/pir-keys.hlr")
    assert "retrieval secret" in call("info", *files, "--json", "all.json")
    kinds = [each["kind"] for each in json.loads(Path("all.json").read_text())["files"]]
    assert kinds == ["database", "description", "retrieval secret", "retrieval keys"]


def test_info_verifies_all_of_a_file(call):
    big = random_records(3000, 100)
    Path("records.bin").write_bytes(big.tobytes())
    call("pir", "build", "records.bin", *SMALL, "-o", "db.hlr", "--info", "i.json")
    call("pir", "keygen", "me", "--info", "i.json")
    keys = Path("me/pir-keys.hlr").read_bytes()
    assert "verified │ True" in call("pir", "info", "--verify", "db.hlr", "me/pir-keys.hlr")
    data = bytearray(Path("db.hlr").read_bytes())
    data[data.index(big[2999].tobytes())] ^= 1
    Path("db.hlr").write_bytes(data)
    call("pir", "info", "db.hlr")  # the header is in order
    assert "damaged" in call("pir", "info", "--verify", "db.hlr", status=1)
    Path("two.hlr").write_bytes(keys + keys[:-1] + bytes([keys[-1] ^ 1]))
    call("pir", "info", "two.hlr")
    assert "checksum" in call("pir", "info", "--verify", "two.hlr", status=1)


def test_entries_that_may_move(call):
    def tag_bytes(*options):
        arguments = ("names.json", "--keywords", "--params", "pir-n2048", *options, "-o", "n.hlr")
        call("pir", "build", *arguments, "--json", "b.json")
        return json.loads(Path("b.json").read_text())["table"]["tag_bytes"]

    assert tag_bytes() < 16 == tag_bytes("--movable") == tag_bytes("--spare", 0.5)
    assert tag_bytes("--spare", 0.5, "--fixed") < 16


def test_rows_can_be_given(call):
    call("pir", "build", "records.bin", *SMALL, "--rows", 4, "-o", "db.hlr", "--json", "b.json")
    assert json.loads(Path("b.json").read_text())["rows"] == 4


def test_array_files_from_python(tmp_path):
    array = RECORDS.view(np.uint32)
    np.save(tmp_path / "records.npy", array)
    built = pir.Database.build(tmp_path / "records.npy", small_params())
    assert (len(built), built.info.record_bytes) == (20, 100)
    assert built.record(13) == RECORDS[13].tobytes()
    with pytest.raises(hc.InvalidArgument, match="20 records of 100 bytes"):
        pir.Database.build(tmp_path / "records.npy", small_params(), record_bytes=7)
    packed = io.BytesIO()
    np.save(packed, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    for content in (b"", b"no array", packed.getvalue(), (tmp_path / "records.npy").read_bytes()[:-1]):
        (tmp_path / "bad.npy").write_bytes(content)
        with pytest.raises(hc.CorruptData, match=r"no \.npy file"):
            pir.Database.build(str(tmp_path / "bad.npy"), small_params())
    with pytest.raises(hc.IoError):
        pir.Database.build(tmp_path / "missing.npy", small_params())


def test_info_of_several_files_names_the_one_that_is_wrong(call):
    call("pir", "build", "records.bin", *SMALL, "-o", "a.hlr")
    Path("bad.hlr").write_bytes(b"HALOPIR" + bytes(40))
    said = call("pir", "info", "a.hlr", "bad.hlr", status=1)
    assert "bad.hlr:" in said
