# SPDX-License-Identifier: Apache-2.0
"""The workload `digits`: handwritten digits."""
