# SPDX-License-Identifier: Apache-2.0
"""How the records of a database are arranged, and what that means for queries."""

from __future__ import annotations

from typing import Any

from .. import _core
from ..base.errors import InvalidArgument
from ..base.values import byte_count, integer


def make_geometry(
    params: _core.RetrievalParams,
    records: int,
    record_bytes: int,
    *,
    device: str = "cpu",
    batch: int = 1,
    rows: int | None = None,
    memory: int | str | None = None,
) -> _core.RetrievalGeometry:
    """The arrangement that costs least on a device.

    rows: N0, where it is to be given. memory: the server's budget, where the database may be larger.
    """
    if device != "cpu" and not device.startswith("cuda"):
        raise InvalidArgument(f"pir: layouts are chosen for 'cpu' or a GPU; got device {device!r}")
    return _core.RetrievalGeometry.make(
        params,
        integer(records, "pir: records", 1, (1 << 63) - 1),
        integer(record_bytes, "pir: record_bytes", 1, (1 << 63) - 1),
        device,
        1,
        integer(batch, "pir: batch", 1, 1 << 20),
        0 if rows is None else integer(rows, "pir: rows", 1, 1 << 13),
        0,
        0 if memory is None else byte_count(memory, "pir: memory"),
    )


_CLAIMED = {"paper": "117 bits by its authors"}
"""Of presets that no table rates."""


def security_of(params: _core.RetrievalParams) -> str:
    """How secure parameters are, and who says so."""
    if params.security_bits:
        return f"{params.security_bits:.1f} bits by published tables"
    for name, claim in _CLAIMED.items():
        if params.fields() == _core.RetrievalParams.preset(name, True).fields():
            return f"not rated by published tables, {claim}"
    return "not rated by published tables"


def describe_geometry(core: _core.RetrievalGeometry) -> dict[str, Any]:
    """Sizes on the wire, security, failure probability, arrangement."""
    about = core.about()
    sizes = _core.retrieval_message_sizes(core)
    about |= {f"{name}_bytes": count for name, count in sizes.items()}
    params = core.params
    about |= {"params": params.fields()["name"], "n": params.n}
    about |= {"security_bits": params.security_bits or None, "security": security_of(params)}
    return about | {"fingerprint": core.fingerprint.hex(), "key_shape": core.key_shape.hex()}
