# SPDX-License-Identifier: Apache-2.0
"""Runs whose keys are not in the memory of the device when they begin.

The keys wait in pinned host memory, in a file, or belong to the next of many users. Every row is compared
with a run of the same commit whose keys are resident, under the policy that keeps everything.
"""

from __future__ import annotations

import contextlib
import dataclasses
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ...base.names import device_name
from ...base.values import byte_count
from ...ckks.ciphertext import Ciphertext
from ...ckks.client import Client
from ...ckks.key_store import KeyStore
from ...ckks.keys import KeyPlan
from ...ckks.named_params import named_params
from ...engine.engine import Engine, RunReport
from ...engine.explanation import KeyPlace
from ...engine.users import UserEngine
from ...memory.budget import MemoryOptions
from ...memory.tiers import Tiers
from ..keeping import SILENT, Json, Watcher
from .advised import Speeds, advised
from .files import drop_cached, read_seconds
from .options import ColdKeyOptions, bootstrap_choice, first_choice, variants_of
from .tasks import BootstrapTask, ImageTask, Task, union_of

SCHEMA = 1
_ASSUMED_RATE = 50e9
"""Bytes a second of a link that took no time that could be measured."""
_ENROLLED_AT_ONCE = 8
"""Users whose keys are made and stored at the same time: a store takes 3 to 10 s for 3.4 GB."""
WARM_UP = 4
"""Runs before those that count where everything stays: weights are encoded, and a graph is made."""


def run(options: ColdKeyOptions | None = None, watcher: Watcher = SILENT) -> Json:
    """The suite with its options, as `--json` writes it."""
    o = options or ColdKeyOptions()
    with contextlib.ExitStack() as stack:
        folder = o.folder
        if folder is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="halocline-cold-keys-"))
        return _Bench(o, Path(folder), watcher).run()


@dataclasses.dataclass
class _User:
    """Whose keys are in the store."""

    name: str
    client: Client
    digest: str


