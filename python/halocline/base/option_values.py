# SPDX-License-Identifier: Apache-2.0
"""What an option may be: kinds of values, each with a word for help texts, a reader of text and a check."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import _core
from .errors import InvalidArgument
from .values import kind_of, shown

Names = Callable[[], Sequence[str]]


class Value:
    """Kind of a value: any text, here."""

    def __init__(self, metavar: str = "TEXT") -> None:
        self.metavar = metavar
        """Stands for the value in help texts; empty where there is none."""

    def read(self, text: str) -> Any:
        """The value that text stands for. Raises InvalidArgument for what is none."""
        return text

    def text(self, value: Any) -> str:
        """The value as it is typed."""
        return str(value)

    def problem(self, value: Any) -> str | None:
        """What is wrong with a value, as "got X, expected Y"; None for a good one."""
        if isinstance(value, str) and value:
            return None
        return f"got {shown(value)}, expected text"


class Gathered(Value, ABC):
    """A value made of the texts of all places where a command line names the option."""

    @abstractmethod
    def read_all(self, texts: Sequence[str]) -> Any:
        """The value that the texts stand for. Raises InvalidArgument for what is none."""


class Flag(Value):
    """On or off."""

    def __init__(self) -> None:
        super().__init__("")

    def problem(self, value: Any) -> str | None:
        """See `Value`."""
        return (
            None
            if isinstance(value, bool)
            else f"got {shown(value)} ({kind_of(value)}), expected True or False"
        )


class Count(Value):
    """An integer within bounds."""

    def __init__(self, low: int = 1, high: int | None = None, metavar: str = "COUNT") -> None:
        super().__init__(metavar)
        self.low, self.high = low, high

    def _bounds(self) -> str:
        return f"an integer of at least {self.low}" if self.high is None else f"{self.low} to {self.high}"

    def read(self, text: str) -> int:
        """See `Value`."""
        try:
            return int(text)
        except ValueError:
            raise InvalidArgument(f"got {shown(text)}, expected {self._bounds()}") from None

    def problem(self, value: Any) -> str | None:
        """See `Value`."""
        fits = isinstance(value, int) and not isinstance(value, bool) and value >= self.low
        if fits and (self.high is None or value <= self.high):
            return None
        return f"got {shown(value)}, expected {self._bounds()}"


class Number(Value):
    """A finite number within bounds. above: the lower bound itself is none."""

    def __init__(self, low: float, high: float = math.inf, *, above: bool = False) -> None:
        super().__init__("NUMBER")
        self.low, self.high, self.above = low, high, above

    def _bounds(self) -> str:
        if math.isinf(self.high):
            return f"a number {'above' if self.above else 'of at least'} {self.low:g}"
        return f"{self.low:g} to {self.high:g}"

    def read(self, text: str) -> float:
        """See `Value`."""
        try:
            return float(text)
        except ValueError:
            raise InvalidArgument(f"got {shown(text)}, expected {self._bounds()}") from None

    def problem(self, value: Any) -> str | None:
        """See `Value`."""
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if number and self.low <= value <= self.high and not (self.above and value == self.low):
            return None
        return f"got {shown(value)}, expected {self._bounds()}"


class Size(Value):
    """Bytes: a number, "256MiB", or a share such as "25%". words: others that are allowed."""

    def __init__(self, words: Sequence[str] = (), *, share: bool = True) -> None:
        super().__init__("SIZE")
        self.words, self.share = tuple(words), share

    def _expected(self) -> str:
        kinds = ["a size such as 256MiB"] + ["a share such as 25%"] * self.share
        return " or ".join([*kinds, *(f"'{word}'" for word in self.words)])

    def problem(self, value: Any) -> str | None:
        """See `Value`."""
        if value in self.words or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
            return None
        if isinstance(value, str) and self._fits(value.strip()):
            return None
        return f"got {shown(value)}, expected {self._expected()}"

    def _fits(self, text: str) -> bool:
        try:
            if self.share and text.endswith("%"):
                return 0 < float(text[:-1]) < math.inf
            return int(_core.parse_bytes(text)) > 0
        except ValueError:  # InvalidArgument too
            return False


class Choice(Value):
    """One of some names, or of what a function returns when it is asked."""

    def __init__(self, names: Sequence[str] | Names, metavar: str = "") -> None:
        self._names = names
        super().__init__(metavar or "|".join(self.names))

    @property
    def names(self) -> Sequence[str]:
        """All of them."""
        return self._names() if callable(self._names) else self._names

    def problem(self, value: Any) -> str | None:
        """See `Value`."""
        return (
            None if value in self.names else f"got {shown(value)}, expected one of: {', '.join(self.names)}"
        )


class Checked(Value):
    """Text that a function checks, which raises InvalidArgument or ValueError."""

    def __init__(self, metavar: str, check: Callable[[str], object]) -> None:
        super().__init__(metavar)
        self._check = check

    def problem(self, value: Any) -> str | None:
        """See `Value`."""
        try:
            self._check(value)
        except ValueError as error:  # InvalidArgument too
            return str(error)
        return None


class Several(Value):
    """Some of another kind, with commas between them."""

    def __init__(self, each: Value, metavar: str = "") -> None:
        self.each = each
        super().__init__(metavar or f"{each.metavar},...")

    def read(self, text: str) -> tuple[Any, ...]:
        """See `Value`."""
        return tuple(self.each.read(part.strip()) for part in text.split(","))

    def text(self, value: Any) -> str:
        """See `Value`."""
        return ",".join(self.each.text(each) for each in value)

    def problem(self, value: Any) -> str | None:
        """See `Value`."""
        if isinstance(value, str) or not isinstance(value, Sequence) or not value:
            return f"got {shown(value)}, expected at least one, in a list"
        return next((found for each in value if (found := self.each.problem(each)) is not None), None)


class Repeated(Several, Gathered):
    """Some of another kind; a command line names the option for each of them."""

    def __init__(self, each: Value) -> None:
        super().__init__(each, each.metavar)

    def read_all(self, texts: Sequence[str]) -> Any:
        """See `Gathered`."""
        return tuple(self.each.read(text) for text in texts)


class Settings(Gathered):
    """Names with values, as a dictionary; text is "name=value", once for each.

    parse: makes a dictionary of such texts, and raises InvalidArgument for what it does not know.
    check: raises InvalidArgument for a dictionary with other names.
    """

    def __init__(
        self,
        parse: Callable[[Sequence[str]], Mapping[str, Any]],
        check: Callable[[Mapping[str, Any]], object],
    ) -> None:
        super().__init__("NAME=VALUE")
        self._parse, self._check = parse, check

    def read_all(self, texts: Sequence[str]) -> dict[str, Any]:
        """See `Gathered`."""
        return dict(self._parse(texts))

    def problem(self, value: Any) -> str | None:
        """See `Value`."""
        if not isinstance(value, Mapping):
            return f"got {shown(value)}, expected a dictionary"
        try:
            self._check(value)
        except InvalidArgument as error:
            return str(error)
        return None


class PathName(Value):
    """The name of a file or folder to read. or_bytes: its content may be given instead.

    made: it need not be there yet. standard: "-" is standard input.
    """

    def __init__(
        self, metavar: str = "FILE", *, or_bytes: bool = False, made: bool = False, standard: bool = False
    ) -> None:
        super().__init__(metavar)
        self._or_bytes, self.made, self._standard = or_bytes, made, standard

    def missing(self, path: Any) -> bool:
        """Whether a path that must be there is not."""
        return not (self.made or (self._standard and os.fspath(path) == "-") or os.path.exists(path))

    def problem(self, value: Any) -> str | None:
        """See `Value`."""
        if isinstance(value, bytes) and self._or_bytes:
            return None
        if self.made and value is not None and str(value) == "-":
            return "'-' is standard output, which cannot take this; give a name"
        if isinstance(value, str | os.PathLike) and os.fspath(value):
            return None
        return f"got {shown(value)}, expected the name of a file"


class OutputName(Value):
    """The name of a file to write, or with `folder` of a folder that is made; "-" is standard output.

    standard: whether that is allowed. endings: those that names may have; any unless given.
    """

    def __init__(
        self,
        metavar: str = "FILE",
        *,
        standard: bool = True,
        folder: bool = False,
        endings: Sequence[str] = (),
    ) -> None:
        super().__init__(metavar)
        self.standard, self.folder, self.endings = standard, folder, tuple(endings)

    def problem(self, value: Any) -> str | None:
        """See `Value`."""
        name = os.fspath(value) if isinstance(value, str | os.PathLike) else ""
        if name == "-":
            return None if self.standard else "'-' is standard output, which cannot take this; give a name"
        if not name:
            return f"got {shown(value)}, expected the name of a file"
        if self.endings and not name.endswith(self.endings):
            return (
                f"'{os.path.basename(name)}' has an unknown suffix; expected one of {', '.join(self.endings)}"
            )
        return None
