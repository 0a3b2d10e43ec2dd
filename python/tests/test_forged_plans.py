# SPDX-License-Identifier: Apache-2.0
"""Plan files that were changed on purpose: they may cost time, never another integer."""

from __future__ import annotations

import random
import secrets
import warnings
from typing import Any

import halocline as hc
import numpy as np
import pytest
from attacks.forgeries import CHECKSUM_BYTES, FORGERIES, Forged, forge
from attacks.seals import seal_plan

STEPS = [1, 2, 3, 5]


def program(x: hc.Ciphertext) -> hc.Ciphertext:
    y = x
    for step in (1, 2, 3, 5, 1, 5, 2):
        y = y + x.rotate(step)
    return (0.1 * y * x).rotate(1)


class Rig:
    """One client, its keys, a program, and what it computes without a plan, for one way of keeping keys."""

    def __init__(self, keep_seeds: bool) -> None:
        self.params = hc.Params.preset("test-n11-d8", allow_insecure=True)
        self.client = hc.Client(self.params)
        self.keys = self.client.evaluation_keys(rotations=STEPS)
        self.x = self.client.encrypt(np.linspace(-1, 1, self.params.slots))
        self.keep_seeds = keep_seeds
        resident = hc.Engine(self.params, self.keys, threads=1, keep_seeds=keep_seeds)
        self.expected = resident.run(program, self.x).to_bytes()
        self.memory = int(0.5 * resident.stats()["peak_bytes"])
        engine = self.engine()
        assert engine.run(program, self.x).to_bytes() == self.expected
        assert engine.last_plan is not None
        self.data = engine.last_plan.to_bytes()
        self.order = 2 * self.params.n

    def engine(self, **options: Any) -> hc.Engine:
        return hc.Engine(
            self.params,
            self.keys,
            memory=self.memory,
            policy="planned",
            threads=1,
            keep_seeds=self.keep_seeds,
            **options,
        )

    def element(self, step: int) -> int:
        return int(pow(5, step, self.order))


@pytest.fixture(scope="module", params=[False, True], ids=["expanded", "seeded"])
def rig(request: pytest.FixtureRequest) -> Rig:
    return Rig(request.param)


REFUSALS = (hc.CorruptData, hc.InvalidArgument)


def test_the_reader_of_this_test_is_right(rig: Rig) -> None:
    assert Forged.of(rig.data).to_bytes() == rig.data


def test_no_forged_plan_changes_an_integer(rig: Rig) -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    engine = rig.engine()
    refused = followed = 0
    for turn in range(6 * len(FORGERIES)):
        forged, chosen = forge(rng, rig.data, turn)
        if turn % 10 == 0:
            engine = rig.engine()  # nothing of the runs before is in memory
        told = f"seed {seed}, turn {turn}: {chosen}"
        try:
            plan = hc.Plan.from_bytes(forged)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", hc.PlanDivergence)
                result = engine.run(program, rig.x, plan=plan)
        except REFUSALS:
            refused += 1
            continue
        assert result.to_bytes() == rig.expected, told
        assert engine.last_run is not None
        assert engine.last_run.peak_fast_bytes <= engine.budget_bytes, told
        followed += engine.last_run.followed_plan
    assert refused > 0
    assert followed > 0
    assert engine.run(program, rig.x).to_bytes() == rig.expected


def test_random_bytes_with_a_right_checksum(rig: Rig) -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    engine = rig.engine()
    for turn in range(150):
        data = bytearray(rig.data[:-CHECKSUM_BYTES])
        for _ in range(rng.choice([1, 1, 2, 8])):
            data[rng.randrange(9, len(data))] = rng.randrange(256)
        try:
            plan = hc.Plan.from_bytes(seal_plan(bytes(data) + bytes(CHECKSUM_BYTES)))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", hc.PlanDivergence)
                result = engine.run(program, rig.x, plan=plan)
        except REFUSALS:
            continue
        assert result.to_bytes() == rig.expected, f"seed {seed}, turn {turn}"


