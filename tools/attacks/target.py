# SPDX-License-Identifier: Apache-2.0
"""A loader that is attacked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass(frozen=True)
class Target:
    """A loader, an input that it takes, and how the checksums of the input are made right again."""

    data: bytes
    load: Callable[[bytes], Any]
    seal: Callable[[bytes], bytes] | None = None
    text: bool = False
