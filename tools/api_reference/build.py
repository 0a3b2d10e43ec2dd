# SPDX-License-Identifier: Apache-2.0
"""Builds the API reference: pages into build/docs/source, HTML into build/docs/html. Warnings are errors."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from api_reference.pages import write  # noqa: E402  # the folder of tools comes first


def main() -> int:
    """The exit status of Sphinx."""
    from sphinx.cmd.build import main as sphinx

    source, target = ROOT / "build/docs/source", ROOT / "build/docs/html"
    shutil.rmtree(source, ignore_errors=True)
    write(source)
    here = str(Path(__file__).resolve().parent)
    return int(sphinx(["-q", "-W", "--keep-going", "-E", "-c", here, str(source), str(target)]))


if __name__ == "__main__":
    sys.exit(main())
