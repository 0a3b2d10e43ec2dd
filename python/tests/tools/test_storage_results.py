# SPDX-License-Identifier: Apache-2.0
import copy
import json
from pathlib import Path

import pytest
import storage_results
import update_results

ROOT = Path(__file__).parents[3]
FILE = ROOT / "cpp/bench/results/simulated/storage_paper.json"
DATA = json.loads(FILE.read_text())


@pytest.mark.parametrize("name", update_results.STORAGE)
def test_blocks_of_the_page_have_a_row_for_each_row_of_the_file(name: str) -> None:
    tables = {
        "key-nodes": ["key_nodes"],
        "memory": ["key_memory", "users"],
        "routing": ["routing", "routing_load"],
    }.get(name, [name])
    lines = list(update_results.STORAGE[name](DATA))
    rows = [line for line in lines if line.startswith("| ")]
    assert len(rows) == sum(len(DATA[each]) + 1 for each in tables)  # and the line of names
    columns = {line.count("|") for line in rows}
    assert len(columns) == len(tables)


def test_numbers_that_contradict_the_text_say_so() -> None:
    changed = copy.deepcopy(DATA)
    row = next(each for each in changed["text"] if each["holds"] and each["kind"] == "slowdown")
    before = list(storage_results.text_lines(changed))
    row["holds"] = False
    after = list(storage_results.text_lines(changed))
    (place,) = (n for n, (a, b) in enumerate(zip(before, after, strict=True)) if a != b)
    assert "**no**" in after[place]
    assert "**no**" not in before[place]


def test_results_of_another_schema_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "cpp/bench/results/simulated"
    folder.mkdir(parents=True)
    (folder / "storage_paper.json").write_text(json.dumps(DATA | {"schema": 2}))
    with pytest.raises(update_results.ResultError, match="halocline paper storage"):
        update_results.block(tmp_path, update_results.PAGES["docs/papers/fhe_storage_io.md#text"])


def test_a_result_without_simgrid_says_so() -> None:
    assert list(storage_results.simgrid_lines(DATA | {"simgrid": []})) == ["Not run with SimGrid."]
