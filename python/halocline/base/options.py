# SPDX-License-Identifier: Apache-2.0
"""Options as dataclasses: what a field may be, in words, for Python and for a command line.

    @dataclasses.dataclass(frozen=True)
    class SortOptions(Options):
        subject = "sort"
        count: int = option(16, "Numbers to sort.", Count(2, 1024))

    SortOptions(count=1)        # InvalidArgument: sort: count: got 1, expected 2 to 1024

Values are checked when an object is made. A command line takes names, defaults, help and kinds of values from
`described(SortOptions)`, and says `--count` where Python says `count`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from .errors import InvalidArgument
from .option_values import Value

_KEY = "option"


class OptionError(InvalidArgument):
    """Options that cannot be, or cannot be together. Names of options stand in braces in `template`."""

    def __init__(self, template: str, subject: str = "") -> None:
        self.template, self.subject = template, subject
        super().__init__(self.worded(str))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.template, self.subject)

    def worded(self, name: Callable[[str], str]) -> str:
        """The message with the names of options as `name` writes them."""
        parts = self.template.split("{")
        said = parts[0]
        for part in parts[1:]:
            field, end, rest = part.partition("}")
            said += name(field) + rest if end and field.isidentifier() else "{" + part
        return f"{self.subject}: {said}" if self.subject else said


@dataclasses.dataclass(frozen=True)
class Described:
    """One option, as a command line needs it."""

    field: str
    value: Value
    help: str
    default: Any
    """None: nothing is given."""
    flag: str
    """On the command line, with its dashes."""
    group: str
    """Heading of a help text; empty for those of one command only."""
    given_by: str
    """Field of another dataclass that switches this one on, instead of a flag of its own; else empty."""


def option(
    default: Any,
    help: str,
    value: Value,
    *,
    flag: str = "",
    group: str = "",
    given_by: str = "",
) -> Any:
    """A field of an options dataclass. See `Described`; flag: unless it is the field's name with dashes."""
    about = {_KEY: (value, help, flag, group, given_by)}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=dict, metadata=about)
    return dataclasses.field(default=default, metadata=about)


def described(kind: type[Any]) -> Iterator[Described]:
    """All options of a dataclass, in the order of its fields."""
    for each in dataclasses.fields(kind):
        value, help, flag, group, given_by = each.metadata[_KEY]
        default = {} if each.default is dataclasses.MISSING else each.default
        name = flag or "--" + each.name.replace("_", "-")
        yield Described(each.name, value, help, default, name, group, given_by)


@dataclasses.dataclass(frozen=True)
class Options:
    """Base of dataclasses whose fields are made by `option`: values are checked when an object is made."""

    subject: ClassVar[str] = ""
    """What messages begin with."""

    def __post_init__(self) -> None:
        for each in described(type(self)):
            given = getattr(self, each.field)
            if given is None and each.default is None:
                continue
            problem = each.value.problem(given)
            if problem is not None:
                raise OptionError(f"{{{each.field}}}: {problem}", self.subject)
        self._check()

    def _check(self) -> None:
        """Raises OptionError for values that cannot be together."""

    def refuse(self, template: str) -> OptionError:
        """The error to raise; names of options stand in braces."""
        return OptionError(template, self.subject)
