# SPDX-License-Identifier: Apache-2.0
"""Many users on one engine: whose keys are used, what is loaded when, what is refused before anything is."""

from __future__ import annotations

import copy
import gc
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import halocline as hc
import numpy as np
import pytest
import store_rig as rig
from user_rig import NAMES, PARAMS, STEPS, VALUES, People, key_reads, make, program_bytes, serve, spread


@pytest.fixture(scope="module")
def clients() -> dict[str, hc.Client]:
    return {name: hc.Client(PARAMS) for name in NAMES}


@pytest.fixture(scope="module")
def bundles(clients: dict[str, hc.Client]) -> dict[str, hc.EvaluationKeys]:
    return {name: client.evaluation_keys(rotations=STEPS) for name, client in clients.items()}


@pytest.fixture
def people(tmp_path: Path, clients: dict[str, hc.Client], bundles: dict[str, Any]) -> People:
    return People(hc.KeyStore(tmp_path / "keys"), clients, bundles)


@pytest.fixture(params=["file", "http"])
def stored_people(
    request: pytest.FixtureRequest, tmp_path: Path, clients: dict[str, hc.Client], bundles: dict[str, Any]
) -> Iterator[People]:
    if request.param == "file":
        yield People(hc.KeyStore(tmp_path / "keys"), clients, bundles)
    else:
        with rig.nginx(tmp_path) as url:
            yield People(hc.KeyStore(url, connections=3, deadline=30), clients, bundles)


POLICIES = {
    "resident": {},
    "resident in a budget": {"memory": "6MiB", "key_memory": None},
    "planned": {"memory": "1500KiB", "policy": "planned"},
    "lru": {"memory": "2MiB", "policy": "lru"},
    "seeded": {"keep_seeds": True},
}


@pytest.mark.parametrize("name", POLICIES)
def test_results_are_those_of_an_engine_of_the_users_own(stored_people: People, name: str) -> None:
    with make(stored_people, **POLICIES[name]) as users:
        for _ in range(2):
            for user in NAMES[:3]:
                serve(users, stored_people, user)
        stats = users.stats()
        assert stats["turns"] == 6 and stats["program_passes"] == 1
        keys = len(STEPS) + 1
        assert (stats["hits"], stats["misses"]) == (3 * keys, 3 * keys), "keys stay for the next turn"
        assert all(each["engine_bytes"] > 0 and not each["pinned"] for each in stats["users"].values())
        assert stats["waiting"] == stats["refused"] == stats["evictions"] == 0


def test_one_plan_serves_ten_users(people: People) -> None:
    diagonals = {0: VALUES, 1: VALUES[::-1], 3: VALUES**2}
    weights = hc.LinearTransform(diagonals)

    def program(x: hc.Ciphertext) -> hc.Ciphertext:
        return spread(weights(x))

    with make(people, memory="1500KiB", policy="planned") as users:
        for name in NAMES:
            result = users.run(name, program, people.inputs[name])
            report = users.engine.last_run
            assert report is not None and report.followed_plan and report.divergence is None
            assert result.to_bytes() == people.expected(name, program)
        stats = users.stats()
        # The first pass finds the weights that are encoded once, the second one makes the plan.
        assert stats["plan_passes"] == 2 and stats["program_passes"] == 1
        assert sum(not engine.is_ghost for engine in weights._encoded) == 1, "one encoding for all"
        # The same user again in one block: a plan that begins with what the last run left, made once as well.
        with users.user(NAMES[0]) as engine:
            for _ in range(4):
                assert engine.run(program, people.inputs[NAMES[0]]).to_bytes() == result_of(people, program)
        again = users.stats()["plan_passes"]
        with users.user(NAMES[1]) as engine:
            for _ in range(4):
                engine.run(program, people.inputs[NAMES[1]])
                assert engine.last_run is not None and engine.last_run.followed_plan
        assert users.stats()["plan_passes"] == again


def result_of(people: People, program: Any) -> bytes:
    return people.expected(NAMES[0], program)


