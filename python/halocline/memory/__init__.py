# SPDX-License-Identifier: Apache-2.0
"""Budgets, traces and plans."""
