# SPDX-License-Identifier: Apache-2.0
"""Groups of commands: what they list, and words for the kinds of values in help texts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup

_WORDS = {
    "params": "PRESET|FILE",
    "device": "DEVICE",
    "policy": "POLICY",
    "memory": "SIZE",
    "budget": "SIZE",
    "capacity": "SIZE",
    "threads": "COUNT",
    "slots": "COUNT",
    "rotations": "STEPS",
    "expr": "EXPRESSION",
    "function": "NAME",
    "folder": "DIR",
    "level": "LEVEL",
    "device_model": "MODEL",
}
"""What stands for a value in help texts, by the name of the option; else its type says it."""
_TYPES: dict[type, str] = {bool: "", int: "INTEGER", float: "NUMBER", str: "TEXT", Path: "FILE"}


def _word(param: Any) -> str:
    """What stands for the value of an option: nothing for a switch."""
    if getattr(param, "is_flag", False):
        return ""
    kind = param.type_descriptor.annotation
    for each in getattr(kind, "__args__", ()):  # list[int] and the like
        kind = each
    return _WORDS.get(param.name, _TYPES.get(kind, "TEXT"))


def humane(params: Sequence[Any]) -> None:
    """Gives options without a word of their own one, instead of the name of a Python type; arguments none."""
    for each in params:
        if each.param_type_name != "option":
            each.display_type_rich = lambda ctx: ""  # their names say what they are
        elif each.metavar is None:
            each.metavar = _word(each)


class Group(TyperGroup):
    """A group whose help texts, and those of its commands, say FILE and SIZE instead of types."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options of the group itself."""
        found = super().get_params(ctx)
        humane(found)
        return found

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, or None."""
        found = super().get_command(ctx, cmd_name)
        if found is not None:
            humane(found.get_params(ctx))
        return found


@dataclasses.dataclass(frozen=True)
class Listed:
    """A line of a group's help."""

    line: str
    make: Callable[[], Any]
    """Makes the command; called when it is used, so that its modules are loaded then."""


class TableGroup(Group):
    """Commands from a table. Each is made when it is used; the list shows their names and lines."""

    table: ClassVar[Mapping[str, Listed]]
    noun: ClassVar[str]
    """What the commands are called: "workload"."""
    wanted: str | None = None
    """The command that is used; the others are only listed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command: whole where it is used, else its name and line."""
        if cmd_name not in self.table:
            return None
        listed = self.table[cmd_name]
        if cmd_name != self.wanted:
            return type(self)(name=cmd_name, help=listed.line)
        made = listed.make()
        humane(made.get_params(ctx))
        return made

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the arguments begin with; wrong usage that names all where there is none."""
        if args[0] not in self.table:
            known = ", ".join(self.table)
            ctx.fail(f"unknown {self.noun} '{args[0]}'; expected one of: {known}")
        self.wanted = args[0]
        return super().resolve_command(ctx, args)


def table_app(noun: str, table: Mapping[str, Listed], **options: Any) -> typer.Typer:
    """An application of the commands of a table."""
    kind = type("NamedGroup", (TableGroup,), {"table": table, "noun": noun})
    return typer.Typer(cls=kind, no_args_is_help=True, **options)
