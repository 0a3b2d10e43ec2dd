# SPDX-License-Identifier: Apache-2.0
"""Processes and threads: randomness never repeats, children never hang, and results do not change."""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import halocline as hc
import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")

CHILD_SECONDS = 60
TOLERANCE = 1e-4
METHODS = [
    name for name in ("fork", "spawn", "forkserver") if name in multiprocessing.get_all_start_methods()
]


def in_child(action: Callable[[], Any]) -> Any:
    """What `action` returns in a forked child; fails when the child hangs, dies or raises."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(CHILD_SECONDS)
        code = 1
        try:
            with os.fdopen(writing, "wb") as stream:
                try:
                    stream.write(pickle.dumps((True, action())))
                except BaseException as error:
                    stream.write(pickle.dumps((False, repr(error))))
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        sent = stream.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0, f"the child ended with {status}"
    good, value = pickle.loads(sent)
    assert good, value
    return value


@pytest.fixture(scope="module")
def owner(params: hc.Params) -> hc.Client:
    """A client without a seed, and with worker threads."""
    return hc.Client(params, threads=2)


@pytest.fixture(scope="module")
def server(params: hc.Params, owner: hc.Client) -> hc.Engine:
    return hc.Engine(params, owner.evaluation_keys([1, 2]), threads=2)


def share_of_zeros(params: hc.Params, one: bytes, two: bytes) -> float:
    """Of the words of a difference: a half when both have the same uniform half, and then it can be read."""
    engine = hc.Engine(params, threads=1)
    first, second = (hc.Ciphertext.from_bytes(each, params).to(engine) for each in (one, two))
    body = (first - second).to_bytes()
    words = np.frombuffer(body[: len(body) // 4 * 4], np.uint32)
    return float((words == 0).mean())


def expect_unrelated(params: hc.Params, sent: list[bytes]) -> None:
    assert len(set(sent)) == len(sent)
    for one, two in itertools.combinations(sent, 2):
        assert share_of_zeros(params, one, two) < 0.3


# Randomness


def test_the_check_finds_repeated_randomness(params: hc.Params) -> None:
    twins = [hc.Client(params, seed=bytes(32), threads=1) for _ in range(2)]
    sent = [each.encrypt([value]).to_bytes() for each, value in zip(twins, (0.25, 0.75), strict=True)]
    assert share_of_zeros(params, *sent) > 0.4


@pytest.mark.parametrize("public", [False, True])
def test_children_and_parent_encrypt_with_other_randomness(
    params: hc.Params, owner: hc.Client, public: bool
) -> None:
    owner.encrypt([0.0], public=public)
    sent = [in_child(lambda v=v: owner.encrypt([v], public=public).to_bytes()) for v in (0.25, 0.25, 0.75)]
    sent.append(in_child(lambda: in_child(lambda: owner.encrypt([0.25], public=public).to_bytes())))
    sent.append(owner.encrypt([0.25], public=public).to_bytes())
    expect_unrelated(params, sent)
    for value, each in zip((0.25, 0.25, 0.75, 0.25, 0.25), sent, strict=True):
        got = owner.decrypt(hc.Ciphertext.from_bytes(each, params))
        assert abs(got[0] - value) < 0.01


def test_children_and_parent_make_other_keys(owner: hc.Client) -> None:
    def make() -> tuple[bytes, bytes]:
        return owner.evaluation_keys([1]).to_bytes(), owner.public_key().to_bytes()

    made = [in_child(make), in_child(make), make()]
    assert len({keys for keys, _ in made}) == 3
    # The public key is made once; what is made in a child is not made with the parent's randomness.
    fresh = hc.Client(owner.params, threads=1)
    public = [in_child(lambda: fresh.public_key().to_bytes()) for _ in range(2)]
    assert len({*public, fresh.public_key().to_bytes()}) == 3


def test_children_and_parent_flood_with_other_noise(owner: hc.Client) -> None:
    source = owner.encrypt(np.full(8, 0.5))

    def decrypt() -> bytes:
        return owner.decrypt(source, flooding_bits=20.0).tobytes()

    assert len({in_child(decrypt), in_child(decrypt), decrypt(), decrypt()}) == 4


def test_children_make_other_secret_keys(params: hc.Params, tmp_path: Path) -> None:
    def make(name: str) -> bytes:
        path = tmp_path / name
        hc.Client(params, threads=1).save_secret_key(path)
        return path.read_bytes()

    assert len({in_child(lambda: make("a")), in_child(lambda: make("b")), make("c")}) == 3


def test_threads_encrypt_with_other_randomness(params: hc.Params, owner: hc.Client) -> None:
    sent: list[bytes] = []
    workers = [
        threading.Thread(target=lambda: sent.append(owner.encrypt([0.5]).to_bytes())) for _ in range(4)
    ]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert len(sent) == 4
    expect_unrelated(params, sent)


def test_a_client_with_a_seed_draws_in_its_own_process_only(params: hc.Params) -> None:
    client, same = (hc.Client(params, seed=bytes(range(32)), threads=1) for _ in range(2))
    sent = client.encrypt([0.5])
    assert sent.to_bytes() == same.encrypt([0.5]).to_bytes()

    def use() -> None:
        actions: list[Callable[[], Any]] = [
            lambda: client.encrypt([0.5]),
            lambda: client.evaluation_keys([1]),
            lambda: client.decrypt(sent, flooding_bits=20.0),
        ]
        for action in actions:
            with pytest.raises(hc.InvalidArgument, match="forked"):
                action()
        assert abs(client.decrypt(sent)[0] - 0.5) < TOLERANCE
        assert hc.Client(params, seed=bytes(32), threads=1).encrypt([0.5]).to_bytes()

    in_child(use)
    assert client.encrypt([0.5]).to_bytes() == same.encrypt([0.5]).to_bytes()


# multiprocessing

_inherited: dict[str, Any] = {}


def encrypt_inherited(value: float) -> tuple[int, bytes]:
    """A task of a forked pool: the client is the parent's."""
    return os.getpid(), _inherited["client"].encrypt([value]).to_bytes()