def test_keys_of_other_users_are_never_used(people: People) -> None:
    alice, bob = NAMES[:2]
    with make(people) as users:
        before = key_reads(people)
        with pytest.raises(hc.KeyMismatch, match="nothing was loaded"):
            users.run(bob, spread, people.inputs[alice])
        # The manifest and the list of keys, but no key.
        assert key_reads(people) - before < people.store.nbytes(bob) - program_bytes() // 2
        with users.user(alice) as engine:
            left = engine.run(spread, people.inputs[alice])
            direct = people.inputs[alice].to(engine).rotate(1)
            with users.user(alice) as same:
                assert same is engine
            with pytest.raises(hc.InvalidArgument, match="wait for itself"), users.user(bob):
                pass
        with users.user(bob) as engine:
            with pytest.raises(hc.KeyMismatch):
                left.rotate(1)
            with pytest.raises(hc.KeyMismatch):
                left + people.inputs[bob].to(engine)
        with pytest.raises(hc.MissingKey):
            left.rotate(1)
        with pytest.raises(hc.InvalidArgument, match="no user's keys are in use"):
            users.engine.run(spread, people.inputs[alice])
        with pytest.raises(hc.InvalidArgument, match="from a store"):
            users.engine.add_keys(people.bundles[alice])
        with users.user(alice):
            assert (
                np.max(
                    np.abs(
                        people.clients[alice].decrypt(left.rotate(1))
                        - np.roll(people.clients[alice].decrypt(left), -1)
                    )
                )
                < 2**-10
            )
        assert np.max(np.abs(people.clients[alice].decrypt(direct) - np.roll(VALUES, -1))) < 2**-10


def test_what_cannot_fit_is_refused_before_anything_is_loaded(people: People) -> None:
    name = NAMES[0]
    traced = hc.trace_program(PARAMS, spread)
    least = traced.minimum_budget.resident
    for memory, key_memory in ((least - 4096, None), (None, program_bytes() - 1)):
        with make(people, memory=memory, key_memory=key_memory) as users:
            requests = people.store.counts()["requests"]
            reads = key_reads(people)
            with pytest.raises(hc.OutOfMemory, match=str(least if memory else program_bytes())):
                users.run(name, spread, people.inputs[name])
            assert people.store.counts()["requests"] == requests and key_reads(people) == reads
            with users.user(name) as engine:
                listed = key_reads(people)
                with pytest.raises(hc.OutOfMemory):
                    engine.run(spread, people.inputs[name])
                with pytest.raises(hc.OutOfMemory):
                    users.prefetch(NAMES[1], spread)
                assert key_reads(people) == listed
            assert users.stats()["refused"] == 3 and users.stats()["engine_bytes"] == 0
    with make(people, memory=least, key_memory=None) as users:
        serve(users, people, name)
        serve(users, people, NAMES[1])
        assert users.stats()["evictions"] == 1


def test_keys_that_are_missing_are_named_before_anything_is_loaded(people: People) -> None:
    name = NAMES[0]
    with make(people) as users, users.user(name) as engine:
        before = key_reads(people)
        with pytest.raises(hc.MissingKey, match=r"lacks 1 of the 2 keys.*rotation key for step 7 at level"):
            engine.run(lambda x: (x * x).rotate(7), people.inputs[name])
        assert key_reads(people) == before and users.stats()["misses"] == 0
        with pytest.raises(hc.UnknownUser, match="no keys of 'unknown'"):
            make(people).run("unknown", spread, people.inputs[name])


def test_the_least_recently_served_user_goes_first(people: People) -> None:
    limit = 2 * program_bytes()
    with make(people, key_memory=limit) as users:
        for name in (NAMES[0], NAMES[1], NAMES[0], NAMES[2]):
            serve(users, people, name)
            assert users.stats()["engine_bytes"] <= limit
        there = {name for name, each in users.stats()["users"].items() if each["engine_bytes"]}
        assert there == {NAMES[0], NAMES[2]} and users.stats()["evictions"] == 1
        before = users.engine.stats()["live_by_class"]["evaluation_key"]
        assert before == users.stats()["engine_bytes"] == limit


def test_keys_that_another_program_needed_make_room(people: People) -> None:
    """A user's keys of two programs do not fit together."""

    def other(x: hc.Ciphertext) -> hc.Ciphertext:
        return x.rotate(4)

    limit = max(program_bytes(), program_bytes(other)) + 1
    with make(people, key_memory=limit) as users, users.user(NAMES[0]) as engine:
        for program in (other, spread, other):
            got = engine.run(program, people.inputs[NAMES[0]])
            assert got.to_bytes() == people.expected(NAMES[0], program)
            assert engine.stats()["live_by_class"]["evaluation_key"] <= limit


