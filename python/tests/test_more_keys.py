# SPDX-License-Identifier: Apache-2.0
"""Keys added to those of a client, secret keys that are not overwritten, and the command for error bounds."""

import json
import re

import halocline as hc
import numpy as np
import pytest
from halocline.cli.app import app
from typer.testing import CliRunner

PARAMS = ("--params", "test-n10-d3", "--allow-insecure")


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*args, status=0):
        result = CliRunner().invoke(app, [str(each) for each in args])
        assert result.exit_code == status, result.output + repr(result.exception)
        return result

    return run


def contents(folder):
    return {each.name: each.read_bytes() for each in folder.iterdir()}


def test_keys_extend_others(params, client):
    first = client.evaluation_keys([1, 2], level=1)
    both = client.evaluation_keys([2, 3], extend=first)
    level = params.max_level
    elements = {step: params._core.galois_element(step) for step in (1, 2, 3)}
    wanted = {elements[1]: 1, elements[2]: level, elements[3]: level}
    assert {element: each for element, each in both.requests() if element in wanted} == wanted
    assert len(both.requests()) == 4  # and the relinearization key
    assert both.key_id == client.key_id
    x = client.encrypt(np.arange(8.0))
    engine = hc.Engine(params, both, threads=1)
    got = client.decrypt(engine.run(lambda x: x.rotate(3) * x.rotate(2), x))
    assert np.allclose(got, np.roll(np.arange(8), -3) * np.roll(np.arange(8), -2), atol=1e-3)
    assert np.allclose(
        client.decrypt(engine.run(lambda x: x.drop_level(1).rotate(1), x)),
        np.roll(np.arange(8), -1),
        atol=1e-3,
    )
    # What is there already is not made again.
    calls = []
    same = client.evaluation_keys([2, 3], extend=both, progress=lambda *done: calls.append(done))
    assert not calls and same.requests() == both.requests()
    with pytest.raises(hc.KeyMismatch, match="extend keys of this client"):
        hc.Client(params, threads=1).evaluation_keys([1], extend=first)
    with pytest.raises(hc.WrongType):
        client.evaluation_keys([1], extend=[1])


def test_keygen_adds_keys_to_a_client(call, tmp_path):
    call("keygen", "k", *PARAMS, "--expr", "x*x")
    before = contents(tmp_path / "k")
    (tmp_path / "v.txt").write_text("1,2,3,4")
    call("encrypt", "v.txt", "--key", "k/secret.hlc", "--out", "x.hlc", "--allow-insecure")
    program = ("--keys", "k/keys.hlc", "--input", "x=x.hlc", "--out", "y.hlc", "--allow-insecure")
    said = call("eval", *program, "--expr", "x.rotate(1)", status=1).stderr
    assert "keygen FOLDER --add" in " ".join(said.split())
    output = call(
        "keygen", "k", "--add", "--allow-insecure", "--expr", "x.rotate(1)", "--json", "a.json"
    ).stdout
    assert "relinearization key, rotation key for step 1" in output
    report = json.loads((tmp_path / "a.json").read_text())
    assert report["rotations"] == [1] and list(report["files"]) == ["keys.hlc"]
    after = contents(tmp_path / "k")
    assert {name for name in before if before[name] != after[name]} == {"keys.hlc"}
    call("eval", *program, "--expr", "x.rotate(1)")
    call("eval", *program, "--expr", "x*x")
    call("decrypt", "y.hlc", "--key", "k/secret.hlc", "--out", "y.txt", "--allow-insecure")
    values = [float(word) for word in (tmp_path / "y.txt").read_text().split()]
    assert values == pytest.approx([1, 4, 9, 16], abs=1e-3)
    call("keygen", "k", "--add", "--allow-insecure", "--rotations", "2,3", "--conjugation")
    names = set(hc.EvaluationKeys.load("k/keys.hlc", allow_insecure=True))
    assert {f"rotation key for step {k}" for k in (1, 2, 3)} | {"conjugation key"} <= names


