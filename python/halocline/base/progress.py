# SPDX-License-Identifier: Apache-2.0
"""What long operations call to say how far they are."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with (keys done, keys in all)."""
