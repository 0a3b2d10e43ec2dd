# SPDX-License-Identifier: Apache-2.0
"""Bytes over throttled links: ciphertexts to a key node against keys that are fetched."""

from __future__ import annotations

import socket
import time

import halocline as hc
import numpy as np
import pytest
from halocline.bench.keeping import Watcher
from halocline.bench.key_node_options import KeyNodeOptions
from halocline.bench.key_nodes import run
from halocline.bench.relay import Relay
from halocline.cli.app import app
from halocline.engine.key_loading import loader_of
from typer.testing import CliRunner

PARAMS = hc.Params.preset("n13-d3")


def test_whole_maps_move_ten_times_fewer_bytes() -> None:
    kept: list[int] = []
    options = KeyNodeOptions(params="n13-d3", diagonals=(16, 64), rate=50e6, threads=1)
    result = run(options, Watcher(keep=lambda content, done, total: kept.append(done)))
    rows = {row["operation"]: row for row in result["rows"]}
    assert kept == [1, 2, 3, 4, 5] and result["bytes_per_second"] == 50e6
    assert (result["device"], result["node_device"]) == ("cpu", "cpu")
    ciphertext = 2 * 8 * 2**13 * 3  # the least of a result at level 2: the container has a little more
    for row in rows.values():
        # Half of an expanded key for each, and blocks that are rounded up; a ciphertext at least each way.
        key = PARAMS._request_bytes(5, PARAMS.top_level, True)
        assert row["keys"] * key < row["fetched_bytes"] < 1.2 * row["keys"] * key + 400_000
        assert row["moved_bytes"] > 2 * ciphertext // 2
        assert row["first_bytes"] - row["moved_bytes"] == pytest.approx(row["map_bytes"], abs=2000)
        # No link was faster than its rate: bytes were throttled, in either direction.
        assert row["fetched_seconds"] > row["fetched_bytes"] / 50e6 - 0.1
    for name, weights in (("map of 16", 16), ("map of 64", 64)):
        assert rows[name]["fewer"] >= 10
        assert rows[name]["map_bytes"] == pytest.approx(weights * PARAMS.slots * 8, rel=0.02)
    product = rows["product"]  # three components there, two of a level less back
    assert product["keys"] == 1 and product["moved_bytes"] == pytest.approx(5 * ciphertext / 2, rel=0.2)
    assert rows["rotation"]["map_bytes"] == 0 and 1 < rows["rotation"]["fewer"] < 10


def test_keys_that_did_not_come_over_the_link_are_no_result(monkeypatch) -> None:
    options = KeyNodeOptions(params="test-n10-d3", diagonals=(4,), threads=1, allow_insecure=True)

    def all_at_once(core, keys, lazily) -> None:
        add = loader_of(core, keys, lazily=False)
        for element, _ in keys.requests():
            add(element)

    with (
        monkeypatch.context() as patch,
        pytest.raises(hc.Error, match=r"9 keys before it .* begin without keys"),
    ):
        patch.setattr("halocline.bench.key_nodes.loader_of", all_at_once)
        run(options)
    with monkeypatch.context() as patch, pytest.raises(hc.Error, match="rotation read 0 bytes over the link"):
        patch.setattr(Relay, "moved", 0)
        run(options)
    with monkeypatch.context() as patch, pytest.raises(hc.Error, match="rotation was not left to the node"):
        patch.setattr("halocline.bench.key_nodes.KeyNode.is_resting", True)
        run(options)


@pytest.mark.parametrize("which", ["device", "node_device"])
def test_devices_are_looked_for_first(which, monkeypatch) -> None:
    monkeypatch.setattr("halocline.bench.key_nodes.Client", None)  # is not called
    with pytest.raises(hc.DeviceError):
        run(KeyNodeOptions(params="n13-d3", **{which: "cuda:99"}))


