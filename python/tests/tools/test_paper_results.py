# SPDX-License-Identifier: Apache-2.0
import copy
from typing import Any

import paper_results
import pytest

TIMES = {"managed": 10.0, "static": 6.0, "profiled": 7.0, "dynamic": 8.0, "lru": 4.0, "planned": 2.0}


def session(device: str, policy: str) -> dict[str, Any]:
    seconds = TIMES[policy]
    spread = {"mean": seconds, "deviation": 0.1 * seconds, "low": 0.9 * seconds, "high": 1.1 * seconds}
    cheap = {name: value / 1000 for name, value in spread.items()}
    return {
        "preset": "FGa",
        "device": device,
        "policy": policy,
        "operations": {"add": cheap, "bootstrap": spread},
    }


DATA: dict[str, Any] = {
    "schema": 1,
    "commit": "0123456789abcdef",
    "repeats": 10,
    "multiplication": {
        "device": "a40",
        "preset": "FGa",
        "async": {"mean": 0.006, "warm": 0.005},
        "managed": {"mean": 0.03, "warm": 0.025},
    },
    "sessions": [session(device, policy) for device in ("gtx1660ti", "gtx1050") for policy in TIMES],
    "test_program": [
        {"oversubscription": times, "ratio": ratio, "seconds": 10.0 ** (times - 1) * (3 - ratio)}
        for times in (1.0, 2.0)
        for ratio in (0.0, 0.95)
    ],
    "bm_bootstrap": {
        "device": "a40",
        "usable_bytes": 45e9,
        "peak_bytes": 79e9,
        "profiled": [{"ratio": ratio, "seconds": 10 + abs(ratio - 0.5)} for ratio in (0.0, 0.5, 0.95)],
        "policies": {name: {"seconds": seconds} for name, seconds in TIMES.items() if name != "profiled"},
        "share_below_1s": 0.9,
        "pool_peaks": [{"lifetime": 0.5, "bytes": 40e9}, {"lifetime": 1.0, "bytes": 79e9}],
    },
    "resnet": {"policies": {name: {"seconds": seconds} for name, seconds in TIMES.items()}},
    "oversubscribed": [
        {"preset": "FGa", "policies": {name: {"seconds": seconds} for name, seconds in TIMES.items()}}
    ],
}


def verdicts(data: dict[str, Any]) -> dict[str, str]:
    return {claim.text: claim.verdict for claim in paper_results.claims(data)}


def test_figures_and_verdicts() -> None:
    claims = list(paper_results.claims(DATA))
    assert claims[0].ours == "5.0 to 25.0 ms, 5.0x (`FGa`, `a40`)"
    assert claims[1].ours == "`FGa` 40 %"
    assert claims[2].ours == "10.0x"
    assert "N = 50 % of the run needs 40 GB, all 79 GB" in {claim.ours for claim in claims}
    no = [claim.text for claim in claims if claim.verdict == "no"]
    assert no == ["ResNet, A40: profiled against swapping by hand"]
    assert claims[-1].ours == "3.0x to 3.0x as fast"
    assert claims[-1].verdict == "yes"


def test_verdicts_follow_the_figures() -> None:
    data = copy.deepcopy(DATA)
    data["multiplication"]["managed"]["warm"] = 0.0055
    data["oversubscribed"][0]["policies"]["planned"]["seconds"] = 5.0
    data["bm_bootstrap"]["share_below_1s"] = 0.6
    found = list(verdicts(data).values())
    assert found[0] == "no"
    assert found[-1] == "no"
    assert "in part" in found


def test_tables() -> None:
    text = "\n".join(paper_results.paper_lines(DATA))
    assert "commit 0123456789:" in text
    assert "| GTX 1050, 2 GB | `FGa` | `managed` | 10.0 +- 1.0 | 10000 +- 1000 |" in text
    assert text.index("GTX 1050") < text.index("GTX 1660 Ti, 6 GB |")
    assert "| `FGa` | 10.00 | 6.00 | 7.00 | 8.00 | 4.00 | 2.00 |" in text
    widths = {
        block: {line.count("|") for line in block.splitlines() if line.startswith("|")}
        for block in text.split("\n\n")
    }
    assert all(len(each) <= 1 for each in widths.values())


def test_another_schema_is_refused() -> None:
    with pytest.raises(KeyError, match="schema"):
        list(paper_results.paper_lines(DATA | {"schema": 2}))
