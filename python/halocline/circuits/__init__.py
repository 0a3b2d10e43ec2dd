# SPDX-License-Identifier: Apache-2.0
"""Circuits on engines, which they use through a protocol."""
