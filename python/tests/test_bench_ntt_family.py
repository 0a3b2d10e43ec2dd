# SPDX-License-Identifier: Apache-2.0
"""Results of the transforms' benchmark: what is read, shown and drawn, without a GPU."""

import json
from pathlib import Path

import halocline as hc
import pytest
from halocline.bench import ntt_family as bench_ntt_family
from halocline.bench import programs as bench_programs
from halocline.cli.app import app
from typer.testing import CliRunner

STORED = Path(__file__).parents[2] / "cpp" / "bench" / "results" / "h200"
CARD = {
    "kind": "card",
    "name": "some card",
    "copy_bytes_per_second": 4e12,
    "butterflies_per_second_32": 4e12,
    "butterflies_per_second_64": 1e12,
}
ROW = {
    "kind": "family",
    "variant": "naive",
    "word_bits": 32,
    "log_n": 12,
    "batch": 1,
    "microseconds": 10.0,
    "butterflies": 24576,
    "bytes_moved": 425984,
    "percent_of_butterfly_peak": 0.1,
    "percent_of_copy_bandwidth": 1.1,
}


def test_document_has_the_ceilings_and_the_rows():
    shape = {"kind": "tune", "word_bits": 32, "log_n": 16, "shape": "1x8", "integer_instructions": 3}
    made = bench_ntt_family.document("\n".join(json.dumps(each) for each in (CARD, ROW, shape)), "x")
    assert made["shapes"] == [{"word_bits": 32, "log_n": 16, "shape": "1x8"}]
    assert made["device"] == "some card"
    assert made["ceilings"]["copy_bytes_per_second"] == 4e12
    assert [row["variant"] for row in made["family"]] == ["naive"]


@pytest.mark.parametrize("text", ["", "no JSON", json.dumps(ROW), "[1]"])
def test_other_output_is_refused(text):
    with pytest.raises(hc.CorruptData, match="wrote something else"):
        bench_ntt_family.document(text, "some program")


def test_a_missing_program_is_named(tmp_path):
    with pytest.raises(hc.InvalidArgument, match="make cuda"):
        bench_programs.find_program("ntt-family", "no_such_program", tmp_path / "none")


@pytest.mark.parametrize(
    ("suite", "file", "pictures"),
    [
        ("ntt-family", "ntt_family.json", ["ntt_roofline.png"]),
        ("ratio", "ratio.json", ["ratio_allocations.png", "ratio_sweep.png"]),
    ],
)
def test_recorded_results_are_drawn_without_a_gpu(suite, file, pictures, tmp_path):
    done = CliRunner().invoke(app, ["bench", suite, "--from", str(STORED / file), "--plot", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert sorted(each.name for each in tmp_path.iterdir()) == pictures
    assert all(each.read_bytes().startswith(b"\x89PNG") for each in tmp_path.iterdir())


def test_other_results_are_refused():
    done = CliRunner().invoke(app, ["bench", "ratio", "--from", str(STORED / "ntt_family.json")])
    assert done.exit_code != 0
    assert isinstance(done.exception, hc.CorruptData) or "holds a result of 'ntt-family'" in done.output
