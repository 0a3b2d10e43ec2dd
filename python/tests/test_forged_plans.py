# SPDX-License-Identifier: Apache-2.0
"""Plan files that were changed on purpose: they may cost time, never another integer."""

from __future__ import annotations

import dataclasses
import random
import secrets
import struct
import warnings
from collections.abc import Callable
from typing import Any

import halocline as hc
import numpy as np
import pytest

CHECKSUM_BYTES = 8
MAX_NUMBER = (1 << 64) - 1
FORECAST_NUMBERS = 8


@dataclasses.dataclass
class Forged:
    """A plan file taken apart (docs/reference/plan_format.md); `to_bytes` seals whatever was made of it."""

    capacity: int
    parameters: bytes
    hashes: list[int]
    objects: list[list[int]]
    """id, identity, bytes, kind, born, dead as written."""
    directives: list[list[int]]
    """step, verb, object, pages."""
    compositions: list[tuple[int, list[int]]]
    rest: bytes

    @classmethod
    def of(cls, data: bytes) -> Forged:
        read = Reader(data)
        assert read.take(8) == b"HALOPLAN"
        assert read.number() == 2  # format version
        capacity = read.number()
        parameters = read.take(read.number())
        hashes = [int.from_bytes(read.take(4), "little") for _ in range(read.number())]
        objects = []
        for _ in range(read.number()):
            named = [read.number() for _ in range(3)]
            objects.append([*named, read.take(1)[0], read.number(), read.number()])
        directives, step = [], 0
        for _ in range(read.number()):
            head = read.number()
            step += head // 8
            directives.append([step, head % 8, read.number(), read.number()])
        compositions = []
        for _ in range(read.number()):
            element = read.number()
            compositions.append((element, [read.number() for _ in range(read.number())]))
        return cls(capacity, parameters, hashes, objects, directives, compositions, data[read.at : -8])

    def to_bytes(self) -> bytes:
        out = bytearray(b"HALOPLAN")
        out += leb(2) + leb(self.capacity) + leb(len(self.parameters)) + self.parameters
        out += leb(len(self.hashes)) + b"".join(struct.pack("<I", each) for each in self.hashes)
        out += leb(len(self.objects))
        for *named, kind, born, dead in self.objects:
            out += b"".join(map(leb, named)) + bytes([kind]) + leb(born) + leb(dead)
        out += leb(len(self.directives))
        before = 0
        for step, verb, target, pages in self.directives:
            out += leb(8 * max(0, step - before) + verb) + leb(target) + leb(pages)
            before = max(before, step)
        out += leb(len(self.compositions))
        for element, parts in self.compositions:
            out += leb(element) + leb(len(parts)) + b"".join(map(leb, parts))
        out += self.rest
        return bytes(out) + fnv(out)


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self) -> int:
        value = shift = 0
        while True:
            part = self.take(1)[0]
            value |= (part & 0x7F) << shift
            shift += 7
            if part < 0x80:
                return value


