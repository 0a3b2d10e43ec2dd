# SPDX-License-Identifier: Apache-2.0
"""Programs on encrypted arrays beside the same programs in numpy."""

from collections.abc import Callable
from typing import Any

import halocline as hc
import numpy as np

SEED = bytes(range(32))
TOLERANCE = 2.0**-16
"""At scale 2^40 in the test presets each operation adds less than 2^-24 to values up to 8; sums of up to a
thousand elements and products of three factors stay below 2^-16."""


class ArrayRig:
    """A client, and runs of programs with just the keys that they need."""

    def __init__(self, preset: str = "test-n11-d8") -> None:
        self.params = hc.Params.preset(preset, allow_insecure=True)
        self.client = hc.Client(self.params, seed=SEED, threads=1)
        self.keys: hc.EvaluationKeys | None = None

    def engine_for(self, program: Callable[..., Any], *arrays: Any, **options: Any) -> hc.Engine:
        """An engine with the keys of a program; keys of earlier ones are kept."""
        self.keys = self.client.keys_for(program, *arrays, extend=self.keys)
        return hc.Engine(self.params, self.keys, threads=1, **options)

    def run(self, program: Callable[..., Any], *arrays: Any, **options: Any) -> Any:
        """What a program makes of the encryptions of plain arrays, or of encrypted ones."""
        given = [
            each if isinstance(each, hc.EncryptedArray) else self.client.encrypt_array(each)
            for each in arrays
        ]
        return self.engine_for(program, *given, **options).run(program, *given)

    def check(self, program: Callable[..., Any], *arrays: Any, level: int | None = None) -> hc.EncryptedArray:
        """Compares a program with numpy: shape, values, the zeros between them, and the levels it costs."""
        made = self.run(program, *arrays)
        wanted = np.asarray(program(*arrays))
        self.compare(made, wanted)
        if level is not None:
            assert self.params.max_level - made.level == level
        return made

    def compare(self, made: hc.EncryptedArray, wanted: Any) -> None:
        """Compares an encrypted array with a plain one; slots without an element must be 0 if it says so."""
        got = self.client.decrypt(made)
        assert isinstance(made, hc.EncryptedArray)
        assert got.shape == made.shape == np.shape(wanted)
        assert np.abs(got - wanted).max() < TOLERANCE * max(1.0, float(np.abs(wanted).max()))
        if made.is_clean:
            vectors = [self.client.decrypt(each) for each in made.parts]
            apart = np.abs(np.asarray(vectors) - np.asarray(made.packing.pack(np.asarray(wanted))))
            assert apart.max() < TOLERANCE * max(1.0, float(np.abs(wanted).max()))
