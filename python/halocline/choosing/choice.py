# SPDX-License-Identifier: Apache-2.0
"""What was chosen for a program, and what else there was."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from ..ckks.params import Params
from .evaluation import Evaluation, OutputForecast, size

COLUMNS = ("parameters", "log N", "levels", "bits", "time", "keys", "key bytes", "sent", "memory", "")


@dataclasses.dataclass(frozen=True)
class Choice:
    """Parameters for a program, with a forecast, and the alternatives that were considered."""

    alternatives: tuple[Evaluation, ...]
    """The best first; those that do not give what was wanted last, each with its `problem`."""
    wanted_precision: float
    """Bits that were asked for."""
    failure: float
    """Probability that was asked for."""
    device: str
    """Name of the device model behind the forecast of time."""

    @property
    def best(self) -> Evaluation:
        """The forecast for the parameters that were chosen."""
        return self.alternatives[0]

    @property
    def params(self) -> Params:
        """The parameters that were chosen: 128 bits of security by the tables of the library."""
        return self.best.params

    @property
    def bootstrap(self) -> dict[str, float] | None:
        """Options for `Engine(bootstrap=...)` and `key_plan(bootstrap=...)`; None where none are needed."""
        return self.best.bootstrap

    @property
    def outputs(self) -> tuple[OutputForecast, ...]:
        """Precision of each result under them."""
        return self.best.outputs

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; the parameters are under "params_json"."""
        return {
            "wanted_precision": self.wanted_precision,
            "failure": self.failure,
            "device": self.device,
            "params_json": self.params.to_json(0),
            "alternatives": [each.to_dict() for each in self.alternatives],
        }

    def __str__(self) -> str:
        best = self.best
        lines = [
            f"{best.params.name}: log N {best.params.log_n}, {best.params.max_level} levels, "
            f"scale 2^{math.log2(best.params.level(0).scale):.4g}, "
            f"{best.params.security_bits:.0f} bits of security",
            *(
                f"  {each.name}: level {each.level}, {each.size} values up to {each.largest:.3g}, "
                f"error below {each.error:.2g} ({each.precision:.1f} bits)"
                for each in best.outputs[:8]
            ),
        ]
        if len(best.outputs) > 8:
            lines.append(f"  and {len(best.outputs) - 8} more results")
        if best.bootstrap is not None:
            lines.append(
                f"  {best.bootstraps} bootstraps of Engine(params, keys, bootstrap={best.bootstrap})"
            )
        lines.append(
            f"time on {self.device} by a model of its kernels, everything resident; precision by simulation. "
            "Errors are those of encryption; the program's own approximations of functions come on top"
        )
        return "\n".join([*lines, "", *_table([COLUMNS, *map(_row, self.alternatives)])])


def _row(each: Evaluation) -> tuple[str, ...]:
    return (
        each.params.name,
        str(each.params.log_n),
        str(each.params.max_level),
        f"{each.precision:.1f}",
        duration(each.seconds),
        str(each.keys),
        size(each.key_bytes),
        size(each.sent_bytes + each.sent_key_bytes),
        size(each.memory_bytes),
        each.problem or (f"{each.bootstraps} bootstraps" if each.bootstraps else ""),
    )


def duration(seconds: float) -> str:
    """Three digits of seconds or milliseconds."""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    """Columns as wide as their longest entry, the first and the last to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    made = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)]
        made.append("  ".join([*cells, row[-1]]).rstrip())
    return made