def test_operations_outside_of_programs_load_keys_that_count_later(people: People) -> None:
    with make(people, key_memory=program_bytes()) as users:
        serve(users, people, NAMES[1])
        with users.user(NAMES[0]) as engine:
            x = people.inputs[NAMES[0]].to(engine)
            for step in STEPS:
                got = people.clients[NAMES[0]].decrypt(x.rotate(step))
                assert np.max(np.abs(got - np.roll(VALUES, -step))) < 2**-10
            assert engine.stats()["live_by_class"]["evaluation_key"] > 2 * program_bytes()
        assert users.stats()["engine_bytes"] == 0, "all of them alone are too many"
        assert users.engine.stats()["live_by_class"]["evaluation_key"] == 0
        with users.user(NAMES[0]) as engine:
            people.inputs[NAMES[0]].to(engine).rotate(1)
        assert 0 < users.stats()["engine_bytes"] <= program_bytes()


def test_levels_grow_with_programs(people: People) -> None:
    """Keys are loaded for the levels that programs so far needed, and again when one needs more."""

    def later(x: hc.Ciphertext) -> hc.Ciphertext:
        return (x * x * x).rotate(1)

    def earlier(x: hc.Ciphertext) -> hc.Ciphertext:
        return x.rotate(1)

    with make(people) as users:
        sizes = []
        for program in (later, earlier, later):
            for name in NAMES[:2]:
                serve(users, people, name, program)
            sizes.append(users.stats()["users"][NAMES[0]]["engine_bytes"])
        assert sizes[0] == program_bytes(later) and sizes[1] == program_bytes(earlier) < sizes[2]


def test_needs_name_keys_in_the_order_of_their_use(people: People) -> None:
    with make(people) as users:
        x = people.inputs[NAMES[0]]
        needs = users._needs.of(lambda x: x.rotate(4).rotate(1) * x.rotate(2), ((x,), {}), None)
        steps = [PARAMS._core.rotation_of(element) for element, _ in needs.requests[:3]]
        assert steps == [4, 1, 2] and needs.requests[3][0] == 1, "the relinearization key comes last"
        assert needs.minimum is None and needs.key_bytes == sum(
            PARAMS._request_bytes(*each) for each in needs.requests
        )


def test_a_small_cache_changes_no_result(people: People) -> None:
    cache = hc.KeyCache(people.store, 200_000)
    with hc.UserEngine(PARAMS, cache, key_memory=program_bytes(), threads=1) as users:
        for name in NAMES[:3] * 2:
            serve(users, people, name)
            assert cache.used <= cache.capacity
        assert users.stats()["evictions"] == 5


def test_engines_share_a_cache(people: People) -> None:
    cache = hc.KeyCache(people.store, "64MiB")
    engines = [hc.UserEngine(PARAMS, cache, key_memory="8MiB", threads=1) for _ in range(2)]
    for users in engines:
        serve(users, people, NAMES[0])
    plain = hc.Engine(PARAMS, cache.user(NAMES[0], PARAMS), threads=1)
    assert plain.run(spread, people.inputs[NAMES[0]]).to_bytes() == people.expected(NAMES[0], spread)
    stats = cache.stats()
    assert stats["fetched_bytes"] == stats["held_bytes"] <= people.store.nbytes(NAMES[0])
    assert stats["given_bytes"] > 2 * stats["fetched_bytes"]
    with pytest.raises(hc.InvalidArgument, match="of the KeyCache"):
        hc.UserEngine(PARAMS, cache, key_memory="8MiB", key_host_memory="8MiB")
    assert cache.drop(NAMES[0]) and not cache.drop(NAMES[0])
    assert cache.used == 0
    for users in engines:
        serve(users, people, NAMES[0])  # keys in the engine do not need it
    cache.clear()


def test_keys_that_were_put_again_replace_the_old_ones(people: People) -> None:
    name, newcomer = NAMES[0], hc.Client(PARAMS)
    with make(people) as users:
        serve(users, people, name)
        people.store.put(name, newcomer.evaluation_keys(rotations=STEPS))
        x = newcomer.encrypt(VALUES)
        result = newcomer.decrypt(users.run(name, lambda x: x.rotate(1), x))
        assert np.max(np.abs(result - np.roll(VALUES, -1))) < 2**-10
        stats = users.stats()
        assert stats["replaced"] == 1 and stats["host"]["replaced"] == 1 and list(stats["users"]) == [name]
        with pytest.raises(hc.KeyMismatch, match="are for the secret key"):
            users.run(name, spread, x, key_id=people.clients[name].key_id)
        with pytest.raises(hc.CorruptData, match="replaced or forged"):
            users.run(name, spread, x, digest=people.digests[name])
        users.drop(name)
        assert users.stats()["users"] == {}
        users.run(name, spread, x)


