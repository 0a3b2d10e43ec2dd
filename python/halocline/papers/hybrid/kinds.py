# SPDX-License-Identifier: Apache-2.0
"""Kinds of bootstrapping that BM-bootstrap compares."""

from __future__ import annotations

from typing import Any

SPARSE_SLOTS = 8

KINDS: dict[str, dict[str, Any]] = {
    "full": {},
    "full-stc": {"order": "stc_first"},
    "sparse": {"slots": SPARSE_SLOTS},
    "sparse-stc": {"slots": SPARSE_SLOTS, "order": "stc_first"},
    "real": {"real": True},
    "small-key": {"cts_mode": "small_key", "stc_mode": "small_key"},
}
"""Kind -> fields of `BootstrapOptions`: all slots or few, both orders, real messages, few keys."""
