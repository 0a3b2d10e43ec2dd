# SPDX-License-Identifier: Apache-2.0
"""A small discrete-event simulator: a clock, processes as generators, links and memory that they wait for.

A process yields seconds to wait for, or an `Event`. Events at the same time run in the order in which they
were scheduled, so that runs are repeatable. Nothing here is random.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Generator

from ...base.errors import InvalidArgument

Process = Generator["float | Event", None, None]


class Event:
    """Something that happens once; processes that wait for it go on then."""

    def __init__(self) -> None:
        self.happened = False
        self._waiting: list[Callable[[], None]] = []

    def when(self, action: Callable[[], None]) -> None:
        """Calls `action` then, or now where it has happened."""
        if self.happened:
            action()
        else:
            self._waiting.append(action)

    def happen(self) -> None:
        """It happens now."""
        self.happened = True
        waiting, self._waiting = self._waiting, []
        for action in waiting:
            action()


class Clock:
    """Simulated time, from 0."""

    def __init__(self) -> None:
        self.now = 0.0
        self._order = 0
        self._events: list[tuple[float, int, Callable[[], None]]] = []

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Calls `action` at a time that has not passed."""
        self._order += 1
        heapq.heappush(self._events, (time, self._order, action))

    def start(self, process: Process) -> None:
        """Runs a process from now on."""

        def go_on() -> None:
            for wanted in process:
                if isinstance(wanted, Event):
                    if wanted.happened:
                        continue
                    wanted.when(go_on)
                else:
                    self.at(self.now + wanted, go_on)
                return

        go_on()

    def run(self) -> float:
        """Until nothing is left to happen; the time then."""
        while self._events:
            self.now, _, action = heapq.heappop(self._events)
            action()
        return self.now


class Link:
    """Transfers one after another at a bandwidth, without latency, as the paper assumes."""

    def __init__(self, clock: Clock, bytes_per_second: float) -> None:
        if not bytes_per_second > 0:
            raise InvalidArgument(
                f"paper storage: a link of {bytes_per_second} bytes per second, expected above 0"
            )
        self._clock, self._rate = clock, bytes_per_second
        self._free = 0.0
        self.bytes = 0.0
        """All that was transferred."""

    def transfer(self, count: float) -> Event:
        """Queues a transfer; the event is its end."""
        self.bytes += count
        self._free = max(self._free, self._clock.now) + count / self._rate
        end = Event()
        self._clock.at(self._free, end.happen)
        return end


class Memory:
    """Bytes that are taken and given back; who asks first gets first."""

    def __init__(self, capacity: float) -> None:
        self.capacity = self._free = capacity
        self._asked: deque[tuple[float, Event]] = deque()

    def take(self, count: float) -> Event:
        """Bytes of it; the event is when they are there. Raises InvalidArgument beyond the capacity."""
        if count > self.capacity:
            raise InvalidArgument(
                f"paper storage: {count:.0f} bytes at once in a memory of {self.capacity:.0f}"
            )
        taken = Event()
        self._asked.append((count, taken))
        self._serve()
        return taken

    def give(self, count: float) -> None:
        """Bytes come back."""
        self._free += count
        self._serve()

    def _serve(self) -> None:
        slack = 1e-9 * self.capacity  # sums of fractions
        while self._asked and self._asked[0][0] <= self._free + slack:
            count, taken = self._asked.popleft()
            self._free -= count
            taken.happen()


class Barrier:
    """Processes that wait for each other, again and again."""

    def __init__(self, parties: int) -> None:
        self._parties, self._here = parties, 0
        self._turn = Event()

    def arrive(self) -> Event:
        """The event when all of them are here."""
        turn = self._turn
        self._here += 1
        if self._here == self._parties:
            self._here, self._turn = 0, Event()
            turn.happen()
        return turn
