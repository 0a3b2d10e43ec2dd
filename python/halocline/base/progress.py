# SPDX-License-Identifier: Apache-2.0
"""Callbacks through which long operations report their progress."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with (keys done, keys in all)."""
