# SPDX-License-Identifier: Apache-2.0
"""Arrays brought to one shape and packing, as cheaply as their packings allow.

An array is broadcast along an axis by putting the axis on bits of the address: bits along which values repeat
themselves already (copies, or more slots of a small ciphertext), bits of the number of the ciphertext (the
same ciphertext again), or bits that are free, which rotations and additions fill. What does not fit goes
through a linear map (`movement.gather`), which costs a level.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ..base.values import power_of_two
from ..ckks.ciphertext import Ciphertext
from .array import EncryptedArray
from .movement import gather
from .operands import broadcast_shape
from .packing import Packing

_GATHER_SWITCHES = 32
"""What a linear map counts as, for each pair of ciphertexts, when packings are compared."""


@dataclasses.dataclass(frozen=True)
class _Fill:
    """Values copied along free bits: `count` of them, `stride` slots apart."""

    stride: int
    count: int


@dataclasses.dataclass(frozen=True)
class _Way:
    """How an array gets to a packing without a linear map."""

    fills: tuple[_Fill, ...]
    masks: bool
    clean: bool

    def cost(self, count: int) -> tuple[int, int]:
        """Levels and key switches."""
        switches = sum(each.count.bit_length() - 2 + each.count.bit_count() for each in self.fills)
        return int(self.masks), switches * count


def spread(x: EncryptedArray, shape: tuple[int, ...]) -> EncryptedArray:
    """x broadcast to a shape that it goes to, in the packing that costs least."""
    if x.shape == shape:
        return x
    return onto(x, _extended(x, shape, None))


def aligned(x: EncryptedArray, y: EncryptedArray, what: str) -> tuple[EncryptedArray, EncryptedArray]:
    """Both arrays broadcast to one shape and packing: the one that costs least levels, then key switches.

    Levels of the arrays do not matter, so that all runs of a program are alike, those on ghosts that have
    other levels too.
    """
    if x.packing == y.packing:
        return x, y
    shape = broadcast_shape(x.shape, y.shape, what)
    candidates = [_extended(x, shape, y), _extended(y, shape, x), Packing.of(shape, x.params.slots)]

    def worth(target: Packing) -> tuple[int, int]:
        costs = [_cost(each, target) for each in (x, y)]
        return max(levels for levels, _ in costs), sum(switches for _, switches in costs)

    best = min(candidates, key=worth)
    return onto(x, best), onto(y, best)


def onto(x: EncryptedArray, target: Packing) -> EncryptedArray:
    """x broadcast to the shape of a packing, and packed so."""
    if x.packing == target:
        return x
    way = _way(x.packing, x.is_clean, target)
    if way is None:
        source = np.broadcast_to(x.packing.addresses, target.shape)
        return gather(x, target, np.ascontiguousarray(source))
    if way.masks:
        vectors = x.packing.pack(np.ones(x.shape))
        x = EncryptedArray(
            [ct * (v if len(v) > 1 else float(v[0])) for ct, v in zip(x.parts, vectors, strict=True)],
            x.packing,
        )
    made: dict[int, Ciphertext] = {}
    keep = sum(stride * (power_of_two(n) - 1) for n, stride in zip(x.shape, x.packing.strides, strict=True))
    parts = []
    for number in target.numbers:
        at = number & (keep // target.slots)
        if at not in made:
            ct = x.parts[x.packing.index_of[at]]
            ct = ct if ct.slots == target.slots else ct.with_slots(target.slots)
            for fill in way.fills:
                ct = _repeated(ct, fill)
            made[at] = ct
        parts.append(made[at])
    return x._made(parts, target, way.clean)


def _repeated(ct: Ciphertext, fill: _Fill) -> Ciphertext:
    """Exactly `count` copies of slots beside which there are zeros: doubled, and one added, bit by bit."""
    made, count = ct, 1
    for bit in bin(fill.count)[3:]:
        made, count = made + made.rotate(-count * fill.stride), 2 * count
        if bit == "1":
            made, count = ct + made.rotate(-fill.stride), count + 1
    return made


def _cost(x: EncryptedArray, target: Packing) -> tuple[int, int]:
    """Levels and key switches to bring an array to a packing."""
    if x.packing == target:
        return 0, 0
    way = _way(x.packing, x.is_clean, target)
    if way is None:
        return 1, _GATHER_SWITCHES * max(x.packing.count, target.count)
    return way.cost(x.packing.count)


def _way(packing: Packing, clean: bool, target: Packing) -> _Way | None:
    """How an array of one packing gets to another one without a linear map; None if it does not."""
    copies = packing.copies
    if packing.slots != target.slots and packing.numbers != (0,):
        return None
    lost = (packing.slots - 1) & ~(target.slots - 1)
    if copies & lost != lost:
        return None
    copies = (copies | (target.slots - 1) & ~(packing.slots - 1)) & (target.slots - 1)
    lead = target.ndim - packing.ndim
    fills: list[_Fill] = []
    used, exact = 0, True
    for axis, (length, stride) in enumerate(zip(target.shape, target.strides, strict=True)):
        own = packing.shape[axis - lead] if axis >= lead else 1
        if own == length:
            if length > 1 and packing.strides[axis - lead] != stride:
                return None
            continue
        bits = stride * (power_of_two(length) - 1) & (target.slots - 1)
        count = bits // stride + 1
        used |= bits
        if bits & copies == bits:
            exact = exact and length % count == 0
        elif bits & (copies | packing.slot_bits):
            return None
        else:
            exact = exact and (length <= count or length % count == 0)
            fills.append(_Fill(stride, min(length, count)))
    wanted = target.copies & ~copies
    fills += [_Fill(1 << bit, 2) for bit in range(wanted.bit_length()) if wanted >> bit & 1]
    masks = bool(fills) and not clean
    spare = copies & ~target.copies & ~used
    return _Way(tuple(fills), masks, (clean or masks) and exact and not spare)


def _extended(x: EncryptedArray, shape: tuple[int, ...], other: EncryptedArray | None) -> Packing:
    """The packing of x with axes added for a broadcast: where the other array has them, if that is free."""
    packing = x.packing
    lead = len(shape) - packing.ndim
    strides = [0] * lead + list(packing.strides)
    slots, copies = packing.slots, packing.copies
    if other is not None and packing.numbers == (0,) and other.packing.slots > slots:
        copies, slots = copies | (other.packing.slots - slots), other.packing.slots
    taken = _bits(packing)
    for axis in reversed(range(len(shape))):
        if shape[axis] == 1 or (axis >= lead and packing.shape[axis - lead] > 1):
            continue
        width = power_of_two(shape[axis])
        theirs = 0
        if other is not None and axis >= len(shape) - other.ndim:
            theirs = other.packing.strides[axis - (len(shape) - other.ndim)]
        if not theirs or taken & theirs * (width - 1):
            theirs = _free_stride(taken, copies, slots, width, x.params.slots)
        strides[axis] = theirs
        taken |= theirs * (width - 1)
        reach = theirs * width
        if slots < reach and slots < x.params.slots and packing.numbers == (0,):
            wide = min(reach, x.params.slots)
            copies, slots = copies | (wide - slots), wide
    copies &= ~taken
    if other is not None:
        copies &= other.packing.copies | (slots - 1) & ~(other.packing.slots - 1)
    return Packing(shape, tuple(strides), slots, copies)


def _bits(packing: Packing) -> int:
    """All bits of addresses that axes take."""
    return sum(stride * (length - 1) for stride, length in zip(packing.strides, packing.padded, strict=True))


def _free_stride(taken: int, copies: int, slots: int, width: int, most: int) -> int:
    """Where a broadcast axis goes: on copies, on more slots, on free bits, on more ciphertexts."""
    span = width - 1
    top = max(slots, 1 << taken.bit_length())
    within = [1 << bit for bit in range(slots.bit_length() - 1) if (span << bit) < slots]
    for stride in within:
        if copies & stride * span == stride * span and not taken & stride * span:
            return stride
    if top == slots and top * width <= most:
        return top
    for stride in within:
        if not (taken | copies) & stride * span:
            return stride
    return top
