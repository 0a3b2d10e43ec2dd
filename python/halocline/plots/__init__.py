# SPDX-License-Identifier: Apache-2.0
"""Pictures from plain data; the only room that draws."""

from ..base.extras import require

require("matplotlib", "lab", "pictures")
