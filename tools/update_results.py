# SPDX-License-Identifier: Apache-2.0
"""Writes the results blocks of pages from recorded runs, so that no figure is typed by hand.

Replaces what stands between the lines `<!-- results:begin -->` and `<!-- results:end -->` by what files in
`cpp/bench/results/<device>/` say. README.md: `peers*.json` (from `halocline bench peers --json FILE`) and
`digits*.json` (`halocline run digits --json FILE`). docs/guides/memory.md: `wide_rotations*.json` (`halocline
bench wide-rotations --json FILE`). docs/papers/hybrid_unified_memory.md: `hybrid_paper*.json` (`halocline
bench hybrid-paper --json FILE`) and, between markers with the name `ratio`, `ratio*.json` (`halocline bench
ratio --json FILE`). docs/guides/gpu.md: `operations*.json` (`halocline bench operations --json FILE`).
docs/papers/fhe_storage_io.md: `storage_paper*.json` (`halocline paper storage --json FILE`).
docs/concepts/cuda_backend.md: `kernels*.json` (`halocline_kernel_bench --out FILE`). README.md and guides to
networks, training and sorting: `run_resnet20*.json`, `run_helr*.json`, `run_sorting*.json` (`halocline run`).
docs/concepts/key_nodes.md: `key_nodes*.json` (`halocline bench key-nodes --json FILE`).
docs/papers/gpir.md: `retrieval*.json` (`halocline_retrieval_bench --out FILE`). docs/guides/many_users.md:
`users*.json` (`tools/bench_users.py --json FILE`), `soak_key_store*.json` (`tools/soak_key_store.py`).
docs/guides/choosing.md: `choices*.json` (`tools/check_choices.py --json FILE`).
Other files are not read. With `--check` nothing is written: the exit status is 1 when a block is not what the
files say, or when a file does not follow its schema.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from application_results import (
    network_lines,
    resnet_lines,
    sorting_lines,
    summary_lines,
    training_lines,
)
from bootstrap_results import bm_lines, curve_lines
from bootstrap_results import operations_lines as bm_operations_lines
from choices_results import choices_lines
from gpu_results import kernels_lines, operations_lines, ratio_lines
from key_node_results import key_node_lines
from paper_results import paper_lines
from retrieval_results import retrieval_lines
from storage_results import (
    chain_lines,
    cluster_lines,
    memory_lines,
    node_lines,
    routing_lines,
    simgrid_lines,
    streaming_lines,
    text_lines,
)
from users_results import soak_lines, users_lines

ROOT = Path(__file__).resolve().parent.parent
RESULTS = "cpp/bench/results"
REQUIRED = "README.md"
BEGIN = "<!-- results:begin -->"
END = "<!-- results:end -->"
PEERS_SCHEMA = 1

Json = dict[str, Any]


class ResultError(Exception):
    """A recorded run or a page is not what it must be; the message begins with its path."""


def field(data: Any, key: str, kind: type | tuple[type, ...], where: str) -> Any:
    """`data[key]`, which must be there and of a kind; numbers must be finite and not negative."""
    if not isinstance(data, dict) or key not in data:
        raise ResultError(f"{where}: '{key}' is missing")
    value = data[key]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ResultError(f"{where}: '{key}' is {value!r}")
    if isinstance(value, int | float) and not (math.isfinite(value) and value >= 0):
        raise ResultError(f"{where}: '{key}' is {value!r}; expected a finite number of at least 0")
    return value


def load(path: Path) -> Json:
    """The JSON object in a file."""
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ResultError(f"{path}: {error}") from error
    if not isinstance(data, dict):
        raise ResultError(f"{path}: expected a JSON object")
    if "partial" in data:
        raise ResultError(f"{path}: its run was stopped ({data['partial']}); expected a whole result")
    return data


def number(value: float | None) -> str:
    """Three significant digits, without exponent; a dash where there is no measurement."""
    if value is None:
        return "-"
    decimals = 0 if value == 0 else max(0, 2 - math.floor(math.log10(value)))
    return f"{value:.{decimals}f}"


def bytes_text(count: float) -> str:
    """1536 -> "1.5 KiB"."""
    unit = 0
    while count >= 1024 and unit < 3:
        count /= 1024
        unit += 1
    return f"{count:.4g} {('B', 'KiB', 'MiB', 'GiB')[unit]}"


def machine_text(data: Json, path: Path) -> str:
    """One line on where and with which commit a file was made: the processor, or else the folder's name."""
    machine = data.get("machine")
    cpu = machine.get("cpu") if isinstance(machine, dict) else None
    return f"{cpu or path.parent.name}, commit {field(data, 'commit', str, str(path))[:10]}"


