# SPDX-License-Identifier: Apache-2.0
"""`halocline params`: presets, their security, levels and sizes."""

from __future__ import annotations

import dataclasses
import json as json_module
import math
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ..base.errors import InvalidArgument, LevelExhausted
from ..ckks.params import REQUIRED_SECURITY, Bootstrapping, Params, preset_description, preset_names
from .common import JsonOption, command, load_params, results_console, size, write_json
from .groups import Group

FAILURE_BITS = (32, 128)
"""Failure probabilities, as powers of 1/2, for which the range of EvalMod is shown."""

app = typer.Typer(
    cls=Group, help="Presets: security, levels, bytes of keys and ciphertexts.", no_args_is_help=True
)


def _summary(params: Params) -> dict[str, Any]:
    return {
        "name": params.name,
        "log_n": params.log_n,
        "slots": params.slots,
        "levels": params.max_level,
        "word_bits": params.word_bits,
        "log2_q": params.log2_q,
        "log2_p": params.log2_p,
        "log2_pq": params.log2_pq,
        "security_bits": params.security_bits,
        "secure": params.security_bits >= REQUIRED_SECURITY,
        "ciphertext_bytes": params.ciphertext_bytes(),
        "key_bytes": params.key_bytes(),
        "key_seeded_bytes": params.key_bytes(seeded=True),
    }


@app.command("list")
@command
def list_presets(json: JsonOption = None) -> None:
    """List the presets."""
    rows = [_summary(Params.preset(name, allow_insecure=True)) for name in preset_names()]
    table = Table("name", "N", "levels", "words", "log2 PQ", "security", "ciphertext", "key", title="Presets")
    for column in table.columns:
        column.no_wrap = True
    for row in rows:
        bits = f"{row['security_bits']:.0f} bits" if row["secure"] else "[red]insecure[/]"
        ciphertext, key = size(row["ciphertext_bytes"]), size(row["key_bytes"])
        word = f"{row['word_bits']} bit"
        table.add_row(
            row["name"],
            f"2^{row['log_n']}",
            str(row["levels"]),
            word,
            f"{row['log2_pq']:.0f}",
            bits,
            ciphertext,
            key,
        )
    results_console(json).print(table)
    write_json(json, {"presets": rows})


@app.command("show")
@command
def show(
    name: Annotated[str, typer.Argument(help="A preset, or a file with parameters.")],
    json: JsonOption = None,
) -> None:
    """Show one parameter set: security with its source, level table, sizes."""
    params = load_params(name, allow_insecure=True)
    console = results_console(json)
    _print_head(console, params)
    forecast = _forecast(params)
    if params.bootstrapping is not None:
        _print_bootstrapping(console, params, params.bootstrapping, forecast)
    _print_levels(console, params)
    content = _summary(params) | {
        "description": preset_description(name) if name in preset_names() else "",
        "max_log2_pq": params.max_log2_pq,
        "security_source": params.security_source,
        "fingerprint": params.fingerprint,
        "digits": params.digit_count,
        "public_key_bytes": params.public_key_bytes,
        "secret_key_bytes": params.secret_key_bytes,
        "table_bytes": params.table_bytes,
        "literal": json_module.loads(params.to_json()),
        "level_table": [dataclasses.asdict(each) for each in params.levels],
        "bootstrapping": _bootstrapping(params) | {"forecast": forecast} if params.bootstrapping else None,
    }
    write_json(json, content)


def _forecast(params: Params) -> dict[str, float] | None:
    """Bits that random messages in the unit disc keep in full slots; None where they cannot be had."""
    if params.bootstrapping is None:
        return None
    from ..workloads.bootstrap.messages import make_bootstrapper

    try:
        facts = make_bootstrapper(params, {}).describe()
    except (InvalidArgument, LevelExhausted):
        return None
    return {each: facts[each] for each in ("mean_bits", "worst_bits", "log2_failure_probability")}


def _ranges(params: Params, chosen: Bootstrapping) -> list[tuple[float, float | None]]:
    """(range of EvalMod, log2 of the probability that it is left, None when it cannot be), all slots."""
    ranges = (chosen.overflow_range(-bits, params.slots) for bits in FAILURE_BITS)
    exact = ((each, chosen.log2_overflow_probability(each, params.slots)) for each in ranges)
    return [(each, None if math.isinf(log2) else log2) for each, log2 in exact]


