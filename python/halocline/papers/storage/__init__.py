# SPDX-License-Identifier: Apache-2.0
"""A paper on keys that do not wait in fast memory: its figures in closed form and simulated."""