def with_compositions(rig: Rig, compositions: list[tuple[int, list[int]]]) -> bytes:
    forged = Forged.of(rig.data)
    forged.compositions = compositions
    return forged.to_bytes()


def test_compositions_are_for_engines_that_allow_them(rig: Rig) -> None:
    data = with_compositions(rig, [(rig.element(5), [rig.element(2), rig.element(3)])])
    with pytest.raises(hc.InvalidArgument, match="compose_rotations=True"):
        rig.engine().run(program, rig.x, plan=hc.Plan.from_bytes(data))


@pytest.mark.parametrize(
    "name",
    [
        "relinearization",
        "encapsulation",
        "conjugation",
        "unreduced",
        "even",
        "product",
        "itself",
        "identity",
        "no rotation",
        "missing key",
        "routed part",
    ],
)
def test_false_compositions_are_refused_before_anything_runs(rig: Rig, name: str) -> None:
    e, order = rig.element, rig.order
    false: dict[str, list[tuple[int, list[int]]]] = {
        "relinearization": [(e(2), [e(1), e(1), 1])],
        "encapsulation": [(e(2), [e(1), 2])],
        "conjugation": [(e(2), [order - 1, order - e(2)])],
        "unreduced": [(e(2), [e(1), e(1) + order])],
        "even": [(e(2), [e(1), 4])],
        "product": [(e(5), [e(2), e(2)])],
        "itself": [(e(5), [e(5)])],
        "identity": [(1, [e(1), order - e(1)])],
        "no rotation": [(order - 1, [e(1)])],
        "missing key": [(e(5), [e(1), e(4)])],
        "routed part": [(e(2), [e(1), e(1)]), (e(3), [e(2), e(1)])],
    }
    engine = rig.engine(compose_rotations=True)
    x = rig.x.to(engine)
    steps = engine.stats()["steps"]
    with pytest.raises(REFUSALS, match=r"routes|composition|element"):
        data = with_compositions(rig, sorted(false[name]))
        engine.run(program, x, plan=hc.Plan.from_bytes(data))
    assert engine.stats()["steps"] == steps
    assert engine.run(program, rig.x).to_bytes() == rig.expected


def test_true_compositions_change_the_noise_only(rig: Rig) -> None:
    """What a plan may change where that is allowed: one more key switch on the rotation by 5."""
    engine = rig.engine(compose_rotations=True)
    true = with_compositions(rig, [(rig.element(5), [rig.element(2), rig.element(3)])])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hc.PlanDivergence)
        result = engine.run(program, rig.x, plan=hc.Plan.from_bytes(true))

    def by_hand(x: hc.Ciphertext) -> hc.Ciphertext:
        y = x
        for step in (1, 2, 3, 5, 1, 5, 2):
            y = y + (x.rotate(2).rotate(3) if step == 5 else x.rotate(step))
        return (0.1 * y * x).rotate(1)

    resident = hc.Engine(rig.params, rig.keys, threads=1, keep_seeds=rig.keep_seeds)
    assert result.to_bytes() == resident.run(by_hand, rig.x).to_bytes()
    direct = rig.client.decrypt(resident.run(program, rig.x))
    np.testing.assert_allclose(rig.client.decrypt(result), direct, atol=2**-14)


def test_text_that_is_no_text(rig: Rig, tmp_path: Any) -> None:
    forged = Forged.of(rig.data)
    for parameters in (b"\xff\xfe", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"):
        forged.parameters = parameters
        with pytest.raises(hc.CorruptData, match="UTF-8"):
            hc.Plan.from_bytes(forged.to_bytes())
        path = tmp_path / "forged.plan"
        path.write_bytes(forged.to_bytes())
        with pytest.raises(hc.CorruptData, match="UTF-8"):
            rig.engine().run(program, rig.x, plan=path)
    for text in ("", "\N{EURO SIGN} \N{GRINNING FACE}", "\ud7ff\ue000\U0010ffff", "\0"):
        forged.parameters = text.encode()
        assert hc.Plan.from_bytes(forged.to_bytes()).parameters == text
