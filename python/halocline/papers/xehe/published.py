# SPDX-License-Identifier: Apache-2.0
"""What the XeHE paper and its book publish.

Paper: "Accelerating Encrypted Computing on Intel GPUs" (2021), as a chapter whose text ends at Figure 20.
Book: "SYCL Sparkler", XeHE (CC BY 4.0), whose data folders count figures to 26. Every entry
names its numbering.
"""

from __future__ import annotations

from typing import Any

TRANSFORMS_MS: dict[str, dict[str, float | None]] = {
    "naive radix 2": {"device1": 40.85, "device2": 218.7},
    "SIMD(8,8)": {"device1": 31.87, "device2": 141.3},
    "radix 4": {"device1": 10.98, "device2": None},
    "radix 8": {"device1": 9.64, "device2": 39.95},
    "radix 16": {"device1": 24.73, "device2": None},
    "radix 8, assembly": {"device1": 6.97, "device2": 31.14},
    "radix 8, assembly, two tiles": {"device1": 4.11, "device2": None},
}
"""Milliseconds of 1024 transforms of 32K points: the book's data, folders Fig15-Fig20 and Fig23."""
TRANSFORMS = 1024

TEXT: list[dict[str, Any]] = [
    {"figure": "17", "device": "device1", "what": "routines, radix 8 instead of naive", "gain": "43.5 %"},
    {"figure": "17", "device": "device1", "what": "routines, assembly", "gain": "27.4 %"},
    {"figure": "17", "device": "device1", "what": "routines, two tiles", "gain": "49.5 to 78.2 %"},
    {"figure": "17", "device": "device1", "what": "routines, all steps, at most", "gain": "3.05 times"},
    {"figure": "19", "device": "device2", "what": "routines, SIMD(8,8)", "gain": "29.6 %"},
    {"figure": "19", "device": "device2", "what": "routines, radix 8", "gain": "1.92 times"},
    {"figure": "19", "device": "device2", "what": "routines, all steps", "gain": "2.32 to 2.41 times"},
    {
        "figure": "20",
        "device": "device1",
        "what": "fused multiply-add and assembly, 100x100x1",
        "gain": "11.8 %",
    },
    {
        "figure": "20",
        "device": "device1",
        "what": "fused multiply-add and assembly, 10x9x8",
        "gain": "28.2 %",
    },
    {"figure": "20", "device": "device1", "what": "memory cache, both", "gain": "about 90 %"},
    {"figure": "20", "device": "device1", "what": "all steps", "gain": "2.68 and 2.79 times"},
    {"figure": "20", "device": "device2", "what": "all steps", "gain": "3.11 and 2.82 times"},
]
"""Gains that the paper's text states, with the figures of the paper. It gives no times of routines."""
