# SPDX-License-Identifier: Apache-2.0
"""A paper on unified memory for encrypted programs: its workloads on our engine."""
