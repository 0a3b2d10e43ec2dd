# SPDX-License-Identifier: Apache-2.0
"""Errors, checks of values, reading and writing of files with limits, progress, optional packages."""
