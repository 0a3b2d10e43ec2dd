# SPDX-License-Identifier: Apache-2.0
"""How networks are compiled."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ..base.errors import InvalidArgument
from ..base.names import Mode
from ..base.values import expect, integer
from ..circuits.bootstrapping import BootstrapOptions

MAX_BATCH = 1 << 16
"""Inputs at once."""
_ORGANISATION = {"cts_mode", "stc_mode", "baby_count", "compact", "cts_matrices", "stc_matrices"}
"""Options of bootstraps that change neither levels nor scales."""


@dataclasses.dataclass(frozen=True)
class CompileOptions:
    """How a network is compiled."""

    mode: Mode = "bsgs"
    """How rotations of linear maps are organised: see `halocline.LinearTransform`. Layers have hundreds of
    diagonals, whose expansion costs more than rotations do; double hoisting needs more primes for each."""
    baby_count: int = 0
    """Baby steps of each giant step there; 0 lets a cost model choose."""
    compact: bool = True
    """Keep weights as integer coefficients and expand them at each use."""
    encode: str = "keep"
    """"keep": encoded weights stay with the engine; "fly": they are encoded at each use and dropped, which
    takes least memory and most work."""
    batch: int = 1
    """Inputs that come at once. From 2 on as many of them share a ciphertext as fit, which takes least time
    for each; 1: what takes least time for a single one. Programs take any number of inputs in either case."""
    fresh_level: int | None = None
    """Of the encrypted input; None: the least that is enough."""
    bootstrap: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Fields of `halocline.BootstrapOptions` instead of those chosen for the network."""
    first_bootstraps: int = 0
    """So many bootstraps at the beginning are organised as `first_bootstrap` says. With fewer keys, as of
    cts_mode "small_key", a run whose keys are not there yet computes while those of the others are loaded."""
    first_bootstrap: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Their cts_mode, stc_mode, baby_count and compact, where they differ from the others."""

    def __post_init__(self) -> None:
        if self.encode not in ("keep", "fly"):
            raise InvalidArgument(f"compile: encode {self.encode!r}, expected 'keep' or 'fly'")
        expect(self.compact, bool, "compile: compact")
        integer(self.batch, "compile: batch", 1, MAX_BATCH)
        if self.fresh_level is not None:
            integer(self.fresh_level, "compile: fresh_level", 0)
        known = {field.name for field in dataclasses.fields(BootstrapOptions)}
        if not isinstance(self.bootstrap, Mapping) or self.bootstrap.keys() - known:
            raise InvalidArgument(
                f"compile: bootstrap {self.bootstrap!r:.200}, expected a dictionary with some of "
                f"{', '.join(sorted(known))}"
            )

        integer(self.first_bootstraps, "compile: first_bootstraps", 0)
        if not isinstance(self.first_bootstrap, Mapping) or self.first_bootstrap.keys() - _ORGANISATION:
            raise InvalidArgument(
                f"compile: first_bootstrap {self.first_bootstrap!r:.200}, expected a dictionary with some of "
                f"{', '.join(sorted(_ORGANISATION))}"
            )

    @property
    def keep(self) -> bool:
        """Whether encoded weights stay."""
        return self.encode == "keep"
