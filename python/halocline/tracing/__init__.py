# SPDX-License-Identifier: Apache-2.0
"""Replays and plans of traces."""
