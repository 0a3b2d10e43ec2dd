# SPDX-License-Identifier: Apache-2.0
"""Key switches at key nodes, as an engine sees them."""
