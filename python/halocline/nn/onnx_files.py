# SPDX-License-Identifier: Apache-2.0
"""ONNX files: messages, and the numbers in them or beside them, with sizes checked before memory is taken."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..base import limits
from ..base.errors import CorruptData
from ..base.extras import needs
from ..base.files import open_regular, read_file
from ..base.values import path_text
from .model import checked_shape
from .onnx_wire import check_fields
from .tensors import names_text

MAX_NODES = 1 << 14
"""Operators of a graph; each becomes some layers, of which a model has a limit of its own."""


def read_model(source: Any) -> tuple[Any, Path | None]:
    """The message in a file or in bytes, and the folder of the file."""
    with needs("onnx", "from_onnx"):
        import onnx
        from google.protobuf.message import DecodeError

    if isinstance(source, bytes | bytearray | memoryview):
        data, folder, what = bytes(source), None, "from_onnx: bytes"
        if len(data) > limits.ONNX:
            raise CorruptData(f"{what}: {len(data)}, expected at most {limits.ONNX}")
    else:
        path = Path(path_text(source, "from_onnx"))
        data, folder, what = read_file(path, "from_onnx", limits.ONNX), path.parent, f"from_onnx: {path}"
    check_fields(data, onnx.ModelProto.DESCRIPTOR, what)
    try:
        model = onnx.ModelProto.FromString(data)
    except DecodeError as error:
        raise CorruptData(f"{what}: no ONNX model ({error})") from None
    if not 1 <= len(model.graph.node) <= MAX_NODES:
        raise CorruptData(f"{what}: {len(model.graph.node)} operators, expected 1 to {MAX_NODES}")
    return model, folder


class Tensors:
    """Arrays of tensors; counts their numbers."""

    def __init__(self, folder: Path | None) -> None:
        with needs("onnx", "from_onnx"):
            import onnx

        self._onnx, self._folder, self._count = onnx, folder, 0

    def array(self, tensor: Any) -> Any:
        """A tensor's numbers: integers as int64, others as float64."""
        what = f"from_onnx: tensor {tensor.name!r:.200}"
        if len(tensor.dims) > limits.TENSOR_DIMENSIONS:  # before sizes are multiplied
            raise CorruptData(
                f"{what}: {len(tensor.dims)} dimensions, expected at most {limits.TENSOR_DIMENSIONS}; export "
                "the model again"
            )
        shape = tuple(tensor.dims)
        self._count += math.prod(shape) if min(shape, default=0) >= 0 else limits.WEIGHT_COUNT
        if self._count > limits.WEIGHT_COUNT or min(shape, default=0) < 0:
            raise CorruptData(
                f"{what} of shape {shape!s:.200}: more than {limits.WEIGHT_COUNT} numbers in all, or less "
                "than 0"
            )
        if tensor.data_location == self._onnx.TensorProto.EXTERNAL:
            tensor = self._loaded(tensor, what)
        try:
            values = self._onnx.numpy_helper.to_array(tensor)
        except Exception as error:  # whatever to_array raises for types and lengths that do not fit
            raise CorruptData(f"{what}: no array ({error})") from None
        if values.dtype.kind not in "biuf":
            raise CorruptData(f"{what}: values of type {values.dtype}, expected real numbers")
        return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)

    def _loaded(self, tensor: Any, what: str) -> Any:
        """The tensor with its bytes, which are in a file in the folder of the model, or below it."""
        place = {each.key: each.value for each in tensor.external_data}
        if self._folder is None:
            raise CorruptData(
                f"{what}: its numbers are in another file; pass the path of the model instead of bytes"
            )
        root = self._folder.resolve()
        location = Path(place.get("location", ""))
        path = (root / location).resolve()
        if location.is_absolute() or not path.is_relative_to(root) or path == root:
            raise CorruptData(
                f"{what}: its numbers are in {str(location)!r:.200}, outside the folder of the model"
            )
        kind = self._onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        length = math.prod(tensor.dims) * kind.itemsize
        try:
            offset, given = int(place.get("offset", 0)), int(place.get("length", length))
        except ValueError:
            raise CorruptData(f"{what}: offset or length of its numbers is no number") from None
        with open_regular(path, "from_onnx") as file:
            size = os.fstat(file.fileno()).st_size
            if given != length or offset < 0 or offset + length > size:
                raise CorruptData(
                    f"{what}: {given} bytes at {offset} of {path.name!r}, which has {size}; expected "
                    f"{length} bytes that are there"
                )
            file.seek(offset)
            content = file.read(length)
        made = self._onnx.TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        made.raw_data = content
        return made


def input_of(graph: Any, shape: Any) -> tuple[str, tuple[int, ...]]:
    """Name of the graph's one input, and its shape without the batch."""
    constants = {each.name for each in graph.initializer}
    inputs = [each for each in graph.input if each.name not in constants]
    if len(inputs) != 1:
        names = names_text(each.name for each in inputs)
        raise CorruptData(f"from_onnx: {len(inputs)} inputs ({names}); supported is one")
    if shape is not None:
        return inputs[0].name, checked_shape(shape)
    sizes = [each.dim_value for each in inputs[0].type.tensor_type.shape.dim][1:]
    if len(sizes) not in (1, 3) or min(sizes) < 1:
        raise CorruptData(
            f"from_onnx: input {inputs[0].name!r:.200} has sizes {sizes!s:.200} behind the batch, 0 "
            "for unknown ones; pass input_shape= as (channels, rows, columns) or (features,)"
        )
    return inputs[0].name, checked_shape(sizes)
