# SPDX-License-Identifier: Apache-2.0
"""Options of the benchmark of runs whose keys are not in the memory of the device."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from ...base.errors import InvalidArgument
from ...base.option_values import Checked, Choice, Count, Flag, Number, PathName, Several, Size
from ...base.options import Options, option
from ...ckks.params import Params
from ...workloads.options import params_option
from ..budgets.options import device_option

CASES = ("bootstrap", "resnet20", "resnet20-first", "users")
PROGRAMS = ("resnet20", "bootstrap")

VARIANTS = (
    "as-written",
    "cts_mode=small_key,stc_mode=double_hoisted,baby_count=8",
    "cts_mode=small_key,stc_mode=double_hoisted,baby_count=8,seeds=kept",
    "cts_mode=small_key,stc_mode=double_hoisted",
    "cts_mode=small_key,stc_mode=small_key",
    "cts_mode=small_key,stc_mode=bsgs,baby_count=8",
    "baby_count=4",
)
"""Options of bootstraps that are tried, besides what is written."""
FIRST = "cts_mode=small_key,stc_mode=small_key"
"""Of the first two bootstraps of ResNet-20: by the device model, what waits least for cold keys."""


def bootstrap_choice(text: str) -> dict[str, object]:
    """Fields of `BootstrapOptions` of a text such as "cts_mode=small_key,baby_count=4"; "as-written": none.

    seeds=kept becomes `keep_seeds` of an engine.
    Raises InvalidArgument for what is no such list.
    """
    if text == "as-written":
        return {}
    made: dict[str, object] = {}
    for part in text.split(","):
        name, _, value = (each.strip() for each in part.partition("="))
        if name in ("cts_mode", "stc_mode") and value:
            made[name] = value
        elif name == "baby_count" and value.isdigit():
            made[name] = int(value)
        elif name == "seeds" and value == "kept":
            made["keep_seeds"] = True
        elif name == "compact" and value in ("true", "false"):
            made[name] = value == "true"
        else:
            raise InvalidArgument(
                f"bench cold-keys: variant {text!r}: got {part.strip()!r}; expected as-written, or "
                "cts_mode=, stc_mode=, baby_count=, compact= or seeds=kept, separated by commas"
            )
    return made


def first_choice(text: str) -> dict[str, object]:
    """Organisation of the first bootstraps of an image, as `bootstrap_choice`; seeds are of the engine."""
    made = bootstrap_choice(text)
    if "keep_seeds" in made:
        raise InvalidArgument(
            f"bench cold-keys: first bootstraps {text!r}: got seeds=kept, which is for whole "
            "engines; expected cts_mode=, stc_mode=, baby_count= or compact=, separated by commas"
        )
    return made


def variants_of(text: str) -> list[str]:
    """Variants of a text that separates them by semicolons."""
    found = [each.strip() for each in text.split(";") if each.strip()]
    for each in found:
        bootstrap_choice(each)
    return found


def _check_variants(text: str) -> None:
    variants_of(text)


def _check_first(text: str) -> None:
    first_choice(text)


@dataclasses.dataclass(frozen=True)
class ColdKeyOptions(Options):
    """Runs that begin with their keys in pinned host memory, in a file, or with those of another user."""

    subject: ClassVar[str] = "bench cold-keys"

    device: str = device_option()
    params: str | Params = params_option("n16-boot")
    cases: Sequence[str] = option(
        CASES, "What is measured.", Several(Choice(CASES, "CASE")), flag="--workload"
    )
    runs: int = option(20, "Timed cold runs of a bootstrap.", Count(), flag="--repetitions")
    image_runs: int = option(7, "Timed runs of an image, warm and cold.", Count())
    file_runs: int = option(3, "Timed runs of an image whose keys come from a file.", Count())
    variants: str = option(
        ";".join(VARIANTS),
        "Options of bootstraps to try, separated by semicolons.",
        Checked("NAME=VALUE,...;...", _check_variants),
    )
    first: int = option(
        2, "Bootstraps of resnet20-first that use few keys, at the beginning of an image.", Count()
    )
    first_bootstrap: str = option(FIRST, "How these are organised.", Checked("NAME=VALUE,...", _check_first))
    users: int = option(8, "Users with keys of their own.", Count(2, 4096))
    turns: int = option(32, "Timed turns of users, one after the other.", Count())
    program: str = option("resnet20", "What each user runs.", Choice(PROGRAMS))
    memory: str = option("16GiB", "Budget of the engine that serves users.", Size())
    room: str = option("24GiB", "Budget of the engines of one user.", Size())
    host_memory: str | None = option(
        None, "Pinned memory of an engine; half of the machine's unless given.", Size()
    )
    requests: int = option(16, "Reads from a key store in flight at once.", Count(1, 64))
    key_seconds: float = option(70.0, "Seconds after which no more users get keys.", Number(0.0))
    seconds: float = option(225.0, "Seconds after which nothing more is begun.", Number(0.0))
    folder: str | Path | None = option(
        None, "Where the key store is made; a temporary folder unless given.", PathName("DIR", made=True)
    )
    threads: int | None = option(None, "Worker threads of the CPU; all unless given.", Count(1, 1024))
    allow_insecure: bool = option(False, "Accept parameters below 128 bits of security (tests only).", Flag())