def test_the_cost_model_moves_fewer_bytes_than_either_way(tmp_path) -> None:
    """A program of maps used once and one hot rotation: maps go to the node, the hot key is fetched."""
    client, kept = hc.Client(PARAMS), hc.KeyStore(tmp_path)
    rng = np.random.default_rng(4)
    maps = [
        hc.LinearTransform({d: rng.standard_normal(PARAMS.slots) for d in range(9)}, mode="naive")
        for _ in range(2)
    ]
    kept.put("alice", client.evaluation_keys(rotations=range(1, 9), relinearization=False))
    x = client.encrypt(rng.uniform(-1, 1, PARAMS.slots))

    def program(y):
        rotated = [y.rotate(1) for _ in range(30)]
        return [each(rotated[-1]) for each in maps]

    moved, results = {}, {}
    with hc.KeyNodeServer(kept, threads=1) as server, Relay(server.port, 1e9) as link:
        for use in ("cheaper", "always"):
            node = hc.KeyNode(f"tcp://127.0.0.1:{link.port}", use=use, switch_seconds=0.0, latency=1e-6)
            engine = hc.Engine(PARAMS, kept.user("alice"), threads=1, key_nodes=node)
            before = link.moved
            results[use] = [each.to_bytes() for each in engine.run(program, x)]
            sizes = [PARAMS._request_bytes(g, level, True) for g, level in engine._core.held_keys()]
            moved[use] = link.moved - before + sum(sizes)
            node.close()
    alone = hc.Engine(PARAMS, kept.user("alice"), threads=1)
    results["alone"] = [each.to_bytes() for each in alone.run(program, x)]
    moved["alone"] = 8 * PARAMS._request_bytes(5, PARAMS.top_level, True)
    assert results["cheaper"] == results["always"] == results["alone"]
    assert moved["cheaper"] < min(moved["always"], moved["alone"])


def test_a_link_is_as_slow_as_it_says() -> None:
    with socket.create_server(("127.0.0.1", 0)) as target, Relay(target.getsockname()[1], 2e6) as link:
        near = socket.create_connection(("127.0.0.1", link.port))
        far = target.accept()[0]
        begin = time.monotonic()
        near.sendall(bytes(1_000_000))
        near.shutdown(socket.SHUT_WR)
        received = 0
        while piece := far.recv(1 << 16):
            received += len(piece)
        assert received == link.sent == 1_000_000
        assert time.monotonic() - begin > 0.4, "1 MB at 2 MB/s, of which 0.1 MB may come at once"
        near.close()
        far.close()


def test_the_command(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    arguments = ["bench", "key-nodes", "--params", "test-n10-d3", "--allow-insecure", "--diagonals", "4"]
    result = CliRunner().invoke(app, [*arguments, "--threads", "1", "--json", str(tmp_path / "r.json")])
    assert result.exit_code == 0, result.output
    assert "map of 4" in result.output and (tmp_path / "r.json").is_file()
    for wrong in (["--rate", "1"], ["--diagonals", "0"], ["--params", "no-such-set"]):
        assert CliRunner().invoke(app, ["bench", "key-nodes", *wrong]).exit_code in (1, 2)


def test_the_command_line_of_a_node(tmp_path) -> None:
    def refused(*options: str) -> str:
        result = CliRunner().invoke(app, ["keynode", "--store", f"file:{tmp_path}", *options])
        assert result.exit_code in (1, 2), result.output
        return " ".join(result.output.split())

    assert "refuses to listen on '0.0.0.0'" in refused("--listen", "0.0.0.0:0")
    assert "expected host:port" in refused("--listen", "7431")
    assert "give both" in refused("--tls-cert", "cert.pem")
    assert "no-such-file" in refused("--token-file", str(tmp_path / "no-such-file"))
    (tmp_path / "empty").write_text("# nothing\n")
    assert "holds no token" in refused("--token-file", str(tmp_path / "empty"))
    assert "size such as" in refused("--memory", "much")