class PeerSet:
    """One parameter set of a peers run: its columns and its cells by operation."""

    OPENFHE = ("openfhe_ms", "openfhe_reference_ms")

    def __init__(self, data: Any, where: str) -> None:
        self.name = field(data, "name", str, where)
        where = f"{where}: set '{self.name}'"
        n = field(data, "n", int, where)
        if n < 2 or n & (n - 1):
            raise ResultError(f"{where}: 'n' is {n}; expected a power of two")
        log_q = field(data, "log_q", (int, float), where)
        self.title = f"N=2^{n.bit_length() - 1}, log Q {log_q:.0f}"
        self.rows: dict[str, Json] = {}
        for row in field(data, "rows", list, where):
            operation = field(row, "operation", str, where)
            field(row, "halocline_ms", (int, float), f"{where}: '{operation}'")
            for key in ("seal_ms", *self.OPENFHE):
                field(row, key, (int, float, type(None)), f"{where}: '{operation}'")
            self.rows[operation] = row
        present = [key for key in self.OPENFHE if any(row[key] is not None for row in self.rows.values())]
        self.keys = ["halocline_ms", "seal_ms", *present]

    def header(self) -> list[str]:
        """Titles of the columns."""
        names = {
            "halocline_ms": f"{self.title}: Halocline",
            "seal_ms": "SEAL",
            "openfhe_ms": "OpenFHE",
            "openfhe_reference_ms": "OpenFHE, not of this run",
        }
        return [names[key] for key in self.keys]

    def cells(self, operation: str) -> list[str]:
        """Milliseconds, and how many times as fast Halocline is where both were measured in this run."""
        row = self.rows.get(operation)
        if row is None:
            return ["-"] * len(self.keys)
        own = row["halocline_ms"]
        texts = []
        for key in self.keys:
            compared = key in ("seal_ms", "openfhe_ms") and row[key] and own
            texts.append(number(row[key]) + (f" ({row[key] / own:.1f}x)" if compared else ""))
        return texts


def peers_lines(path: Path) -> Iterator[str]:
    """The table of one peers file."""
    data = load(path)
    schema = field(data, "schema", int, str(path))
    if schema != PEERS_SCHEMA:
        raise ResultError(f"{path}: schema {schema}; expected {PEERS_SCHEMA}")
    sets = [PeerSet(each, str(path)) for each in field(data, "sets", list, str(path))]
    if not sets:
        raise ResultError(f"{path}: no sets")
    yield f"`halocline bench peers`, milliseconds with one thread ({machine_text(data, path)}):"
    yield ""
    header = ["operation", *(title for each in sets for title in each.header())]
    yield f"| {' | '.join(header)} |"
    yield f"|---|{'---:|' * (len(header) - 1)}"
    operations = dict.fromkeys(operation for each in sets for operation in each.rows)
    for operation in operations:
        cells = [operation, *(cell for each in sets for cell in each.cells(operation))]
        yield f"| {' | '.join(cells)} |"


def digits_lines(path: Path) -> Iterator[str]:
    """The sentence of one digits file."""
    data = load(path)
    where = str(path)
    images = field(data, "images", int, where)
    shares = {
        key: field(data, key, (int, float), where) for key in ("accuracy", "accuracy_plain", "agreement")
    }
    if any(share > 1 for share in shares.values()):
        raise ResultError(f"{where}: accuracies and agreement are shares from 0 to 1, got {shares}")
    total = field(field(data, "seconds", dict, where), "total", (int, float), f"{where}: 'seconds'")
    each = field(data, "ms_per_image", (int, float), where)
    peak = field(data, "peak_bytes", int, where)
    yield (
        f"`halocline run digits` ({machine_text(data, path)}): {images} held-out images in {number(total)} s,"
        f" {number(each)} ms an image on the server,"
        f" accuracy {shares['accuracy']:.1%} encrypted and {shares['accuracy_plain']:.1%} plain, "
        f"agreement {shares['agreement']:.1%}, peak {bytes_text(peak)}."
    )


