# SPDX-License-Identifier: Apache-2.0
"""Packings chosen by what a program does: it runs on ghosts with each candidate, and the least work wins.

Work is the bytes that the program's kernels read and write: those of a key switch follow from the level at
which it is done, so that a late rotation counts less than an early one. The ghost's events are those of the
real run, and the choice is the same wherever it is made.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..base.errors import Error
from ..base.values import expect, power_of_two
from ..ckks.ciphertext import Ciphertext
from ..ckks.params import Params
from ..engine.program import trace_program
from .array import EncryptedArray
from .operands import plain_array
from .packing import Packing
from .stand_ins import ArraySpec

MOST_RUNS = 64
"""Packings, or combinations of them, that are tried for one program."""
_MOST_ORDERED_AXES = 4
_Work = Callable[[list[Any]], tuple[float, Error | None]]


def choose_packing(
    params: Params, program: Callable[..., Any], *arrays: Any, bootstrap: Any = None
) -> list[Packing]:
    """A packing for each array with which `program(*arrays)` costs least.

    arrays: `ArraySpec`s, or plain arrays that stand for their encryptions. An `EncryptedArray` and a spec
        with a packing keep theirs; other arguments are passed on, and count for nothing in the result.
    bootstrap: as for the `Engine` that will run the program.

    Tried are the orders of the axes from the widest stride to the narrowest (all of them up to four axes that
    are longer than 1), for all arrays at once and for one after the other, and repetitions of small arrays
    beside the axes of larger ones, at most 64 runs of the program on ghosts in all. The first of equals is
    taken, and the packing of `client.encrypt_array` is tried first. Packings with which the program fails
    are left out; if it fails with all, the error is that of the first.
    """
    expect(params, Params, "choose_packing: params")
    given = [spec_of(each, params) for each in arrays]
    free = [at for at, each in enumerate(given) if isinstance(each, ArraySpec) and each.packing is None]
    chosen = [
        dataclasses.replace(each, packing=Packing.of(each.shape, params.slots)) if at in free else each
        for at, each in enumerate(given)
    ]
    if free:
        chosen = _search(functools.partial(_work, params, program, bootstrap), params, chosen, free)
    kept = [each.packing for each in chosen if isinstance(each, ArraySpec | EncryptedArray)]
    return [each for each in kept if each is not None]


def spec_of(value: Any, params: Params) -> Any:
    """A plain array as a spec of its encryption; other arguments as they are."""
    if isinstance(value, ArraySpec | EncryptedArray | Ciphertext):
        return value
    if isinstance(value, np.ndarray | list | tuple | float | int | complex):
        array = plain_array(value, "array of a program")
        return ArraySpec(array.shape, real=array.dtype.kind != "c")
    return value


def _search(work_of: _Work, params: Params, specs: list[Any], free: list[int]) -> list[Any]:
    """The best of the candidates for all arrays at once, and then for one after the other."""
    best, failure = work_of(specs)
    runs = 1

    def keep_better(tried: list[Any]) -> None:
        nonlocal best, runs, specs
        if runs < MOST_RUNS and tried != specs:
            runs += 1
            work, _ = work_of(tried)
            if work < best:
                best, specs = work, tried

    for tried in list(_joint(params, specs, free)):
        keep_better(tried)
    for at in free:
        for packing in _candidates(params, specs, at):
            keep_better([*specs[:at], dataclasses.replace(specs[at], packing=packing), *specs[at + 1 :]])
    if failure is not None and best == float("inf"):
        raise failure
    return specs


def _joint(params: Params, specs: list[Any], free: list[int]) -> Iterator[list[Any]]:
    """One order of axes for all arrays, whose last axes correspond as in a broadcast."""
    most = max(len(specs[at].shape) for at in free)
    if len(free) < 2 or not 2 <= most <= _MOST_ORDERED_AXES:
        return
    for order in itertools.permutations(range(most)):
        tried = list(specs)
        for at in free:
            lead = most - len(specs[at].shape)
            own = [axis - lead for axis in order if axis >= lead]
            packing = Packing.of(specs[at].shape, params.slots, own)
            tried[at] = dataclasses.replace(specs[at], packing=packing)
        yield tried


def _work(
    params: Params, program: Callable[..., Any], bootstrap: Any, specs: list[Any]
) -> tuple[float, Error | None]:
    """Bytes that the program touches; infinite, and why, where it fails."""
    try:
        stats = trace_program(params, program, *specs, bootstrap=bootstrap).trace.stats()
    except Error as error:
        return float("inf"), error
    return float(sum(each.read_bytes + each.written_bytes for each in stats.values())), None


def _candidates(params: Params, specs: list[Any], at: int) -> Iterator[Packing]:
    """Orders of the axes, then axes in the places that they have in other arrays."""
    shape = specs[at].shape
    long = [axis for axis, length in enumerate(shape) if length > 1]
    short = [axis for axis, length in enumerate(shape) if length == 1]
    orders: Iterable[tuple[int, ...]] = [tuple(long), tuple(reversed(long))]
    if len(long) <= _MOST_ORDERED_AXES:
        orders = itertools.permutations(long)
    seen = set()
    for order in orders:
        packing = Packing.of(shape, params.slots, (*short, *order))
        for each in (packing, *_repeated(packing, params.slots, specs)):
            if each not in seen:
                seen.add(each)
                yield each


def _repeated(packing: Packing, slots: int, specs: list[Any]) -> Iterator[Packing]:
    """Copies of each value in neighbouring slots, as many as an axis of another array is long."""
    lengths = {power_of_two(n) for each in specs if isinstance(each, ArraySpec) for n in each.shape}
    for width in sorted(lengths - {1}):
        reach = packing.slots * width
        if reach <= slots and packing.numbers == (0,):
            strides = tuple(stride * width for stride in packing.strides)
            yield Packing(packing.shape, strides, reach, width - 1)
