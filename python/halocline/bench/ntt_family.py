# SPDX-License-Identifier: Apache-2.0
"""Number-theoretic transforms on a GPU: six variants, N = 4K to 128K, batches of 1 to 1024.

The variants are those of XeHE's section V-B: radix 2 in global memory ("naive"), shared memory with warp
shuffles, radix 4, 8 and 16 with shared memory, and the library's kernels ("production"). A program of its own
(`halocline_ntt_bench`, cpp/bench/cuda) compares each with the scalar kernels, then times it. It also times
other shapes of the library's kernels.
"""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

from ..base.errors import CorruptData
from .operations import clocks
from .programs import find_program, run_program

SCHEMA = 1
PROGRAM = "halocline_ntt_bench"
_LEFT_OUT = ("kind", "integer_instructions")


def run_ntt_family(binary: Path | None = None, *, quick: bool = False) -> dict[str, Any]:
    """What `--json` writes: ceilings of the card, a row for each variant, word, size and batch, and shapes.

    quick: batches of 1, 32 and 1024 only, and no shapes.
    """
    program = find_program("ntt-family", PROGRAM, binary)
    text = run_program("ntt-family", program, ["--family", "--quick"] if quick else [])
    return document(text, str(program)) | {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "clocks": {"after": clocks()},
    }


def document(text: str, source: str) -> dict[str, Any]:
    """One document of the lines that the program writes."""
    try:
        lines = [json.loads(line) for line in text.splitlines()]
        card = next(line for line in lines if line["kind"] == "card")
        family, shapes = (
            [{k: v for k, v in line.items() if k not in _LEFT_OUT} for line in lines if line["kind"] == kind]
            for kind in ("family", "tune")
        )
    except (ValueError, KeyError, TypeError, StopIteration) as error:
        raise CorruptData(
            f"bench ntt-family: '{source}' wrote something else than results ({error})"
        ) from None
    ceilings = {key: value for key, value in card.items() if key not in ("kind", "name")}
    return {
        "schema": SCHEMA,
        "suite": "ntt",
        "command": PROGRAM,
        "device": card["name"],
        "ceilings": ceilings,
        "family": family,
        "shapes": shapes,
    }
