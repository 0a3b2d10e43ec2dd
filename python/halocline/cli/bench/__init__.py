# SPDX-License-Identifier: Apache-2.0
"""The command `halocline bench`."""
