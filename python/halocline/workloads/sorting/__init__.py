# SPDX-License-Identifier: Apache-2.0
"""The workload `sorting`: a sorting network."""
