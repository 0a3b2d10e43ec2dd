# SPDX-License-Identifier: Apache-2.0
"""Fields of `BootstrapOptions` as text: `--set name=value`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..base.errors import InvalidArgument
from ..circuits.bootstrapping import BootstrapOptions

_SWITCH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _switch(text: str) -> bool:
    try:
        return _SWITCH[text.lower()]
    except KeyError:
        raise ValueError from None


def _counts(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(","))


def _words(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(","))


_READERS: dict[type, tuple[Callable[[str], Any], str]] = {
    bool: (_switch, "true or false"),
    int: (int, "an integer"),
    float: (float, "a number"),
    str: (str, "text"),
    tuple: (_counts, "integers with commas between them"),
    list: (_words, "words with commas between them"),
}
_OTHER = {
    "slots": int, "memory": str, "range": float, "message_bound": float, "cts_matrices": list,
    "stc_matrices": list,
}  # fmt: skip
"""Kinds of fields that their defaults do not tell."""


def setting_kinds() -> dict[str, type]:
    """Name of each field -> bool, int, float, str, tuple (of integers) or list (of words)."""
    fields = dataclasses.fields(BootstrapOptions)
    return {each.name: _OTHER.get(each.name, type(each.default)) for each in fields}


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Fields of `BootstrapOptions` from "name=value". Raises InvalidArgument."""
    kinds, result = setting_kinds(), {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise InvalidArgument(f"got {setting!r}, expected NAME=VALUE, such as compact=true")
        if name not in kinds:
            raise InvalidArgument(f"unknown name {name!r}, expected one of: {', '.join(kinds)}")
        if name in result:
            raise InvalidArgument(f"{name} is given twice")
        read, expected = _READERS[kinds[name]]
        try:
            result[name] = read(value)
        except ValueError:
            raise InvalidArgument(f"got {setting!r}, expected {expected} behind {name}=") from None
    return result


def check_settings(given: Mapping[str, Any], fixed: Sequence[str] = ()) -> None:
    """Raises InvalidArgument for names that are unknown or `fixed`, and for values that cannot be."""
    kinds = setting_kinds()
    if clash := [name for name in fixed if name in given]:
        raise InvalidArgument(f"{', '.join(clash)} follow from the workload; leave them out")
    if unknown := [name for name in given if name not in kinds]:
        raise InvalidArgument(f"unknown name {unknown[0]!r}, expected one of: {', '.join(kinds)}")
    BootstrapOptions(**given)
