# SPDX-License-Identifier: Apache-2.0
import copy
import json
from pathlib import Path
from typing import Any

import pytest
import update_results

PEERS: dict[str, Any] = {
    "schema": 1,
    "machine": {"cpu": "Some CPU", "threads": 1},
    "commit": "0123456789abcdef",
    "sets": [
        {
            "name": "small",
            "n": 16384,
            "log_q": 300.2,
            "rows": [
                {
                    "operation": "rotate",
                    "halocline_ms": 2.0,
                    "seal_ms": 13.0,
                    "openfhe_ms": None,
                    "openfhe_reference_ms": None,
                },
                {
                    "operation": "encode",
                    "halocline_ms": 0.5,
                    "seal_ms": 2.25,
                    "openfhe_ms": None,
                    "openfhe_reference_ms": None,
                },
            ],
        },
        {
            "name": "large",
            "n": 32768,
            "log_q": 700,
            "rows": [
                {
                    "operation": "rotate",
                    "halocline_ms": 25.06,
                    "seal_ms": 152,
                    "openfhe_ms": None,
                    "openfhe_reference_ms": 137,
                }
            ],
        },
    ],
}
DIGITS: dict[str, Any] = {
    "workload": "digits",
    "commit": "0123456789abcdef",
    "images": 256,
    "accuracy": 0.97,
    "accuracy_plain": 0.97,
    "agreement": 1.0,
    "seconds": {"total": 12.34},
    "ms_per_image": 31.0,
    "machine": "x86_64",
    "peak_bytes": 1536 * 1024,
}
README = f"# Title\n\nbefore\n\n{update_results.BEGIN}\nold\n{update_results.END}\n\nafter\n"


def make_checkout(root: Path, **files: dict[str, Any]) -> Path:
    folder = root / "cpp/bench/results/somebox"
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / f"{name}.json").write_text(json.dumps(data))
    (root / "README.md").write_text(README)
    return root


def run(root: Path, *options: str) -> int:
    return update_results.main([*options, "--root", str(root)])


def test_writes_the_table_and_keeps_the_rest(tmp_path: Path) -> None:
    root = make_checkout(tmp_path, peers=PEERS, digits=DIGITS)
    assert run(root) == 0
    text = (root / "README.md").read_text()
    assert text.startswith("# Title\n\nbefore\n") and text.endswith("\n\nafter\n") and "old" not in text
    assert (
        "| operation | N=2^14, log Q 300: Halocline | SEAL "
        "| N=2^15, log Q 700: Halocline | SEAL | OpenFHE, not of this run |" in text
    )
    assert "| rotate | 2.00 | 13.0 (6.5x) | 25.1 | 152 (6.1x) | 137 |" in text
    assert "| encode | 0.500 | 2.25 (4.5x) | - | - | - |" in text
    assert "(Some CPU, commit 0123456789)" in text
    assert "(somebox, commit 0123456789): 256 held-out images in 12.3 s, 31.0 ms an image" in text
    assert "peak 1.5 MiB" in text


def test_writing_twice_changes_nothing(tmp_path: Path) -> None:
    root = make_checkout(tmp_path, peers=PEERS)
    assert run(root) == 0
    once = (root / "README.md").read_text()
    assert run(root) == 0
    assert (root / "README.md").read_text() == once


def test_check_fails_on_a_stale_block_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_checkout(tmp_path, peers=PEERS)
    assert run(root, "--check") == 1
    assert "stale" in capsys.readouterr().out
    assert (root / "README.md").read_text() == README
    run(root)
    assert run(root, "--check") == 0


def test_without_results_it_says_so(tmp_path: Path) -> None:
    root = make_checkout(tmp_path)
    assert run(root) == 0
    assert "Not measured yet." in (root / "README.md").read_text()


def test_other_files_are_left_to_other_pages(tmp_path: Path) -> None:
    root = make_checkout(tmp_path, micro={"benchmarks": []})
    assert run(root) == 0


def broken(path: str, value: object) -> dict[str, Any]:
    """PEERS with one field replaced, or removed when the value is None."""
    data = copy.deepcopy(PEERS)
    *parents, last = [int(key) if key.isdigit() else key for key in path.split("/")]
    place: Any = data
    for key in parents:
        place = place[key]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("schema", 2, "schema 2"),
        ("commit", None, "'commit' is missing"),
        ("sets", [], "no sets"),
        ("sets/0/n", 1000, "power of two"),
        ("sets/0/rows/0/seal_ms", "13", "'seal_ms' is '13'"),
        ("sets/0/rows/0/openfhe_ms", None, "'openfhe_ms' is missing"),
        ("sets/0/rows/1/halocline_ms", -1, "at least 0"),
        ("sets/1/rows/0/halocline_ms", float("nan"), "finite"),
        ("sets/1/rows/0/halocline_ms", True, "'halocline_ms' is True"),
    ],
)
def test_a_file_that_breaks_the_schema_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str, value: object, message: str
) -> None:
    root = make_checkout(tmp_path, peers=broken(path, value))
    assert run(root) == 1
    out = capsys.readouterr().out
    assert "peers.json" in out and message in out
    assert (root / "README.md").read_text() == README


def test_digits_shares_are_not_percentages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make_checkout(tmp_path, digits={**DIGITS, "agreement": 100})
    assert run(root) == 1
    assert "from 0 to 1" in capsys.readouterr().out


def test_json_that_is_no_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make_checkout(tmp_path)
    (root / "cpp/bench/results/somebox/peers.json").write_text("{")
    assert run(root) == 1
    assert "peers.json" in capsys.readouterr().out


@pytest.mark.parametrize(
    "page", ["no markers", f"{update_results.END}\n{update_results.BEGIN}", f"{update_results.BEGIN}\n" * 2]
)
def test_a_page_without_its_markers_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], page: str
) -> None:
    root = make_checkout(tmp_path, peers=PEERS)
    (root / "README.md").write_text(page)
    assert run(root) == 1
    assert "README.md" in capsys.readouterr().out
    assert (root / "README.md").read_text() == page