def encrypt_loaded(path: str, out: str) -> None:
    """A task of a process that reads the secret key from a file."""
    params = hc.Params.preset("test-n10-d3", allow_insecure=True)
    Path(out).write_bytes(hc.Client.load(path, params, threads=1).encrypt([0.5]).to_bytes())


def test_workers_of_a_forked_pool(params: hc.Params, owner: hc.Client) -> None:
    if "fork" not in METHODS:
        pytest.skip("this system does not fork")
    _inherited["client"] = owner
    try:
        with multiprocessing.get_context("fork").Pool(2) as pool:
            done = pool.map(encrypt_inherited, [0.5] * 6, chunksize=1)
    finally:
        _inherited.clear()
    expect_unrelated(params, [each for _, each in done])


@pytest.mark.parametrize("method", METHODS)
def test_processes_with_one_secret_key_file(
    params: hc.Params, owner: hc.Client, tmp_path: Path, method: str
) -> None:
    path = tmp_path / "secret.hlc"
    owner.save_secret_key(path)
    outs = [tmp_path / "a", tmp_path / "b"]
    context = multiprocessing.get_context(method)
    workers = [context.Process(target=encrypt_loaded, args=(str(path), str(out))) for out in outs]
    for each in workers:
        each.start()
    for each in workers:
        each.join(CHILD_SECONDS)
        assert each.exitcode == 0
    sent = [out.read_bytes() for out in outs]
    expect_unrelated(params, [*sent, hc.Client.load(path, params, threads=1).encrypt([0.5]).to_bytes()])
    for each in sent:
        assert abs(owner.decrypt(hc.Ciphertext.from_bytes(each, params))[0] - 0.5) < TOLERANCE


@pytest.mark.parametrize("method", [each for each in METHODS if each != "fork"])
def test_clients_do_not_travel_to_other_processes(owner: hc.Client, method: str) -> None:
    worker = multiprocessing.get_context(method).Process(target=print, args=(owner,))
    with pytest.raises(hc.NotPicklable, match="secret key"):
        worker.start()


