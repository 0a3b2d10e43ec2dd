# SPDX-License-Identifier: Apache-2.0
"""Settings of Sphinx for the API reference."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import halocline

from api_reference.docstrings import to_rst

project = "Halocline"
author = "The Halocline authors"
release = halocline.__version__
extensions = ["sphinx.ext.autodoc"]
html_theme = "alabaster"
html_theme_options = {"page_width": "1100px", "sidebar_width": "260px"}
html_show_sourcelink = False
smartquotes = False
autodoc_type_aliases = {"npt.ArrayLike": "numpy.typing.ArrayLike"}
autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
autodoc_inherit_docstrings = True
python_use_unqualified_type_names = True
python_display_short_literal_types = True
maximum_signature_line_length = 90


def _rewrite(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Replaces the lines of a docstring by markup."""
    lines[:] = to_rst(lines)


def setup(app: Any) -> None:
    """Connects what rewrites docstrings."""
    app.connect("autodoc-process-docstring", _rewrite)
