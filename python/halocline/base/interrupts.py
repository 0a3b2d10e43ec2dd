# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while a command is still importing: a line instead of a traceback.

`halocline/__init__.py` imports this before anything that takes long, which is all that it needs; from
`cli.main` on, commands handle interrupts themselves. Programs that import the package are not concerned.
"""

from __future__ import annotations

import sys
from pathlib import PurePath
from types import TracebackType


def is_command() -> bool:
    """Whether this process is `halocline` or `python -m halocline`."""
    if not sys.argv:
        return False
    if sys.argv[0] == "-m":  # as long as the package is looked up
        place = sys.orig_argv.index("-m") if "-m" in sys.orig_argv else -1
        return 0 < place < len(sys.orig_argv) - 1 and sys.orig_argv[place + 1] == "halocline"
    return PurePath(sys.argv[0]).stem == "halocline"


def expect_interrupts() -> None:
    """From now on an interrupt that nothing catches says one line, if this process is a command."""
    if not is_command():
        return
    before = sys.excepthook

    def say(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            print("interrupted", file=sys.stderr)
        else:
            before(kind, error, where)

    sys.excepthook = say


expect_interrupts()
