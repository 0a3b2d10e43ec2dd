# SPDX-License-Identifier: Apache-2.0
"""Times of single operations: parameters, floors, and a run on the CPU at a small ring."""

import json

import halocline as hc
import pytest
from halocline.bench import floors
from halocline.bench import operations as bench
from halocline.cli.app import app
from typer.testing import CliRunner


def test_parameters_are_secure_and_have_the_primes_of_the_peers():
    params = bench.operation_params("w32-47")
    assert params.security_bits >= 128 and params.log2_pq <= 1747 and params.max_log2_pq == 1747
    assert [params.level(level).primes for level in (33, 15)] == [47, 23]
    assert (params.digit_count, len(params.primes), params.word_bits) == (4, 47 + 12, 32)
    assert params.primes[12:14] == [1179649, 786433]  # the terminals
    wide = bench.operation_params("w64-28")
    assert wide.security_bits >= 128 and wide.level(27).primes == 28
    assert (wide.digit_count, len(wide.primes), wide.word_bits) == (4, 28 + 7, 64)


def test_shape_of_the_highest_level():
    shape = floors.Shape.of(bench.operation_params("w32-47"), 33)
    assert (shape.limbs, shape.lower, shape.dropped, shape.special) == (47, 45, 2, 12)
    assert shape.digits == (12, 12, 12, 11)
    assert floors.Shape.of(bench.operation_params("w32-47"), 15).digits == (12, 11)


def test_work_is_what_the_formulas_say():
    params, n = bench.operation_params("w32-47"), 1 << 16
    limb, transform = 4 * n, n // 2 * 16
    add = floors.work_of("add", params, 33)
    assert add == floors.Work(6 * 47 * limb, 0, 0)
    assert floors.work_of("multiply_plain", params, 33) == floors.Work(5 * 47 * limb, 0, 2 * 47 * n)
    assert floors.work_of("ntt", params, 33) == floors.Work(2 * 47 * limb, 47 * transform, 0)
    rescale = floors.work_of("rescale", params, 33)
    assert rescale == floors.Work(2 * (47 + 45) * limb, 2 * (2 + 45) * transform, 2 * 2 * 45 * n)
    # ModUp: 47 inverse transforms; digits of 12, 12, 12 and 11 limbs are raised to the others of 59.
    transforms = 47 + 47 + 47 + 47 + 48
    products = 3 * 12 * 47 + 11 * 48 + 2 * 4 * 59
    rotate = floors.work_of("rotate", params, 33)
    assert rotate.bytes == (4 * 47 + 2 * 4 * 59) * limb
    assert rotate.butterflies == (transforms + 2 * (12 + 47)) * transform
    assert rotate.products == (products + 2 * 12 * 47) * n
    multiply = floors.work_of("multiply", params, 33)
    assert multiply.bytes == (4 * 47 + 2 * 45 + 2 * 4 * 59) * limb
    assert multiply.butterflies == (transforms + 2 * (14 + 45)) * transform
    assert multiply.products == (4 * 47 + products + 2 * 14 * 45) * n


def test_the_floor_of_a_transform_is_the_published_one():
    params, ceilings = bench.operation_params("w32-47"), floors.H200_CEILINGS[32]
    for level, expected in ((33, 10.1), (15, 4.9)):
        moved, computed = floors.work_of("ntt", params, level).seconds(ceilings)
        assert round(1e6 * computed, 1) == expected and moved < computed


def test_unknown_names_and_levels_are_refused():
    params = bench.operation_params("w64-28")
    with pytest.raises(hc.InvalidArgument, match="unknown operation 'divide'"):
        floors.work_of("divide", params, 1)
    with pytest.raises(hc.InvalidArgument, match="level 0, expected 1 to 27"):
        floors.work_of("add", params, 0)
    with pytest.raises(hc.InvalidArgument, match="unknown set 'x'"):
        bench.run_operations("cpu", ["x"])
    with pytest.raises(hc.InvalidArgument, match="unknown set"):
        bench.operation_params("x")


@pytest.fixture(scope="module")
def result():
    return bench.run_operations("cpu", samples=2, log_n=11, sample_seconds=1e-4)


def test_a_run_has_a_row_for_each_operation(result):
    names = [(row["set"], row["level"], row["operation"]) for row in result["rows"]]
    wanted = bench.MEASURED.items()
    assert names == [
        (name, level, each) for name, levels in wanted for level in levels for each in levels[level]
    ]
    for row in result["rows"]:
        assert row["us"] == row["eager_us"] > 0 and row["graph_us"] is None
        assert row["peer_us"] is None and row["target_us"] is None  # those hold for N = 2^16 only
    json.dumps(result, allow_nan=False)
    assert result["report"] is None


def test_every_timed_operation_has_a_floor(engine):
    params = bench.operation_params("w64-28")
    with pytest.raises(hc.InvalidArgument, match="expected one of add, ") as refused:
        hc._core.time_operation(engine._core, "divide", 1, 1, 1, 1, False, 0.0)
    known = str(refused.value).split("expected one of ")[1].split(", ")
    assert set(bench.ALL) < set(known)
    for operation in known:
        assert floors.work_of(operation, params, 27).bytes > 0


def test_times_refuse_what_cannot_be_timed(engine):
    def times(operation, level, samples=1):
        return hc._core.time_operation(engine._core, operation, level, samples, 1, 1, False, 0.0)

    assert times("add", 0, 3)["per_sample"] == 1 and len(times("add", 0, 3)["seconds"]) == 3
    with pytest.raises(hc.InvalidArgument, match="unknown operation 'divide'"):
        times("divide", 1)
    with pytest.raises(hc.InvalidArgument, match="level 0 is too low"):
        times("rescale", 0)
    with pytest.raises(hc.InvalidArgument, match="0 samples"):
        times("add", 1, 0)
    with pytest.raises(hc.MissingKey):
        without = hc.Engine(engine.params, threads=1)._core
        hc._core.time_operation(without, "rotate", 1, 1, 1, 1, False, 0.0)


def test_command_line(tmp_path):
    file = tmp_path / "operations.json"
    command = ["bench", "operations", "--device", "cpu", "--log-n", "11", "--set", "w64-28"]
    done = CliRunner().invoke(app, [*command, "--repetitions", "1", "--json", str(file)])
    assert done.exit_code == 0, done.output
    content = json.loads(file.read_text())
    assert content["suite"] == "operations" and content["device"] == "cpu" and content["commit"]


@pytest.mark.skipif("cuda:0" in hc._core.available_devices(), reason="about machines without a GPU")
@pytest.mark.parametrize(
    "command", [["bench", "operations"], ["bench", "ratio"], ["run", "digits", "--device", "cuda:0"]]
)
def test_commands_say_that_there_is_no_gpu(command):
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 1
    assert "no CUDA backend" in done.output or "driver" in done.output or "no NVIDIA GPU" in done.output
