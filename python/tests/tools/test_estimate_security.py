# SPDX-License-Identifier: Apache-2.0
"""tools/estimate_security.py with a stand-in for the lattice estimator."""

from __future__ import annotations

import json
import math
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import estimate_security as tool
import halocline as hc
import pytest


class FakeEstimator(ModuleType):
    """Has the interface of the lattice estimator, records what it is asked, answers with fixed costs."""

    def __init__(self, costs: dict[str, float]) -> None:
        super().__init__("estimator")
        self.asked: list[Any] = []
        self.options: list[dict[str, Any]] = []
        self.ND = SimpleNamespace(
            UniformMod=lambda q: ("uniform", q),
            SparseTernary=lambda **counts: ("sparse", counts),
            DiscreteGaussian=lambda stddev: ("gaussian", stddev),
        )
        self.RC = SimpleNamespace(BDGL16="BDGL16")

        def estimate(parameters: Any, **options: Any) -> dict[str, dict[str, float]]:
            self.asked.append(parameters)
            self.options.append(options)
            return {name: {"rop": cost, "mem": 1.0} for name, cost in costs.items()}

        self.LWE = SimpleNamespace(Parameters=SimpleNamespace, estimate=estimate)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeEstimator:
    made = FakeEstimator({"usvp": 2.0**140, "bdd_hybrid": 2.0**131.5, "bkw": math.inf})
    monkeypatch.setitem(sys.modules, "estimator", made)
    return made


def test_a_ternary_set(fake: FakeEstimator, capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    assert tool.main(["--preset", "n14-d7", "--json", str(tmp_path / "out.json")]) == 0
    params = hc.Params.preset("n14-d7")
    (asked,) = fake.asked
    assert asked.n == params.n == 2**14
    assert math.log2(asked.q) == pytest.approx(params.log2_pq, abs=1e-9)
    assert isinstance(asked.q, int)
    assert asked.Xs == ("uniform", 3)
    assert asked.Xe == ("gaussian", 3.2)
    assert fake.options == [{"red_cost_model": "BDGL16", "deny_list": ("arora-gb",)}]
    lines = capsys.readouterr().out.splitlines()
    assert "N = 2^14, log2(q) = 429.7, ternary" in lines[0]
    assert lines[1].split()[:2] == ["table", f"{params.security_bits:.1f}"]
    assert [each.split() for each in lines[2:]] == [
        ["bdd_hybrid", "131.5"],
        ["usvp", "140.0"],
        ["bkw", "inf"],
    ]
    (row,) = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert row["attacks"] == {"usvp": 140.0, "bdd_hybrid": pytest.approx(131.5), "bkw": None}
    assert row["table_max_log2_q"] == 430


def test_both_secrets_of_a_bootstrappable_set(fake: FakeEstimator) -> None:
    assert tool.main(["--preset", "FTa-boot", "--preset", "n16-boot", "--attack", "usvp"]) == 0
    params = hc.Params.preset("FTa-boot")
    assert params.bootstrapping is not None
    main, sparse, _, weight32 = fake.asked
    assert (main.n, main.Xs) == (2**15, ("uniform", 3))
    assert math.log2(sparse.q) == pytest.approx(params.bootstrapping.ephemeral_log2_pq, abs=1e-9)
    assert sparse.Xs == ("sparse", {"p": 64, "m": 64, "n": 2**15})
    assert weight32.Xs == ("sparse", {"p": 16, "m": 16, "n": 2**16})


def test_a_cost_below_128_bits_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "estimator", FakeEstimator({"usvp": 2.0**127.9}))
    assert tool.main(["--preset", "n14-d7"]) == 1


def test_all_secure_presets_unless_named(fake: FakeEstimator) -> None:
    assert tool.main([]) == 0
    names = {each.tag.split("/")[0] for each in fake.asked}
    assert names == {each for each in hc.preset_names() if not each.startswith("test-")}


@pytest.mark.parametrize(("missing", "what"), [("estimator", "'estimator'"), ("sage.all", "SageMath")])
def test_what_is_missing_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], missing: str, what: str
) -> None:
    def refuse(name: str) -> ModuleType:
        raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)

    monkeypatch.setattr(tool.importlib, "import_module", refuse)
    with pytest.raises(SystemExit) as stopped:
        tool.main(["--preset", "n14-d7"])
    assert stopped.value.code == 2
    message = capsys.readouterr().err
    assert what in message and "malb/lattice-estimator" in message


def test_another_package_of_that_name_is_noticed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "estimator", ModuleType("estimator"))
    with pytest.raises(SystemExit):
        tool.main(["--preset", "n14-d7"])
    assert "has no LWE, ND, RC" in capsys.readouterr().err


def test_costs_beyond_a_float() -> None:
    assert tool.cost_bits({"rop": 2**2000}) == 2000
    assert tool.power_of_two(3.5) == 11
    assert math.log2(tool.power_of_two(429.7)) == pytest.approx(429.7, abs=1e-12)
