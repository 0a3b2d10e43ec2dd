# SPDX-License-Identifier: Apache-2.0
"""Profiles: where the time of encrypted programs goes, by kernel, ring operation and CKKS operation."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from .. import _core
from ..base.errors import InvalidArgument, NotPicklable
from ..base.extras import needs
from ..base.files import write_file
from ..ckks.host import Host

if TYPE_CHECKING:
    from rich.table import Table


PERFETTO_SUFFIXES = (".pftrace", ".perfetto.json")
"""Ends of file names that ask for a timeline instead of a table."""


@dataclasses.dataclass(frozen=True)
class ProfileRow:
    """All calls of one kernel, or of one ring operation, within one operation."""

    operation: str
    """From the outside in: "multiply_values/rescale"; "-" outside of every operation."""
    op: str
    """Ring-level operation: "ntt"."""
    kernel: str
    """Kernel of a GPU; empty on devices that time ring operations as a whole."""
    calls: int
    total_ms: float
    mean_us: float
    shortest_us: float
    longest_us: float
    share: float
    """Of the time of all rows."""


class Profile:
    """What an engine did in a `with engine.profile() as p:` block. Filled when the block ends.

    On a GPU every kernel is timed by the device, including what two marks add (`timer_us`), and kernels are
    launched one by one, never as graphs; on the CPU every ring operation is timed as a whole.
    """

    def __init__(self) -> None:
        self._core: _core.Profile | None = None

    def _filled(self) -> _core.Profile:
        if self._core is None:
            raise InvalidArgument("profile: it is filled when its `with` block ends; read it after that")
        return self._core

    def __reduce__(self) -> NoReturn:
        raise NotPicklable(
            "a Profile holds the marks of this process's clock and cannot be pickled or copied; pickle "
            "profile.rows, or keep it in a file with profile.save(path)"
        )

    @property
    def device(self) -> str:
        """What was profiled: "cpu", "cuda:0"."""
        return self._filled().device

    @property
    def seconds(self) -> float:
        """From the begin of the block to its end."""
        return self._filled().wall_ns / 1e9

    @property
    def busy_seconds(self) -> float:
        """Sum of all rows."""
        return self._filled().total_ns / 1e9

    @property
    def ntt_share(self) -> float:
        """Part of the busy time that is number-theoretic transforms."""
        core = self._filled()
        return core.ntt_ns / core.total_ns if core.total_ns else 0.0

    @property
    def timer_us(self) -> float:
        """What two marks with nothing between them measure on the device; 0 where the host times."""
        return self._filled().timer_ns / 1e3

    @property
    def driver_calls(self) -> dict[str, int]:
        """Calls to the device's driver in the block that wait or may wait; see docs/guides/profiling.md."""
        return dict(self._filled().driver)

    @property
    def spans_left_out(self) -> int:
        """Spans that the timeline lacks because it grew too long; `rows` count them all."""
        return self._filled().spans_left_out

    @property
    def rows(self) -> list[ProfileRow]:
        """Every kernel of every operation, the longest first."""
        core = self._filled()
        whole = max(1, core.total_ns)
        return [
            ProfileRow(
                operation, op, kernel, calls, ns / 1e6, ns / calls / 1e3, low / 1e3, high / 1e3, ns / whole
            )
            for operation, op, kernel, calls, ns, low, high in core.rows
        ]

    def grouped(self, by: str = "operation") -> list[ProfileRow]:
        """Rows with the same outermost "operation", ring "op" or "kernel" joined, the longest first."""
        if by not in ("operation", "op", "kernel"):
            raise InvalidArgument(f"profile: cannot group by '{by}'; expected operation, op or kernel")
        groups: dict[str, list[ProfileRow]] = {}
        for row in self.rows:
            name = row.operation.split("/")[0] if by == "operation" else getattr(row, by)
            groups.setdefault(name, []).append(row)
        joined = [_join(by, name, rows) for name, rows in groups.items()]
        return sorted(joined, key=lambda row: -row.total_ms)

    # Readable output

    def rich_table(self, by: str | None = None, limit: int = 40) -> Table:
        """The rows for a rich console, or those of `grouped(by)`; the shortest beyond `limit` in one line."""
        with needs("cli", "profile: tables"):
            from rich.table import Table

        rows = self.rows if by is None else self.grouped(by)
        title = f"{self.device}: {1e3 * self.busy_seconds:.2f} ms busy of {1e3 * self.seconds:.2f} ms"
        table = Table(title=f"{title}, {100 * self.ntt_share:.0f} % transforms")
        names = ["operation", "op", "kernel"] if by is None else [by]
        if by is None and not self._filled().kernels:
            names.remove("kernel")
        for name in names:
            table.add_column(name, overflow="fold")
        for name in ("calls", "total ms", "mean us", "share"):
            table.add_column(name, justify="right", no_wrap=True)
        rest = rows[limit:]
        shown = [*rows[:limit], _join("operation", f"{len(rest)} more", rest)] if rest else rows
        for row in shown:
            figures = (
                str(row.calls),
                f"{row.total_ms:.3f}",
                f"{row.mean_us:.1f}",
                f"{100 * row.share:.1f} %",
            )
            first = (row.operation, *("" for _ in names[1:])) if row is shown[-1] and rest else ()
            table.add_row(*(first or (getattr(row, name) for name in names)), *figures)
        return table

    def table(self, by: str | None = None, limit: int = 40) -> str:
        """`rich_table` as text."""
        with needs("cli", "profile: tables"):
            from rich.console import Console

        out = io.StringIO()
        Console(file=out, width=120).print(self.rich_table(by, limit))
        return out.getvalue()

    # Files

    def to_dict(self) -> dict[str, Any]:
        """Everything but the timeline, as `save` writes it."""
        return {
            "device": self.device,
            "seconds": self.seconds,
            "busy_seconds": self.busy_seconds,
            "ntt_share": self.ntt_share,
            "timer_us": self.timer_us,
            "driver_calls": self.driver_calls,
            "rows": [dataclasses.asdict(row) for row in self.rows],
        }

    def save(self, path: str | Path) -> None:
        """Writes the rows: ".csv" without, ".json" with what is beside them. Raises IoError."""
        name = str(path)
        if name.endswith(".csv"):
            out = io.StringIO()
            fields = [field.name for field in dataclasses.fields(ProfileRow)]
            writer = csv.DictWriter(out, fields, lineterminator="\n")
            writer.writeheader()
            writer.writerows(dataclasses.asdict(row) for row in self.rows)
            _write(path, out.getvalue())
        elif name.endswith(".json"):
            _write(path, json.dumps(self.to_dict(), indent=1) + "\n")
        else:
            raise InvalidArgument(
                f"profile: cannot tell the format of '{name}'; expected a name that ends in .json or .csv"
            )

    def save_perfetto(self, path: str | Path) -> None:
        """Writes the timeline for https://ui.perfetto.dev. Raises IoError."""
        _write(path, self._filled().to_perfetto())

    def save_as(self, path: str | Path) -> None:
        """`save_perfetto` for names that end in .pftrace or .perfetto.json, `save` for others."""
        if str(path).endswith(PERFETTO_SUFFIXES):
            self.save_perfetto(path)
        else:
            self.save(path)

    def __repr__(self) -> str:
        if self._core is None:
            return "Profile(being made)"
        return f"Profile({self.device}, {len(self._core.rows)} rows, {self.busy_seconds:.4f} s busy)"


