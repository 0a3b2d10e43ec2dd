# SPDX-License-Identifier: Apache-2.0
"""Commands whose options are the fields of dataclasses: names, defaults, help, limits.

Every value is read and checked, and every path looked at, before the command does anything. What is wrong is
told with the names of options as they are typed; the exit status is then 2, or 1 for files that are missing.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from ..base.errors import InvalidArgument, IoError
from ..base.files import is_standard
from ..base.option_values import Gathered, OutputName, PathName
from ..base.options import Described, OptionError, described
from .common import command, expect_writable

Act = Callable[..., None]
"""Called with one object of each dataclass, and the context as `ctx`."""


class _Command(TyperCommand):
    """A command that names its options where it is given one that it does not have."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Arguments as values."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # Typer does not publish the class of click's error about unknown options.
            if type(error).__name__ != "NoSuchOption":
                raise
            said: Any = error
        known = [each.opts[0] for each in self.get_params(ctx) if each.param_type_name == "option"]
        close = "".join(f" Did you mean {each}?" for each in (said.possibilities or ())[:1])
        return ctx.fail(
            f"{ctx.info_name} has no option {said.option_name}.{close} It has {', '.join(known)}."
        )  # which raises


def make_command(name: str, text: str, kinds: Sequence[type[Any]], act: Act) -> TyperCommand:
    """A command with the options of several dataclasses. text: its help."""
    options = [each for kind in kinds for each in described(kind) if not each.given_by]

    def run(**given: Any) -> None:
        ctx: typer.Context = given.pop("ctx")
        read = {each.field: _read(each, given[each.field]) for each in options if _is_given(ctx, each.field)}
        try:
            made = [_make(kind, read) for kind in kinds]
            for one in made:
                _look_at_paths(one)
            _expect_different(made)
            act(*made, ctx=ctx)
        except OptionError as error:
            ctx.fail(error.worded(_flags(kinds)))

    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [_parameter("ctx", typer.Context, inspect.Parameter.empty), *(_declared(each) for each in options)]
    )
    run.__doc__ = text
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
    app.command(name, cls=_Command)(command(run))
    made = typer.main.get_command(app)
    assert isinstance(made, TyperCommand)
    return made


def given_options(ctx: typer.Context, kind: type[Any]) -> list[str]:
    """Flags of a dataclass's options that stand on the command line."""
    return [each.flag for each in described(kind) if not each.given_by and _is_given(ctx, each.field)]


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _declared(each: Described) -> inspect.Parameter:
    """The option as Typer takes it. Values stay text: `_read` makes of them what they are."""
    group = each.group or "Options"
    if isinstance(each.default, bool):
        switch = typer.Option(each.flag, help=each.help, rich_help_panel=group)
        return _parameter(each.field, Annotated[bool, switch], False)
    repeated = isinstance(each.value, Gathered)
    kind: Any = list[str] | None if repeated else str | None
    shown = None if each.default is None or repeated else each.value.text(each.default)
    about = typer.Option(each.flag, metavar=each.value.metavar, help=each.help, rich_help_panel=group)
    return _parameter(each.field, Annotated[kind, about], shown)


def _is_given(ctx: typer.Context, field: str) -> bool:
    source = ctx.get_parameter_source(field)
    return source is not None and source.name == "COMMANDLINE"


def _read(each: Described, text: Any) -> Any:
    """The value of an option. Raises typer.BadParameter."""
    if isinstance(text, bool):
        return text
    try:
        value = each.value.read_all(text) if isinstance(each.value, Gathered) else each.value.read(text)
        problem = each.value.problem(value)
    except InvalidArgument as error:
        problem = str(error)
    if problem is not None:
        raise typer.BadParameter(problem, param_hint=f"'{each.flag}'")
    return Path(value) if isinstance(each.value, PathName | OutputName) else value


def _make(kind: type[Any], read: Mapping[str, Any]) -> Any:
    """The dataclass with what is given of it."""
    given = {each.field: read[each.field] for each in described(kind) if each.field in read}
    switched = {each.field: True for each in described(kind) if each.given_by in read}
    return kind(**given, **switched)


def _flags(kinds: Sequence[type[Any]]) -> Callable[[str], str]:
    known = {each.field: each.flag for kind in kinds for each in described(kind)}
    return lambda field: known.get(field, field)


def _look_at_paths(made: Any) -> None:
    """Raises IoError for files to read that are missing, and for files that cannot be written."""
    for each in described(type(made)):
        path = getattr(made, each.field)
        if path is None or isinstance(path, bytes):
            continue
        if isinstance(each.value, PathName) and each.value.missing(path):
            raise IoError(f"{each.flag}: cannot read '{path}': there is no such file or folder")
        if isinstance(each.value, OutputName):
            expect_writable(path, folder=each.value.folder)


def _expect_different(made: Sequence[Any]) -> None:
    """Raises OptionError where two outputs are one file."""
    seen: dict[str, str] = {}
    for each, path in (
        (each, getattr(one, each.field)) for one in made for each in described(type(one))
        if isinstance(each.value, OutputName)
    ):  # fmt: skip
        if path is None:
            continue
        name = "-" if is_standard(path) else os.path.realpath(path)
        if name in seen:
            what = "standard output" if name == "-" else f"'{path}'"
            raise OptionError(f"{{{seen[name]}}} and {{{each.field}}} are both {what}; expected two names")
        seen[name] = each.field
