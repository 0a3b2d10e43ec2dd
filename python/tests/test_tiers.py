# SPDX-License-Identifier: Apache-2.0
"""Chains of tiers: keys of stores that come when they are needed, bytes per link, options."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import halocline as hc
import numpy as np
import pytest
import store_rig as rig

PARAMS = hc.Params.preset("n13-d3")
STEPS = [1, 2, 3, 5, 7, 11]
ORDER = [1, 2, 3, 5, 7, 11, 1, 5, 2, 11, 1, 3]
BLOCK = 65536


def program(x: hc.Ciphertext) -> hc.Ciphertext:
    """Rotations in an irregular order, then a product."""
    y = x
    for step in ORDER:
        y = y + x.rotate(step)
    return 0.1 * y * x


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    client = hc.Client(PARAMS)
    keys = client.evaluation_keys(rotations=STEPS)
    x = client.encrypt(np.linspace(-1, 1, PARAMS.slots))
    resident = hc.Engine(PARAMS, keys, threads=1)
    return {
        "client": client,
        "keys": keys,
        "x": x,
        "expected": client.decrypt(resident.run(program, x)),
        "rotated": client.decrypt(resident.run(lambda x: x.rotate(1), x)),
        "footprint": resident.stats()["peak_bytes"],
    }


@pytest.fixture(params=["file", "http"])
def store(request: pytest.FixtureRequest, tmp_path: Path, made: dict[str, Any]) -> Iterator[hc.KeyStore]:
    if request.param == "file":
        kept = hc.KeyStore(tmp_path / "keys")
        kept.put("alice", made["keys"])
        yield kept
    else:
        with rig.nginx(tmp_path) as url:
            kept = hc.KeyStore(url, connections=2, deadline=20)
            kept.put("alice", made["keys"])
            yield kept


def engine_of(store: hc.KeyStore, memory: int | str, policy: str = "planned", **options: Any) -> hc.Engine:
    return hc.Engine(
        PARAMS,
        store.user("alice"),
        memory=memory,
        policy=policy,
        threads=1,
        memory_options=hc.MemoryOptions(**options),
    )


@pytest.mark.parametrize("policy", ["planned", "lru"])
def test_a_key_comes_when_an_operation_needs_it(
    store: hc.KeyStore, made: dict[str, Any], policy: str
) -> None:
    engine = engine_of(store, "256MiB", policy)
    before = store.counts()["read_bytes"]
    assert before < 600_000, "headers and lists, no key of 0.9 MB"
    remote = engine.stats()["links"][-1]
    assert remote["name"] == "remote" and remote["read_bytes"] == 0
    result = engine.run(lambda x: x.rotate(1), made["x"])
    assert np.array_equal(made["client"].decrypt(result), made["rotated"])
    one = PARAMS._request_bytes(3, PARAMS.top_level, True)  # any element: all keys have one size
    read = engine.stats()["links"][-1]["read_bytes"]
    assert 0 < read <= one, "the first result waits for one key of seven"
    # The half of each digit is rounded to whole blocks of 64 KiB, one more on either side.
    assert store.counts()["read_bytes"] - before <= read + 3 * BLOCK * (1 + PARAMS.top_level)
    engine.run(lambda x: x.rotate(1), made["x"])
    assert engine.stats()["links"][-1]["read_bytes"] == read, "it is not read again"


@pytest.mark.parametrize("share", [0.35, 1.5])
@pytest.mark.parametrize("tiers", [None, "memory=2MiB", "memory=1GiB,requests=2"])
def test_plans_count_bytes_per_link(
    store: hc.KeyStore, made: dict[str, Any], share: float, tiers: str | None
) -> None:
    budget = int(share * made["footprint"])
    engine = engine_of(store, budget, tiers=tiers)
    for number in range(3):
        result = engine.run(program, made["x"])
        assert np.array_equal(made["client"].decrypt(result), made["expected"])
        run, plan = engine.last_run, engine.last_plan
        assert run is not None and plan is not None and run.followed_plan
        assert run.peak_fast_bytes <= budget
        planned = {each.name: each for each in plan.summary.links}
        assert list(planned) == (["file", "remote"] if tiers is None else ["memory", "file", "remote"])
        assert run.link_bytes["remote"] == planned["remote"].loaded_bytes
        least = planned["remote"].least_bytes
        assert planned["remote"].loaded_bytes == least, "copies that leave a tier stay in the next one"
        assert (least > 0) == (number == 0), "then all keys are here"
        assert plan.summary.bound_seconds <= plan.summary.total_seconds * (1 + 1e-9)
    again = hc.Plan.from_bytes(plan.to_bytes())
    assert again.summary == plan.summary


def test_what_has_no_room_here_is_read_again(store: hc.KeyStore, made: dict[str, Any]) -> None:
    engine = engine_of(store, int(0.3 * made["footprint"]), tiers=hc.Tiers(file_limit="4MiB"))
    for _ in range(2):
        result = engine.run(program, made["x"])
        assert np.array_equal(made["client"].decrypt(result), made["expected"])
    links = {each["name"]: each for each in engine.stats()["links"]}
    seeded = sum(PARAMS._request_bytes(g, level, True) for g, level in made["keys"].requests())
    assert links["remote"]["read_bytes"] > seeded
    assert links["file"]["held_bytes"] <= 4 << 20


def test_explain(store: hc.KeyStore, made: dict[str, Any]) -> None:
    engine = engine_of(store, int(0.5 * made["footprint"]))
    cold = engine.explain()
    assert cold.run is None and cold.plan is None
    for key in cold.keys:
        assert key.fast_bytes == 0 and key.copies["remote"] + key.made_bytes == key.nbytes
        assert key.copies["file"] == 0
    engine.run(program, made["x"])
    warm = engine.explain()
    assert sum(key.fast_bytes for key in warm.keys) > 0
    used = [key for key in warm.keys if key.copies["file"]]
    assert len(used) == len(STEPS) + 1
    text = str(warm)
    assert "rotation key for step 5" in text and "made of seeds" in text
    assert warm.plan is not None and warm.plan.bound_by in ("compute", "remote", "links", "file")
    for word in ("lower bound", "forecast", "measured", "from remote: at least", "from file:"):
        assert word in text
    ghost = hc.Engine(PARAMS, device="ghost").explain()
    assert ghost.keys == () and str(ghost) == ""
    lazy = hc.Engine(PARAMS, store.user("alice"), threads=1)
    assert all(key.copies == {"remote": key.nbytes} and key.fast_bytes == 0 for key in lazy.explain().keys)
    lazy.run(lambda x: x.rotate(1), made["x"])
    assert [key.name for key in lazy.explain().keys if key.fast_bytes] == ["rotation key for step 1"]


def test_a_fault_reaches_the_run_and_passes(tmp_path: Path, made: dict[str, Any]) -> None:
    with rig.nginx(tmp_path) as url:
        hc.KeyStore(url).put("alice", made["keys"])
        with rig.faulty(url) as proxy:
            store = hc.KeyStore(proxy.url, connections=2, deadline=5, stall_timeout=1, attempts=2)
            engine = engine_of(store, "256MiB")
            proxy.every = rig.corrupt
            with pytest.raises(hc.CorruptData, match="do not match the manifest"):
                engine.run(lambda x: x.rotate(1), made["x"])
            proxy.every = rig.error_500
            with pytest.raises(hc.IoError):
                engine.run(lambda x: x.rotate(1), made["x"])
            proxy.every = None
            result = engine.run(lambda x: x.rotate(1), made["x"])
            assert np.array_equal(made["client"].decrypt(result), made["rotated"])
            assert engine.stats()["losses"] == 0


def test_seeds_that_are_kept_are_not_made(store: hc.KeyStore, made: dict[str, Any]) -> None:
    engine = hc.Engine(
        PARAMS, store.user("alice"), memory="256MiB", policy="planned", threads=1, keep_seeds=True
    )
    result = engine.run(program, made["x"])
    assert np.array_equal(made["client"].decrypt(result), made["expected"])
    assert all(key.made_bytes == 0 for key in engine.explain().keys)


@pytest.mark.parametrize(
    "text",
    ["", "memory", "memory=", "disk=1GiB", "memory=1GiB,memory=2GiB", "requests=many", "requests=0",
     "requests=65", "file_limit=4095KiB", "memory=lots",
     "latency=0", "latency=-1", "latency=soon", "bandwidth=0", "memory=25%"],
)  # fmt: skip
def test_tiers_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(hc.InvalidArgument):
        hc.Tiers.parse(text)


def test_tiers_are_values(tmp_path: Path) -> None:
    text = f"memory=4GiB, file={tmp_path},file_limit=1GiB,requests=16,bandwidth=50MiB,latency=0.01"
    tiers = hc.Tiers.parse(text)
    assert tiers == hc.Tiers("4GiB", str(tmp_path), "1GiB", 16, "50MiB", 0.01)
    assert pickle.loads(pickle.dumps(tiers)) == tiers
    with pytest.raises(hc.WrongType, match="expected Tiers"):
        hc.Engine(PARAMS, memory_options=hc.MemoryOptions(tiers=3))  # type: ignore[arg-type]
    with pytest.raises(hc.InvalidArgument, match="state all in tiers"):
        hc.Engine(PARAMS, memory_options=hc.MemoryOptions(tiers="memory=1GiB", tier_limit="1GiB"))
    with pytest.raises(hc.IoError):
        hc.Engine(
            PARAMS, policy="lru", memory_options=hc.MemoryOptions(tiers=hc.Tiers(file=tmp_path / "absent"))
        )
