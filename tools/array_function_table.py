# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of functions in docs/guides/arrays.md from what the functions say of themselves.

Replaces what stands between the lines `<!-- functions:begin -->` and `<!-- functions:end -->`. With `--check`
nothing is written: the exit status is 1 when the page is not what the package says. Needs the built package.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from pathlib import Path

from halocline.arrays.costs import COMPARISONS, ORDER, describe
from halocline.arrays.elementary import ELEMENTARY
from halocline.circuits.methods import sign_epsilon

PAGE = Path(__file__).resolve().parent.parent / "docs/guides/arrays.md"
BEGIN = "<!-- functions:begin -->"
END = "<!-- functions:end -->"
PRECISIONS = (10, 20, 30)
BITS = (6, 8, 10, 13)
WIDE = (
    ("reciprocal", (0.001, 1)),
    ("reciprocal", (0.00001, 1)),
    ("rsqrt", (0.001, 1)),
    ("rsqrt", (0.00001, 1)),
    ("log", (0.001, 1)),
    ("sigmoid", (-32, 32)),
    ("exp", (-32, 0)),
    ("cos", (-64, 64)),
)
"""Functions on intervals wider than their examples."""


def number(value: float) -> str:
    """A bound of an interval."""
    for name, known in (("pi", math.pi), ("-pi", -math.pi)):
        if value == known:
            return name
    return f"{value:g}"


def pair(interval: tuple[float, float]) -> str:
    """An interval."""
    return f"({number(interval[0])}, {number(interval[1])})"


def elementary() -> Iterator[str]:
    """Elementary functions on their examples."""
    precisions = ", ".join(str(bits) for bits in PRECISIONS)
    yield f"| function | | interval | levels for {precisions} bits | at 20 bits |"
    yield "|---|---|---|---|---|"
    for name, function in ELEMENTARY.items():
        yield row(name, function.formula, function.example)
    for name, interval in WIDE:
        yield row(name, "", interval)


def row(name: str, formula: str, interval: tuple[float, float]) -> str:
    """A row of the first table."""
    levels = ", ".join(str(describe(name, interval, bits).levels) for bits in PRECISIONS)
    cost = describe(name, interval)
    how = f"{cost.method}, degree {cost.degree}; error 2^{math.log2(cost.error):.1f}"
    return f"| `{name}` | {formula} | {pair(interval)} | {levels} | {how} |"


def comparisons() -> Iterator[str]:
    """Comparisons by precision."""
    yield f"| | {' | '.join(f'{bits} bits' for bits in BITS)} |"
    yield f"|---|{'---|' * len(BITS)}"
    jumps = [name for name in COMPARISONS if math.isnan(describe(name).error)]
    smooth = [name for name in COMPARISONS if name not in jumps]
    for names in (jumps[:3], jumps[3:], smooth):
        levels = " | ".join(str(describe(names[0], (-1, 1), bits).levels) for bits in BITS)
        yield f"| levels of {', '.join(f'`{name}`' for name in names)} | {levels} |"
    edges = " | ".join(f"{sign_epsilon(bits):.2g}" for bits in BITS)
    yield f"| nearer to equality than that, a comparison is undecided | {edges} |"
    errors = " | ".join(f"2^{math.log2(describe('maximum', (-1, 1), bits).error):.1f}" for bits in BITS)
    yield f"| largest error of `maximum` | {errors} |"
    for name in ORDER:
        levels = " | ".join(str(describe(name, (0, 0.9), bits).levels) for bits in BITS)
        yield f"| levels of `{name}` of 8 numbers in (0, 0.9) | {levels} |"


def updated(text: str) -> str:
    """The page with the tables of now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    made = "\n".join([*elementary(), "", *comparisons()])
    return f"{before}{BEGIN}\n{made}\n{END}{after}"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    text = PAGE.read_text()
    made = updated(text)
    if parser.parse_args().check:
        if made != text:
            print(f"{PAGE}: not what the functions are; run tools/array_function_table.py")
        return int(made != text)
    PAGE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
