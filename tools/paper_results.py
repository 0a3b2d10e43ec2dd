# SPDX-License-Identifier: Apache-2.0
"""Tables of docs/papers/hybrid_unified_memory.md from the JSON of `halocline bench hybrid-paper`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

Json = dict[str, Any]
SCHEMA = 1
SCHEMES = ("managed", "static", "profiled", "dynamic")
POLICIES = (*SCHEMES, "lru", "planned")
DEVICE_NAMES = {"gtx1050": "GTX 1050, 2 GB", "gtx1660ti": "GTX 1660 Ti, 6 GB"}


class Claim(NamedTuple):
    """One row: what the paper says, its figure, ours, and whether they agree."""

    text: str
    paper: str
    ours: str
    verdict: str


def paper_lines(data: Json) -> Iterator[str]:
    """All tables of the page. Raises KeyError, IndexError or TypeError when the data is of another form."""
    if data["schema"] != SCHEMA:
        raise KeyError(f"schema {data['schema']}, expected {SCHEMA}")
    yield f"`halocline bench hybrid-paper`, commit {data['commit'][:10]}:"
    yield ""
    yield "| claim | paper | our replay | reproduced |"
    yield "|---|---|---|---|"
    for claim in claims(data):
        yield f"| {' | '.join(claim)} |"
    yield ""
    yield from session_lines(data)
    yield ""
    yield from sweep_lines(data)
    yield ""
    yield from half_lines(data)


def claims(data: Json) -> Iterator[Claim]:
    """The claims in the order of the paper."""
    yield _multiplication(data)
    yield from _static(data)
    yield from _test_program(data)
    yield from _lifetimes(data)
    yield from _thresholds(data)
    yield from _ordering(data)
    yield from _planned(data)


def _verdict(holds: bool, partly: bool = False) -> str:
    return "yes" if holds else "in part" if partly else "no"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _less(new: float, old: float) -> float:
    """By which share `new` is less than `old`."""
    return 1 - new / old


def _multiplication(data: Json) -> Claim:
    m = data["multiplication"]
    pool, managed = m["async"]["warm"], m["managed"]["warm"]
    factor = managed / pool
    return Claim(
        "All managed makes a multiplication that fits several times slower, because frees synchronize",
        "4.8 to 24 ms, 5.0x",
        f"{1e3 * pool:.1f} to {1e3 * managed:.1f} ms, {factor:.1f}x (`{m['preset']}`, `{m['device']}`)",
        _verdict(3 <= factor <= 7, factor > 1.5),
    )


def _means(data: Json, device: str, operation: str) -> dict[str, dict[str, float]]:
    """Preset -> policy -> mean seconds of an operation in the sessions."""
    found: dict[str, dict[str, float]] = {}
    for row in data["sessions"]:
        if row["device"] == device:
            found.setdefault(row["preset"], {})[row["policy"]] = row["operations"][operation]["mean"]
    return found


def _static(data: Json) -> Iterator[Claim]:
    means = _means(data, "gtx1660ti", "bootstrap")
    gains = {preset: _less(each["static"], each["managed"]) for preset, each in means.items()}
    yield Claim(
        "Static against all managed, bootstrapping of large parameters, 1660 Ti",
        "about 31 % less time",
        ", ".join(f"`{preset}` {_percent(gain)}" for preset, gain in gains.items()),
        _verdict(min(gains.values()) >= 0.2, max(gains.values()) >= 0.2),
    )


def _test_program(data: Json) -> Iterator[Claim]:
    seconds = {(row["oversubscription"], row["ratio"]): row["seconds"] for row in data["test_program"]}
    factor = seconds[2.0, 0.0] / seconds[1.0, 0.0]
    yield Claim(
        "Twice the memory of the device costs almost a magnitude, RTX 4090",
        "almost 10x",
        f"{factor:.1f}x",
        _verdict(5 <= factor <= 20),
    )
    gain = _less(seconds[2.0, 0.95], seconds[2.0, 0.0])
    yield Claim(
        "At twice the memory, 95 % asynchronous is the best ratio",
        "greatest performance (plot)",
        f"{_percent(gain)} less time than 0 %",
        _verdict(gain > 0 and seconds[2.0, 0.95] == min(s for (o, _), s in seconds.items() if o == 2.0)),
    )


def _lifetimes(data: Json) -> Iterator[Claim]:
    b = data["bm_bootstrap"]
    share = b["share_below_1s"]
    yield Claim(
        "Most objects of BM-bootstrap live for less than a second",
        "about 92 %",
        f"{_percent(share)} (two rounds; the rest are keys and constants)",
        _verdict(share >= 0.87, share > 0.5),
    )
    peaks = {row["lifetime"]: row["bytes"] for row in b["pool_peaks"]}
    fitting = max((limit for limit, count in peaks.items() if count <= b["usable_bytes"]), default=0.0)
    yield Claim(
        "Asynchronous up to a lifetime N fits the A40, and not beyond",
        "N = 256 s fits, 512 s does not",
        f"N = {_percent(fitting)} of the run needs {peaks.get(fitting, 0) / 1e9:.0f} GB, all "
        f"{peaks[1.0] / 1e9:.0f} GB",
        _verdict(fitting > 0 and peaks[1.0] > b["usable_bytes"]),
    )


def _thresholds(data: Json) -> Iterator[Claim]:
    sweep = {row["ratio"]: row["seconds"] for row in data["bm_bootstrap"]["profiled"]}
    best = min(sweep, key=lambda ratio: sweep[ratio])
    yield Claim(
        "Best async peak threshold of BM-bootstrap, A40: in the middle",
        "40 to 60 %",
        f"{_percent(best)}: {sweep[best]:.1f} s; 0 %: {sweep[0.0]:.1f} s; 95 %: {sweep[0.95]:.1f} s",
        _verdict(0.4 <= best <= 0.6, 0.2 < best < 0.9),
    )
    times = {name: row["seconds"] for name, row in data["resnet"]["policies"].items()}
    gain = _less(times["profiled"], times["lru"])
    yield Claim(
        "ResNet, A40: profiled against swapping by hand",
        "1657 to 1296 s, 22 % less",
        f"{times['lru']:.1f} s (`lru`) to {times['profiled']:.1f} s: "
        + (f"{_percent(gain)} less" if gain > 0 else f"{times['profiled'] / times['lru']:.1f}x"),
        _verdict(gain > 0.1, gain > 0),
    )


def _ordering(data: Json) -> Iterator[Claim]:
    rows: dict[tuple[str, str], dict[str, Json]] = {}
    for row in data["sessions"]:
        rows.setdefault((row["device"], row["preset"]), {})[row["policy"]] = row["operations"]
    cases = [
        {name: each[name][op] for name in SCHEMES}
        for each in rows.values()
        for op in each["managed"]
        if op != "add"
    ]
    slowest = sum(c["managed"]["mean"] >= max(v["mean"] for v in c.values()) for c in cases)
    widest = sum(c["managed"]["deviation"] >= max(v["deviation"] for v in c.values()) for c in cases)
    yield Claim(
        "All managed is the slowest of the four in every test, and varies most",
        "all operations, both cards",
        f"slowest in {slowest} of {len(cases)}, largest deviation in {widest}",
        _verdict(slowest == len(cases) == widest, slowest > 0.7 * len(cases)),
    )
    gains = [
        _less(each["dynamic"], each["managed"])
        for device in DEVICE_NAMES
        for each in _means(data, device, "bootstrap").values()
    ]
    totals = data["bm_bootstrap"]["policies"]
    large = _less(totals["dynamic"]["seconds"], totals["managed"]["seconds"])
    yield Claim(
        "Dynamic against all managed, bootstrapping",
        "up to 50 % less time",
        f"from {_percent(min(gains))} to {_percent(max(gains))}; BM-bootstrap {_percent(large)}",
        _verdict(max(*gains, large) >= 0.4, max(*gains, large) > 0.05),
    )
    ratios = [each["dynamic"] / each["static"] for each in _means(data, "gtx1050", "bootstrap").values()]
    yield Claim(
        "Dynamic is similar to static on the 1050, static slightly faster",
        "bootstrapping and the other operations (plot)",
        f"bootstrapping: dynamic takes {min(ratios):.2f}x to {max(ratios):.2f}x of static",
        _verdict(min(ratios) >= 1 and max(ratios) < 1.15, min(ratios) >= 1),
    )


def _planned(data: Json) -> Iterator[Claim]:
    factors = []
    for row in data["oversubscribed"]:
        times = {name: each["seconds"] for name, each in row["policies"].items()}
        factors.append(min(times[name] for name in SCHEMES) / times["planned"])
    yield Claim(
        "*Ours:* `planned` against the best of the four, bootstrapping in half of its memory, A40",
        "-",
        f"{min(factors):.1f}x to {max(factors):.1f}x as fast",
        _verdict(min(factors) >= 2),
    )


def session_lines(data: Json) -> Iterator[str]:
    """Mean and deviation of each operation in the sessions."""
    operations = list(data["sessions"][0]["operations"])
    yield f"Milliseconds, mean and standard deviation of {data['repeats']} runs in a row:"
    yield ""
    yield f"| device | parameters | policy | {' | '.join(operations)} |"
    yield f"|---|---|---|{'---:|' * len(operations)}"
    for row in sorted(data["sessions"], key=lambda each: list(DEVICE_NAMES).index(each["device"])):
        cells = [_spread(each["mean"], each["deviation"]) for each in row["operations"].values()]
        names = (DEVICE_NAMES[row["device"]], f"`{row['preset']}`", f"`{row['policy']}`")
        yield f"| {' | '.join((*names, *cells))} |"


def _spread(mean: float, deviation: float) -> str:
    """Seconds as milliseconds, with a digit behind the point below a second."""
    digits = 1 if mean < 1 else 0
    return f"{1e3 * mean:.{digits}f} +- {1e3 * deviation:.{digits}f}"


def sweep_lines(data: Json) -> Iterator[str]:
    """Seconds of BM-bootstrap for each threshold, and of the other policies."""
    b = data["bm_bootstrap"]
    rows = [(_percent(row["ratio"]), row["seconds"]) for row in b["profiled"]]
    others = ", ".join(f"`{name}` {row['seconds']:.1f}" for name, row in b["policies"].items())
    yield f"BM-bootstrap on the `{b['device']}`, seconds by async peak threshold of `profiled` ({others}):"
    yield ""
    yield f"| {' | '.join(name for name, _ in rows)} |"
    yield f"|{'---:|' * len(rows)}"
    yield f"| {' | '.join(f'{seconds:.1f}' for _, seconds in rows)} |"


def half_lines(data: Json) -> Iterator[str]:
    """Seconds of four bootstraps in half of their memory."""
    yield "Four bootstraps on the A40 with half the memory that they touch, seconds:"
    yield ""
    yield f"| parameters | {' | '.join(f'`{name}`' for name in POLICIES)} |"
    yield f"|---|{'---:|' * len(POLICIES)}"
    for row in data["oversubscribed"]:
        cells = [f"{row['policies'][name]['seconds']:.2f}" for name in POLICIES]
        yield f"| `{row['preset']}` | {' | '.join(cells)} |"
