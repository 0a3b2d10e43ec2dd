# SPDX-License-Identifier: Apache-2.0
"""The command `halocline`; see the README in this folder."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command line of this process. Exits with 0, 1 (error), 2 (usage) or 130 (Ctrl-C)."""
    try:
        from .app import app

        app()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
