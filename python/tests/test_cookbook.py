# SPDX-License-Identifier: Apache-2.0
"""Every recipe of the cookbook runs by itself, prints what the page says, and is short."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "guides" / "cookbook.md"
RECIPE = re.compile(r"^## (\d+)\. (.*?)\n.*?^```python\n(.*?)^```", re.M | re.S)
RECIPES = RECIPE.findall(PAGE.read_text())
