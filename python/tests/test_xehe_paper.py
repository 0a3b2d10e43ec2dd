# SPDX-License-Identifier: Apache-2.0
"""`halocline paper xehe` and `halocline bench seal`: rows of every kind at small sizes, and refusals."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import halocline as hc
import pytest
from halocline.bench import seal_suite
from halocline.bench.uniform_seal import uniform_ciphertext, uniform_engine
from halocline.cli.app import app
from halocline.papers.xehe import matrices, processes, routines, study
from halocline.papers.xehe.options import XeheOptions
from halocline.papers.xehe.rigs import Step, chain, is_prime, steps_of
from halocline.seal import Engine
from typer.testing import CliRunner

SMALL = {"repetitions": 1, "batch": 2, "log_n": 12, "matrix_log_n": 12}


@pytest.fixture(scope="module", autouse=True)
def small_shapes(request: pytest.FixtureRequest) -> Any:
    """Matrices of a few entries."""
    patch = pytest.MonkeyPatch()
    request.addfinalizer(patch.undo)
    patch.setattr(matrices, "SHAPES", {"3x2x1": (3, 2, 1), "2x2x3": (2, 2, 3)})


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory, small_shapes: Any) -> Any:
    out = tmp_path_factory.mktemp("xehe") / "rows.json"
    made = study.run(XeheOptions(parts=("routines", "matrices"), rows=out, **SMALL))
    kept = json.loads(out.read_text())
    assert kept["partial"] is False
    assert [row["us"] for row in kept["routines"]] == [row["us"] for row in made["routines"]]
    return made


def test_every_step_has_a_row_for_every_routine_and_product(content: Any) -> None:
    steps = [each.name for each in steps_of("cpu", 2, 2)]
    assert [(row["step"], row["routine"]) for row in content["routines"]] == [
        (step, name) for step in steps for name in routines.ROUTINES
    ]
    assert {row["product"] for row in content["matrices"]} == set(matrices.SHAPES)
    assert content["refused"] == [] and content["equal_integers"] is True
    for table in ("routines", "matrices"):
        assert all(row["min_us"] <= row["us"] <= row["max_us"] for row in content[table])
    first = [row for row in content["routines"] if row["step"] == "naive"]
    assert all(row["speed_up"] == 1 for row in first)


def test_mul_lin_rs_at_the_papers_size_has_106_transforms() -> None:
    assert routines.floors(15)["transforms"] == 106


def test_floors_of_a_product_count_its_bytes_and_products() -> None:
    rig = matrices.Rig("cpu", Step("fused"), 12, (2, 3, 4))
    limb = 8 * 4096 * matrices.LEVELS
    assert rig.floors() == {"bytes": limb * (6 * 6 + 2 * 8 + 2 * 12), "products": limb // 8 * 4 * 24}


def test_wrong_integers_end_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = dict(routines.ROUTINES, MulLin=lambda on, a, b, c: on.add(a, b if on_scalar(on) else c))
    monkeypatch.setattr(routines, "ROUTINES", wrong)
    with pytest.raises(hc.CorruptData, match="different integers in MulLin, 1 at a time"):
        study.run(XeheOptions(parts=("routines",), **SMALL))


_SEEN: list[Any] = []


def on_scalar(engine: Any) -> bool:
    """Whether it is the first engine that asks: the reference."""
    _SEEN.append(engine)
    return engine is _SEEN[0]


def test_rows_that_are_refused_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Any, name: str, samples: int) -> Any:
        raise hc.OutOfMemory("no room")

    monkeypatch.setattr(routines.Rig, "time", refuse)
    made = study.run(XeheOptions(parts=("routines",), **SMALL))
    assert made["routines"] == [] and len(made["refused"]) == 25
    assert made["refused"][0]["error"] == "no room"


def test_primes_are_the_largest_of_their_size() -> None:
    primes = chain(4096, [36, 36, 37]).primes
    assert all(is_prime(each) and each % 8192 == 1 for each in primes)
    assert [each.bit_length() for each in primes] == [36, 36, 37] and primes[0] > primes[1]
    assert not is_prime(8193 * 40961)


def test_equal_seeds_give_equal_operands_on_scalar_and_vector_kernels() -> None:
    params = chain(4096, [36, 36, 37])
    made = [uniform_engine(params, "cpu", scalar=scalar) for scalar in (True, False)]
    first, second = (uniform_ciphertext(on, 2, 5, 1.0).store().residues for on in made)
    assert (first == second).all()
    assert (first != uniform_ciphertext(made[0], 2, 6, 1.0).store().residues).any()


def test_the_command_writes_shows_and_draws_a_result(content: Any, tmp_path: Path) -> None:
    file = tmp_path / "xehe.json"
    file.write_text(json.dumps(content))
    shown = CliRunner().invoke(app, ["paper", "xehe", "--from", str(file), "--plot", str(tmp_path / "plots")])
    assert shown.exit_code == 0, shown.output
    assert "MulLinRSModSwAdd" in shown.output
    assert {each.name for each in (tmp_path / "plots").iterdir()} == {
        "xehe_routines.png",
        "xehe_matrices.png",
    }


def test_processes_are_timed_stage_by_stage(tmp_path: Path) -> None:
    options = XeheOptions(parts=("processes",), process_repetitions=1, **SMALL | {"matrix_log_n": 13})
    if importlib.util.find_spec("seal") is None:
        with pytest.raises(hc.MissingExtra, match="seal-python"):
            study.run(options)
        pytest.skip("seal-python is not installed: install tools/requirements/peers.txt")
    rows = study.run(options)["processes"]
    assert len(rows) == 4 * len(matrices.SHAPES)
    for row in rows:
        assert row["us"] == pytest.approx(sum(row[f"{stage}_us"] for stage in processes.STAGES))
        assert (row["load_us"] == 0) == (row["step"] == processes.SEAL_ALONE)


def test_wrong_results_of_a_process_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("seal") is None:
        pytest.skip("seal-python is not installed: install tools/requirements/peers.txt")
    monkeypatch.setattr(Engine, "add", lambda self, a, b: a)
    with pytest.raises(hc.CorruptData, match="entry 0 of a matrix product is wrong"):
        processes.time_process("cpu", Step("memory cache"), 13, "2x2x3", 1)


def test_bench_seal_compares_three_operations(tmp_path: Path) -> None:
    if importlib.util.find_spec("seal") is None:
        with pytest.raises(hc.MissingExtra, match="seal-python"):
            seal_suite.run()
        pytest.skip("seal-python is not installed: install tools/requirements/peers.txt")
    made = seal_suite.run(seal_suite.SealOptions(log_n=("14",), repetitions=1))
    assert [row["operation"] for row in made["rows"]] == list(seal_suite.TARGETS)
    assert all(row["ratio"] == row["seal_ms"] / row["ours_ms"] for row in made["rows"])
