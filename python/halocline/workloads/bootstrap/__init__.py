# SPDX-License-Identifier: Apache-2.0
"""The workload `bootstrap`: bootstraps of random messages."""
