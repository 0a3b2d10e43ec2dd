# SPDX-License-Identifier: Apache-2.0
"""Workloads of `halocline run`; see the README in this folder."""
