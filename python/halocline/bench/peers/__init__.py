# SPDX-License-Identifier: Apache-2.0
"""The parts of `halocline bench peers`; see the README in this folder."""

from ...base.extras import require

require("rich", "lab", "bench peers")