def wide_rotations_lines(path: Path) -> Iterator[str]:
    """The table of one file of runs within budgets."""
    data = load(path)
    where = str(path)
    rows = field(data, "rows", list, where)
    place = f"--threads {field(data, 'threads', int, where)}"
    if data.get("device", "cpu") != "cpu":
        place = f"--device {data['device']} --params {field(data, 'params', str, where)}"
    yield f"`halocline bench wide-rotations {place}`, medians"
    yield f"({machine_text(data, path)}):"
    yield ""
    yield "| policy | budget | seconds | of `resident` | waiting, s | planning, s | loaded | process memory |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    for row in rows:
        times = [field(row, key, (int, float), where) for key in ("seconds", "slowdown", "stall_seconds")]
        planning = field(row, "plan_seconds", (int, float), where)
        moved, resident = (field(row, key, int, where) for key in ("loaded_bytes", "peak_rss_bytes"))
        budget = field(row, "budget_bytes", int, where)
        yield (
            f"| `{field(row, 'policy', str, where)}` | {bytes_text(budget) if budget else 'none'} "
            f"({field(row, 'memory', str, where)}) | {times[0]:.3g} | {times[1]:.2f} | {times[2]:.2f} "
            f"| {planning:.2f} | {bytes_text(moved)} | {bytes_text(resident)} |"
        )


def hybrid_paper_lines(path: Path) -> Iterator[str]:
    """The tables of one file of replays."""
    try:
        yield from paper_lines(load(path))
    except (KeyError, IndexError, TypeError, ValueError, ZeroDivisionError) as error:
        raise ResultError(f"{path}: not a result of `halocline bench hybrid-paper` ({error!r})") from error


FORM_ERRORS = (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError, ZeroDivisionError)
"""What a table raises when a file is of another form."""


def checked(lines: Callable[[Json], Iterator[str]], command: str) -> Callable[[Path], Iterator[str]]:
    """A reader of files that a command made: their lines, or a ResultError when a file is of another form."""

    def read(path: Path) -> Iterator[str]:
        try:
            yield from lines(_named(path))
        except FORM_ERRORS as error:
            raise ResultError(f"{path}: not a result of `{command}` ({error!r})") from error

    return read


def _named(path: Path) -> Json:
    """What a file holds, and where it lies: `folder` is the device, `file` its name."""
    return load(path) | {"folder": path.parent.name, "file": path.stem}


class Grouped:
    """A reader of all files of a device together; `workloads` are those that it takes, by their `key`."""

    def __init__(
        self, lines: Callable[[list[Json]], Iterator[str]], *workloads: str, key: str = "workload"
    ) -> None:
        self._lines, self._workloads, self._key = lines, workloads, key

    def __call__(self, paths: list[Path]) -> list[str]:
        """One text, or none where there is no such file."""
        chosen = [data for data in map(_named, paths) if data.get(self._key) in self._workloads]
        try:
            return ["\n".join(self._lines(chosen))] if chosen else []
        except FORM_ERRORS as error:
            raise ResultError(
                f"{paths[0].parent}: results of {'|'.join(self._workloads)} are of another form ({error!r})"
            ) from error


def block(root: Path, readers: Readers) -> str:
    """What belongs between the markers."""
    parts = []
    for device in sorted(path for path in (root / RESULTS).glob("*") if path.is_dir()):
        for pattern, read in readers:
            paths = sorted(device.glob(pattern))
            parts += read(paths) if isinstance(read, Grouped) else ["\n".join(read(each)) for each in paths]
    return "\n\n".join(parts) if parts else "Not measured yet."


def replaced(text: str, page: Path, content: str, name: str = "") -> str:
    """The page with `content` between the markers, of that name if one is given."""
    begin, end = (each.replace(" -->", f" {name} -->") if name else each for each in (BEGIN, END))
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ResultError(f"{page}: expected one '{begin}' and one '{end}' behind it")
    return f"{text[: text.index(begin)]}{begin}\n{content}\n{text[text.index(end) :]}"


Readers = tuple[tuple[str, Callable[[Path], Iterator[str]] | Grouped], ...]

