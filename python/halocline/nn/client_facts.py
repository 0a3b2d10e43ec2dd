# SPDX-License-Identifier: Apache-2.0
"""What a client must know of a compiled network to encrypt inputs and to read results: no weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import CorruptData, Error, InvalidArgument
from ..base.values import expect, integer
from ..ckks.ciphertext import Ciphertext
from ..ckks.client import Client
from .layers import Array, Shape
from .layout import Layout
from .model import MAX_VALUES
from .tensor_layout import TensorLayout

MAX_LOG_SLOTS = 20
"""Beyond what parameters have."""


@dataclasses.dataclass(frozen=True)
class EncryptedBatch:
    """Inputs or results of a network, encrypted: `count` images in as many ciphertexts as they take."""

    ciphertexts: tuple[Ciphertext, ...]
    """Those of the first images first, each in the order of channels."""
    count: int
    """Images; ciphertexts may have room for more."""

    def __post_init__(self) -> None:
        parts = tuple(expect(each, Ciphertext, "EncryptedBatch") for each in self.ciphertexts)
        object.__setattr__(self, "ciphertexts", parts)
        integer(self.count, "EncryptedBatch: count", 1)

    @property
    def nbytes(self) -> int:
        """Bytes of all ciphertexts in memory."""
        return sum(each.nbytes for each in self.ciphertexts)

    def __len__(self) -> int:
        return self.count

    def _map_ciphertexts(self, bind: Callable[[Ciphertext], Ciphertext]) -> EncryptedBatch:
        """The same with other ciphertexts: what programs that are run get."""
        return EncryptedBatch(tuple(bind(each) for each in self.ciphertexts), self.count)


@dataclasses.dataclass(frozen=True)
class ClientFacts:
    """Packing and levels of a network's inputs and results."""

    input: TensorLayout
    input_level: int
    """Of encrypted inputs."""
    output: TensorLayout
    output_shape: Shape
    output_scale: float
    """Results are this times the encrypted ones."""

    @property
    def is_single(self) -> bool:
        """Whether one image is one ciphertext, and its result too: there is no place for further images."""
        layouts = (self.input, self.output)
        return all(each.batch == each.parts == 1 for each in layouts)

    def encrypt(self, client: Client, images: npt.ArrayLike) -> EncryptedBatch:
        """Prepared images (count, channels, rows, columns), or (count, features), packed and encrypted."""
        slots = self.input.slots
        packed = self.input.pack(images)
        made = tuple(client.encrypt(each, level=self.input_level, slots=slots) for each in packed)
        return EncryptedBatch(made, len(np.asarray(images)))

    def decrypt(self, client: Client, results: Sequence[Ciphertext], count: int | None = None) -> Array:
        """Results (count, *output_shape); count: None for as many as the ciphertexts have room for."""
        slots = [client.decrypt(each, real=True) for each in results]
        values = self.output.unpack(slots, count) * self.output_scale
        return values.reshape(len(values), *self.output_shape)

    def to_dict(self) -> dict[str, Any]:
        """Plain values: numbers, lists and dictionaries, for JSON."""
        return dataclasses.asdict(self) | {"output_shape": list(self.output_shape)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ClientFacts:
        """The facts that `to_dict` gave. @throws CorruptData where they are none"""
        try:
            shape = tuple(integer(each, "output_shape", 1) for each in values["output_shape"])
            made = cls(
                _layout(values["input"]),
                integer(values["input_level"], "input_level", 0),
                _layout(values["output"]),
                shape,
                float(values["output_scale"]),
            )
        except (Error, TypeError, ValueError, KeyError, ArithmeticError) as error:
            raise CorruptData(f"network: facts for clients cannot be read ({error})") from None
        if int(np.prod(shape, dtype=object)) != made.output.size or not 0 < made.output_scale < np.inf:
            raise CorruptData(
                f"network: results of shape {shape}, scale {made.output_scale}, expected "
                f"{made.output.size} values and a positive scale"
            )
        return made


def _layout(values: Mapping[str, Any]) -> TensorLayout:
    """Of the fields that `dataclasses.asdict` gives."""
    names = {field.name for field in dataclasses.fields(Layout)}
    image = dict(values["image"])
    size = [integer(image[name], name, 1, MAX_VALUES) for name in ("channels", "rows", "columns", "block")]
    if np.prod(size[:3], dtype=object) > MAX_VALUES:
        raise InvalidArgument(f"a layout of {size[:3]} values, expected at most {MAX_VALUES}")
    if image.keys() != names or values.keys() != {"image", "slots", "batch"}:
        raise InvalidArgument(f"a layout with {sorted(image)}, expected {sorted(names)}")
    return TensorLayout(
        Layout(**image), integer(values["slots"], "slots", 2, 1 << MAX_LOG_SLOTS), values["batch"]
    )
