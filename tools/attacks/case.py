# SPDX-License-Identifier: Apache-2.0
"""What one case of an attack gets, and how it reports what it found."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import halocline as hc


class Finding(Exception):
    """The product did what it must not do."""


@dataclasses.dataclass
class Case:
    """One try: a source of random choices and a folder of its own."""

    name: str
    seed: int
    number: int
    folder: Path

    def __post_init__(self) -> None:
        self.rng = random.Random(f"{self.seed}/{self.name}/{self.number}")


def outcome(action: Callable[[], Any], what: str) -> Any:
    """The result of an action, or the exception of the package that refused it. All else is a finding."""
    try:
        return action()
    except hc.Error as refused:
        if not str(refused):
            raise Finding(f"{what}: {type(refused).__name__} without a message") from refused
        return refused
    except Finding:
        raise
    except Exception as error:
        raise Finding(f"{what}: {type(error).__name__}: {error}") from error
