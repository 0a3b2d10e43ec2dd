# SPDX-License-Identifier: Apache-2.0
"""Several threads on engines of random policies, budgets and owners."""

from __future__ import annotations

import threading
import warnings

import halocline as hc
from attacks.case import Case, Finding
from attacks.samples import PROGRAMS, World

POLICIES = ("resident", "lru", "planned", "planned", "static", "dynamic", "managed")
PATIENCE = 60.0
"""Seconds after which a thread counts as hanging."""


class Threads:
    """Engines that two to four threads use at once."""

    def __init__(self, world: World) -> None:
        self.world = world

    def attack(self, case: Case) -> None:
        """Random calls by random threads; every result is the one of `resident`, whatever ran beside it."""
        rng, world = case.rng, self.world
        engines = self._engines(case)
        findings: list[str] = []
        start = threading.Barrier(threads := rng.randint(2, 4))
        scripts = [[self._call(case, engines) for _ in range(rng.randint(2, 6))] for _ in range(threads)]

        def work(script: list[tuple[str, hc.Engine, int]]) -> None:
            start.wait()
            for call in script:
                try:
                    self._do(call)
                except Finding as found:
                    findings.append(str(found))
                except hc.Error as refused:
                    if not isinstance(refused, hc.OutOfMemory | hc.Cancelled):
                        findings.append(f"{call[0]}: {type(refused).__name__}: {refused}")
                except Exception as error:
                    findings.append(f"{call[0]}: {type(error).__name__}: {error}")

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            running = [threading.Thread(target=work, args=(script,), daemon=True) for script in scripts]
            for each in running:
                each.start()
            for each in running:
                each.join(PATIENCE)
        if any(each.is_alive() for each in running):
            raise Finding(f"threads still run after {PATIENCE} s: {[[c[0] for c in s] for s in scripts]}")
        if findings:
            raise Finding("; ".join(findings[:3]))
        for engine in engines:  # nothing that happened may stick
            if engine.run(PROGRAMS[0], world.x).to_bytes() not in self._allowed(0, engine):
                raise Finding(f"{engine.policy}: another result afterwards")

    def _engines(self, case: Case) -> list[hc.Engine]:
        rng, world = case.rng, self.world
        shared = hc.MemoryBudget(int(3 * world.footprint)) if rng.random() < 0.3 else None
        count = 2 if shared is not None else rng.randint(1, 2)
        return [
            world.engine(
                rng.choice(POLICIES) if shared is None else "planned", rng.choice((1.2, 2.0)), shared
            )
            for _ in range(count)
        ]

    def _call(self, case: Case, engines: list[hc.Engine]) -> tuple[str, hc.Engine, int]:
        what = case.rng.choice(("run",) * 6 + ("manual", "budget", "cancel", "report", "encrypt", "stats"))
        return what, case.rng.choice(engines), case.rng.randrange(len(PROGRAMS))

    def _allowed(self, number: int, engine: hc.Engine) -> tuple[bytes, ...]:
        return (self.world.expected[number],)

    def _do(self, call: tuple[str, hc.Engine, int]) -> None:
        what, engine, number = call
        if what in ("run", "cancel"):
            if what == "cancel":
                engine.cancel()
            result = engine.run(PROGRAMS[number], self.world.x).to_bytes()
            if result not in self._allowed(number, engine):
                raise Finding(f"{engine.policy}: program {number} has another result beside other threads")
        elif what == "manual":
            with engine.manual():
                x = self.world.x.to(engine)
                if (x * x).components != 3:
                    raise Finding("manual(): a product was relinearized")
        elif what == "budget":
            if engine.policy in ("planned", "lru") and engine.budget_bytes:
                engine.set_budget(int(engine.budget_bytes * 1.1))
        elif what == "report":
            repr(engine.last_run), repr(engine.last_plan), repr(engine)
        elif what == "encrypt":
            self.world.client.encrypt([1.0, 2.0]).to(engine)
        else:
            engine.stats()
