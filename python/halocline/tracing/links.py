# SPDX-License-Identifier: Apache-2.0
"""Links over which a program's bytes come: rate, latency, requests in flight."""

from __future__ import annotations

import dataclasses
import json

from .. import _core
from ..base.errors import InvalidArgument
from ..base.values import expect, integer, positive
from .replay import DeviceModel

MIN_RATE, MAX_RATE = 1e6, 5e14
"""Bytes per second that a link may have: the limits of device models."""
MAX_LATENCY = 1000.0
"""Seconds."""
MAX_REQUESTS = 65_536
"""Most requests in flight of one link."""

_TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_EXPECTED = (
    'a name or a rate such as "12GB/s", with commas behind it latency=50us and requests=8 where they matter'
)


@dataclasses.dataclass(frozen=True)
class Link:
    """A link between the memory of a device and the place where keys wait; each direction has the rate.

    A request of b bytes occupies the link for latency / requests + b / bytes_per_second: with that many
    requests in flight, one ends on average in each such time once the first one has arrived.
    """

    name: str
    """For reports."""
    bytes_per_second: float
    latency_seconds: float = 0.0
    """From a request to its first byte."""
    requests: int = 1
    """In flight at once."""
    source: str = "given"
    """Where the numbers come from; "given" for those of the caller."""

    def __post_init__(self) -> None:
        if not MIN_RATE <= positive(self.bytes_per_second, "link: rate") <= MAX_RATE:
            raise InvalidArgument(
                f"link: {self.bytes_per_second:.4g} bytes per second; expected {MIN_RATE:.0e} to "
                f"{MAX_RATE:.0e}"
            )
        integer(self.requests, "link: requests", 1, MAX_REQUESTS)
        if not 0 <= self.latency_seconds <= MAX_LATENCY:
            raise InvalidArgument(
                f"link: latency of {self.latency_seconds} s; expected 0 to {MAX_LATENCY:.0f}"
            )

    @classmethod
    def of(cls, link: str | Link) -> Link:
        """A link by name (LINKS), or from text such as "12GB/s,latency=50us,requests=8"; names take both too.

        Raises InvalidArgument that says what was expected.
        """
        return link_of(link)

    @property
    def seconds_per_request(self) -> float:
        """That a request occupies the link besides its bytes."""
        return self.latency_seconds / self.requests

    @property
    def first_seconds(self) -> float:
        """That the first request waits beyond what it occupies the link."""
        return self.latency_seconds - self.seconds_per_request

    def on(self, device: DeviceModel) -> DeviceModel:
        """The device with this link in place of its own."""
        content = json.loads(device._core.to_json())
        rates = {"load_bytes_per_s": self.bytes_per_second, "store_bytes_per_s": self.bytes_per_second}
        values = rates | {
            "both_bytes_per_s": 2 * self.bytes_per_second,
            "copy_us": self.seconds_per_request * 1e6,
        }
        source = f"link {self.name}: {self.source}"
        content["constants"] |= {name: {"value": each, "source": source} for name, each in values.items()}
        content["name"] = f"{device.name} over {self.name}"
        return DeviceModel(_core.DeviceModel.from_json(json.dumps(content)))

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        rate = f"{self.bytes_per_second / 1e9:.4g} GB/s"
        name = f"{self.name}, " if self.name in LINKS else ""
        return f"{name}{rate}, latency {self.latency_seconds * 1e6:.4g} us, {self.requests} in flight"


_PAPER = "'The Future of FHE: from a Storage I/O Perspective', section 3.2; latency: estimate"
LINKS = {
    each.name: each
    for each in (
        Link("hbm", 1000e9, 1e-6, 64, _PAPER),
        Link("ddr", 358.4e9, 1e-6, 64, _PAPER),
        Link("pcie", 64e9, 10e-6, 16, _PAPER),
        Link("rdma", 12.5e9, 20e-6, 16, _PAPER),
        Link("http", 1.25e9, 1e-3, 8, "10 Gbit/s, 8 connections as of KeyStore; latency: estimate"),
    )
}
"""Links by name: rates are decimal."""


def link_of(link: str | Link) -> Link:
    """See `Link.of`."""
    if isinstance(link, Link):
        return link
    first, *rest = (part.strip() for part in expect(link, str, "link").split(","))
    made = LINKS.get(first) or Link(first, _rate(first, link))
    changes: dict[str, object] = {}
    for part in rest:
        name, equals, value = part.partition("=")
        if name not in ("latency", "requests") or not equals or _FIELDS[name] in changes:
            raise InvalidArgument(f"link: got {link!r}, expected {_EXPECTED}, each once")
        changes[_FIELDS[name]] = _time(value, link) if name == "latency" else _count(value, link)
    if not changes:
        return made
    return dataclasses.replace(made, name=link, source="given", **changes)  # type: ignore[arg-type]


_FIELDS = {"latency": "latency_seconds", "requests": "requests"}


def _rate(text: str, link: str) -> float:
    size, slash, unit = text.rpartition("/")
    try:
        if not slash or unit.strip() != "s":
            raise ValueError
        return float(_core.parse_bytes(size.strip()))
    except ValueError:  # InvalidArgument too
        names = ", ".join(LINKS)
        raise InvalidArgument(f"link: got {link!r}, expected {_EXPECTED}; names: {names}") from None


def _time(text: str, link: str) -> float:
    for unit, seconds in _TIMES.items():
        if text.endswith(unit):
            try:
                return float(text.removesuffix(unit)) * seconds
            except ValueError:
                continue
    raise InvalidArgument(f"link: got {link!r}, expected a latency such as 50us or 2ms")


def _count(text: str, link: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidArgument(f"link: got {link!r}, expected requests=COUNT, 1 to {MAX_REQUESTS}") from None
