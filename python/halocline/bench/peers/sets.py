# SPDX-License-Identifier: Apache-2.0
"""What is compared: parameter sets of equal ring degree, and operations with their targets."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from ...base.errors import InvalidArgument


@dataclasses.dataclass(frozen=True)
class OpenfheSettings:
    """Parameters of an OpenFHE context: FIXEDMANUAL scaling, HYBRID key switching."""

    first_bits: int
    """Size of the prime that is left at level 0."""
    digits: int
    """Digits of a key switch (dnum)."""


@dataclasses.dataclass(frozen=True)
class PeerSet:
    """One parameter set. Ours has at least the log Q of the others, and all pass their 128-bit check."""

    name: str
    """Name, which is that of our preset."""
    log_n: int
    levels: int
    """Multiplications one after the other."""
    scale_bits: int
    """Scale of the peers; ours is that of the preset, which drifts by a fraction of a bit around it."""
    seal_bits: tuple[int, ...]
    """Sizes of SEAL's primes; the last is its special prime and not part of Q."""
    openfhe: OpenfheSettings

    @property
    def n(self) -> int:
        """Ring degree."""
        return 1 << self.log_n

    @property
    def slots(self) -> int:
        """Values of a ciphertext."""
        return self.n // 2


SETS = (
    PeerSet("n14-d6", 14, 6, 40, (60, *[40] * 6, 60), OpenfheSettings(first_bits=60, digits=4)),
    # 59, not 60: our preset has log Q 699.5, and it must not be the smaller one.
    PeerSet("n15-d16", 15, 16, 40, (59, *[40] * 16, 60), OpenfheSettings(first_bits=59, digits=6)),
)


@dataclasses.dataclass(frozen=True)
class Operation:
    """An operation on ciphertexts at the highest level with all slots in use."""

    name: str
    target: float | None = None
    """How many times as fast as SEAL it must be."""


ENCODE = "encode"
ENCRYPT = "encrypt"
ENCRYPT_SYMMETRIC = "encrypt symmetric"
DECRYPT = "decrypt"
DECODE = "decode"
DECRYPT_DECODE = "decrypt and decode"
ADD = "add"
MULTIPLY_PLAIN = "multiply by plaintext"
MULTIPLY = "multiply"
RELINEARIZE = "relinearize"
RESCALE = "rescale"
MULTIPLY_FULL = "multiply, relinearize, rescale"
ROTATE = "rotate by 1"

OPERATIONS = (
    Operation(ENCODE, 2.5),
    Operation(ENCRYPT, 2.5),
    Operation(ENCRYPT_SYMMETRIC),
    Operation(DECRYPT, 2.5),
    Operation(DECODE),
    Operation(DECRYPT_DECODE),
    Operation(ADD),
    Operation(MULTIPLY_PLAIN),
    Operation(MULTIPLY),
    Operation(RELINEARIZE),
    Operation(RESCALE, 2.5),
    Operation(MULTIPLY_FULL, 4.3),
    Operation(ROTATE, 4.3),
)

TWO_THREADS_TARGET = 1.7
"""How many times as fast MULTIPLY_FULL must be with two threads as with one, in the largest set."""


def select_sets(names: Iterable[str] | None) -> list[PeerSet]:
    """The sets of these names in the order of `SETS`, all for None. Raises InvalidArgument."""
    if names is None:
        return list(SETS)
    wanted = set(names)
    known = {each.name for each in SETS}
    if not wanted or not wanted <= known:
        unknown = ", ".join(sorted(wanted - known)) or "none given"
        raise InvalidArgument(f"bench peers: set {unknown}; expected some of {', '.join(sorted(known))}")
    return [each for each in SETS if each.name in wanted]