def test_errors_of_the_store_leave_everything_usable(
    tmp_path: Path, clients: dict[str, hc.Client], bundles: dict[str, Any]
) -> None:
    with rig.nginx(tmp_path) as url, rig.faulty(url) as proxy:
        people = People(hc.KeyStore(url), clients, {name: bundles[name] for name in NAMES[:3]})
        store = hc.KeyStore(proxy.url, connections=2, deadline=5, stall_timeout=1, attempts=2)
        with hc.UserEngine(PARAMS, store, key_memory=2 * program_bytes(), threads=1) as users:
            serve(users, people, NAMES[0])
            for fault in (rig.error_500, rig.corrupt):
                proxy.every = fault
                with pytest.raises((hc.IoError, hc.CorruptData)):
                    users.run(NAMES[1], spread, people.inputs[NAMES[1]])
                with pytest.raises((hc.IoError, hc.CorruptData)):
                    users.prefetch(NAMES[2], spread).result(30)
                serve(users, people, NAMES[0])  # whose keys are here
                proxy.every = None
                for name in NAMES[:3]:
                    serve(users, people, name)
                for name in NAMES[1:3]:
                    users.drop(name)
            gc.collect()
            stats = users.stats()
            assert stats["waiting"] == 0 and not any(each["pinned"] for each in stats["users"].values())
            assert users.engine.stats()["live_by_class"]["evaluation_key"] == stats["engine_bytes"]


def test_threads_take_turns(people: People) -> None:
    wrong: list[BaseException] = []
    expected = {name: people.expected(name, spread) for name in NAMES[:4]}
    with make(people, key_memory=2 * program_bytes()) as users:

        def work(number: int) -> None:
            try:
                for turn in range(6):
                    name = NAMES[(number + turn) % 4]
                    if turn % 3 == 0:
                        users.prefetch(NAMES[(number + turn + 1) % 4], spread)
                    result = users.run(name, spread, people.inputs[name], digest=people.digests[name])
                    assert result.to_bytes() == expected[name]
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert not wrong
        stats = users.stats()
        assert stats["turns"] == 36 and stats["waiting"] == 0
        assert not any(each["pinned"] for each in stats["users"].values())


def test_waiting_is_counted(people: People) -> None:
    with make(people) as users:
        thread = threading.Thread(
            target=lambda: users.run(NAMES[1], spread, people.inputs[NAMES[1]]), daemon=True
        )
        with users.user(NAMES[0]):
            thread.start()
            while users.stats()["waiting"] == 0:
                pass
            assert users.stats()["users"][NAMES[0]]["pinned"]
        thread.join()
        assert users.stats()["waiting"] == 0 and users.stats()["turns"] == 2


def test_a_prefetch_brings_keys_into_the_engine(people: People) -> None:
    with make(people) as users:
        alice, bob = NAMES[:2]
        serve(users, people, alice)
        with users.user(alice, digest=people.digests[alice]) as engine:
            users.prefetch(bob, spread, digest=people.digests[bob]).result(60)
            there = users.stats()["users"][bob]  # the engine is in use
            assert there["engine_bytes"] == 0 < there["host_bytes"]
            assert engine.run(spread, people.inputs[alice]).to_bytes() == people.expected(alice, spread)
        for _ in range(2):
            users.prefetch(bob, spread, digest=people.digests[bob]).result(60)
        users.prefetch(NAMES[2]).result(60)  # all keys, in host memory
        stats = users.stats()
        assert stats["users"][bob]["engine_bytes"] == program_bytes() and stats["prefetches"] == 4
        assert stats["users"][NAMES[2]]["engine_bytes"] == 0 < stats["users"][NAMES[2]]["host_bytes"]
        shutil.rmtree(Path(people.store.url.removeprefix("file:")))
        serve(users, people, bob)
        assert users.stats()["misses"] == len(STEPS) + 1, "those of alice"
        with pytest.raises(hc.IoError):
            users.prefetch(NAMES[5], spread).result(60)