# Forks while threads compute


def program(x: hc.Ciphertext) -> hc.Ciphertext:
    return (x * x).rotate(1) + x.rotate(2)


def expected_of(values: Any) -> Any:
    return np.roll(values * values, -1) + np.roll(values, -2)


class Busy:
    """A thread that does something again and again while the block runs."""

    def __init__(self, action: Callable[[], Any]) -> None:
        self._action = action
        self._stop = threading.Event()
        self._begun = threading.Event()
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work)

    def _work(self) -> None:
        try:
            while not self._stop.is_set():
                self._begun.set()
                self._action()
        except BaseException as error:
            self.failure = error

    def __enter__(self) -> None:
        self._thread.start()
        self._begun.wait()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self.failure is not None:
            raise self.failure


def test_children_of_a_computing_parent_compute(
    params: hc.Params, owner: hc.Client, server: hc.Engine, x: Any
) -> None:
    sent = owner.encrypt(x)

    def compute() -> None:
        got = owner.decrypt(server.run(program, sent))
        assert np.abs(got - expected_of(x)).max() < TOLERANCE

    def compute_anew() -> None:
        compute()
        own = owner.encrypt(x)
        assert np.abs(owner.decrypt(own) - x).max() < TOLERANCE
        server.add_keys(owner.evaluation_keys([3]))
        hc.Ciphertext.from_bytes(own.to_bytes(), params)
        hc.Client(params, threads=2).encrypt(x)

    with Busy(compute), Busy(lambda: owner.evaluation_keys([1])), Busy(lambda: owner.encrypt(x).to_bytes()):
        for _ in range(6):
            in_child(compute_anew)
    compute()


def test_children_may_drop_what_they_inherit(params: hc.Params, x: Any) -> None:
    held = {"client": hc.Client(params, threads=2)}
    held["engine"] = hc.Engine(params, held["client"].evaluation_keys([1, 2]), threads=2)
    held["sent"] = held["client"].encrypt(x)

    def compute() -> Any:
        return held["client"].decrypt(held["engine"].run(program, held["sent"]))

    def drop() -> None:
        held.clear()
        gc.collect()

    with Busy(compute):
        for _ in range(3):
            in_child(drop)
    assert np.abs(compute() - expected_of(x)).max() < TOLERANCE


def test_a_fork_does_not_wait_for_good(params: hc.Params, owner: hc.Client, x: Any) -> None:
    """Longer than a fork waits: the child gets an error for what was busy, and everything else works."""
    engine = hc.Engine(params, owner.evaluation_keys([1, 2]), threads=2)
    idle = hc.Engine(params, owner.evaluation_keys([1, 2]), threads=2)
    sent = owner.encrypt(x).to(engine)
    held = [engine, sent]
    begun = threading.Event()
    tried = hc._core.time_operation(engine._core, "multiply", params.max_level, 5, 50, 1, False, 1.0)
    products = int(8.0 / min(tried["seconds"]))  # longer than a fork waits, on a busy machine all the more

    def work() -> None:
        begun.set()
        hc._core.time_operation(engine._core, "multiply", params.max_level, 1, products, 1, False, 8.0)

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    threading.Event().wait(0.2)

    def use() -> None:
        for action in (lambda: sent + sent, sent.to_bytes, engine.stats, lambda: owner.decrypt(sent)):
            with pytest.raises(hc.DeviceError, match="another thread"):
                action()
        got = owner.decrypt(idle.run(program, owner.encrypt(x)))
        assert np.abs(got - expected_of(x)).max() < TOLERANCE
        held.clear()

    in_child(use)
    thread.join()
    assert np.abs(owner.decrypt(sent + sent) - 2 * x).max() < TOLERANCE


# Engines that move bytes

MOVING = ["lru", "planned"]


def moving_engine(params: hc.Params, client: hc.Client, policy: str) -> hc.Engine:
    keys = client.evaluation_keys([1, 2])
    footprint = hc.Engine(params, keys, threads=1).stats()["live_bytes"]
    return hc.Engine(params, keys, memory=int(0.7 * footprint), policy=policy, threads=2)


