# SPDX-License-Identifier: Apache-2.0
"""The command `halocline`; see the README in this folder."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from ..base.errors import MissingExtra
from ..base.extras import require


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning in the words of a command: without the place in the code."""
    print(f"warning: {message}", file=sys.stderr)


def main() -> None:
    """Runs the command line of this process. Exits with 0, 1 (error), 2 (usage) or 130 (Ctrl-C)."""
    warnings.showwarning = _warn
    try:
        for module in ("typer", "rich"):
            require(module, "cli", "the command line")
        from .app import app

        app()
    except MissingExtra as error:
        print(f"halocline: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
