# SPDX-License-Identifier: Apache-2.0
"""The storage paper: its numbers in closed form, the simulator against naive ones, what it must reach."""

import csv
import dataclasses
import itertools
import json
import random
import re
from pathlib import Path

import halocline as hc
import numpy as np
import pytest
from halocline.cli.app import app
from halocline.papers.storage import study
from halocline.papers.storage.clock import Barrier, Clock, Link, Memory
from halocline.papers.storage.closed_form import needed_hit_ratio, on_hosts, slowdown, speedup
from halocline.papers.storage.cluster import Step, cluster_steps, simulate_cluster
from halocline.papers.storage.inputs import CASES, HOSTS, KEY_SET_BYTES, NETWORKS, TIERS
from halocline.papers.storage.key_nodes import map_rows
from halocline.papers.storage.loads import KeyLoad, lru_misses, planned_misses, scaled
from halocline.papers.storage.options import StorageOptions
from halocline.papers.storage.routing import Traffic, simulate_routing
from halocline.papers.storage.sequence import ITERATIONS, KeySequence, from_trace, recorded
from halocline.papers.storage.simgrid_check import compare, interpreter
from halocline.papers.storage.streaming import POLICIES, simulate
from halocline.papers.storage.text import quoted
from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).parent / "data"
TEXT = ROOT.parent / "shared" / "papers" / "fhe_storage_io.txt"
STORED = ROOT / "cpp/bench/results/simulated/storage_paper.json"
MEMORY = {"sharp": 0.18e9, "tensorfhe": 30e9}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Key sequences of the traces that are kept for tests; the bootstrap is recorded."""
    path = tmp_path_factory.mktemp("sequences")
    for name, file in (("resnet20", "resnet20_image"), ("helr", "helr_period")):
        sequence = from_trace(name, hc.Trace.load(DATA / f"{file}.csv.xz"))
        (path / f"{name}.keys.json").write_text(sequence.to_json())
    recorded("bootstrap", path)
    return path


def load_of(folder, accelerator, application, pieces=8):
    case, times = CASES[accelerator, application], ITERATIONS[application]
    load = scaled(recorded(application, folder), case.seconds * times, case.key_bytes * times)
    return load.split(MEMORY[accelerator] / pieces)


# The text


@pytest.mark.parametrize("number", quoted(), ids=lambda each: f"{each.what} {each.kind}")
def test_every_number_of_the_text_agrees_unless_the_text_contradicts_itself(number):
    assert number.holds == (number.kind != "conflict")


def test_slowdowns_by_hand():
    """B in bytes a cycle at 1 GHz is GB/s; tiers of 1000, 358.4, 64 and 12.5 GB/s."""
    assert [1 + 1633 / w for w in (1000, 358.4, 64, 12.5)] == pytest.approx(
        [2.63, 5.56, 26.5, 131.7], rel=0.002
    )
    for (accelerator, application), printed in {
        ("sharp", "resnet20"): (2.63, 5.56, 26.5, 131.7),
        ("sharp", "helr"): (5.5, 13.4, 70.6, 357.2),
    }.items():
        rate = CASES[accelerator, application].rate
        found = [slowdown(rate, each) for each in TIERS.values()]
        assert found == pytest.approx(printed, rel=0.01)
    assert abs((1 - 4453 / 5130) - 0.13) < 0.005
    assert max(slowdown(5130e9, w) / s for w, s in zip(TIERS.values(), printed, strict=True)) > 1.15
    assert needed_hit_ratio(1633e9, 1000e9) == pytest.approx(0.8469, abs=1e-4)
    assert needed_hit_ratio(1e9, 1000e9) == 0


def test_gibibytes_do_not_give_the_slowdowns():
    """HBM at 1 TiB/s with 1633 bytes a cycle: 2.485, and not 2.63."""
    assert abs(slowdown(1633e9, 2**40) / 2.63 - 1) > 0.05


def test_speedups_of_32_hosts_and_the_shares_of_figure_7():
    sharp = [CASES["sharp", each] for each in ("resnet20", "helr")]
    for network, printed in (("ethernet", (1 / 6.08, 1 / 2.74, 1.72, 5.78)),
                             ("fastfabric", (0.94, 1.99, 6.42, 11.96))):  # fmt: skip
        found = [np.mean([speedup(each, tier, network, 32) for each in sharp]) for tier in TIERS]
        assert found == pytest.approx(printed, rel=0.05)
    gpu = on_hosts(CASES["tensorfhe", "resnet20"], "pcie", "ethernet", 32).shares()
    assert gpu == pytest.approx((0.401, 0.181, 0.418), rel=0.05)
    for case in CASES.values():
        one = on_hosts(case, "pcie", "ethernet", 1)
        assert (one.compute, one.communication) == (1, 0)
        computes = [on_hosts(case, "pcie", "ethernet", hosts).compute for hosts in HOSTS]
        assert computes == sorted(computes, reverse=True)


@pytest.mark.skipif(not TEXT.exists(), reason="needs the paper's text")
def test_quoted_numbers_stand_in_the_text():
    words = set(re.findall(r"\d+(?:\.\d+)?", TEXT.read_text()))
    # "22.11" is 22.1 with the mark of a footnote behind it.
    missing = [each.what for each in quoted() if not forms(each.paper) & words]
    assert missing == ["tensorfhe: worst slowdown"]


@pytest.mark.skipif(not TEXT.exists(), reason="needs the paper's text")
def test_no_number_of_the_observations_is_left_out():
    body = TEXT.read_text().partition("4 Observation")[2].partition("5 Future Directions")[0]
    ours = set().union(*(forms(each.paper) for each in quoted()))
    rest = (
        set(re.findall(r"\d+(?:\.\d+)?", re.sub(r"\[[^]]*\]|Fig\. \d|^4\.\d", "", body, flags=re.M))) - ours
    )
    # Set-up: hit ratios of 0 to 100 %, 80 % of the performance, 1 and 32 hosts; ResNet-20 and DDR5.
    assert rest <= {"0", "100", "80", "1", "32", "20", "5"}


def forms(number):
    return {f"{number:g}", f"{number:.1f}", f"{number:.2f}"}


# Simulator


def random_load(rng, uses=40, pieces=6):
    piece = [rng.randrange(pieces) for _ in range(uses)]
    sizes = [rng.choice((1.0, 2.0, 3.0)) for _ in range(uses)]
    return KeyLoad(piece, sizes, [rng.choice((0.0, 0.5, 1.0, 2.0)) for _ in range(uses)], rng.random())


def naive_ahead(load, bandwidth, buffer):
    """Ends by recurrence: a transfer begins behind the last one, once enough uses before it have ended."""
    used, sent, now = [], 0.0, load.lead
    for place, count in enumerate(load.bytes):
        room = next(k for k in range(place + 1) if sum(load.bytes[k : place + 1]) <= buffer)
        sent = max(sent, used[room - 1] if room else 0.0) + count / bandwidth
        now = max(now, sent) + load.seconds[place]
        used.append(now)
    return now


@pytest.mark.parametrize("seed", range(20))
def test_loading_ahead_equals_a_naive_recurrence(seed):
    rng = random.Random(seed)
    load, buffer, bandwidth = random_load(rng), rng.choice((3.0, 5.0, 9.0)), rng.choice((0.5, 2.0, 8.0))
    print("seed", seed, "buffer", buffer, "bandwidth", bandwidth)
    found = simulate(load, bandwidth, "prefetch", buffer)
    assert found.seconds == pytest.approx(naive_ahead(load, bandwidth, buffer), rel=1e-12)
    none = simulate(load, bandwidth, "none", buffer)
    assert none.seconds == pytest.approx(load.compute + load.total_bytes / bandwidth, rel=1e-12)
    planned = simulate(load, bandwidth, "planned", buffer)
    assert planned.seconds <= found.seconds <= none.seconds + 1e-9
    assert planned.loaded_bytes <= load.total_bytes


def least_misses(pieces, capacity):
    """The fewest misses of a cache of so many equal pieces that may drop what it fetched: all choices."""
    states = {frozenset(): 0}
    for piece in pieces:
        following: dict[frozenset[int], int] = {}
        for held, misses in states.items():
            count = misses + (piece not in held)
            some = held | {piece}
            for size in range(min(capacity, len(some)) + 1):
                for kept in itertools.combinations(sorted(some), size):
                    key = frozenset(kept)
                    following[key] = min(following.get(key, count), count)
        states = following
    return min(states.values())


@pytest.mark.parametrize("seed", range(12))
def test_planned_misses_are_the_fewest_for_equal_pieces(seed):
    rng = random.Random(seed)
    pieces, capacity = [rng.randrange(5) for _ in range(14)], rng.choice((1, 2, 3))
    print("seed", seed, pieces, capacity)
    load = KeyLoad(pieces, [1.0] * len(pieces), [0.0] * len(pieces), 1.0)
    best = least_misses(pieces, capacity)
    assert sum(planned_misses(load, capacity)) == best
    assert sum(lru_misses(load, capacity)) >= best


def test_lru_drops_what_was_used_longest_ago_and_loads_the_rest_of_prefixes():
    uses = KeyLoad([0, 1, 0, 2, 1, 0], [1.0] * 6, [1.0] * 6, 0.0)
    assert lru_misses(uses, 2) == [1, 1, 0, 1, 1, 1]
    longer = KeyLoad([0, 0, 0], [1.0, 3.0, 2.0], [1.0] * 3, 0.0)
    assert lru_misses(longer, 4) == planned_misses(longer, 4) == [1, 2, 0]


def test_links_queue_and_memory_serves_in_order():
    clock = Clock()
    link, memory, seen = Link(clock, 10.0), Memory(10.0), []

    def user(name, count, hold):
        yield memory.take(count)
        yield link.transfer(count)
        yield hold
        memory.give(count)
        seen.append((name, clock.now))

    for name, count in (("a", 6.0), ("b", 6.0), ("c", 2.0)):
        clock.start(user(name, count, 1.0))
    clock.run()
    # b waits for a's bytes, and c for b, who asked first; then both are there, and share the link in turn.
    assert [name for name, _ in seen] == ["a", "b", "c"]
    assert [time for _, time in seen] == pytest.approx([1.6, 3.2, 3.4])
    with pytest.raises(hc.InvalidArgument, match="memory of 10"):
        memory.take(11.0)
    with pytest.raises(hc.InvalidArgument, match="bytes per second"):
        Link(clock, 0.0)


def test_barriers_wait_for_the_last_one_in_each_turn():
    clock = Clock()
    barrier, seen = Barrier(2), []

    def party(name, times):
        for time in times:
            yield time
            yield barrier.arrive()
            seen.append((name, clock.now))

    clock.start(party("a", (1.0, 5.0)))
    clock.start(party("b", (3.0, 1.0)))
    assert clock.run() == 8.0
    assert sorted(seen) == [("a", 3.0), ("a", 8.0), ("b", 3.0), ("b", 8.0)]


def test_a_key_memory_below_a_piece_is_refused():
    load = KeyLoad([0], [5.0], [1.0], 0.0)
    with pytest.raises(hc.InvalidArgument, match="largest piece"):
        simulate(load, 1.0, "planned", 4.0)
    with pytest.raises(hc.InvalidArgument, match="unknown policy"):
        simulate(load, 1.0, "fifo", 5.0)


# Sequences


def test_a_sequence_of_a_trace_by_hand():
    head = "step,op,action,object,class,bytes,offset,stream,time_ns,tag"
    rows = [
        "0,intt,read,1,ciphertext,100,0,0,0,intt",
        "1,k,allocate,5,scratch,40,0,0,0,mod_up.coefficients",
        "2,k,read,7,evaluation_key,10,0,0,0,evaluation_key.b",
        "2,k,read,8,evaluation_key,10,0,0,0,evaluation_key.a",
        "2,k,read,7,evaluation_key,20,50,0,0,evaluation_key.b",
        "2,k,write,5,scratch,40,0,0,0,product",
        "3,t,read,9,table,1000,0,0,0,roots",
        "3,t,read,5,scratch,20,0,0,0,ntt",
        "4,k,read,7,evaluation_key,10,0,0,0,evaluation_key.b",
        "5,k,read,7,evaluation_key,10,0,0,0,evaluation_key.b",
    ]
    found = from_trace("helr", hc.Trace.from_csv("\n".join([head, *rows]) + "\n"))
    assert found.piece.tolist() == [0, 1, 0, 0]
    assert found.sizes.tolist() == [30, 10, 10, 10]
    assert found.lead == 100
    assert found.work.tolist() == [50, 50, 10, 10]  # 40 + 40 + 20 of steps 2 and 3, in equal parts
    assert (found.read_bytes, found.key_set_bytes, found.total_work) == (60, 40, 220)
    assert found.maps.tolist() == []  # the key of the most uses is the multiplication's


def test_sequences_are_kept_and_damaged_ones_refused(folder, tmp_path):
    found = recorded("helr", folder)
    text = (folder / "helr.keys.json").read_bytes()
    again = KeySequence.from_json(text, "helr")
    assert all(
        np.array_equal(getattr(found, each), getattr(again, each)) for each in ("piece", "sizes", "maps")
    )
    content = json.loads(text)
    for change in (
        {"schema": 2},
        {"name": "sorting"},
        {"piece": content["piece"][1:]},
        {"sizes": [0] * len(found)},
        {"work": [-1.0] * len(found)},
        {"lead": "x"},
        {"piece": [-1] * len(found)},
        {"maps": [[1, 2]]},
    ):
        with pytest.raises(hc.CorruptData, match="delete it"):
            KeySequence.from_json(json.dumps(content | change).encode(), "file")
    (tmp_path / "bootstrap.keys.json").write_bytes(text)
    with pytest.raises(hc.CorruptData, match="expected 'bootstrap'"):
        recorded("bootstrap", tmp_path)
    with pytest.raises(hc.InvalidArgument, match="unknown workload"):
        recorded("sorting")


# What the study must reach


@pytest.mark.parametrize(("accelerator", "application"), CASES)
def test_without_overlap_the_simulator_is_the_closed_form(folder, accelerator, application):
    load, case = load_of(folder, accelerator, application), CASES[accelerator, application]
    for bandwidth in TIERS.values():
        found = simulate(load, bandwidth, "none", MEMORY[accelerator])
        assert found.slowdown == pytest.approx(slowdown(case.rate, bandwidth), rel=1e-6)


@pytest.mark.parametrize("application", ["resnet20", "helr"])
def test_planned_prefetch_of_tensorfhe(folder, application):
    load, rate = load_of(folder, "tensorfhe", application), CASES["tensorfhe", application].rate
    for tier, allowed in (("ddr", 1.001), ("pcie", 1.05)):
        bound = max(1.0, rate / TIERS[tier])
        for policy in ("prefetch", "planned"):
            assert simulate(load, TIERS[tier], policy, MEMORY["tensorfhe"]).slowdown <= allowed * bound
        streamed = simulate(load, TIERS[tier], "prefetch", MEMORY["tensorfhe"])
        assert streamed.slowdown >= bound * (1 - 1e-9)
        assert streamed.loaded_bytes == pytest.approx(load.total_bytes)


def test_the_next_users_keys_come_while_the_present_one_computes(folder):
    load = load_of(folder, "tensorfhe", "resnet20")
    one = simulate(load, TIERS["pcie"], "planned", MEMORY["tensorfhe"])
    two = simulate(load.users(2), TIERS["pcie"], "planned", MEMORY["tensorfhe"])
    assert two.compute_seconds == pytest.approx(2 * one.compute_seconds)
    assert two.seconds < 2 * one.seconds - 0.5 * (one.seconds - one.compute_seconds)
    assert two.loaded_bytes > 1.9 * one.loaded_bytes  # keys of their own


@pytest.mark.parametrize("hosts", [1, 4, 32])
def test_hosts_without_overlap_are_the_closed_form(folder, hosts):
    for (accelerator, application), case in CASES.items():
        memory, load = MEMORY[accelerator], load_of(folder, accelerator, application)
        for network in NETWORKS:
            steps = cluster_steps(load, case, network, hosts, memory)
            times = [
                simulate_cluster(
                    steps, hosts, TIERS["pcie"], NETWORKS[network], ahead=each, key_memory=memory
                )
                for each in (False, True)
            ]
            parts = on_hosts(case, "pcie", network, hosts)
            assert times[0] / load.compute == pytest.approx(parts.total, rel=1e-6)
            floor = max(parts.io, parts.compute + parts.communication)
            assert floor * (1 - 1e-9) <= times[1] / load.compute <= 1.1 * floor


def traffic(seed, **changes):
    made = Traffic(8, 8, 64, 1.0, 10_000, 8, 4.94, KEY_SET_BYTES["tensorfhe"], 1.0e9, 50e9, seed)
    return dataclasses.replace(made, **changes)


@pytest.mark.parametrize("seed", [17, 1, 2])
@pytest.mark.parametrize("service", [4.94, 0.356])
def test_locality_moves_fewer_keys_at_no_less_throughput(seed, service):
    key_bytes = KEY_SET_BYTES["tensorfhe" if service > 1 else "sharp"]
    asked = traffic(seed, service=service, key_bytes=key_bytes)
    print("seed", seed)
    turn, near = (simulate_routing(asked, each) for each in ("round-robin", "locality"))
    assert turn.network_bytes == turn.loads * key_bytes
    assert near.network_bytes == near.loads * key_bytes
    assert near.loads >= 64
    assert 5 * near.network_bytes <= turn.network_bytes
    assert near.throughput >= turn.throughput * (1 - 1e-6)
    assert 1 < near.copies <= 8  # popular users
    assert near.throughput <= 8 / service * (1 + 1e-9)


def test_routing_in_cases_that_can_be_counted():
    alone = traffic(3, hosts=1, slots=64, requests=200, outstanding=2)
    for route in ("round-robin", "locality"):
        found = simulate_routing(alone, route)
        assert found.loads == len(set(alone.order()))  # each user once: all of them fit
        assert found.throughput == pytest.approx(1 / 4.94, rel=0.01)
    nodes = simulate_routing(alone, "key-nodes")
    assert nodes.network_bytes == pytest.approx(200 * 1.0e9)
    assert nodes.throughput == pytest.approx(1 / (4.94 + 1.0 / 50), rel=1e-6)
    none_fit = simulate_routing(dataclasses.replace(alone, slots=1, users=2, exponent=0.0), "round-robin")
    order = dataclasses.replace(alone, users=2, exponent=0.0).order()
    changes = 1 + sum(a != b for a, b in itertools.pairwise(order))
    assert none_fit.loads == changes
    with pytest.raises(hc.InvalidArgument, match="requests"):
        simulate_routing(dataclasses.replace(alone, requests=2), "locality")
    with pytest.raises(hc.InvalidArgument, match="unknown route"):
        simulate_routing(alone, "random")


@pytest.mark.parametrize("workload", ["resnet20", "helr", "bootstrap"])
def test_large_linear_maps_move_a_tenth_of_their_keys(folder, workload):
    sequence = recorded(workload, folder)
    rows = {row["maps"]: row for row in map_rows(sequence, 12.5e9, 1.0)}
    large = rows["8 and more"]
    assert large["moved_bytes"] * 10 <= large["fetched_bytes"] <= sequence.read_bytes
    assert large["moved_seconds"] < large["fetched_seconds"]
    assert rows["1 key switch"]["fewer"] < 10
    assert large["fetched_bytes"] > 0.5 * sequence.read_bytes


@pytest.mark.skipif(interpreter() is None, reason="needs SimGrid")
def test_simgrid_agrees(folder):
    case, memory = CASES["tensorfhe", "helr"], MEMORY["tensorfhe"]
    load = load_of(folder, "tensorfhe", "helr")
    for hosts, ahead in itertools.product((1, 4), (False, True)):
        steps = cluster_steps(load, case, "ethernet", hosts, memory)
        row = compare("test", steps, hosts, TIERS["pcie"], NETWORKS["ethernet"], ahead)
        assert abs(row["difference"]) < 0.01
    apart = [Step(1e9, 1.0, 0.0), Step(2e9, 0.5, 0.0)]
    assert compare("test", apart, 1, 1e9, 1e9, False)["simgrid_seconds"] == pytest.approx(4.5)


# The command


def paper(*arguments, status=0):
    result = CliRunner().invoke(app, ["paper", "storage", *map(str, arguments)])
    assert result.exit_code == status, (result.output, result.exception)
    return result


def test_the_command_writes_tables_files_and_pictures(folder, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("COLUMNS", "160")
    for name, fewer in (("HOSTS", (1, 4)), ("USERS", (1, 2)), ("KEY_MEMORIES", (30,))):
        monkeypatch.setattr(study, name, fewer)
    path, shown = tmp_path / "r.json", tmp_path / "again.json"
    small = ("--workloads", "helr", "--requests", 300, "--hosts", 2, "--slots", 4, "--users", 8)
    first = paper(*small, "--sequences", folder, "--json", path, "--csv", tmp_path / "csv", "--seed", 5)
    content = json.loads(path.read_text())
    assert content["options"]["seed"] == 5
    assert "seed 5" in first.output
    assert {row["workload"] for row in content["streaming"]} == {"helr"}
    assert len(content["streaming"]) == 2 * len(TIERS)
    with open(tmp_path / "csv" / "streaming.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["planned"]) for row in rows] == [row["planned"] for row in content["streaming"]]
    second = paper("--from", path, "--json", shown, "--plot", tmp_path / "plots")
    assert second.output == first.output
    assert json.loads(shown.read_text()) == content
    pictures = sorted(each.name for each in (tmp_path / "plots").iterdir())
    names = ("hits", "hosts", "policies", "routing", "shares")
    assert pictures == [f"storage_{each}.png" for each in names]
    options = StorageOptions(
        workloads=("helr",), requests=300, hosts=2, slots=4, users=8, seed=5, sequences=folder
    )
    assert list(study._Study(options).routing()) == content["routing"]


def test_wrong_options_and_files_are_refused(tmp_path):
    assert "expected more than are under way" in paper("--requests", 64, status=2).output.replace("\n", " ")
    assert "at least 1GB" in paper("--key-memory", "1MiB", status=2).output
    assert "one of" in paper("--workloads", "sorting", status=2).output
    assert "twice" in paper("--workloads", "helr,helr", status=2).output
    paper("--from", tmp_path / "none.json", status=1)
    busy = tmp_path / "file"
    busy.write_text("")
    assert "cannot make the folder" in paper("--sequences", busy, status=1).output.replace("\n", " ")
    (tmp_path / "other.json").write_text('{"suite": "hybrid-paper"}')
    assert "holds no result" in paper("--from", tmp_path / "other.json", status=1).output
    (tmp_path / "half.json").write_text('{"suite": "storage-paper", "text": []}')
    assert "no whole result" in paper("--from", tmp_path / "half.json", status=1).output.replace("\n", " ")
    assert "--seed" in paper("--from", tmp_path / "half.json", "--seed", 1, status=2).output
    with pytest.raises(hc.InvalidArgument, match="expected 1 to 1024"):
        StorageOptions(hosts=0)


def test_the_stored_result_reaches_what_the_page_says():
    content = json.loads(STORED.read_text())
    assert content["options"]["seed"] == StorageOptions().seed
    for row in content["streaming"]:
        assert row["none"] == pytest.approx(row["closed_form"], rel=0.01)
        assert set(POLICIES) <= set(row)
        if row["accelerator"] == "tensorfhe" and row["tier"] in ("ddr", "pcie"):
            assert row["planned"] <= row["bound"] * (1.001 if row["tier"] == "ddr" else 1.05)
    for accelerator in ("sharp", "tensorfhe"):
        routes = {row["route"]: row for row in content["routing"] if row["accelerator"] == accelerator}
        turn, near = routes["round-robin"], routes["locality"]
        assert 5 * near["network_bytes_per_request"] <= turn["network_bytes_per_request"]
        assert near["requests_per_second"] >= turn["requests_per_second"] * (1 - 1e-6)
    assert content["simgrid"]
    assert all(abs(row["difference"]) < 0.01 for row in content["simgrid"])
