# SPDX-License-Identifier: Apache-2.0
"""The server of private retrieval: answers queries without learning what they ask for."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Literal, NoReturn

from .. import _core
from ..base.errors import InvalidArgument, NotPicklable, WrongType
from ..base.names import Device, Policy
from ..base.progress import Progress
from ..base.values import byte_count, byte_string, expect, integer, kind_of
from ..memory.budget import MemoryBudget, MemoryOptions
from .answering import Answering
from .batching import Gatherer, Job
from .database import Database
from .engines import Place, Spread, explain_of, make_core
from .info import DatabaseInfo
from .statistics import BatchPlan, ServerStats

Storage = Literal["transformed", "raw"]
"""How a server keeps a database: transformed, which is fast, or as bytes, transformed for each batch."""

_LONGEST = 86_400.0


class Server:
    """Answers queries to one database; sees neither what they ask for nor what it answers.

    Any number of threads may call `answer`: queries are gathered until `batch` of them wait, or `deadline`
    seconds have passed since the first of them came, and are answered together.

    device: "cpu", "cuda:0", ..., or two, four or eight of them. spread: how several share the database: each
        has part of its "columns" (more room), or all of it ("replicas", more answers). threads: of a CPU.
    memory, policy, memory_options: as of an `Engine`, for each device; with a budget and a policy that moves
        buffers (`planned` for one device, `lru`) the database may be larger than the budget.
    storage: "transformed" has 4 bytes a residue, "raw" packs coefficients (little above the records).
    scratch_memory: bytes that temporaries of a batch should keep to; larger batches are answered in parts,
        and the database is read again for each. None: half of a budget that buffers move in, else what the
        database leaves.
    key_memory: most bytes of clients' keys in the memory of the device; least recently used ones go, and are
        made again of what the client sent. key_host_memory: most bytes of that. key_expiry: seconds after
        which a client that asked nothing is removed; None: never.

    `close`, or leaving a `with` block, answers what waits and ends the thread.
    """

    def __init__(
        self,
        database: Database,
        device: Device | Sequence[Device] = "cpu",
        *,
        threads: int | None = None,
        memory: int | str | MemoryBudget | None = None,
        policy: Policy = "resident",
        memory_options: MemoryOptions | None = None,
        storage: Storage = "transformed",
        scratch_memory: int | str | None = None,
        spread: Spread = "columns",
        batch: int = 16,
        deadline: float = 0.005,
        key_memory: int | str = "1GiB",
        key_host_memory: int | str = "4GiB",
        key_expiry: float | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._database = expect(database, Database, "pir.Server", "use pir.Database.build or open")
        if storage not in ("transformed", "raw"):
            raise InvalidArgument(f"pir.Server: storage {storage!r}; expected 'transformed' or 'raw'")
        most = integer(batch, "pir.Server: batch", 1, 1 << 16)
        wait = _seconds(deadline, "deadline")
        expiry = None if key_expiry is None else _seconds(key_expiry, "key_expiry", 10 * 365 * _LONGEST)
        limits = (
            byte_count(key_host_memory, "pir.Server: key_host_memory"),
            byte_count(key_memory, "pir.Server: key_memory"),
        )
        scratch = 0 if scratch_memory is None else byte_count(scratch_memory, "pir.Server: scratch_memory")
        raw = storage == "raw"
        place = Place(_devices(device), threads, memory, policy, memory_options, raw, spread, scratch)
        self._device, self._storage, self._replaced = device, storage, 0
        self._closed = False
        database._join(lambda: self._begin(database, place, progress, (*limits, expiry)))
        self._queue = Gatherer(self._work.run, most, wait)
        self._end = weakref.finalize(self, self._queue.close)
        self._end.atexit = False  # the gatherer cancels what waits then

    def _begin(
        self, database: Database, place: Place, progress: Progress | None, limits: tuple[Any, ...]
    ) -> Server:
        core, explain = make_core(database, place, progress), explain_of(database, place)
        self._work = Answering(core, limits[0], limits[1], limits[2], explain)
        return self

    @property
    def info(self) -> DatabaseInfo:
        """The public description of the database."""
        return self._database.info

    @property
    def device(self) -> str | Sequence[str]:
        """Names of devices that it works on, as given."""
        return self._device

    @property
    def link(self) -> str:
        """How expanded queries travel between devices: "host", "nccl", or "none"."""
        core = self._work.core
        return core.link if isinstance(core, _core.RetrievalGroup) else "none"

    def add_client(self, keys: bytes, *, replace: bool = False) -> str:
        """Checks and keeps what `Client.server_keys` returned, and returns the client's identifier.

        replace: whether other keys that are here under that identifier make room. The identifier is public
            and no authentication: say True only for a party that you have authenticated as that client. A
            client notices, when it decodes, that another party's keys were used for it.

        Raises CorruptData and InvalidArgument for what are no keys for this database, and for keys that
        differ from those that are here unless `replace`.
        """
        data = byte_string(keys, "pir.Server.add_client")
        self._expect_open()
        client = _core.check_retrieval_keys(self.info._core, data)
        self._work.keys.add(client, data, bool(replace))
        return client.hex()

    def remove_client(self, client: str) -> bool:
        """Removes the keys of a client, by its identifier; whether they were here."""
        try:
            name = bytes.fromhex(expect(client, str, "pir.Server.remove_client"))
        except ValueError:
            raise InvalidArgument(
                f"pir.Server.remove_client: {client[:40]!r} is no identifier; give what add_client returned"
            ) from None
        return self._work.keys.remove(name)

    def answer(self, query: bytes) -> bytes:
        """The answer to a query, which waits for others to be answered with it.

        Raises CorruptData and InvalidArgument for what is no query to this database, before it is queued, and
        InvalidArgument after `close`; MissingKey for a client whose keys are not here: it has to send them
        (again); OutOfMemory, DeviceError.
        """
        return self.answer_many([query])[0]

    def answer_many(self, queries: Sequence[bytes]) -> list[bytes]:
        """Answers to several queries, of any clients, in their order; all are checked first."""
        if isinstance(queries, bytes | str):
            raise WrongType("pir.Server.answer_many: got one query, expected a list; use answer")
        self._expect_open()
        jobs = [self._job(each) for each in queries]
        if not jobs:
            return []
        self._queue.submit(jobs)
        return [each.answer.result() for each in jobs]

    def _job(self, query: bytes) -> Job:
        data = byte_string(query, "pir.Server.answer")
        client = _core.check_retrieval_query(self.info._core, data)
        self._work.keys.expect(client)
        return Job(client, data, Future())

    def replace(self, index: int, data: bytes) -> None:
        """Replaces a record of the database, here and in its other servers: see `Database.replace`."""
        self._database.replace(index, data)

    def paused(self) -> contextlib.AbstractContextManager[None]:
        """For the database: inside, no batch is answered."""
        return self._work.paused()

    def refresh(self, record: int) -> None:
        """For the database: reads a record again that was replaced in the store, while paused."""
        self._work.core.refresh(record)
        self._replaced += 1

    @property
    def last_plan(self) -> BatchPlan | None:
        """What the plan of the last batch said, and whether the batch followed it.

        None before the first batch, and where there are no plans: they are made under the policy `planned`
        with a budget, for one device.
        """
        return self._work.last_plan

    def time_stages(self, timed: bool = True) -> None:
        """Whether a GPU is waited for after each stage, so that times of stages are true; it costs some.

        Stages on several devices overlap, and are not timed.
        """
        if isinstance(self._work.core, _core.RetrievalServer):
            self._work.core.time_stages(bool(timed))

    def stats(self) -> ServerStats:
        """What has been done so far."""
        counts, seconds = self._work.counts, dict(self._work.seconds)
        keys = self._work.keys.counts
        return ServerStats(
            queries=counts["queries"],
            batches=counts["batches"],
            largest_batch=counts["largest"],
            splits=counts["splits"],
            seconds=seconds.pop("total", 0.0),
            stage_seconds=seconds,
            bytes_moved=dict(self._work.moved),
            planned_batches=counts["planned"],
            left_plans=counts["left"],
            replaced_records=self._replaced,
            key_hits=keys["hits"],
            key_misses=keys["misses"],
            key_evictions=keys["evictions"],
            key_expiries=keys["expiries"],
            key_removals=keys["removals"],
            **self._work.keys.sizes(),
        )

    def memory(self) -> dict[str, int]:
        """Bytes of its device, of several ones together. Batches, keys and tables count as the database does.

        live_bytes: what exists now, wherever it is: the database, expanded keys, tables; between batches no
            temporaries. Under a policy that moves buffers it may exceed the budget.
        peak_bytes: the most that existed at once. Without a budget, what a budget would have to be for
            everything to stay, under the policy `resident`.
        fast_bytes: what the memory of the device has in use or keeps for re-use now; never above a budget.
        peak_fast_bytes: the most that was in use at once. Freed blocks that are kept for re-use, at most
            64 MiB, are in fast_bytes only, which may therefore be the larger one.
        """
        return self._work.core.memory()

    def close(self) -> None:
        """Answers what waits, ends the thread and releases all keys. May be called again."""
        self._closed = True
        self._end()
        self._work.keys.clear()
        self._database._leave(self)

    def _expect_open(self) -> None:
        if self._closed:
            raise InvalidArgument("pir.Server: it is closed; make another one")

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise NotPicklable("a pir.Server holds a device and threads; make one in each process")

    def __repr__(self) -> str:
        return f"pir.Server({self._database.info!r}, on {self._device}, {self._storage})"


def _devices(device: str | Sequence[str]) -> list[str]:
    names = [device] if isinstance(device, str) else device
    if not isinstance(names, Sequence) or not all(isinstance(each, str) for each in names):
        raise WrongType(f"pir.Server: device: got {device!r}, expected a name or a list of names")
    return list(names)


def _seconds(value: Any, what: str, high: float = _LONGEST) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WrongType(f"pir.Server: {what}: got {kind_of(value)}, expected seconds")
    if not 0 <= value <= high:
        raise InvalidArgument(f"pir.Server: {what}: got {value}, expected 0 to {high:g} seconds")
    return float(value)
