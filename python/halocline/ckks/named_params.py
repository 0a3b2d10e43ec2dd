# SPDX-License-Identifier: Apache-2.0
"""Parameter sets by the names that people give them: presets and files."""

from __future__ import annotations

from pathlib import Path

from ..base import limits
from ..base.errors import InvalidArgument
from ..base.files import NO_LIMIT, is_standard, read_file
from .params import Params, preset_names


def named_params(name: str | Params, allow_insecure: bool = False) -> Params:
    """A preset by name, or the parameters in a file: JSON, or any container. Parameters stay."""
    if isinstance(name, Params):
        return name
    if name in preset_names():
        return Params.preset(name, allow_insecure=allow_insecure)
    path = Path(name)
    if not is_standard(name) and not path.exists():
        raise InvalidArgument(
            f"parameters '{name}': neither a preset nor a file; presets: {', '.join(preset_names())}"
        )
    if is_standard(name):
        data = read_file(name, "parameters", limits.CONTAINER_STREAM)
        is_json = data[:1] == b"{"
        return (Params.from_json if is_json else Params.from_bytes)(data, allow_insecure=allow_insecure)
    if read_file(path, "parameters", NO_LIMIT, 1) == b"{":
        text = read_file(path, "parameters", limits.PARAMETERS)
        return Params.from_json(text, allow_insecure=allow_insecure)
    return Params.load(path, allow_insecure=allow_insecure)
