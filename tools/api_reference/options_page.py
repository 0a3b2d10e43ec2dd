# SPDX-License-Identifier: Apache-2.0
"""The page with options of workloads, benchmarks and studies: dataclasses whose fields have help texts."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from halocline.base.options import Described, described
from halocline.cli.bench.table import SUITES
from halocline.cli.paper.table import STUDIES
from halocline.cli.run.table import WORKLOADS

from .docstrings import inline, to_rst

TITLE = "Options of workloads, benchmarks, studies"
INTRO = """Dataclasses that `run` functions take, such as `halocline.workloads.sorting.run.run(options)`; the
commands `halocline run`, `bench` and `paper` have the same options as flags. Values are checked when an
object is made."""


def option_classes() -> dict[type, str]:
    """Each class of options, with the line of help of the first command that takes it."""
    found: dict[type, str] = {}
    for table in (WORKLOADS, SUITES, STUDIES):
        for each in table.values():
            found.setdefault(each.options_class(), each.line)
    return found


def options_page() -> str:
    """The text of the page."""
    parts = [f"{TITLE}\n{'=' * len(TITLE)}\n", *to_rst(INTRO.splitlines())]
    for kind, line in option_classes().items():
        parts += _class(kind, line)
    return "\n".join(parts) + "\n"


def _class(kind: type, line: str) -> Iterator[str]:
    yield f".. py:class:: {kind.__module__}.{kind.__qualname__}"
    yield ""
    own = inspect.getdoc(kind) or ""
    text = line if own.startswith(f"{kind.__name__}(") else own
    yield from (f"   {each}".rstrip() for each in to_rst(text.splitlines()))
    for each in described(kind):
        yield from (f"   {row}".rstrip() for row in _field(each))


def _field(each: Described) -> Iterator[str]:
    yield f".. py:attribute:: {each.field}"
    yield f"   :value: {each.default!r}"
    yield ""
    value = f" (`{each.value.metavar}`)" if each.value.metavar else ""
    yield f"   {inline(each.help + value)}"
    yield ""
