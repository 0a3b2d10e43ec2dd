# SPDX-License-Identifier: Apache-2.0
"""Intervals of the functions in a program, found by running it on samples in the clear.

Encrypted functions are polynomials that hold on an interval. Programs are oblivious: they call the same
functions in the same order for all inputs, so that the n-th call of a run has the n-th interval.
"""

from __future__ import annotations

import contextvars
import dataclasses
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

import numpy as np

from ..base.errors import ActivationRange, InvalidArgument, WrongType
from ..base.values import expect_call, is_scalar, kind_of, positive
from ..circuits.polynomial import Interval
from .samples import Samples, plain, sampled

DEFAULT_MARGIN = 1.25
_LEAST_HALF = 2.0**-10
"""Least half-width of an interval, in parts of its middle: samples may all have the same value."""

P = ParamSpec("P")
R = TypeVar("R")


@dataclasses.dataclass(frozen=True)
class CallSite:
    """One call of a function in a program, by its place in the order of calls."""

    function: str
    """Name, such as "exp"."""
    values: str
    """What the interval is of: "x", or "a - b"."""
    found: Interval
    """Smallest and largest value that samples had there."""
    interval: Interval
    """What is taken: wider by the margin, or given in the program."""
    given: bool = False
    """Whether the program names the interval itself."""


class Exceeded(NamedTuple):
    """A call whose values leave its interval for some input."""

    site: int
    """Number of the call, from 1."""
    function: str
    found: Interval
    interval: Interval


@dataclasses.dataclass
class _Note:
    """What one call got so far."""

    function: str
    values: str
    least: float
    mirrored: bool
    found: Interval
    given: Interval | None


class _Recording:
    """A run on samples."""

    def __init__(self) -> None:
        self.notes: list[_Note] = []

    def note(
        self, function: str, x: Any, given: Interval | None, values: str, least: float, mirrored: bool
    ) -> None:
        numbers = plain(x)
        if np.iscomplexobj(numbers):
            raise WrongType(f"{function}: complex samples; expected real numbers")
        if not numbers.size or not np.isfinite(numbers).all():
            raise InvalidArgument(
                f"calibrate: call {len(self.notes) + 1}, {function}: got "
                f"{'no numbers' if not numbers.size else 'a number that is not finite'}"
            )
        found = float(numbers.min()), float(numbers.max())
        self.notes.append(_Note(function, values, least, mirrored, found, given))


class _Playing:
    """A run on encrypted arrays."""

    def __init__(self, sites: Sequence[CallSite]) -> None:
        self.sites, self.done = sites, 0

    def take(self, function: str) -> Interval:
        if self.done == len(self.sites) or self.sites[self.done].function != function:
            known = (
                f"{len(self.sites)} calls" if self.done == len(self.sites) else self.sites[self.done].function
            )
            raise InvalidArgument(
                f"{function}: call {self.done + 1} of the calibrated program, where the samples had {known}; "
                "a program must call the same functions for all inputs: calibrate it anew, with inputs of "
                "these shapes and options"
            )
        self.done += 1
        return self.sites[self.done - 1].interval

    def finish(self) -> None:
        if self.done != len(self.sites):
            raise InvalidArgument(
                f"calibrated program: it called {self.done} functions, the samples {len(self.sites)}; "
                "calibrate it anew, with inputs of these shapes and options"
            )


_current: contextvars.ContextVar[_Recording | _Playing | None] = contextvars.ContextVar("calls", default=None)


def note(
    function: str,
    x: Any,
    given: Interval | None = None,
    *,
    values: str = "x",
    least: float = -math.inf,
    mirrored: bool = False,
) -> None:
    """In a run on samples, records the values that a function gets; elsewhere it does nothing.

    least: the function is defined above it, so that the interval is widened by factors from there; mirrored:
        and on the other side of 0, for numbers that are all there.
    """
    current = _current.get()
    if isinstance(current, _Recording) and isinstance(x, Samples):
        current.note(function, x, given, values, least, mirrored)


def calibrated(function: str) -> Interval | None:
    """The interval of the next call in a calibrated program, which must be of that function; None outside."""
    current = _current.get()
    return current.take(function) if isinstance(current, _Playing) else None


