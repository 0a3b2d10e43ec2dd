# SPDX-License-Identifier: Apache-2.0
"""What a forger may write into a plan file, for `tools/attack.py` and `python/tests/test_forged_plans.py`."""

from __future__ import annotations

import dataclasses
import random
import struct
from collections.abc import Callable

from attacks.seals import seal_plan

CHECKSUM_BYTES = 8
"""Of a plan file, at its end."""
MAX_NUMBER = (1 << 64) - 1


@dataclasses.dataclass
class Forged:
    """A plan file taken apart (docs/reference/plan_format.md)."""

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
        """The parts of a valid plan file."""
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
        """A file with a right checksum, whatever was made of the parts."""
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
        return seal_plan(bytes(out) + bytes(CHECKSUM_BYTES))


class Reader:
    """Fields of a plan file, one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        """The next bytes."""
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self) -> int:
        """The next number, LEB128."""
        value = shift = 0
        while True:
            part = self.take(1)[0]
            value |= (part & 0x7F) << shift
            shift += 7
            if part < 0x80:
                return value


def leb(value: int) -> bytes:
    """A number as LEB128."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def drop_without_reload(plan: Forged, rng: random.Random) -> None:
    """Half of what brings bytes is missing."""
    plan.directives = [each for each in plan.directives if each[1] >= 3 or rng.random() < 0.5]


def never_free(plan: Forged, rng: random.Random) -> None:
    """Most of what makes room is missing."""
    plan.directives = [each for each in plan.directives if each[1] < 3 or rng.random() < 0.3]


def no_directives(plan: Forged, rng: random.Random) -> None:
    """Nothing ever moves."""
    plan.directives = []


def other_verbs(plan: Forged, rng: random.Random) -> None:
    """Half of the directives do something else."""
    for each in plan.directives:
        if rng.random() < 0.5:
            each[1] = rng.randrange(6)


def other_targets(plan: Forged, rng: random.Random) -> None:
    """Half of the directives name another object."""
    for each in plan.directives:
        if rng.random() < 0.5:
            each[2] = rng.randrange(len(plan.objects))


def other_steps(plan: Forged, rng: random.Random) -> None:
    """Half of the directives come at another step."""
    for each in plan.directives:
        if rng.random() < 0.5:
            each[0] = rng.randrange(len(plan.hashes))
    plan.directives.sort(key=lambda each: each[0])


def other_lengths(plan: Forged, rng: random.Random) -> None:
    """Directives for other numbers of pages."""
    for each in plan.directives:
        pages = -(-plan.objects[each[2]][2] // 4096)
        each[3] = rng.choice([1, pages, rng.randint(1, pages)])


def duplicates(plan: Forged, rng: random.Random) -> None:
    """Directives that come again, some of them often."""
    plan.directives = [each for each in plan.directives for _ in range(rng.choice([1, 1, 2, 20]))]


def invented(plan: Forged, rng: random.Random) -> None:
    """Two hundred directives that no planner made."""
    for _ in range(200):
        target = rng.randrange(len(plan.objects))
        pages = rng.randint(1, max(1, -(-plan.objects[target][2] // 4096)))
        plan.directives.append([rng.randrange(len(plan.hashes)), rng.randrange(6), target, pages])
    plan.directives.sort(key=lambda each: each[0])


def other_identities(plan: Forged, rng: random.Random) -> None:
    """Objects under the names of others, or of none."""
    known = [each[1] for each in plan.objects]
    for each in plan.objects:
        if rng.random() < 0.5:
            each[1] = rng.choice([*known, 0, rng.getrandbits(63)])


def twins(plan: Forged, rng: random.Random) -> None:
    """Objects that come up to three hundred times more, with directives for any of them."""
    count = rng.choice([1, 1, 5, 300])
    of: dict[int, list[int]] = {}
    for number, each in enumerate(list(plan.objects)):
        of[number] = [number]
        for _ in range(count):
            of[number].append(len(plan.objects))
            plan.objects.append([rng.choice([each[0], rng.getrandbits(30)]), *each[1:]])
    for directive in plan.directives:
        directive[2] = rng.choice(of.get(directive[2], [directive[2]]))


def other_kinds(plan: Forged, rng: random.Random) -> None:
    """Objects of other classes and recoveries."""
    for each in plan.objects:
        if rng.random() < 0.3:
            each[3] = rng.randrange(5) + 8 * rng.randrange(3) + 32 * rng.randrange(2)


def other_sizes(plan: Forged, rng: random.Random) -> None:
    """Objects with the sizes of others, tiny or huge ones."""
    sizes = [each[2] for each in plan.objects]
    for each in plan.objects:
        if rng.random() < 0.3:
            each[2] = rng.choice([*sizes, 1, 1 << 43])


def other_lives(plan: Forged, rng: random.Random) -> None:
    """Objects that are born and die at other steps."""
    for each in plan.objects:
        each[4] = rng.randrange(len(plan.hashes) + 1)
        each[5] = rng.randrange(len(plan.hashes) + 2)


def swapped_objects(plan: Forged, rng: random.Random) -> None:
    """Objects in another order than the directives mean."""
    rng.shuffle(plan.objects)


def other_fingerprints(plan: Forged, rng: random.Random) -> None:
    """One step has another fingerprint."""
    plan.hashes[rng.randrange(len(plan.hashes))] ^= 1 << rng.randrange(32)


def fewer_steps(plan: Forged, rng: random.Random) -> None:
    """The program ends early."""
    del plan.hashes[rng.randrange(1, max(2, len(plan.hashes))) :]
    plan.directives = [each for each in plan.directives if each[0] < len(plan.hashes)]


def more_steps(plan: Forged, rng: random.Random) -> None:
    """The program goes on."""
    plan.hashes += plan.hashes[:5]


def other_capacity(plan: Forged, rng: random.Random) -> None:
    """Made for another budget."""
    plan.capacity = rng.choice([0, 1, plan.capacity // 2, plan.capacity + 1, MAX_NUMBER])


def any_composition(plan: Forged, rng: random.Random) -> None:
    """Rotations made of any other elements."""
    parts = [rng.choice([1, 2, 5, 25, 125, 2**32, rng.randrange(1 << 12)]) for _ in range(rng.randrange(18))]
    plan.compositions = [(rng.choice([1, 5, 25, 625, 4095]), parts)]


def any_bytes(plan: Forged, rng: random.Random) -> None:
    """Parameters that are no parameters."""
    plan.parameters = rng.choice(
        [b"", b"\xff", plan.parameters + b"\0", plan.parameters[:-1] + b"\xed\xa0\x80"]
    )


FORGERIES: tuple[Callable[[Forged, random.Random], None], ...] = (
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
    twins,
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
)
"""Each changes a plan in place."""


def forge(rng: random.Random, data: bytes, first: int | None = None) -> tuple[bytes, list[str]]:
    """A plan file with one to three forgeries, and their names.

    first: number of a forgery that is among them, for callers that try them all.
    """
    number = rng.randrange(len(FORGERIES)) if first is None else first % len(FORGERIES)
    chosen = [FORGERIES[number], *rng.sample(FORGERIES, rng.choice([0, 0, 1, 2]))]
    forged = Forged.of(data)
    for each in chosen:
        each(forged, rng)
    return forged.to_bytes(), [each.__name__ for each in chosen]
