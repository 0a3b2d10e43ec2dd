# SPDX-License-Identifier: Apache-2.0
"""Memory of whole programs before they run: the footprint calculator."""

from __future__ import annotations

import dataclasses

from .. import _core
from ..ckks.params import Params
from .program import ProgramTrace

_COMPLEX_BYTES = 16
_INDEX_BYTES = 4


@dataclasses.dataclass
class Footprint:
    """Bytes by purpose. `rows` keeps the order in which they were added."""

    rows: dict[str, int] = dataclasses.field(default_factory=dict)

    def add(self, name: str, count: int) -> None:
        """Adds bytes to a row."""
        self.rows[name] = self.rows.get(name, 0) + int(count)

    @property
    def total(self) -> int:
        """Sum of all rows."""
        return sum(self.rows.values())

    def __str__(self) -> str:
        parts = (f"{name} {_core.format_bytes(count)}" for name, count in self.rows.items())
        return f"{_core.format_bytes(self.total)}: {', '.join(parts)}"


def encoder_bytes(params: Params) -> int:
    """Tables of the encoder that each client and engine holds: roots of unity and powers of the generator."""
    return 2 * params.n * _COMPLEX_BYTES + params.slots * _INDEX_BYTES


def engine_footprint(params: Params, traced: ProgramTrace) -> Footprint:
    """What an engine occupies that runs a program: keys by formula, the rest by the peaks of a ghost run.

    The peaks of the classes need not coincide, so the sum is an upper bound.
    """
    peaks = traced.stats["peak_by_class"]
    made = Footprint()
    made.add("engine keys", sum(params._request_bytes(*each) for each in traced.key_plan.requests()))
    made.add("engine plaintexts", peaks["plaintext"])
    made.add("engine ciphertexts", peaks["ciphertext"])
    made.add("engine workspace", peaks["scratch"])
    made.add("engine tables", peaks["table"] + encoder_bytes(params))
    return made


def client_footprint(params: Params, traced: ProgramTrace, ciphertexts: int) -> Footprint:
    """What a client occupies with its secret key, the seeded evaluation keys and some fresh ciphertexts."""
    made = Footprint()
    made.add("client keys", params.secret_key_bytes + traced.key_plan.nbytes(seeded=True))
    made.add("client ciphertexts", ciphertexts * params.ciphertext_bytes())
    made.add("client tables", params.table_bytes + encoder_bytes(params))
    return made
