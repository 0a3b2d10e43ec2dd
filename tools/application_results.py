# SPDX-License-Identifier: Apache-2.0
"""Tables of the applications: `halocline run resnet20`, `helr` and `sorting` for README.md and their guides,
`halocline bench resnet20-budget` for docs/papers/hybrid_unified_memory.md."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from bootstrap_results import three, where_text
from gpu_results import expect_schema

Json = dict[str, Any]
BUDGET_SCHEMA = 1
GIB = 1 << 30
CLASSES = {
    "keys": ("evaluation_key", "engine keys"),
    "weights": ("plaintext", "engine plaintexts"),
    "ciphertexts": ("ciphertext", "engine ciphertexts"),
    "scratch": ("scratch", "engine workspace"),
    "tables": ("table", "engine tables"),
}
"""Object classes as they are called here -> in reports of networks, in those of the other workloads."""
MANUAL = "lru@blocking"
"""What stands for swapping by hand where it was measured; on device models that is `lru`."""


def run_text(data: Json) -> str:
    """Where and with which commit a run was made."""
    driver = f", driver {data['driver']}" if "driver" in data else ""
    return f"{data['folder']}{driver}, commit {data['commit'][:10]}"


def percent(share: float) -> str:
    """0.9562 -> "95.62 %"."""
    return f"{100 * share:.4g} %"


def gib(count: float) -> str:
    """Bytes as "5.59 GiB"."""
    return f"{count / GIB:.2f} GiB"


def power(error: float) -> str:
    """0.0147 -> "0.0147 (2^-6.1)"."""
    return f"{three(error)} (2^{math.log2(error):.1f})" if error > 0 else "0"


# README.md


def summary_lines(runs: Sequence[Json]) -> Iterator[str]:
    """One paragraph on the applications of a device: of the fastest image, of training and of sorting."""
    sentences = {"resnet20": _network_sentence, "helr": _training_sentence, "sorting": _sorting_sentence}
    chosen = []
    for name in sentences:
        found = [each for each in runs if each["workload"] == name]
        chosen += sorted(found, key=lambda each: (each["budget_bytes"] > 0, _pace(each)))[:1]
    where = "; ".join(dict.fromkeys(map(run_text, chosen)))
    parts = (f"`{each['workload']}` {sentences[each['workload']](each)}" for each in chosen)
    yield f"`halocline run` ({where}): {'; '.join(parts)}."


def _pace(data: Json) -> float:
    pace = data.get("seconds_per_image") or data.get("sort_seconds") or data.get("ms_per_iteration")
    return float(pace or math.inf)


def _network_sentence(data: Json) -> str:
    return (
        f"{three(data['seconds_per_image'])} s an image, {percent(data['agreement'])} of "
        f"{data['images']} images with the class that they get in the clear, logits off by at most "
        f"{three(data['logit_error'])}, {_budget(data)}peak {gib(data['peak_bytes'])}"
    )


def _training_sentence(data: Json) -> str:
    return (
        f"{three(data['ms_per_iteration'])} ms an iteration on {data['samples']} samples of "
        f"{data['features']} features, accuracy {percent(data['accuracy'])}, in the clear "
        f"{percent(data['accuracy_exact'])}, {_budget(data)}peak {gib(data['peak_bytes'])}"
    )


def _sorting_sentence(data: Json) -> str:
    return (
        f"{data['count']} numbers in {three(data['sort_seconds'])} s, off by at most "
        f"{three(data['max_error'])}, {_budget(data)}peak {gib(data['peak_bytes'])}"
    )


def _budget(data: Json) -> str:
    """Nothing where there was room."""
    return f"policy `{data['policy']}` within {gib(data['budget_bytes'])}, " if data["budget_bytes"] else ""


# docs/guides/networks.md


def network_lines(runs: Sequence[Json]) -> Iterator[str]:
    """Time, precision and memory of each run of ResNet-20 on a device; then bytes by class."""
    yield f"`halocline run resnet20` ({'; '.join(dict.fromkeys(map(run_text, runs)))}):"
    yield ""
    yield (
        "| run | policy | budget | images | s an image | of the first | same class | largest logit error "
        "| peak | loaded an image | waiting, s an image |"
    )
    yield f"|---|---|---|{'---:|' * 8}"
    ordered = sorted(runs, key=lambda each: (each["file"] != "run_resnet20", each["file"]))
    for data in ordered:
        yield f"| {' | '.join(_network_cells(data, ordered[0]))} |"
    yield ""
    yield "What a program touches in all, by class:"
    yield ""
    yield f"| run | {' | '.join(CLASSES)} | together at most |"
    yield f"|---|{'---:|' * (len(CLASSES) + 1)}"
    shown: list[Json] = []
    for data in ordered:
        if data["footprint"] not in shown:
            shown.append(data["footprint"])
            yield f"| {_label(data)} | {' | '.join(_classes(data))} | {gib(data['footprint_bytes'])} |"


def _label(data: Json) -> str:
    """run_resnet20_small_key -> "small key"."""
    return data["file"].removeprefix(f"run_{data['workload']}").strip("_").replace("_", " ") or "as it is"


def _network_cells(data: Json, first: Json) -> list[str]:
    seconds, count = data["seconds_per_image"], data["images"]
    of_first = seconds / first["seconds_per_image"] if seconds and first["seconds_per_image"] else None
    budget = gib(data["budget_bytes"]) if data["budget_bytes"] else "none"
    if data["budget_bytes"]:
        budget += f" ({data['budget_bytes'] / data['footprint_bytes']:.0%})"
    loaded = data["bytes_moved"].get("loaded", 0) / count
    return [
        _label(data),
        f"`{data['policy']}`",
        budget,
        str(count),
        three(seconds),
        three(of_first),
        percent(data["agreement"]),
        power(data["logit_error"]),
        gib(data["peak_bytes"]),
        gib(loaded),
        three(data["stall_seconds"] / count),
    ]


def _classes(data: Json) -> list[str]:
    footprint = data["footprint"]
    found = (next((footprint[each] for each in names if each in footprint), 0) for names in CLASSES.values())
    return [gib(each) for each in found]


# docs/guides/training.md, docs/guides/sorting.md


def _table(data: Json, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield f"`halocline run {data['workload']}` ({run_text(data)}), policy `{data['policy']}`:"
    yield ""
    yield "| | |"
    yield "|---|---:|"
    classes = zip(CLASSES, _classes(data), strict=True)
    memory = ", ".join(f"{name} {size}" for name, size in classes)
    keys = f"{data['distinct_keys']}, {gib(data['key_bytes'])}"
    budget = gib(data["budget_bytes"]) if data["budget_bytes"] else "none"
    common = [("keys", keys), ("footprint by class", memory), ("budget", budget)]
    for name, value in (*rows, *common, ("peak", gib(data["peak_bytes"]))):
        yield f"| {name} | {value} |"


def training_lines(data: Json) -> Iterator[str]:
    """What training takes, and what comes out."""
    if data["workload"] != "helr":
        raise KeyError(f"workload '{data['workload']}'")
    parts = (data[f"ms_per_iteration_{name}"] for name in ("bootstrap", "rest"))
    rows = [
        ("data", f"{data['data']}, {data['samples']} samples of {data['features']} features"),
        ("iterations, bootstraps", f"{data['iterations']}, {data['bootstraps']}"),
        ("ms an iteration", three(data["ms_per_iteration"])),
        ("of that bootstrapping, and the rest", ", ".join(map(three, parts))),
        ("ms a bootstrap by itself", three(data["ms_per_bootstrap"])),
        ("accuracy on held-out samples", percent(data["accuracy"])),
        ("same training in the clear", percent(data["accuracy_plain"])),
        ("in the clear with the exact sigmoid", percent(data["accuracy_exact"])),
        ("bits of the weights, mean and worst", _bits(data)),
    ]
    yield from _table(data, rows)


def _bits(data: Json) -> str:
    return f"{data['precision_bits']:.1f}, {data['precision_worst_bits']:.1f}"


def sorting_lines(data: Json) -> Iterator[str]:
    """What sorting takes, and how sorted the result is."""
    if data["workload"] != "sorting":
        raise KeyError(f"workload '{data['workload']}'")
    rows = [
        ("numbers, alpha", f"{data['count']}, {data['alpha']}"),
        ("stages, bootstraps", f"{data['stages']}, {data['bootstraps']}"),
        ("seconds", three(data["sort_seconds"])),
        ("of that bootstrapping", three(data["bootstrap_seconds"])),
        ("ms a stage, median", three(data["ms_per_stage"])),
        ("largest error", power(data["max_error"])),
        ("by the polynomials alone", power(data["max_error_simulated"])),
        ("mean error", power(data["mean_error"])),
        ("key switches", str(data["key_switches"])),
    ]
    yield from _table(data, rows)


# docs/papers/hybrid_unified_memory.md


def resnet_lines(data: Json) -> Iterator[str]:
    """Seconds of one image by policy and budget, and as shares of what swapping by hand takes."""
    expect_schema(data, "resnet20-budget", BUDGET_SCHEMA)
    about, rows = data["batches"][0], {(row["policy"], row["memory"]): row for row in data["rows"]}
    budgets = list(dict.fromkeys(memory for _, memory in rows if memory != "all"))
    policies = list(dict.fromkeys(policy for policy, _ in rows if policy != "resident"))
    manual = MANUAL if MANUAL in policies else "lru"
    if data["simulated"]:
        device = data["device"].upper()
        how = f"**simulated**: replayed on a model of the {device}, commit {data['commit'][:10]}"
    else:
        how = f"**measured**: {where_text(data)}"
    yield f"`halocline bench resnet20-budget --device {data['device']}` ({how}),"
    whole, least = gib(about["footprint_bytes"]), gib(about["minimum_bytes"])
    resident = three(rows["resident", "all"].get("seconds"))
    yield f"seconds an image, and as a share of `{manual}`; {whole} in all, with which"
    yield f"`resident` takes {resident} s; the least for a plan is {least}:"
    yield ""
    yield f"| policy | {' | '.join(_budget_title(rows, each) for each in budgets)} |"
    yield f"|---|{'---:|' * len(budgets)}"
    for policy in _with_manual(policies):
        cells = (_against(rows, policy, manual, memory, data["simulated"]) for memory in budgets)
        yield f"| `{policy}` | {' | '.join(cells)} |"
    yield ""
    yield _best_sentence(rows, budgets, manual)


def _budget_title(rows: dict[tuple[str, str], Json], memory: str) -> str:
    row = next(row for (_, each), row in rows.items() if each == memory)
    size = gib(row["budget_bytes"])
    return f"{memory}, {size}" if memory.endswith("%") else f"{size}, {row['share']:.0%}"


def _with_manual(policies: Sequence[str]) -> list[str]:
    """The policies, blocking copies behind `lru` although nothing is known of them."""
    made = [each for each in policies if each != MANUAL]
    made.insert(made.index("lru") + 1 if "lru" in made else len(made), MANUAL)
    return made


def _against(
    rows: dict[tuple[str, str], Json], policy: str, manual: str, memory: str, simulated: bool
) -> str:
    row = rows.get((policy, memory))
    if row is None:
        return "as `lru`" if simulated and policy == MANUAL else "not measured"
    if "out_of_memory" in row:
        return "too small"
    base = rows.get((manual, memory), {}).get("seconds")
    return three(row["seconds"]) + (f" ({row['seconds'] / base:.0%})" if base else "")


def _best_sentence(rows: dict[tuple[str, str], Json], budgets: Sequence[str], manual: str) -> str:
    """How much less time plans and the best of the paper's schemes take than swapping by hand."""
    parts = []
    for memory in (each for each in budgets if each.endswith("%")):
        times = {policy: row.get("seconds") for (policy, each), row in rows.items() if each == memory}
        base, planned = times.get(manual), times.get("planned")
        schemes = ("profiled", "dynamic", "static", "managed")
        seen = {name: value for name, value in times.items() if name.split("@")[0] in schemes and value}
        if base is None or planned is None:
            continue
        text = f"Within {memory} `planned` takes {_change(planned, base)} as `{manual}`"
        if seen:
            best = min(seen, key=lambda name: seen[name])
            text += f", the best hybrid scheme (`{best}`) {_change(seen[best], base)}"
        parts.append(text)
    return ". ".join(parts) + "." if parts else "Nothing to compare with."


def _change(new: float, old: float) -> str:
    """0.57 times as long."""
    return f"{new / old:.2g} times as long"