def _join(by: str, name: str, rows: list[ProfileRow]) -> ProfileRow:
    """One row for several, with a name in the column `by`."""
    calls = sum(row.calls for row in rows)
    total = sum(row.total_ms for row in rows)
    names = {column: name if column == by else "" for column in ("operation", "op", "kernel")}
    return ProfileRow(
        **names,
        calls=calls,
        total_ms=total,
        mean_us=1e3 * total / max(1, calls),
        shortest_us=min((row.shortest_us for row in rows), default=0.0),
        longest_us=max((row.longest_us for row in rows), default=0.0),
        share=sum(row.share for row in rows),
    )


def _write(path: str | Path, text: str) -> None:
    write_file(path, text.encode())


@contextlib.contextmanager
def profiled(engine: Host) -> Iterator[Profile]:
    """`Engine.profile`."""
    profile = Profile()
    _core.start_profile(engine._native)
    try:
        yield profile
    finally:
        profile._core = _core.stop_profile(engine._native)


class _Collector:
    """Profiles of every engine that runs a program while `profile_runs` is open."""

    def __init__(self) -> None:
        self.stack = contextlib.ExitStack()
        self.engines: list[Host] = []
        self.profiles: list[Profile] = []

    def note(self, engine: Host) -> None:
        if any(each is engine for each in self.engines):
            return
        self.profiles.append(self.stack.enter_context(profiled(engine)))
        self.engines.append(engine)


_open_collector: list[_Collector] = []
"""The collector of `profile_runs`, if it is open."""


@contextlib.contextmanager
def profile_runs() -> Iterator[list[Profile]]:
    """Profiles every engine from its first `run` inside the block on: for tools that do not make engines.

    Yields the list of their profiles, which are filled when the block ends.
    """
    if _open_collector:
        raise InvalidArgument("profile_runs: it is open already")
    collector = _Collector()
    _open_collector.append(collector)
    try:
        with collector.stack:
            yield collector.profiles
    finally:
        _open_collector.clear()


def note_engine(engine: Host) -> None:
    """Profiles an engine from now on if `profile_runs` is open: for what runs no program."""
    if _open_collector:
        _open_collector[0].note(engine)


def save_profiles(profiles: list[Profile], path: Path) -> list[Path]:
    """Saves the first profile under a name, further ones with "-2", "-3", ... before the suffixes."""
    paths = []
    for number, profile in enumerate(profiles, start=1):
        stem, *suffixes = path.name.split(".")
        name = path if number == 1 else path.with_name(".".join([f"{stem}-{number}", *suffixes]))
        profile.save_as(name)
        paths.append(name)
    return paths
