# SPDX-License-Identifier: Apache-2.0
"""Requests of many users on several hosts: in turn, to a host that holds the user's keys, or with key nodes.

A fixed number of requests is under way; when one ends the next one comes, from a user drawn by Zipf's law.
Each host computes one request at a time, in their order, and loads keys for those that wait over its own link
to the network. Users whose keys leave a host are those that it served longest ago, and never ones with a
request there.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, deque

import numpy as np

from ...base.errors import InvalidArgument
from .clock import Clock, Event, Link, Process

ROUTES = ("round-robin", "locality", "key-nodes")
"""`round-robin`: hosts in turn. `locality`: a host that holds the keys, another one where that one is behind
by more than loading them costs. `key-nodes`: keys stay where they are stored; ciphertexts travel."""
LOW = 2
"""Requests at a host below which it would soon have nothing to do."""
BEHIND = 1.0
"""How many times its fair share of requests a host may have more than another one before users move."""


@dataclasses.dataclass(frozen=True)
class Traffic:
    """What is asked of the hosts."""

    hosts: int
    slots: int
    """Users whose keys a host holds."""
    users: int
    exponent: float
    """Of Zipf's law: user k is asked for in proportion to k^-exponent."""
    requests: int
    outstanding: int
    """Requests under way at each host, on average."""
    service: float
    """Seconds of a request on a host with the user's keys."""
    key_bytes: float
    """Of one user."""
    moved_bytes: float
    """Bytes of ciphertexts of a request whose key switches are done by key nodes."""
    network: float
    """Bytes per second of each host's link."""
    seed: int

    def order(self) -> list[int]:
        """The user of each request."""
        weights = np.arange(1, self.users + 1, dtype=np.float64) ** -self.exponent
        rng = np.random.Generator(np.random.PCG64(self.seed))
        drawn = rng.choice(self.users, size=self.requests, p=weights / weights.sum())
        return [int(each) for each in drawn]


@dataclasses.dataclass(frozen=True)
class Served:
    """What a simulation found."""

    throughput: float
    """Requests per second until the last one comes."""
    network_bytes: float
    loads: int
    """Times that the keys of a user were loaded."""
    copies: int
    """Most hosts that held the keys of one user at a time."""


class _Host:
    """One host: a queue, a link, slots for users' keys."""

    def __init__(self, clock: Clock, traffic: Traffic, holders: dict[int, set[_Host]]) -> None:
        self._clock, self._traffic, self._holders = clock, traffic, holders
        self.link = Link(clock, traffic.network)
        self.waiting = 0
        """Requests that are not done."""
        self.loads = 0
        self._held: OrderedDict[int, Event] = OrderedDict()
        self._asked: dict[int, int] = {}
        self._to_load: deque[tuple[int, Event]] = deque()
        self._queue: deque[tuple[Event, int, Event]] = deque()
        self._busy = False

    def submit(self, user: int) -> Event:
        """A request; the event is its end."""
        self.waiting += 1
        self._asked[user] = self._asked.get(user, 0) + 1
        ready, done = Event(), Event()
        if self._traffic.moved_bytes:
            ready.happen()
        else:
            self._to_load.append((user, ready))
            self._load()
        self._queue.append((ready, user, done))
        if not self._busy:
            self._busy = True
            self._clock.start(self._serve())
        return done

    def _load(self) -> None:
        """Brings keys of waiting requests in, in their order, while there are slots."""
        while self._to_load:
            user, ready = self._to_load[0]
            if user not in self._held:
                if len(self._held) >= self._traffic.slots and not self._evict():
                    return
                self.loads += 1
                self._held[user] = self.link.transfer(self._traffic.key_bytes)
                self._holders.setdefault(user, set()).add(self)
            self._held.move_to_end(user)
            self._to_load.popleft()
            self._held[user].when(ready.happen)

    def _evict(self) -> bool:
        idle = next((user for user in self._held if not self._asked.get(user)), None)
        if idle is None:
            return False
        del self._held[idle]
        self._holders[idle].discard(self)
        return True

    def _serve(self) -> Process:
        while self._queue:
            ready, user, done = self._queue.popleft()
            yield ready
            if self._traffic.moved_bytes:
                yield self.link.transfer(self._traffic.moved_bytes)
            yield self._traffic.service
            self.waiting -= 1
            self._asked[user] -= 1
            self._load()
            done.happen()
        self._busy = False


def _nearest(traffic: Traffic, hosts: list[_Host], holding: set[_Host]) -> _Host:
    """A host that holds the keys, unless another one would be sooner done although it must load them.

    That is so where a host would soon have nothing to do, or where the nearest one is far behind.
    """
    free = min(hosts, key=lambda each: each.waiting)
    if not holding:
        return free
    near = min((each for each in hosts if each in holding), key=lambda each: each.waiting)
    loading = traffic.key_bytes / traffic.network / traffic.service
    starving = free.waiting <= LOW and near.waiting >= free.waiting + 1 + loading
    return free if starving or near.waiting > free.waiting + BEHIND * traffic.outstanding + loading else near


def simulate_routing(traffic: Traffic, route: str) -> Served:
    """A simulation from hosts without keys. Raises InvalidArgument for what cannot be."""
    if traffic.requests <= traffic.outstanding * traffic.hosts:
        raise InvalidArgument(
            f"paper storage: {traffic.requests} requests; expected more than are under way at a time, "
            f"{traffic.outstanding * traffic.hosts}"
        )
    if route not in ROUTES:
        raise InvalidArgument(f"paper storage: unknown route '{route}'; expected one of: {', '.join(ROUTES)}")
    if route != "key-nodes":
        traffic = dataclasses.replace(traffic, moved_bytes=0.0)
    clock = Clock()
    holders: dict[int, set[_Host]] = {}
    hosts = [_Host(clock, traffic, holders) for _ in range(traffic.hosts)]
    order = iter(enumerate(traffic.order()))
    copies = 0
    begun = 0.0

    def following() -> None:
        nonlocal copies, begun
        number, user = next(order, (0, -1))
        if user < 0:
            return
        begun = clock.now
        holding = holders.get(user, set())
        host = _nearest(traffic, hosts, holding) if route == "locality" else hosts[number % len(hosts)]
        host.submit(user).when(following)
        copies = max(copies, len(holders.get(user, ())))

    for _ in range(traffic.outstanding * traffic.hosts):
        following()
    clock.run()
    done = traffic.requests - traffic.outstanding * traffic.hosts  # when the last one began
    moved = sum(each.link.bytes for each in hosts)
    return Served(done / begun, moved, sum(each.loads for each in hosts), copies)
