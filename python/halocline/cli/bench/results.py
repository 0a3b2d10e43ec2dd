# SPDX-License-Identifier: Apache-2.0
"""Results of `halocline bench`: written row by row while they are measured, and read again."""

from __future__ import annotations

import contextlib
import datetime
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from rich.errors import MarkupError

from ... import _core
from ...base import limits
from ...base.errors import CorruptData, Error, InvalidArgument
from ...base.files import is_standard, parse_json, read_file
from ...base.options import Options
from ...tracing.replay import device_models
from ..common import origin, write_json
from .resuming import conditions, difference
from .table import SUITES

Json = dict[str, Any]

TERMINATED = 143
"""Exit status after SIGTERM, as shells give it."""


class ResultFile:
    """The file of `--json`, which holds all rows so far at every moment.

    Until the run is done it has the field `partial`: rows that are done, and rows in all (0: not known). Of
    suites that go on from such a file it also has the fields of `resuming.conditions`.
    """

    def __init__(self, path: Path | None, options: Options | None = None) -> None:
        """options: of a suite that goes on from the rows of an interrupted run."""
        self._path, self._now = (
            path,
            datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        )
        self._about: Json = origin() | {"date": self._now}
        nowhere = path is None or is_standard(path)
        self._conditions: Json = {} if options is None or nowhere else printable(conditions(options))
        self.content: Json | None = None
        """What there is so far; None before the first row."""

    def earlier(self, suite: str) -> Json | None:
        """What an interrupted run with the same options has left in the file; None where there is no file.

        Its date stays that of the result, which then has the dates of all resumptions in `resumed`.
        Raises InvalidArgument where the file is not to be gone on from.
        """
        assert self._path is not None  # that is looked at before
        if not self._path.exists():
            return None
        _, content = stored(self._path, suite, "--resume")
        if not isinstance(content.get("partial"), dict):
            raise InvalidArgument(
                f"--resume: '{self._path}' holds a whole result; show it with --from, or choose another file"
            )
        differs = difference(content, origin() | self._conditions)
        if differs:
            raise InvalidArgument(
                f"--resume: '{self._path}' was measured with {differs}; rows of both do not belong "
                "together: use the same, or another file"
            )
        resumed = content.get("resumed")
        dates = [*(resumed if isinstance(resumed, list) else []), self._now]
        self._about |= {"date": content.get("date"), "resumed": dates}
        return content

    def spare(self, suite: str) -> None:
        """Raises InvalidArgument where the file has rows of an interrupted run, which would be lost."""
        if self._path is None or is_standard(self._path) or not self._path.is_file():
            return
        try:
            _, content = stored(self._path, suite, "--json")
        except Error:  # another file, which is replaced
            return
        if content.get("partial"):
            raise InvalidArgument(
                f"--json: '{self._path}' has rows of an interrupted run; add --resume to go on from them, or "
                "give another file"
            )

    def keep(self, content: Json, done: int, total: int) -> None:
        """Writes what there is after a row."""
        self.content = {"partial": {"done": done, "total": total}} | self._conditions | self._about | content
        if not is_standard(self._path):  # which takes the result once, at the end
            write_json(self._path, self.content)

    def stop(self) -> Json | None:
        """What there is when the run is stopped: on standard output too, where the file is that."""
        if self.content is not None and is_standard(self._path):
            write_json(self._path, self.content)
        return self.content

    def finish(self, content: Json, device: str) -> Json:
        """Writes the whole result."""
        whole = self._about | content | _card(content, device)
        write_json(self._path, whole)
        return whole


def _card(content: Json, device: str) -> Json:
    """Which GPU with which driver, where the suite does not say it itself."""
    if "report" in content or device in device_models():
        return {}
    report = _core.report_device(device, False)
    if report is None:
        return {}
    from ...bench.operations import clocks

    return {"report": report, "clocks": {"after": clocks()}}


def suite_of(content: Any) -> str | None:
    """The suite whose result this is; None for anything else."""
    if not isinstance(content, dict):
        return None
    if content.get("command") == "halocline bench peers":
        return "peers"
    name = content.get("suite", "micro" if "benchmarks" in content else None)
    name = "ntt-family" if name == "ntt" and "family" in content else name
    return name if isinstance(name, str) and name in SUITES else None


def stored(path: Path, suite: str | None = None, flag: str = "--from") -> tuple[str, Json]:
    """A result that --json wrote, and its suite: the given one, or any.

    flag: the option that names it, for messages.
    Its texts can be printed: other characters are escaped, such as those that change what a terminal shows.
    """
    content = None
    text = read_file(path, flag, limits.RESULT)
    with contextlib.suppress(CorruptData, RecursionError):
        content = printable(parse_json(text, str(path)))
    found = suite_of(content)
    if found is None or content is None:
        raise CorruptData(f"{flag}: '{path}' holds no result of a suite; expected what --json writes")
    same = suite is None or found == suite or {SUITES[found].tables, SUITES[suite].tables} == {"micro"}
    if not same:
        raise CorruptData(
            f"{flag}: '{path}' holds a result of '{found}'; expected what --json of {suite} writes"
        )
    return found, content


def printable(value: Any) -> Any:
    """JSON whose texts can be printed."""
    if isinstance(value, dict):
        return {printable(key): printable(each) for key, each in value.items()}
    if isinstance(value, list):
        return [printable(each) for each in value]
    if not isinstance(value, str) or value.isprintable():
        return value
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in value)


WRONG = (
    *(LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError),
    MarkupError,  # tags that two texts form together
)
"""What printing a result raises where it has another form."""


@contextlib.contextmanager
def shown(path: Path, suite: str, flag: str = "--from") -> Iterator[None]:
    """Inside, a stored result is printed or drawn: CorruptData where it is not what that takes."""
    try:
        yield
    except (Error, UnicodeEncodeError):
        raise
    except WRONG as error:
        missing = isinstance(error, KeyError)
        problem = f"there is no {str(error)[:60]}" if missing else "a field holds something else"
        raise CorruptData(
            f"{flag}: '{path}' holds no whole result of {suite}: {problem} where --json writes one; run "
            f"halocline bench {suite} --json again"
        ) from None


class Terminated(BaseException):
    """SIGTERM came."""


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Inside, SIGTERM ends a run as Ctrl-C does: programs that it started end, and rows are kept."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