STORAGE = {
    "text": text_lines,
    "streaming": streaming_lines,
    "memory": memory_lines,
    "chain": chain_lines,
    "cluster": cluster_lines,
    "routing": routing_lines,
    "key-nodes": node_lines,
    "simgrid": simgrid_lines,
}
"""Blocks of docs/papers/fhe_storage_io.md."""

PAGES: dict[str, Readers] = {
    "README.md": (
        ("peers*.json", peers_lines),
        ("digits*.json", digits_lines),
        ("run_*.json", Grouped(summary_lines, "resnet20", "helr", "sorting")),
    ),
    "docs/guides/networks.md": (("run_resnet20*.json", Grouped(network_lines, "resnet20")),),
    "docs/guides/training.md": (("run_helr*.json", checked(training_lines, "halocline run helr")),),
    "docs/guides/sorting.md": (("run_sorting*.json", checked(sorting_lines, "halocline run sorting")),),
    "docs/guides/choosing.md": (("choices*.json", checked(choices_lines, "tools/check_choices.py")),),
    "docs/guides/memory.md": (("wide_rotations*.json", wide_rotations_lines),),
    "docs/papers/hybrid_unified_memory.md": (("hybrid_paper*.json", hybrid_paper_lines),),
    "docs/papers/hybrid_unified_memory.md#ratio": (
        ("ratio*.json", checked(ratio_lines, "halocline bench ratio")),
    ),
    "docs/papers/hybrid_unified_memory.md#operations": (
        ("bm_operations*.json", checked(bm_operations_lines, "halocline bench bm-operations")),
    ),
    "docs/papers/hybrid_unified_memory.md#bm-bootstrap": (
        ("bm_bootstrap*.json", checked(bm_lines, "halocline bench bm-bootstrap")),
    ),
    "docs/papers/hybrid_unified_memory.md#resnet": (
        ("resnet20_budget*.json", checked(resnet_lines, "halocline bench resnet20-budget")),
    ),
    **{
        f"docs/papers/fhe_storage_io.md#{name}": (
            ("storage_paper*.json", checked(lines, "halocline paper storage")),
        )
        for name, lines in STORAGE.items()
    },
    "docs/guides/benchmarks.md#bootstrap-budget": (
        ("bootstrap_budget*.json", checked(curve_lines, "halocline bench bootstrap-budget")),
    ),
    "docs/guides/gpu.md": (("operations*.json", checked(operations_lines, "halocline bench operations")),),
    "docs/concepts/key_nodes.md": (
        ("key_nodes*.json", checked(key_node_lines, "halocline bench key-nodes")),
    ),
    "docs/guides/many_users.md": (("users*.json", checked(users_lines, "tools/bench_users.py")),),
    "docs/guides/many_users.md#soak": (
        ("soak_key_store*.json", checked(soak_lines, "tools/soak_key_store.py")),
    ),
    "docs/papers/gpir.md": (("retrieval*.json", Grouped(retrieval_lines, "retrieval", key="suite")),),
    "docs/concepts/cuda_backend.md": (("kernels*.json", checked(kernels_lines, "halocline_kernel_bench")),),
}
"""Page, and behind # the name of a block -> which files make the block."""


def update(page: Path, root: Path, readers: Readers, check: bool, name: str = "") -> bool:
    """Updates or checks one block of a page; whether it is as it should be now."""
    old = page.read_text()
    new = replaced(old, page, block(root, readers), name)
    if new == old:
        return True
    if check:
        print(f"{page}:1: the results block is stale; run python tools/update_results.py")
        return False
    page.write_text(new)
    print(f"results: wrote {page}")
    return True


def main(arguments: list[str] | None = None) -> int:
    """Updates or checks the pages of the checkout that this file lies in, or of another root."""
    parser = argparse.ArgumentParser(description="Writes the results blocks of README.md and other pages.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the block is stale")
    parser.add_argument("--root", type=Path, default=ROOT, help="checkout to work on")
    options = parser.parse_args(arguments)
    try:
        done = []
        for place, readers in PAGES.items():
            page, _, name = place.partition("#")
            if page == REQUIRED or (options.root / page).exists():
                done.append(update(options.root / page, options.root, readers, options.check, name))
    except (ResultError, OSError) as error:
        print(error)
        return 1
    if all(done):
        print("results: ok")
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
