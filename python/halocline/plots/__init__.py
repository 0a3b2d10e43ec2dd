# SPDX-License-Identifier: Apache-2.0
"""Pictures from plain data; only this package imports matplotlib."""

from ..base.extras import require

require("matplotlib", "lab", "pictures")
