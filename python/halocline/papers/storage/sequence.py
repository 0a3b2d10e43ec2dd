# SPDX-License-Identifier: Apache-2.0
"""Which pieces of keys a program needs, in their order, with the work between: from traces of our programs.

A piece is half a digit of an evaluation key, the unit in which keys are buffers. Work is the bytes that
operations read and write, keys included and small tables not: operations on a GPU whose data are all in its
memory, which is the paper's baseline, are bound by them.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...base import limits
from ...base.errors import CorruptData, InvalidArgument, IoError
from ...base.files import parse_json, read_file, write_file
from ...ckks.named_params import named_params
from ...memory.trace import CLASSES, Trace
from ...workloads.ghost_traces import TRACES
from ..hybrid.bootstrap import Stage

PARAMS = "n16-boot"
WORKLOADS = ("resnet20", "helr", "bootstrap")
ITERATIONS = {"resnet20": 1, "helr": 4, "bootstrap": 1}
"""Images or iterations in a trace: HELR's is a period, with the bootstrap behind it."""
SCHEMA = 1
Ints = npt.NDArray[np.int64]

_KEY, _TABLE = CLASSES.index("evaluation_key"), CLASSES.index("table")
_READ, _WRITE = 2, 3


@dataclasses.dataclass(frozen=True)
class KeySequence:
    """Uses of pieces of keys in their order."""

    name: str
    piece: Ints
    """Numbers of the pieces, from 0."""
    sizes: Ints
    """Bytes read of each: a low level needs a prefix."""
    work: npt.NDArray[np.float64]
    """Bytes that operations touch from this use to the next."""
    lead: float
    """The same before the first use."""
    maps: Ints
    """Linear maps, a row each: key switches, key bytes that they read, bytes of a ciphertext there and back.
    """

    def __len__(self) -> int:
        return len(self.piece)

    @property
    def read_bytes(self) -> int:
        """With each use fetched."""
        return int(self.sizes.sum())

    @property
    def key_set_bytes(self) -> int:
        """Each piece once, as much of it as some use needs."""
        most = np.zeros(int(self.piece.max()) + 1, dtype=np.int64)
        np.maximum.at(most, self.piece, self.sizes)
        return int(most.sum())

    @property
    def total_work(self) -> float:
        """All work."""
        return self.lead + float(self.work.sum())

    def to_json(self) -> str:
        """What `from_json` reads."""
        arrays = {each: getattr(self, each).tolist() for each in ("piece", "sizes", "work", "maps")}
        about = {"schema": SCHEMA, "name": self.name, "lead": self.lead}
        return json.dumps(about | arrays)

    @classmethod
    def from_json(cls, text: bytes, where: str) -> KeySequence:
        """Raises CorruptData for anything but what `to_json` wrote; `where` names the file."""
        content: Any = parse_json(text, where)
        problem = CorruptData(
            f"{where}: holds no key sequence of schema {SCHEMA}; delete it to record it again"
        )
        try:
            if content["schema"] != SCHEMA or content["name"] not in WORKLOADS:
                raise problem
            made = cls(
                content["name"],
                np.array(content["piece"], dtype=np.int64),
                np.array(content["sizes"], dtype=np.int64),
                np.array(content["work"], dtype=np.float64),
                float(content["lead"]),
                np.array(content["maps"], dtype=np.int64).reshape(-1, 3),
            )
        except (KeyError, TypeError, ValueError, OverflowError):
            raise problem from None
        if not made._plausible():
            raise problem
        return made

    def _plausible(self) -> bool:
        count = len(self.piece) if self.piece.ndim == 1 else 0
        same = self.sizes.shape == self.work.shape == (count,)
        if count == 0 or not same or self.piece.min() < 0 or self.piece.max() >= count:
            return False
        times = np.append(self.work, self.lead)
        if self.maps.size and self.maps.min() <= 0:
            return False
        return bool(
            self.sizes.min() > 0 and np.isfinite(times).all() and times.min() >= 0 and times.sum() > 0
        )


def from_trace(name: str, trace: Trace) -> KeySequence:
    """The key sequence of a trace."""
    raw = trace._raw
    action, kind = raw["action"][1], raw["class"][1]
    steps, sizes = raw["step"].astype(np.int64), raw["bytes"].astype(np.int64)
    uses = np.flatnonzero((action == _READ) & (kind == _KEY))
    if len(uses) == 0:
        raise InvalidArgument(f"paper storage: the trace of '{name}' uses no evaluation keys")
    # One row for each piece of each step: its main and special primes are read separately.
    pairs = np.stack([steps[uses], raw["object"][uses].astype(np.int64)])
    (step, buffers), first, row = np.unique(pairs, axis=1, return_index=True, return_inverse=True)
    read = np.zeros(len(step), dtype=np.int64)
    np.add.at(read, row.ravel(), sizes[uses])
    order = np.argsort(first, kind="stable")
    return _of_uses(name, trace, step[order], buffers[order], read[order])


