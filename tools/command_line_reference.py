# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/reference/command_line.md from the option dataclasses of workloads and suites.

Replaces what stands between the lines `<!-- options:begin -->` and `<!-- options:end -->`. With `--check`
nothing is written: the exit status is 1 when the page is not what the dataclasses say. Needs the built
package.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from halocline.base.options import Described, described
from halocline.cli.bench.table import SUITES
from halocline.cli.outputs import (
    PaperOutputs,
    PictureOutputs,
    ProfileBenchOutputs,
    ResumablePictureBenchOutputs,
)
from halocline.cli.paper.table import STUDIES
from halocline.cli.run.table import WORKLOADS
from halocline.workloads.options import ENGINE

PAGE = Path(__file__).resolve().parent.parent / "docs/reference/command_line.md"
BEGIN = "<!-- options:begin -->"
END = "<!-- options:end -->"


def cell(text: str) -> str:
    """Text that a cell of a table can hold."""
    return text.replace("|", "\\|")


def rows(options: Iterable[Described]) -> Iterator[str]:
    """A table: option, value, default, help."""
    yield "| option | value | default | |"
    yield "|---|---|---|---|"
    for each in options:
        value = f"`{cell(each.value.metavar)}`" if each.value.metavar else ""
        silent = each.default is None or each.default is False or each.default == {}
        default = "" if silent else f"`{each.value.text(each.default)}`"
        yield f"| `{each.flag}` | {value} | {default} | {cell(each.help)} |"


def own(kind: type) -> list[Described]:
    """Options that stand under the heading of the command itself."""
    return [each for each in described(kind) if not each.given_by and each.group != ENGINE]


def sections() -> Iterator[str]:
    """Everything between the markers."""
    yield "## Workloads"
    for name, workload in WORKLOADS.items():
        yield from ("", f"### `halocline run {name}`", "", workload.line, "")
        yield from rows(own(workload.options_class()))
    yield from (
        "",
        "### All workloads",
        "",
        "`--decisions` is not for bm-bootstrap, which decides itself.",
        "",
    )
    engine = next(iter(WORKLOADS.values())).options_class()
    yield from rows(each for each in described(engine) if each.group == ENGINE)
    yield from ("", "`--plot` is for bootstrap and bm-bootstrap.", "")
    yield from rows(described(PictureOutputs))
    yield from ("", "## Suites")
    micro = [name for name, suite in SUITES.items() if suite.tables == "micro"]
    for name, suite in SUITES.items():
        if name in micro[1:]:
            continue
        others = f"; also {', '.join(f'`{each}`' for each in micro[1:])}" if name == micro[0] else ""
        yield from ("", f"### `halocline bench {name}`", "", suite.line.rstrip(".") + others + ".", "")
        yield from rows(own(suite.options_class()))
    drawn = ", ".join(name for name, suite in SUITES.items() if suite.pictures)
    profiled = ", ".join(name for name, suite in SUITES.items() if suite.profiled)
    resumable = ", ".join(name for name, suite in SUITES.items() if suite.resumable)
    which = f"`--plot` is for {drawn}; `--profile` for {profiled}; `--resume` for {resumable}."
    yield from ("", "### All suites", "", which, "")
    profile = [each for each in described(ProfileBenchOutputs) if each.field == "profile"]
    yield from rows([*described(ResumablePictureBenchOutputs), *profile])
    yield from ("", "## Studies of papers")
    for name, study in STUDIES.items():
        yield from ("", f"### `halocline paper {name}`", "", study.line, "")
        yield from rows([*described(study.options_class()), *described(PaperOutputs)])


def updated(text: str) -> str:
    """The page with the tables of now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{chr(10).join(sections())}\n{END}{after}"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    text = PAGE.read_text()
    made = updated(text)
    if parser.parse_args().check:
        if made != text:
            print(f"{PAGE}: not what the options are; run tools/command_line_reference.py")
        return int(made != text)
    PAGE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
