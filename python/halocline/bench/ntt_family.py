# SPDX-License-Identifier: Apache-2.0
"""Number-theoretic transforms on a GPU: six variants, N = 4K to 128K, batches of 1 to 1024.

The variants are those of XeHE's section V-B: radix 2 in global memory ("naive"), shared memory with warp
shuffles, radix 4, 8 and 16 with shared memory, and the library's kernels ("production"). A program of its own
(`halocline_ntt_bench`, cpp/bench/cuda) compares each with the scalar kernels, then times it. It also times
other shapes of the library's kernels.
"""

from __future__ import annotations

import contextlib
import datetime
import json
from pathlib import Path
from typing import Any

from ..base.errors import CorruptData
from .keeping import SILENT, Watcher
from .operations import clocks
from .options import NttFamilyOptions
from .programs import find_program, run_program

SCHEMA = 1
PROGRAM = "halocline_ntt_bench"
_LEFT_OUT = ("kind", "integer_instructions")


def run_ntt_family(
    binary: Path | None = None, *, quick: bool = False, watcher: Watcher = SILENT
) -> dict[str, Any]:
    """What `--json` writes: ceilings of the card, a row for each variant, word, size and batch, and shapes.

    quick: batches of 1, 32 and 1024 only, and no shapes.
    """
    program = find_program("ntt-family", PROGRAM, binary)
    date = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}

    def grown(text: str) -> None:
        whole = text[: text.rfind("\n") + 1]  # the last line may not be all there
        with contextlib.suppress(CorruptData):
            content = document(whole, str(program)) | date
            count = len(content["family"]) + len(content["shapes"])
            if count:
                watcher.row("transforming", content, count, 0)

    text = run_program("ntt-family", program, ["--family", "--quick"] if quick else [], grown)
    return document(text, str(program)) | date | {"clocks": {"after": clocks()}}


def run(options: NttFamilyOptions | None = None, watcher: Watcher = SILENT) -> dict[str, Any]:
    """The suite with its options, as `--json` writes it."""
    o = options or NttFamilyOptions()
    return run_ntt_family(None if o.binary is None else Path(o.binary), quick=o.quick, watcher=watcher)


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