def _of_uses(name: str, trace: Trace, step: Ints, buffers: Ints, read: Ints) -> KeySequence:
    """The sequence of pieces that steps read, with the work around them."""
    raw = trace._raw
    action, steps = raw["action"][1], raw["step"].astype(np.int64)
    sizes = raw["bytes"].astype(np.int64)
    work = np.zeros(int(steps.max()) + 1)
    other = ((action == _READ) | (action == _WRITE)) & (raw["class"][1] != _TABLE)
    np.add.at(work, steps[other], sizes[other])
    # Work of a step and of those behind it belongs to the step's last pieces, in equal parts.
    begins, number, count = np.unique(step, return_inverse=True, return_counts=True)
    spans = np.add.reduceat(work, begins)
    shares = spans[number.ravel()] / count[number.ravel()]
    lead = float(work[: begins[0]].sum())
    piece = np.unique(buffers, return_inverse=True)[1].ravel().astype(np.int64)
    return KeySequence(name, piece, read, shares, lead, _maps(trace, step, buffers, read))


def _maps(trace: Trace, step: Ints, buffers: Ints, read: Ints) -> Ints:
    """Linear maps: switches one after another at one level, without the key of the multiplication.

    That key is the one with the most uses. What travels is a ciphertext there and back, four polynomials of
    the size that the map's first switch raises; where the trace does not tell that, of the key's larger size.
    """
    switches, begins = np.unique(step, return_index=True)
    uses = np.bincount(np.unique(buffers, return_inverse=True)[1].ravel())
    common = uses[np.unique(buffers, return_inverse=True)[1].ravel()] == uses.max()
    multiplies = np.logical_or.reduceat(common, begins)
    levels, keys = np.maximum.reduceat(read, begins), np.add.reduceat(read, begins)
    raised = _raised(trace._raw, switches)
    number = dict(zip(*(each.tolist() for each in trace.key_switches()), strict=True))
    rows: list[list[int]] = []
    present = -1
    for at, multiply, level, count, size in zip(switches, multiplies, levels, keys, raised, strict=True):
        if multiply:
            present = -1
            continue
        if level != present:
            rows.append([0, 0, 4 * int(size or level)])
            present = level
        rows[-1][0] += number.get(int(at), 1)
        rows[-1][1] += int(count)
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def _raised(raw: dict[str, Any], switches: Ints) -> Ints:
    """The largest polynomial raised between a key switch and the one before it."""
    texts, tags = raw["tag"]
    named = np.array([each.partition("@")[0].endswith("mod_up.coefficients") for each in texts])
    made = np.flatnonzero((raw["action"][1] == 0) & named[tags])
    found = np.zeros(len(switches) + 1, dtype=np.int64)
    places = np.searchsorted(switches, raw["step"].astype(np.int64)[made])
    np.maximum.at(found, places, raw["bytes"].astype(np.int64)[made])
    return found[:-1]


def _bootstrap_trace() -> Trace:
    trace = Stage(named_params(PARAMS, False), ["full"], {}).rehearse(record=True).trace
    assert trace is not None  # asked for
    return trace


def _recorded(name: str) -> KeySequence:
    make: Callable[[], Trace] = (
        _bootstrap_trace if name == "bootstrap" else lambda: TRACES[name](named_params(PARAMS, False))
    )
    return from_trace(name, make())


@cache
def recorded(name: str, folder: Path | None = None) -> KeySequence:
    """The sequence of a workload, recorded by the ghost device; kept in a folder if one is given.

    A file that is there already is read instead, whatever version of the program it was made by.
    """
    if name not in WORKLOADS:
        raise InvalidArgument(
            f"paper storage: unknown workload '{name}'; expected one of: {', '.join(WORKLOADS)}"
        )
    if folder is None:
        return _recorded(name)
    path = folder / f"{name}.keys.json"
    if path.exists():
        made = KeySequence.from_json(read_file(path, "--sequences", limits.RESULT), str(path))
        if made.name != name:
            raise CorruptData(f"{path}: holds the sequence of '{made.name}', expected '{name}'")
        return made
    try:  # before the recording, not after it
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IoError(f"--sequences: cannot make the folder '{folder}': {error.strerror}") from None
    made = _recorded(name)
    write_file(path, made.to_json().encode())
    return made