def _bootstrapping(params: Params) -> dict[str, Any]:
    chosen = params.bootstrapping
    assert chosen is not None  # asked for parameters that have it only
    levels_left = params.max_level - chosen.slot_to_coeff_levels
    return dataclasses.asdict(chosen) | {
        "levels_left": levels_left,
        "log2_modulus_left": params.level(levels_left).log2_modulus,
        "encapsulation_key_bytes": params.encapsulation_key_bytes(),
        "ranges": [
            {"range": each, "log2_overflow_probability": log2} for each, log2 in _ranges(params, chosen)
        ],
    }


def _print_bootstrapping(
    console: Console, params: Params, chosen: Bootstrapping, forecast: dict[str, float] | None
) -> None:
    table = Table(show_header=False, box=None, title="Bootstrapping", title_justify="left")
    left = params.max_level - chosen.slot_to_coeff_levels
    table.add_row(
        "CoeffToSlot", f"{chosen.coeff_to_slot_levels} levels of {chosen.coeff_to_slot_bits:g} bits"
    )
    table.add_row("EvalMod", f"{chosen.eval_mod_levels} levels of {chosen.eval_mod_bits:g} bits")
    table.add_row("SlotToCoeff", f"{chosen.slot_to_coeff_levels} ordinary levels")
    table.add_row("left afterwards", f"{left} levels, log2 Q {params.level(left).log2_modulus:.1f}")
    if chosen.encapsulated:
        bound = f"bound for 128 bits {chosen.ephemeral_max_log2_pq:.1f}"
        if not chosen.ephemeral_max_log2_pq:
            bound = "no published bound applies"
        table.add_row(
            "sparse secret", f"weight {chosen.raise_weight}, log2 PQ {chosen.ephemeral_log2_pq:.1f}; {bound}"
        )
        table.add_row("its source", chosen.ephemeral_security_source or "-")
        table.add_row("encapsulation key", size(params.encapsulation_key_bytes()))
    else:
        table.add_row("raised under", f"the main secret, weight {chosen.raise_weight}")
    for range_, log2 in _ranges(params, chosen):
        left_with = "never left" if log2 is None else f"left with probability 2^{log2:.1f}"
        table.add_row(f"range {range_:.0f}", f"{left_with}, all {params.slots} slots")
    if forecast is not None:
        bits = f"{forecast['mean_bits']:.1f} bits in the mean, {forecast['worst_bits']:.1f} in the worst slot"
        table.add_row("forecast", f"{bits}, for random messages in the unit disc, all slots")
    console.print(table)


def _print_head(console: Console, params: Params) -> None:
    secure = params.security_bits >= REQUIRED_SECURITY
    bound = (
        f"bound for 128 bits {params.max_log2_pq:.1f}" if params.max_log2_pq else "no published bound applies"
    )
    table = Table(show_header=False, box=None)
    table.add_row("name", params.name)
    if params.name in preset_names():
        table.add_row("for", preset_description(params.name))
    table.add_row("ring degree N", f"2^{params.log_n} = {params.n}, {params.slots} slots")
    table.add_row(
        "words", f"{params.word_bits} bit, {len(params.primes)} primes, {params.digit_count} digits"
    )
    table.add_row("log2 PQ", f"{params.log2_pq:.1f} = Q {params.log2_q:.1f} + P {params.log2_p:.1f}; {bound}")
    state = "" if secure else " [red](insecure: tests only)[/]"
    table.add_row("security", f"{params.security_bits:.0f} bits{state}")
    table.add_row("source", params.security_source or "-")
    table.add_row(
        "evaluation key", f"{size(params.key_bytes())}, {size(params.key_bytes(seeded=True))} seeded"
    )
    table.add_row("public key", size(params.public_key_bytes))
    table.add_row("tables", size(params.table_bytes))
    console.print(table)


def _print_levels(console: Console, params: Params) -> None:
    columns = ["level", "log2 Q", "log2 scale", "primes", "ciphertext", "key up to here"]
    groups = params.bootstrapping is not None
    table = Table(*columns, *(["for"] if groups else []), title="Levels")
    for each in reversed(params.levels):
        primes = f"{each.primes} ({each.mains} main, {each.terminals} terminal)"
        sizes = (size(each.ciphertext_bytes), size(each.key_bytes))
        scale = f"{math.log2(each.scale):.3f}"
        use = [each.use.replace("_", " ")] if groups else []
        table.add_row(str(each.level), f"{each.log2_modulus:.1f}", scale, primes, *sizes, *use)
    console.print(table)