def test_prefetched_keys_give_way_to_those_in_use(people: People) -> None:
    with make(people, key_memory=program_bytes()) as users:
        users.prefetch(NAMES[1], spread).result(60)
        assert users.stats()["users"][NAMES[1]]["engine_bytes"] == program_bytes()
        with users.user(NAMES[0]) as engine:
            engine.run(spread, people.inputs[NAMES[0]])
            users.prefetch(NAMES[1], spread).result(60)  # host memory only: there is no room
            assert users.stats()["users"][NAMES[1]]["engine_bytes"] == 0
            assert users.stats()["users"][NAMES[1]]["host_bytes"] > 0
        assert users.stats()["evictions"] == 1


def test_users_who_do_not_come_expire(people: People) -> None:
    now = [0.0]
    with make(people, key_expiry=10.0, clock=lambda: now[0]) as users:
        serve(users, people, NAMES[0])
        now[0] = 8.0
        serve(users, people, NAMES[1])
        now[0] = 12.0
        serve(users, people, NAMES[1])
        stats = users.stats()
        assert stats["expired"] == stats["host"]["expired"] == 1
        assert [name for name, each in stats["users"].items()] == [NAMES[1]]


def test_results_that_are_kept_make_keys_of_others_go(people: People) -> None:
    """Kept results are no part of a forecast; when memory runs out, keys of idle users go."""
    least = hc.trace_program(PARAMS, spread).minimum_budget.resident
    with make(people, memory=least + program_bytes() + 8192, key_memory=None) as users:
        kept = []
        for turn in range(3):
            name = NAMES[turn % 2]
            kept.append(users.run(name, spread, people.inputs[name]))
            assert kept[-1].to_bytes() == people.expected(name, spread)
        assert users.stats()["evictions"] >= 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forked_children_serve_users(people: People) -> None:
    alice, bob = NAMES[:2]
    expected = {name: people.expected(name, spread) for name in (alice, bob)}
    with make(people) as users:
        inside, go_on = threading.Event(), threading.Event()

        def hold() -> None:
            with users.user(alice):
                inside.set()
                go_on.wait(60)

        serve(users, people, alice)
        holder = threading.Thread(target=hold)
        holder.start()
        inside.wait(60)
        child = os.fork()
        if child == 0:
            right = all(
                users.run(name, spread, people.inputs[name]).to_bytes() == expected[name]
                for name in (bob, alice)
            )
            os._exit(0 if right else 1)
        assert os.waitpid(child, 0)[1] == 0
        go_on.set()
        holder.join()
        serve(users, people, bob)


def test_refusals(people: People) -> None:
    with pytest.raises(hc.InvalidArgument, match="give key_memory"):
        hc.UserEngine(PARAMS, people.store)
    with pytest.raises(hc.InvalidArgument, match="give key_memory"):
        hc.UserEngine(PARAMS, people.store, memory="1GiB", policy="planned")
    with pytest.raises(hc.InvalidArgument, match="ghost"):
        hc.UserEngine(PARAMS, people.store, device="ghost", key_memory="1GiB")
    with pytest.raises(hc.WrongType, match="KeyStore"):
        hc.UserEngine(PARAMS, people.bundles[NAMES[0]], key_memory="1GiB")  # type: ignore[arg-type]
    with pytest.raises(hc.InvalidArgument, match="KeyCache: memory"):
        hc.KeyCache(people.store, 0)
    other = hc.Params.preset("n13-d3")
    with hc.UserEngine(other, people.store, key_memory="1GiB", threads=1) as users:
        with pytest.raises(hc.InvalidArgument, match="other parameters"), users.user(NAMES[0]):
            pass
        with pytest.raises(hc.WrongType, match="expected a function"):
            users.run(NAMES[0], 7)  # type: ignore[arg-type]
        for each in (users, users.cache):
            with pytest.raises(hc.NotPicklable):
                copy.copy(each)
    with pytest.raises(hc.InvalidArgument, match="closed"):
        users.run(NAMES[0], spread, people.inputs[NAMES[0]])


@pytest.mark.parametrize(("freed", "most"), [("64KiB", 65536), ("8MiB", 8 << 20)])
def test_memory_of_keys_that_went_is_kept_up_to_a_limit(people: People, freed: str, most: int) -> None:
    options = hc.MemoryOptions(freed=freed)
    with make(people, key_memory=program_bytes(), memory_options=options) as users:
        for name in NAMES[:2]:
            serve(users, people, name)
        users.close()
        gc.collect()
        kept = users.engine.stats()["cached_bytes"]
        assert kept <= most and (kept > program_bytes()) == (most > program_bytes())