def leb(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def fnv(data: bytes | bytearray) -> bytes:
    state = 0xCBF29CE484222325
    for each in data:
        state = (state ^ each) * 0x100000001B3 & MAX_NUMBER
    return state.to_bytes(CHECKSUM_BYTES, "little")


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


# What a forger may write


def drop_without_reload(plan: Forged, rng: random.Random) -> None:
    plan.directives = [each for each in plan.directives if each[1] >= 3 or rng.random() < 0.5]


def never_free(plan: Forged, rng: random.Random) -> None:
    plan.directives = [each for each in plan.directives if each[1] < 3 or rng.random() < 0.3]


def no_directives(plan: Forged, rng: random.Random) -> None:
    plan.directives = []


def other_verbs(plan: Forged, rng: random.Random) -> None:
    for each in plan.directives:
        if rng.random() < 0.5:
            each[1] = rng.randrange(6)


def other_targets(plan: Forged, rng: random.Random) -> None:
    for each in plan.directives:
        if rng.random() < 0.5:
            each[2] = rng.randrange(len(plan.objects))


def other_steps(plan: Forged, rng: random.Random) -> None:
    for each in plan.directives:
        if rng.random() < 0.5:
            each[0] = rng.randrange(len(plan.hashes))
    plan.directives.sort(key=lambda each: each[0])


def other_lengths(plan: Forged, rng: random.Random) -> None:
    for each in plan.directives:
        pages = -(-plan.objects[each[2]][2] // 4096)
        each[3] = rng.choice([1, pages, rng.randint(1, pages)])


def duplicates(plan: Forged, rng: random.Random) -> None:
    plan.directives = [each for each in plan.directives for _ in range(rng.choice([1, 1, 2, 20]))]


def invented(plan: Forged, rng: random.Random) -> None:
    for _ in range(200):
        target = rng.randrange(len(plan.objects))
        pages = rng.randint(1, max(1, -(-plan.objects[target][2] // 4096)))
        plan.directives.append([rng.randrange(len(plan.hashes)), rng.randrange(6), target, pages])
    plan.directives.sort(key=lambda each: each[0])


def other_identities(plan: Forged, rng: random.Random) -> None:
    known = [each[1] for each in plan.objects]
    for each in plan.objects:
        if rng.random() < 0.5:
            each[1] = rng.choice([*known, 0, rng.getrandbits(63)])


def other_kinds(plan: Forged, rng: random.Random) -> None:
    for each in plan.objects:
        if rng.random() < 0.3:
            each[3] = rng.randrange(5) + 8 * rng.randrange(3) + 32 * rng.randrange(2)


def other_sizes(plan: Forged, rng: random.Random) -> None:
    sizes = [each[2] for each in plan.objects]
    for each in plan.objects:
        if rng.random() < 0.3:
            each[2] = rng.choice([*sizes, 1, 1 << 43])


def other_lives(plan: Forged, rng: random.Random) -> None:
    for each in plan.objects:
        each[4] = rng.randrange(len(plan.hashes) + 1)
        each[5] = rng.randrange(len(plan.hashes) + 2)


def swapped_objects(plan: Forged, rng: random.Random) -> None:
    rng.shuffle(plan.objects)


def other_fingerprints(plan: Forged, rng: random.Random) -> None:
    plan.hashes[rng.randrange(len(plan.hashes))] ^= 1 << rng.randrange(32)


def fewer_steps(plan: Forged, rng: random.Random) -> None:
    del plan.hashes[rng.randrange(1, len(plan.hashes)) :]
    plan.directives = [each for each in plan.directives if each[0] < len(plan.hashes)]


def more_steps(plan: Forged, rng: random.Random) -> None:
    plan.hashes += plan.hashes[:5]


def other_capacity(plan: Forged, rng: random.Random) -> None:
    plan.capacity = rng.choice([0, 1, plan.capacity // 2, plan.capacity + 1, MAX_NUMBER])


def any_composition(plan: Forged, rng: random.Random) -> None:
    parts = [rng.choice([1, 2, 5, 25, 125, 2**32, rng.randrange(1 << 12)]) for _ in range(rng.randrange(18))]
    plan.compositions = [(rng.choice([1, 5, 25, 625, 4095]), parts)]


def any_bytes(plan: Forged, rng: random.Random) -> None:
    plan.parameters = rng.choice(
        [b"", b"\xff", plan.parameters + b"\0", plan.parameters[:-1] + b"\xed\xa0\x80"]
    )


FORGERIES: list[Callable[[Forged, random.Random], None]] = [
    drop_without_reload,
    never_free,
    no_directives,
    other_verbs,
    other_targets,
    other_steps,
    other_lengths,
    duplicates,
    invented,
    other_identities,
    other_kinds,
    other_sizes,
    other_lives,
    swapped_objects,
    other_fingerprints,
    fewer_steps,
    more_steps,
    other_capacity,
    any_composition,
    any_bytes,
]
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
        chosen = [FORGERIES[turn % len(FORGERIES)], *rng.sample(FORGERIES, rng.choice([0, 0, 1, 2]))]
        forged = Forged.of(rig.data)
        for each in chosen:
            each(forged, rng)
        if turn % 10 == 0:
            engine = rig.engine()  # nothing of the runs before is in memory
        told = f"seed {seed}, turn {turn}: {[each.__name__ for each in chosen]}"
        try:
            plan = hc.Plan.from_bytes(forged.to_bytes())
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
            plan = hc.Plan.from_bytes(bytes(data) + fnv(data))
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
