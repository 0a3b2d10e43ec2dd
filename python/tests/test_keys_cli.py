# SPDX-License-Identifier: Apache-2.0
"""`halocline keys` over folders and a real web server, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import halocline as hc
import pytest
from halocline.cli.app import app
from store_rig import nginx
from typer.testing import CliRunner

Call = Callable[..., Any]
PARAMS = hc.Params.preset("n13-d3")


@pytest.fixture(scope="module")
def client() -> hc.Client:
    return hc.Client(PARAMS)


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: hc.Client) -> Call:
    """Runs a command in a folder with a file of keys."""
    monkeypatch.chdir(tmp_path)
    client.evaluation_keys(rotations=[1]).save("keys.hlc")

    def run(*args: object, status: int = 0) -> Any:
        result = CliRunner().invoke(app, ["keys", *(str(each) for each in args)])
        assert result.exit_code == status, result.output + repr(result.exception)
        return result

    return run


@pytest.fixture(params=["folder", "http"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "folder":
        yield "store"
    else:
        with nginx(tmp_path) as served:
            yield served


def test_the_whole_way(call: Call, url: str, client: hc.Client) -> None:
    digest = call("put", url, "alice", "keys.hlc", "--quota", "64MiB", "--json", "put.json").stdout.strip()
    assert json.loads(Path("put.json").read_text())["digest"] == digest
    call("put", url, "bob", "keys.hlc")
    assert call("list", url).stdout.split() == ["alice", "bob"]
    pins = ("--digest", digest.upper(), "--key-id", client.key_id)
    call("get", url, "alice", "-o", "back.hlc", *pins)
    assert Path("back.hlc").read_bytes() == Path("keys.hlc").read_bytes()
    checked = call("check", url, "--json", "-")
    rows = json.loads(checked.stdout)["users"]
    assert [row["user"] for row in rows] == ["alice", "bob"]
    assert rows[0]["digest"] == digest and rows[0]["bytes"] > Path("keys.hlc").stat().st_size
    call("check", url, "alice", *pins)
    used = json.loads(call("usage", url, "--quota", "1GiB", "--json", "-").stdout)
    assert used["bytes"] == sum(row["bytes"] for row in used["users"]) == rows[0]["bytes"] + rows[1]["bytes"]
    assert "the quota is 1024" in call("usage", url, "--quota", 1024, status=1).stderr
    assert "deleted" in call("delete", url, "alice").stdout
    assert "none" in call("delete", url, "alice").stdout
    assert call("list", url).stdout.split() == ["bob"]


def test_damage_is_found_and_leftovers_go(call: Call, tmp_path: Path) -> None:
    call("put", "store", "alice", "keys.hlc")
    call("put", "store", "bob", "keys.hlc")
    (tmp_path / "store" / "bob" / ("keys-" + "0" * 32 + ".hlc")).write_bytes(b"left")
    kept = next(each for each in (tmp_path / "store" / "alice").glob("*.hlc"))
    content = bytearray(kept.read_bytes())
    content[len(content) // 2] ^= 1
    kept.write_bytes(content)
    found = call("check", "store", "--clean", "--json", "found.json", status=1)
    assert "alice" in found.stderr and "bob" not in found.stderr
    alice, bob = json.loads(Path("found.json").read_text())["users"]
    assert "do not match the manifest" in alice["error"]
    assert bob["removed"] == 1 and "error" not in bob
    call("check", "store", "bob")


REFUSED = [
    (("put", "ftp://host/x", "alice", "keys.hlc"), 1, "unknown kind of URL"),
    (("put", "store", "../x", "keys.hlc"), 1, "no name of a user"),
    (("put", "store", "alice", "none.hlc"), 1, "cannot read"),
    (("put", "store", "alice", "keys.hlc", "--quota", "lots"), 1, "not a size"),
    (("put", "store", "alice", "keys.hlc", "--quota", "1000"), 1, "the quota of a user is 1000"),
    (("get", "store", "alice", "-o", "-"), 1, "--out"),
    (("get", "store", "alice", "-o", "no/such/folder.hlc"), 1, "there is no folder"),
    (("get", "store", "alice", "-o", "x.hlc", "--digest", "12"), 1, "expected 64 hexadecimal digits"),
    (("get", "store", "alice", "-o", "x.hlc", "--key-id", "g" * 32), 1, "expected 32 hexadecimal digits"),
    (("get", "store", "alice", "-o", "x.hlc"), 1, "no keys of 'alice'"),
    (("check", "store", "--digest", "0" * 64), 1, "name just one"),
    (("check", "store", "alice"), 1, "no keys of 'alice'"),
    (("usage", "store", "--quota", "-1"), 1, "not a size"),
    (("list", "store", "--connections", "65"), 2, "64"),
    (("list", "store", "--deadline", "0"), 1, "deadline"),
    (("list", ""), 1, "STORE is empty"),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: " ".join(case[0])[:40])
def test_refusals_leave_nothing(call: Call, case: tuple[tuple[str, ...], int, str], tmp_path: Path) -> None:
    arguments, status, message = case
    result = call(*arguments, status=status)
    assert message in " ".join(result.stderr.split())
    assert not (tmp_path / "store").exists() and not (tmp_path / "x.hlc").exists()


def test_stores_without_keys_say_so(call: Call, url: str) -> None:
    assert "no user has keys there" in call("list", url).stderr
    assert "no user has keys there" in call("usage", url).stderr
    refused = call("check", url, status=1)
    assert "nothing was checked" in " ".join(refused.stderr.split())