def test_adding_keys_changes_all_or_nothing(call, tmp_path, monkeypatch):
    said = call("keygen", "none", "--add", "--rotations", "1", status=1).stderr
    assert "has no secret.hlc and no keys.hlc" in " ".join(said.split())
    assert not (tmp_path / "none").exists()
    call("keygen", "k", *PARAMS)
    before = contents(tmp_path / "k")
    for options in (("--params", "n14-d7"), ("--force",), ("--expr", "x*x", "--rotations", "1")):
        call("keygen", "k", "--add", "--allow-insecure", *options, status=1)

    def refuse(self, path):
        raise hc.IoError("disk full")

    monkeypatch.setattr(hc.EvaluationKeys, "save", refuse)
    call("keygen", "k", "--add", "--allow-insecure", "--rotations", "1", status=1)
    assert contents(tmp_path / "k") == before


def test_secret_keys_are_not_overwritten(params, tmp_path):
    path = tmp_path / "secret.hlc"
    hc.Client(params, threads=1).save_secret_key(path)
    before = path.read_bytes()
    other = hc.Client(params, threads=1)
    with pytest.raises(hc.InvalidArgument, match=r"secret\.hlc' exists; .*overwrite=True"):
        other.save_secret_key(path)
    assert path.read_bytes() == before
    (tmp_path / "link").symlink_to("secret.hlc")
    with pytest.raises(hc.InvalidArgument, match="exists"):
        other.save_secret_key(tmp_path / "link")
    other.save_secret_key(path, overwrite=True)
    assert path.read_bytes() != before and path.stat().st_mode & 0o777 == 0o600


def test_the_command_for_error_bounds(call, tmp_path):
    program = ("--expr", "(x*y + 0.5).rotate(1)")
    output = call("error-bound", *PARAMS, *program, "--slots", 16, "--runs", 2, "--json", "b.json").stdout
    report = json.loads((tmp_path / "b.json").read_text())
    stated = [float(each) for each in re.findall(r"(\d[\d.]*e-\d+)", output)]
    assert len(stated) == 2 and all(
        report["error_bound"] <= each < 1.02 * report["error_bound"] for each in stated
    )
    assert 1e-12 < report["error_bound"] < 1e-4
    (tmp_path / "x.txt").write_text("1, 100, -100, 1")
    (tmp_path / "y.txt").write_text("100, 100, 100, 100")
    inputs = ("--input", "x=x.txt", "--input", "y=y.txt")
    call("error-bound", *PARAMS, *program, *inputs, "--runs", 2, "--json", "large.json")
    large = json.loads((tmp_path / "large.json").read_text())["error_bound"]
    assert large > report["error_bound"]  # errors grow with the values
    said = call("error-bound", *PARAMS, *program, "--input", "x=x.txt", status=1).stderr
    assert "--input x=FILE --input y=FILE" in " ".join(said.split())
    call("error-bound", *PARAMS, *program, *inputs, "--slots", 4, status=1)
    call("error-bound", *PARAMS, *program, "--magnitude", "-1", status=1)
    # The bound is what decrypt requires for a computed result.
    call("keygen", "k", *PARAMS, "--expr", "x*x")
    call("encrypt", "x.txt", "--key", "k/secret.hlc", "--out", "x.hlc", "--allow-insecure")
    call(
        "eval",
        "--keys",
        "k/keys.hlc",
        "--input",
        "x.hlc",
        "--out",
        "z.hlc",
        "--expr",
        "x*x",
        "--allow-insecure",
    )
    sharing = (
        "decrypt",
        "z.hlc",
        "--key",
        "k/secret.hlc",
        "--out",
        "z.txt",
        "--for-sharing",
        "--allow-insecure",
    )
    call(*sharing, status=1)
    call(*sharing, "--error-bound", f"{large:.3g}", "--magnitude", 10000)


def test_bounds_that_decrypt_refuses_are_not_offered(call, tmp_path):
    measure = ("error-bound", *PARAMS, "--slots", 16, "--runs", 2)
    for margin in ("0.5", "nan", "inf"):
        said = call(*measure, "--expr", "x*x", "--margin", margin, status=1).stderr
        assert f"error-bound: --margin: got {margin}, expected" in " ".join(said.split())
    call(*measure, "--expr", "x*x", "--margin", "1")
    output = call(*measure, "--expr", "x-x", "--json", "none.json").stdout
    assert "no error was found" in output and "--error-bound" not in output
    assert json.loads((tmp_path / "none.json").read_text())["error_bound"] == 0
