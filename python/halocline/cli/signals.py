# SPDX-License-Identifier: Apache-2.0
"""Signals that end a command: what it has not finished is removed first."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_SHELL_OFFSET = 128
"""Exit status after signal n is this plus n, as shells give it."""


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Inside, SIGTERM and SIGHUP end the program as Ctrl-C does: temporary files are removed on the way out.

    Signals that the program ignores, as under nohup, stay ignored; outside the main thread nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.getsignal(each) for each in _ENDING}
    for each, handler in before.items():
        if handler == signal.SIG_DFL:
            signal.signal(each, _end)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(_SHELL_OFFSET + number)
