# SPDX-License-Identifier: Apache-2.0
"""Arguments of programs that are not encrypted yet."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..base.errors import InvalidArgument
from ..base.values import expect, integer
from .array import EncryptedArray
from .packing import Packing, check_shape


@dataclasses.dataclass(frozen=True)
class ArraySpec:
    """What an encrypted array will be: stands for it where programs run without data.

    `hc.key_plan(params, program, hc.ArraySpec((64, 64)))` says which keys the program needs, before anything
    is encrypted; `trace_program` and all that run programs on ghosts take it too.

    shape: lengths of the axes, each at least 1.
    real: whether the numbers are real.
    level: of the fresh array, the highest unless given.
    packing: where the elements are, as `client.encrypt_array` puts them unless given.
    """

    shape: tuple[int, ...]
    real: bool = True
    level: int | None = None
    packing: Packing | None = None

    def __post_init__(self) -> None:
        shape = check_shape((self.shape,) if isinstance(self.shape, int) else self.shape, "ArraySpec: shape")
        object.__setattr__(self, "shape", shape)
        if self.level is not None:
            integer(self.level, "ArraySpec: level", 0)
        if self.packing is not None and expect(self.packing, Packing, "ArraySpec: packing").shape != shape:
            raise InvalidArgument(f"ArraySpec: a packing of shape {self.packing.shape} for the shape {shape}")

    def _stand_in(self, engine: Any) -> EncryptedArray:
        """An array without contents on a ghost engine."""
        packing = self.packing or Packing.of(self.shape, engine.params.slots)
        how = {"level": self.level, "slots": packing.slots, "real": self.real}
        return EncryptedArray([engine.ghost_input(**how) for _ in packing.numbers], packing)

    def __program_identity__(self) -> Any:
        packing = self.packing
        return self.shape, self.real, self.level, None if packing is None else dataclasses.astuple(packing)