class _Bench:
    """Everything that is measured; `content` grows row by row."""

    def __init__(self, o: ColdKeyOptions, folder: Path, watcher: Watcher) -> None:
        self._o, self._folder, self._watcher = o, folder, watcher
        self._device = device_name(o.device)
        self._params = named_params(o.params, o.allow_insecure)
        self._store = KeyStore(folder)
        self._begin = time.perf_counter()
        self._warm: dict[str, float] = {}
        self._images: ImageTask | None = None
        self.content: Json = {
            "schema": SCHEMA,
            "suite": "cold-keys",
            "device": o.device,
            "params": self._params.name,
            "options": {
                field.name: str(getattr(o, field.name)) for field in dataclasses.fields(ColdKeyOptions)
            },
            "host_memory": o.host_memory or "half of the machine's",
            "skipped": [],
            "rows": [],
        }

    def run(self) -> Json:
        """All cases in turn, until the time is over."""
        cases: dict[str, Callable[[], None]] = {
            "bootstrap": self._bootstrap,
            "resnet20": self._resnet20,
            "resnet20-first": self._resnet20_first,
            "users": self._users,
        }
        for name in self._o.cases:
            if self._has_time(name):
                cases[name]()
        return self.content

    # What all have in common

    def _has_time(self, what: str) -> bool:
        """Whether something may begin; says so where it may not."""
        fits = time.perf_counter() - self._begin < self._o.seconds
        if not fits:
            self.content["skipped"].append(what)
        return fits

    def _row(self, case: str, found: Json) -> None:
        self.content["rows"].append(
            {"case": case, **found, "elapsed_seconds": time.perf_counter() - self._begin}
        )
        done = len(self.content["rows"])
        self._watcher.row(case, self.content, done, 0)

    def _say(self, what: str) -> None:
        self._watcher.progress(what, len(self.content["rows"]), 0)

    def _enroll(self, name: str, plan: KeyPlan) -> tuple[_User, Json]:
        """A new client, whose keys are made on the device and put into the store; and how long that took."""
        self._say(f"keys of {name}")
        begin = time.perf_counter()
        client = Client(self._params, device=self._device, threads=self._o.threads)
        keys = client.evaluation_keys(plan=plan)
        made = time.perf_counter()
        digest = self._store.put(name, keys)
        took = {"keygen_seconds": made - begin, "put_seconds": time.perf_counter() - made}
        client._core.trim()
        return _User(name, client, digest), took

    def _resident(self, user: _User, task: Task) -> Engine:
        """An engine with default options whose keys stay on the device."""
        keys = self._store.user(user.name, self._params, plan=task.plan, digest=user.digest)
        return Engine(self._params, keys, self._device, threads=self._o.threads)

    def _moving(self, user: _User, task: Task) -> Engine:
        """An engine under plans whose keys come from the store when they are needed."""
        keys = self._store.user(user.name, self._params, plan=task.plan, digest=user.digest)
        return Engine(
            self._params,
            keys,
            self._device,
            memory=self._o.room,
            policy="planned",
            threads=self._o.threads,
            keep_seeds=task.keep_seeds,
            memory_options=self._memory_options(),
        )

    def _memory_options(self) -> MemoryOptions:
        memory = self._o.host_memory
        if memory is None and self._o.device == "cpu":
            memory = "1GiB"
        return MemoryOptions(tiers=Tiers(memory=memory, requests=self._o.requests, bandwidth="4GiB"))

    def _runs(self, engine: Engine, task: Task, ct: Ciphertext, count: int) -> list[RunReport]:
        reports = []
        for _ in range(count):
            self._result = engine.run(task.program, ct, key=task.program)
            assert engine.last_run is not None  # it just ran
            reports.append(engine.last_run)
        return reports

    def _warm_row(self, case: str, user: _User, task: Task, count: int) -> None:
        """Default options, resident keys: what the others are compared with."""
        engine = self._resident(user, task)
        ct = task.encrypt(user.client).to(engine)
        self._say(f"{case}, warm")
        runs = self._runs(engine, task, ct, WARM_UP + count)[WARM_UP:]
        self._warm[case] = statistics.median(each.seconds for each in runs)
        found = _summary(runs) | {"keys": len(task.plan), "key_bytes": task.plan.nbytes()}
        self._row(f"{case} warm", found | task.check(user.client, self._result))

    def _cold_runs(self, engine: Engine, task: Task, ct: Ciphertext, count: int, how: _Coldness) -> Json:
        """Runs that begin without keys on the device; the first one, which is planned, does not count."""
        runs, fast, near = [], 0, 0
        for number in range(count + 1):
            engine.evict_keys(copies=how.from_store)
            if how.before is not None:
                how.before()
            places = engine.explain().keys
            fast = max(fast, sum(each.fast_bytes for each in places))
            near = max(near, sum(_near_bytes(each) for each in places))
            engine.synchronize()
            made = self._runs(engine, task, ct, 1)
            runs += made if number > 0 else []
        return _summary(runs) | {
            "fast_key_bytes_before": fast,
            "pinned_key_bytes_before": near,
            "plan": engine.last_plan.summary.to_dict() if engine.last_plan is not None else None,
            "links": engine.stats()["links"],
        }

    def _compared(self, case: str, found: Json, limit: float) -> Json:
        """Beside the warm run."""
        warm = self._warm[case]
        return {"warm_seconds": warm, "slowdown": found["seconds"] / warm, "limit": limit}

    # A bootstrap

    def _bootstrap(self) -> None:
        tasks = {text: self._variant(text) for text in self._variants()}
        plan = union_of(self._params, [each.plan for each in tasks.values()])
        user, took = self._enroll("bootstrap", plan)
        self.content["bootstrap_keys"] = took | {"keys": len(plan), "bytes": self._store.nbytes(user.name)}
        self._warm_row("bootstrap", user, tasks["as-written"], self._o.runs)
        for text, task in tasks.items():
            if self._has_time(f"bootstrap cold, {text}"):
                found = self._bootstrap_row(user, task)
                row = {"variant": text, "from": "pinned"} | found
                self._row("bootstrap cold", row | self._compared("bootstrap", found, 1.6))
        if self._has_time("bootstrap cold, advised"):
            self._advised_row()

    def _advised_row(self) -> None:
        """The options of the adviser, with the speeds of this device and its link."""
        measured = [each for row in self.content["rows"] for each in row.get("links", ())]
        moved = [each for each in measured if each["read_bytes"] and each["name"] != "remote"]
        busy = sum(each["busy_seconds"] for each in moved)
        rate = sum(each["read_bytes"] for each in moved) / busy if busy > 0 else _ASSUMED_RATE
        self._say("bootstrap, advice")
        speeds = Speeds(self._warm["bootstrap"], rate, self._o.requests)
        found, scale = advised(self._params, speeds, self._o.room, self._device)
        best = found.best
        chosen = best.variant.circuits.bootstrap_settings
        task = BootstrapTask(self._params, chosen, keep_seeds=best.variant.seeds == "kept")
        user, _ = self._enroll("advised", task.plan)
        row = self._bootstrap_row(user, task)
        advice = {
            "variant": str(best.variant),
            "link_bytes_per_second": rate,
            "kernel_scale": scale,
            "forecast_seconds": best.seconds_each,
            "written_forecast_seconds": found.written.seconds_each,
            "forecast_bytes": best.moved_each,
        }
        row = {"from": "pinned"} | row | self._compared("bootstrap", row, 1.6)
        self._row("bootstrap cold, advised", advice | row)

    def _variant(self, text: str) -> BootstrapTask:
        chosen = bootstrap_choice(text)
        keeps = bool(chosen.pop("keep_seeds", False))
        return BootstrapTask(self._params, chosen, keep_seeds=keeps)

    def _variants(self) -> list[str]:
        found = variants_of(self._o.variants)
        return found if "as-written" in found else [*found, "as-written"]

    def _bootstrap_row(self, user: _User, task: BootstrapTask) -> Json:
        engine = self._moving(user, task)
        ct = task.encrypt(user.client).to(engine)
        self._say("bootstrap, cold")
        same = self._runs(engine, task, ct, WARM_UP)[-1]
        found = self._cold_runs(engine, task, ct, self._o.runs, _Coldness())
        return {
            "keys": len(task.plan),
            "key_bytes": task.plan.nbytes(),
            "sent_bytes": task.plan.nbytes(seeded=True),
            "planned_warm_seconds": same.seconds,
            **found,
            **task.check(user.client, self._result),
        }

    # An image

    @property
    def _image_task(self) -> ImageTask:
        if self._images is None:
            self._say("compiling the network")
            self._images = ImageTask(self._params)
        return self._images

    def _resnet20(self) -> None:
        task, o = self._image_task, self._o
        user, took = self._enroll("user-000", task.plan)
        self.content["resnet20_keys"] = took | {
            "keys": len(task.plan),
            "bytes": self._store.nbytes(user.name),
        }
        self._warm_row("resnet20", user, task, o.image_runs)
        engine = self._moving(user, task)
        ct = task.encrypt(user.client).to(engine)
        self._say("resnet20, keys from pinned memory")
        same = self._runs(engine, task, ct, 3)[-1]
        found = {"from": "pinned"} | self._cold_runs(engine, task, ct, o.image_runs, _Coldness())
        found |= {"planned_warm_seconds": same.seconds} | task.check(user.client, self._result)
        self._row("resnet20 cold", found | self._compared("resnet20", found, 1.1))
        for name, drops in (("file in the page cache", False), ("file", True)):
            if self._has_time(f"resnet20 cold, {name}"):
                self._file_row(engine, task, ct, name, drops)

    def _resnet20_first(self) -> None:
        """The same image, with few keys in the first bootstraps: the others come while these compute."""
        if "resnet20" not in self._warm:
            task = self._image_task
            user, _ = self._enroll("warm", task.plan)
            self._warm_row("resnet20", user, task, self._o.image_runs)
        self._say("compiling the network with other first bootstraps")
        o = self._o
        lean = ImageTask(
            self._params, first_bootstraps=o.first, first_bootstrap=first_choice(o.first_bootstrap)
        )
        user, _ = self._enroll("first", lean.plan)
        engine = self._moving(user, lean)
        ct = lean.encrypt(user.client).to(engine)
        same = self._runs(engine, lean, ct, 3)[-1]
        found: Json = {"from": "pinned", "variant": f"first {o.first} bootstraps: {o.first_bootstrap}"}
        found |= self._cold_runs(engine, lean, ct, o.image_runs, _Coldness())
        found |= {"planned_warm_seconds": same.seconds} | lean.check(user.client, self._result)
        found |= {"keys": len(lean.plan), "sent_bytes": lean.plan.nbytes(seeded=True)}
        self._row("resnet20 cold", found | self._compared("resnet20", found, 1.1))

    def _file_row(self, engine: Engine, task: ImageTask, ct: Ciphertext, name: str, drops: bool) -> None:
        """Keys from the store's file, which the page cache may have or not."""
        self._say(f"resnet20, keys from a {name}")
        drop = (lambda: drop_cached(self._folder)) if drops else None
        rate = max(self._file_rate(drop) for _ in range(2))
        found = self._cold_runs(engine, task, ct, self._o.file_runs, _Coldness(True, drop))
        moved = found["link_bytes"].get("remote", 0)
        bound = moved / rate / self._warm["resnet20"]
        row = {"from": name, "file_bytes_per_second": rate, "bytes_over_bandwidth": bound} | found
        self._row("resnet20 cold", row | self._compared("resnet20", found, max(1.15, 1.1 * bound)))

    def _file_rate(self, drop: Callable[[], None] | None) -> float:
        if drop is not None:
            drop()
        nbytes, seconds = read_seconds(self._folder, self._o.requests)
        return nbytes / seconds

    # Users

    def _users(self) -> None:
        o = self._o
        task: Task = self._image_task if o.program == "resnet20" else BootstrapTask(self._params)
        users, seconds = self._enroll_all(task)
        self.content["users_keys"] = {
            "users": len(users),
            "seconds": seconds,
            "bytes_each": self._store.nbytes(users[0].name),
        }
        if o.program not in self._warm:
            count = o.image_runs if isinstance(task, ImageTask) else o.runs
            self._warm_row(o.program, users[0], task, count)
        with self._user_engine(task, len(users)) as engine:
            self._user_rows(_Turns(engine, task, users))

    def _enroll_all(self, task: Task) -> tuple[list[_User], float]:
        """Users until there are enough or the time for that is over; and how long it took."""
        o, begin = self._o, time.perf_counter()
        users: list[_User] = []
        with ThreadPoolExecutor(_ENROLLED_AT_ONCE) as pool:
            while len(users) < o.users and (not users or time.perf_counter() - begin < o.key_seconds):
                numbers = range(len(users), min(o.users, len(users) + _ENROLLED_AT_ONCE))
                plans = [task.plan] * len(numbers)
                made = pool.map(self._enroll, (f"user-{number:03}" for number in numbers), plans)
                users += [user for user, _ in made]
        return users, time.perf_counter() - begin

    def _user_engine(self, task: Task, count: int) -> UserEngine:
        return UserEngine(
            self._params,
            self._store,
            self._device,
            memory=self._o.memory,
            policy="planned",
            key_memory=(count + 1) * task.plan.nbytes(),
            key_host_memory="256MiB",
            memory_options=self._memory_options(),
            threads=self._o.threads,
        )

    def _user_rows(self, turns: _Turns) -> None:
        """One user whose keys stay; then all of them in turn, with and without a look ahead."""
        o = self._o
        self._say("one user")
        runs = turns.one(3 + o.image_runs)[3:]
        found = _summary(runs) | turns.check()
        self._row("one user, resident", found | self._compared(o.program, found, 1.0))
        self._warm["one user"] = found["seconds"]
        self._say("first turns of all users")
        turns.take(2 * len(turns.users), ahead=True)  # into pinned memory, and plans
        for ahead, count in ((True, o.turns), (False, max(1, o.turns // 4))):
            name = "users in turn" if ahead else "users in turn, nothing ahead"
            if not self._has_time(name):
                continue
            self._say(name)
            seconds, runs = turns.take(count, ahead=ahead)
            found = _summary(runs) | turns.check()
            found |= {"run_seconds": found["seconds"], "seconds": sum(seconds) / count}
            found |= {"turns": count, "users": len(turns.users), "turn_seconds": seconds}
            found |= {"budget_bytes": byte_count(o.memory, "memory"), "links": turns.links()}
            found |= {f"slowdown_{base}": found["seconds"] / self._warm[base] for base in (o.program,)}
            self._row(name, found | self._compared("one user", found, 1.15))


@dataclasses.dataclass
class _Coldness:
    """From where keys come."""

    from_store: bool = False
    """Copies in pinned memory are dropped too."""
    before: Callable[[], None] | None = None
    """Called before each run."""


class _Turns:
    """Users who are served in turn by one engine."""

    def __init__(self, engine: UserEngine, task: Task, users: Sequence[_User]) -> None:
        self._engine, self._task, self.users = engine, task, users
        self._inputs = [task.encrypt(each.client) for each in users]
        self._last: tuple[_User, Ciphertext] | None = None
        self._next = 0

    def one(self, count: int) -> list[RunReport]:
        """Runs of one user in one turn."""
        reports = []
        with self._turn(0) as engine:
            for _ in range(count):
                reports.append(self._run(engine, 0))
        return reports

    def take(self, count: int, *, ahead: bool) -> tuple[list[float], list[RunReport]]:
        """Turns of all users, one after the other: seconds of each turn as a whole, and its run.

        ahead: the keys of the next user are brought nearer during each run.
        """
        seconds, reports = [], []
        for _ in range(count):
            begin = time.perf_counter()
            mine, following = self._next % len(self.users), (self._next + 1) % len(self.users)
            self._next += 1
            with self._turn(mine) as engine:
                if ahead:
                    user, task = self.users[following], self._task
                    ct = self._inputs[following]
                    self._engine.prefetch(user.name, task.program, ct, digest=user.digest, key=task.program)
                reports.append(self._run(engine, mine))
            seconds.append(time.perf_counter() - begin)
        return seconds, reports

    @contextlib.contextmanager
    def _turn(self, number: int) -> Iterator[Engine]:
        user = self.users[number]
        with self._engine.user(user.name, digest=user.digest) as engine:
            yield engine

    def _run(self, engine: Engine, number: int) -> RunReport:
        result = engine.run(self._task.program, self._inputs[number], key=self._task.program)
        self._last = (self.users[number], result)
        assert engine.last_run is not None  # it just ran
        return engine.last_run

    def check(self) -> Json:
        """How good the last result is."""
        assert self._last is not None  # something ran
        return self._task.check(self._last[0].client, self._last[1])

    def links(self) -> list[Json]:
        """Counters of each link to the device."""
        found: list[Json] = self._engine.engine.stats()["links"]
        return found


def _near_bytes(key: KeyPlace) -> int:
    """Of a key, on tiers between the store and the device."""
    return sum(count for name, count in key.copies.items() if name != "remote")


def _summary(runs: Sequence[RunReport]) -> Json:
    """Medians of runs, and the bytes of the last one."""
    last = runs[-1]
    return {
        "seconds": statistics.median(each.seconds for each in runs),
        "fastest_seconds": min(each.seconds for each in runs),
        "slowest_seconds": max(each.seconds for each in runs),
        "runs": len(runs),
        "stall_seconds": statistics.median(each.stall_seconds for each in runs),
        "bytes_moved": last.bytes_moved,
        "link_bytes": last.link_bytes,
        "steps": last.steps,
        "peak_fast_bytes": max(each.peak_fast_bytes for each in runs),
        "followed_plan": all(each.followed_plan for each in runs),
        "divergence": next((each.divergence for each in runs if each.divergence), None),
    }