@pytest.mark.parametrize("policy", MOVING)
def test_engines_with_a_file_stay_with_their_process(
    deep_params: hc.Params, deep_client: hc.Client, policy: str
) -> None:
    values = np.linspace(-1, 1, deep_params.slots)
    client = deep_client
    engine = moving_engine(deep_params, client, policy)
    sent = client.encrypt(values)
    before = client.decrypt(engine.run(program, sent))
    bound = sent.to(engine)
    held = [engine, bound]

    def compute() -> None:
        np.testing.assert_array_equal(client.decrypt(engine.run(program, sent)), before)

    def use() -> None:
        for action in (lambda: sent.to(engine), lambda: bound + bound, bound.to_bytes, engine.stats):
            with pytest.raises(hc.DeviceError, match="forked"):
                action()
        held.clear()
        gc.collect()
        own = moving_engine(deep_params, hc.Client(deep_params, threads=1), policy)
        del own

    in_child(use)
    compute()
    with Busy(compute):
        for _ in range(3):
            in_child(use)
    compute()
    assert np.abs(before - expected_of(values)).max() < TOLERANCE


# Ends of processes

PREPARE = """
import os, sys, threading, time
import halocline as hc
import numpy as np
params = hc.Params.preset("n13-d3")
client = hc.Client(params, threads=2)
keys = client.evaluation_keys([1, 2, 3, 4])
values = np.linspace(-1, 1, params.slots)
sent = client.encrypt(values)
def program(x):
    for step in (1, 2, 3, 4):
        x = x + x.rotate(step)
    return x * x
footprint = hc.Engine(params, keys, threads=1).stats()["live_bytes"]
planned = dict(memory=int(0.8 * footprint), policy="planned")
"""

AT_WORK = {
    "engine": "engine = hc.Engine(params, keys, threads=2)\ndef work(): engine.run(program, sent)",
    "client": "def work(): client.evaluation_keys([5, 6, 7]); client.decrypt(client.encrypt(values))",
    "planned": "engine = hc.Engine(params, keys, **planned)\ndef work(): engine.run(program, sent)",
    "callback": "import math\ndef work(): hc.Polynomial.fit(math.sin, degree=63)",
}

DAEMON = """
begun = threading.Event()
def forever():
    while True:
        work()
        begun.set()
threading.Thread(target=forever, daemon=True).start()
begun.wait()
"""

FORKED = """
engine = hc.Engine(params, keys, threads=2, **planned)
before = client.decrypt(engine.run(program, sent))
child = os.fork()
if child != 0:
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    after = client.decrypt(engine.run(program, sent))
    sys.exit(0 if status == 0 and (before == after).all() else 3)
"""


def run_script(text: str) -> None:
    # Python 3.12 and later warn of forks beside threads, which is what these scripts are about.
    quiet = ["-W", "ignore:This process:DeprecationWarning"]
    done = subprocess.run(
        [sys.executable, *quiet, "-c", text], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")


@pytest.mark.parametrize("at_work", sorted(AT_WORK))
def test_daemon_threads_at_work_when_the_interpreter_ends(at_work: str) -> None:
    for _ in range(3):
        run_script(PREPARE + AT_WORK[at_work] + DAEMON)


WAITING = """
budget = hc.MemoryBudget(int(0.6 * footprint), wait=3600)
engines = [hc.Engine(params, keys, threads=1, memory=budget, policy="lru") for _ in range(3)]
held = [each.run(lambda x: (x * x, x.rotate(1)), sent) for each in engines[:1]]
def wait(engine):
    while True:
        try:
            engine.run(program, sent)
        except hc.OutOfMemory:
            pass
for each in engines:
    threading.Thread(target=wait, args=(each,), daemon=True).start()
time.sleep(0.5)
"""


def test_daemon_threads_that_wait_for_memory_when_the_interpreter_ends() -> None:
    for _ in range(3):
        run_script(PREPARE + WAITING)


def test_a_child_that_ends_as_programs_do_harms_nobody() -> None:
    run_script(PREPARE + FORKED)
