# SPDX-License-Identifier: Apache-2.0
"""Slowdown of applications and operations by memory budget."""
