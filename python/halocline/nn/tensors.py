# SPDX-License-Identifier: Apache-2.0
"""Weights by name, from safetensors files: read, checked for what is missing or too much, written."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..base import limits
from ..base.errors import CorruptData, Error, IoError
from ..base.extras import needs
from ..base.files import file_only, open_regular, write_file
from ..base.values import path_text, shown
from .layers import Array

MAX_VALUES = limits.WEIGHT_COUNT
"""Numbers in the weights of a model."""

_TYPES = ("F16", "F32", "F64", "I8", "I16", "I32", "I64", "U8")
_LISTED = 8


def _damage() -> tuple[type[Exception], ...]:
    """What safetensors raises for a file that it cannot read; nothing where it is not installed."""
    if find_spec("safetensors") is None:
        return ()
    from safetensors import SafetensorError

    return (SafetensorError,)


@contextlib.contextmanager
def file_errors(path: str, doing: str) -> Iterator[None]:
    """Turns what the operating system and safetensors raise into errors of this package."""
    try:
        yield
    except Error:
        raise
    except OSError as error:
        raise IoError(f"{path}: cannot {doing} ({error.strerror or error})") from None
    except _damage() as error:
        raise CorruptData(f"{path}: no safetensors file, or a damaged one ({error})") from None


def read_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, Array], dict[str, str]]:
    """Tensors of a safetensors file as float64 arrays, by name, and the metadata of the file."""
    with needs("nn", "weights"):
        from safetensors import safe_open
    name = path_text(path, "weights")
    with file_errors(name, "read"):
        _check_file(name)
        with safe_open(name, framework="numpy") as file:
            tensors, values = {}, 0
            for key in file.keys():  # noqa: SIM118 (the file is no dictionary)
                part = file.get_slice(key)
                shape = part.get_shape()
                if len(shape) > limits.TENSOR_DIMENSIONS or max(shape, default=0) > MAX_VALUES:
                    raise CorruptData(
                        f"{name}: tensor {key!r:.200} has {len(shape)} dimensions of up to "
                        f"{shown(max(shape))}, expected at most {limits.TENSOR_DIMENSIONS} of up to "
                        f"{MAX_VALUES}; save the weights again"
                    )
                values += math.prod(shape)
                if part.get_dtype() not in _TYPES:
                    raise CorruptData(
                        f"{name}: tensor {key!r:.200} has type {part.get_dtype()}, supported are "
                        + ", ".join(_TYPES)
                    )
                if values > MAX_VALUES:
                    raise CorruptData(
                        f"{name}: more than {MAX_VALUES} numbers, which is the limit for a model"
                    )
                tensors[key] = np.asarray(file.get_tensor(key), dtype=np.float64)
            return tensors, dict(file.metadata() or {})


def _check_file(name: str) -> None:
    """What safetensors does not check: that it is a regular file, and how large file and header are."""
    with open_regular(name, "weights") as file:
        size = os.fstat(file.fileno()).st_size
        header = int.from_bytes(file.read(8), "little")
    if size > limits.WEIGHTS or header > limits.WEIGHTS_HEADER:
        raise CorruptData(
            f"{name}: {size} bytes with a header of {header}, expected at most {limits.WEIGHTS} and "
            f"{limits.WEIGHTS_HEADER} for a safetensors file; "
            "safetensors.torch.save_file(module.state_dict(), path) writes one of a torch module"
        )


def write_tensors(
    tensors: Mapping[str, Any], path: str | os.PathLike[str], metadata: Mapping[str, str]
) -> None:
    """A safetensors file of these arrays."""
    with needs("nn", "weights"):
        from safetensors.numpy import save
    name = file_only(path, "weights")
    with file_errors(name, "write"):
        arrays = {key: np.ascontiguousarray(value) for key, value in tensors.items()}
        write_file(name, save(arrays, dict(metadata)))


def names_text(names: Iterable[str]) -> str:
    """Names for a message: the first few, and how many more."""
    ordered = sorted(names)
    more = f" and {len(ordered) - _LISTED} more" if len(ordered) > _LISTED else ""
    return ", ".join(f"{each!r:.200}" for each in ordered[:_LISTED]) + more


def check_names(found: Iterable[str], expected: Iterable[str], optional: Iterable[str], what: str) -> None:
    """CorruptData that names the tensors that are missing and those that nothing uses."""
    there, needed = set(found), set(expected)
    missing, extra = needed - there, there - needed - set(optional)
    parts = [
        f"{text}: {names_text(names)}"
        for text, names in (("tensors missing", missing), ("tensors that no layer uses", extra))
        if names
    ]
    if parts:
        raise CorruptData(
            f"{what}: {'; '.join(parts)}. Weights must hold exactly the tensors of the model's layers"
        )
