# SPDX-License-Identifier: Apache-2.0
"""Names that arguments choose from, as types: a misspelt one is an error for type checkers too.

Text from elsewhere, such as a command line, becomes one of them by `policy_name` and so on.
"""

from __future__ import annotations

from typing import Any, Literal, cast, get_args

from .errors import InvalidArgument
from .values import expect, shown

Policy = Literal["resident", "async", "managed", "static", "profiled", "dynamic", "cached", "lru", "planned"]
"""How an engine or client manages memory: docs/concepts/policies.md."""

Device = Literal[
    "cpu", "ghost", "cuda:0", "cuda:1", "cuda:2", "cuda:3", "cuda:4", "cuda:5", "cuda:6", "cuda:7",
    "sycl:0", "sycl:1", "sycl:2", "sycl:3",
]  # fmt: skip
"""Where an engine or client computes; `device_name` takes numbers beyond these."""

Mode = Literal["naive", "bsgs", "double_hoisted", "small_key"]
"""How the rotations of a linear map are organised."""

Order = Literal["cts_first", "stc_first"]
"""The first step of a bootstrap."""

Basis = Literal["monomial", "chebyshev"]
"""What the coefficients of a polynomial belong to."""

Comparison = Literal["sign", "step", "relu", "compare", "maximum", "minimum"]
"""What is made of the sign of encrypted numbers."""

KeyNodeUse = Literal["cheaper", "always"]
"""When an engine sends key switches to a key node."""

WhenNodeFails = Literal["fetch", "raise"]
"""What an engine does when a key node fails: fetch the keys itself, or raise what happened."""


def _one_of(kind: Any, text: object, what: str) -> str:
    known = get_args(kind)
    name = expect(text, str, what)
    if name not in known:
        raise InvalidArgument(f"{what}: unknown name {shown(name)}; expected one of: {', '.join(known)}")
    return name


def policy_name(text: str, what: str = "policy") -> Policy:
    """A text as the name of a policy. Raises InvalidArgument for others."""
    return cast(Policy, _one_of(Policy, text, what))


def device_name(text: str, what: str = "device") -> Device:
    """A text as the name of a device. Whether the machine has it is found out when it is used."""
    return cast(Device, expect(text, str, what))


def key_node_use(text: str, what: str = "use") -> KeyNodeUse:
    """A text as the name of a use of key nodes. Raises InvalidArgument for others."""
    return cast(KeyNodeUse, _one_of(KeyNodeUse, text, what))


def when_node_fails(text: str, what: str = "on_failure") -> WhenNodeFails:
    """A text as the name of what happens when a key node fails. Raises InvalidArgument for others."""
    return cast(WhenNodeFails, _one_of(WhenNodeFails, text, what))