def interval_of(function: str, given: Interval | None, values: str = "x") -> Interval:
    """The interval of a call on encrypted values: the given one, or the calibrated one of this call."""
    taken = calibrated(function)
    if given is not None:
        return given
    if taken is None:
        raise InvalidArgument(
            f"{function}: no interval is known for an encrypted argument. Give it, as in "
            f"hc.functions.{function}({values.replace(' - ', ', ')}, interval=(low, high)) with bounds of "
            f"{values}, or let samples find it: program = hc.calibrate(program, samples)"
        )
    return taken


class CalibratedProgram(Generic[P, R]):
    """A program with the intervals of its functions: what `calibrate` makes. Call it, or run it on an engine.

    It takes the arguments of the program; `engine.run(calibrated, x)` treats it like any program. `print` it
    for a table.
    """

    def __init__(self, program: Callable[P, R], sites: Sequence[CallSite], margin: float) -> None:
        self.__wrapped__ = program
        self.sites = tuple(sites)
        """The calls in order."""
        self.margin = margin
        """By how much intervals are wider than what samples had."""

    def __reduce__(self) -> tuple[Any, ...]:
        """The program, which must pickle itself, and its intervals."""
        return CalibratedProgram, (self.__wrapped__, self.sites, self.margin)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The result of the program, on encrypted arrays with the intervals, or on numbers exactly."""
        playing = _Playing(self.sites)
        token = _current.set(playing)
        try:
            result = self.__wrapped__(*args, **kwargs)
        finally:
            _current.reset(token)
        if playing.done:  # on numbers in the clear, no call needs an interval
            playing.finish()
        return result

    def check(self, *args: Any) -> list[Exceeded]:
        """Calls that an input in the clear drives out of their intervals, the largest excess first.

        Warns of them (`ActivationRange`). For the client, before it encrypts: on the server nothing shows it.
        Raises InvalidArgument for an input that takes another course through the program than the samples.
        """
        notes = _notes(self.__wrapped__, args)
        if [each.function for each in notes] != [each.function for each in self.sites]:
            raise InvalidArgument(
                f"check: the input takes another course: {len(notes)} calls, the samples had "
                f"{len(self.sites)}, or of other functions. What an encrypted program calls cannot depend on "
                "its data"
            )
        found = [
            Exceeded(number, site.function, note.found, site.interval)
            for number, (site, note) in enumerate(zip(self.sites, notes, strict=True), 1)
            if note.found[0] < site.interval[0] or note.found[1] > site.interval[1]
        ]
        found.sort(key=_excess, reverse=True)
        if found:
            texts = ", ".join(
                f"{each.site} ({each.function}) {_pair(each.found)}, {_pair(each.interval)} expected"
                for each in found
            )
            warnings.warn(
                f"values outside calibrated intervals in calls {texts}. Encrypted results for this input "
                "may be wrong: calibrate with inputs like this one, or with a larger margin",
                ActivationRange,
                stacklevel=2,
            )
        return found

    def __program_identity__(self) -> Any:
        """For plans: the program, and the intervals that decide its polynomials."""
        return self.__wrapped__, tuple((each.function, each.interval) for each in self.sites)

    def __str__(self) -> str:
        rows = [("call", "function", "samples", "interval")]
        for number, site in enumerate(self.sites, 1):
            of = site.function if site.values == "x" else f"{site.function} of {site.values}"
            rows.append((str(number), of, _pair(site.found), _pair(site.interval) + (" given" * site.given)))
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        lines = (
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
        )
        return "\n".join(line.rstrip() for line in lines)

    def __repr__(self) -> str:
        name = getattr(self.__wrapped__, "__name__", kind_of(self.__wrapped__))
        return f"CalibratedProgram({name}, {len(self.sites)} calls, margin {self.margin:g})"


def calibrate(
    program: Callable[P, R], samples: Iterable[Any], margin: float = DEFAULT_MARGIN
) -> CalibratedProgram[P, R]:
    """The program with an interval for each of its functions, found on samples.

    samples: inputs in the clear like those to come, each an array, or a tuple of arrays for a program of
        several arguments; an array of one dimension more than the argument counts as a list of samples.
    margin: by how much intervals exceed what samples had, at least 1: their half-width is multiplied by it;
        for functions that begin at a number (log, sqrt, 1/x), the distance of the lower end from there is
        divided by it, that of the upper end multiplied.

    The program runs on each sample in the clear: numpy functions and those of `hc.functions` compute there
    exactly. In the calibrated program `np.exp(x)`, `1 / x`, `x > y` and their like need no interval.

    Raises InvalidArgument for samples that make a function undefined, and where samples take different
    courses through the program.
    """
    if not callable(program):
        raise WrongType(f"calibrate: got {kind_of(program)}, expected a function of arrays")
    if not is_scalar(margin):
        raise WrongType(
            f"calibrate: margin is {kind_of(margin)}, expected a number; samples of a program with several "
            "arguments are a list of tuples: hc.calibrate(program, [(x, y)]), or list(zip(xs, ys))"
        )
    margin = positive(margin, "calibrate: margin")
    if margin < 1:
        raise InvalidArgument(f"calibrate: margin {margin:g}, expected at least 1")
    merged: list[_Note] | None = None
    for number, sample in enumerate(_listed(samples), 1):
        found = _notes(program, sample if isinstance(sample, tuple) else (sample,))
        merged = found if merged is None else _merged(merged, found, number)
    if merged is None:
        raise InvalidArgument("calibrate: no samples; expected at least one input")
    sites = [_site(each, number, margin) for number, each in enumerate(merged, 1)]
    return CalibratedProgram(program, sites, margin)


def _listed(samples: Any) -> Iterable[Any]:
    """Samples one by one; refuses numbers, which a single sample falls apart to."""
    try:
        iterator = iter(samples)
    except TypeError:
        raise WrongType(f"calibrate: samples is {kind_of(samples)}, expected a list of inputs") from None
    for each in iterator:
        if isinstance(each, int | float | complex | np.generic):
            raise InvalidArgument(
                f"calibrate: a sample is the number {each}, expected arrays: pass a list of "
                "inputs, such as [x]"
            )
        yield each


def _notes(program: Callable[..., Any], args: Sequence[Any]) -> list[_Note]:
    recording = _Recording()
    token = _current.set(recording)
    try:
        with np.errstate(all="ignore"):  # where a function is undefined, its site says so
            expect_call(program, args, {}, "calibrate")
            program(*(sampled(each) for each in args))
    finally:
        _current.reset(token)
    return recording.notes


def _merged(before: list[_Note], now: list[_Note], number: int) -> list[_Note]:
    names, others = ([each.function for each in notes] for notes in (before, now))
    if names != others:
        place = next(
            (i for i, pair in enumerate(zip(names, others, strict=False)) if pair[0] != pair[1]), None
        )
        what = (
            f"{len(others)} calls instead of {len(names)}"
            if place is None
            else f"{others[place]} as call {place + 1} instead of {names[place]}"
        )
        raise InvalidArgument(
            f"calibrate: sample {number} takes another course: {what}. What an encrypted program calls "
            "cannot depend on its data"
        )
    return [
        dataclasses.replace(a, found=(min(a.found[0], b.found[0]), max(a.found[1], b.found[1])))
        for a, b in zip(before, now, strict=True)
    ]


def _site(found: _Note, number: int, margin: float) -> CallSite:
    what = f"call {number}, {found.function}"
    interval = found.given or widened(found.found, margin, found.least, what, mirrored=found.mirrored)
    return CallSite(found.function, found.values, found.found, interval, found.given is not None)


def widened(
    found: Interval,
    margin: float,
    least: float = -math.inf,
    what: str = "interval",
    *,
    mirrored: bool = False,
) -> Interval:
    """An interval with a margin; least: where the function begins; mirrored: it is there below 0 as well."""
    low, high = found
    if least == -math.inf:
        middle = (low + high) / 2
        half = max((high - low) / 2 * margin, _LEAST_HALF * max(1.0, abs(middle)))
        return middle - half, middle + half
    if mirrored and high < 0:
        low, high = widened((-high, -low), margin, least, what)
        return -high, -low
    if low <= least:
        where = "on one side of 0 only" if mirrored else f"above {least:g} only"
        raise InvalidArgument(
            f"calibrate: {what} gets values from {low:g} to {high:g}, but is defined {where}: add a "
            "number to its argument that keeps it away from there"
        )
    far = max(margin, 1 + _LEAST_HALF)
    return least + (low - least) / far, least + (high - least) * far


def _pair(interval: Interval) -> str:
    return f"({interval[0]:.4g}, {interval[1]:.4g})"


def _excess(each: Exceeded) -> float:
    """By how many widths of the interval it is left."""
    (low, high), (first, last) = each.interval, each.found
    return max(low - first, last - high) / (high - low)
