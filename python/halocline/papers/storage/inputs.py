# SPDX-License-Identifier: Apache-2.0
"""Inputs of "The Future of Fully Homomorphic Encryption System: from a Storage I/O Perspective".

APPT 2025, pages 337 to 351. Bytes are decimal: with the paper's labels read as GB/s the slowdowns of its text
come out, with GiB/s they do not.
"""

from __future__ import annotations

import dataclasses

from ...base.errors import InvalidArgument

GIGA = 1e9

TIERS = {"hbm": 1000 * GIGA, "ddr": 358.4 * GIGA, "pcie": 64 * GIGA, "rdma": 12.5 * GIGA}
"""Bytes per second of the places where keys wait (section 3.2)."""
NETWORKS = {"ethernet": 50 * GIGA, "fastfabric": 300 * GIGA}
"""Bytes per second between hosts (section 3.2)."""
HOSTS = (1, 2, 4, 8, 16, 32)
"""Hosts of figures 6 and 7."""
ACCELERATORS = ("sharp", "tensorfhe")
APPLICATIONS = ("resnet20", "helr")
KEY_SET_BYTES = {"sharp": 5 * 2**30, "tensorfhe": 5.5 * 5 * 2**30}
"""Keys of a user for ResNet-20: "exceeding 5GiB"; a key of TensorFHE is 5.5 times as large (section 4.3)."""
SHARP_KEY_MEMORY = 0.18 * GIGA
"""Keys near the arithmetic of SHARP: its register file. That of TensorFHE is an option."""

TENSORFHE_SHARE = {"resnet20": 2.8, "helr": 4.5}
"""Key bytes of TensorFHE over those of SHARP (section 4.3)."""
HELR_TEXT_RATE = 5130 * GIGA
"""Key bytes per second of SHARP on HELR as section 4.3 states them."""
HELR_SLOWDOWN_RATE = 4453 * GIGA
"""The same as the slowdowns of section 4.3 imply them: 13 % less."""


@dataclasses.dataclass(frozen=True)
class Scaling:
    """How time shrinks with hosts: 1 / E(n) = 1/n + (1 - 1/n) s, with s from E at 32 hosts.

    The paper states averages over applications and tiers at 32 hosts, and shares for ResNet-20 with keys
    behind PCIe and Ethernet between the hosts. The constants are fitted to these; points between are not in
    its text.
    """

    compute: float
    """Speedup of compute at 32 hosts."""
    io: float
    """Speedup of key loads at 32 hosts."""
    ethernet: float
    """Communication over Ethernet at 32 hosts, in runs of the accelerator alone."""

    def gain(self, at_32: float, hosts: int) -> float:
        """Speedup of a part at so many hosts."""
        serial = (1 / at_32 - 1 / 32) / (1 - 1 / 32)
        return 1 / (1 / hosts + (1 - 1 / hosts) * serial)

    def communication(self, network: str, hosts: int) -> float:
        """Each host receives the limbs of the others: (n - 1) / n of all."""
        share = (1 - 1 / hosts) / (1 - 1 / 32)
        return self.ethernet * share * NETWORKS["ethernet"] / NETWORKS[network]


@dataclasses.dataclass(frozen=True)
class Case:
    """An application on an accelerator."""

    accelerator: str
    application: str
    seconds: float
    """With all data beside the arithmetic: an image, or an iteration."""
    rate: float
    """Key bytes that it needs per second of that."""
    scaling: Scaling
    source: str
    """Where the numbers are from."""

    @property
    def key_bytes(self) -> float:
        """Key bytes of an image or iteration, with each use fetched."""
        return self.seconds * self.rate


_SHARP = {"resnet20": Scaling(17.1, 17.1, 19.1), "helr": Scaling(14.0, 14.0, 28.2)}
_TENSORFHE = {
    "resnet20": Scaling(6.177, 19.593, 0.16875),
    "helr": Scaling(6.177, 19.593, 0.30123),
}
_RESNET_BYTES = 0.099 * 1633 * GIGA
_HELR_BYTES = 2.53e-3 * HELR_TEXT_RATE

CASES = {
    (each.accelerator, each.application): each
    for each in (
        Case(
            "sharp",
            "resnet20",
            0.099,
            1633 * GIGA,
            _SHARP["resnet20"],
            "99 ms (SHARP, ISCA 2023); 1633 bytes per cycle of 1 GHz (section 4.3)",
        ),
        Case(
            "sharp",
            "helr",
            2.53e-3,
            HELR_SLOWDOWN_RATE,
            _SHARP["helr"],
            "2.53 ms an iteration (SHARP, ISCA 2023); 4453 bytes per cycle, as its slowdowns imply",
        ),
        Case(
            "tensorfhe",
            "resnet20",
            4.94,
            TENSORFHE_SHARE["resnet20"] * _RESNET_BYTES / 4.94,
            _TENSORFHE["resnet20"],
            "4.94 s (TensorFHE, HPCA 2023, on an A100); 2.8 times the bytes of SHARP (section 4.3)",
        ),
        Case(
            "tensorfhe",
            "helr",
            0.222,
            TENSORFHE_SHARE["helr"] * _HELR_BYTES / 0.222,
            _TENSORFHE["helr"],
            "0.222 s an iteration, solved from the slowdowns; 4.5 times the bytes of SHARP (section 4.3)",
        ),
    )
}
HELR_BY_TEXT = dataclasses.replace(
    CASES["sharp", "helr"], rate=HELR_TEXT_RATE, source="5130 bytes per cycle, as section 4.3 states it"
)
"""SHARP on HELR with the other input."""


def case(accelerator: str, application: str) -> Case:
    """One of the four cases."""
    found = CASES.get((accelerator, application))
    if found is None:
        known = ", ".join(" ".join(each) for each in CASES)
        raise InvalidArgument(
            f"paper storage: no case '{accelerator} {application}'; expected one of: {known}"
        )
    return found
