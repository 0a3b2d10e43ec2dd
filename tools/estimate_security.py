# SPDX-License-Identifier: Apache-2.0
"""Costs of attacks on parameter sets by the lattice estimator, beside the bounds that the library uses.

    sage -python tools/estimate_security.py --preset n14-d7 --json estimate.json

needs the package `halocline` and the lattice estimator (github.com/malb/lattice-estimator), a package for
SageMath that no registry has: install Sage, clone the estimator, and set PYTHONPATH to its folder and to
`python` of this repository. Nothing of the library depends on it. Large sets take hours; `--attack` selects.

For each secret of a set, the main one modulo PQ and the sparse one of bootstrapping modulo its own modulus,
the estimator gets n, q = 2^log2(PQ), the distribution of the secret, errors of the set's deviation, and as
many samples as an attack likes (m = oo, its default), with the cost model of the tables that the library uses
(`RC.BDGL16`).

The exit status is 1 when a cost is below 128 bits, 2 when something is missing.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

REQUIRED = 128
DENIED = ("arora-gb",)
"""Attacks left out: far from competitive here, and slow to estimate."""


@dataclass(frozen=True)
class Instance:
    """One secret of a parameter set, as the estimator sees it."""

    name: str
    secret: str
    log2_n: int
    log2_q: float
    hamming_weight: int
    """Of a sparse secret; 0 for uniform ternary."""
    error_stddev: float
    table_bits: float
    table_max_log2_q: float


def instances(params: Any) -> Iterator[Instance]:
    """The main secret of a set, and the sparse one of its bootstrapping."""
    source = json.loads(params.to_json())
    stddev = float(source["error_stddev"])
    weight = int(source["secret"].get("hamming_weight", 0))
    main = (weight, stddev, params.main_security_bits, params.max_log2_pq)
    yield Instance(params.name, "main", params.log_n, params.log2_pq, *main)
    extra = params.bootstrapping
    if extra is not None and extra.encapsulated:
        table = (extra.ephemeral_security_bits, extra.ephemeral_max_log2_pq)
        sparse = (extra.raise_weight, stddev, *table)
        yield Instance(params.name, "sparse", params.log_n, extra.ephemeral_log2_pq, *sparse)


def lwe_parameters(estimator: ModuleType, instance: Instance) -> Any:
    """The estimator's description of an instance. A sparse secret has as many 1 as -1.

    By keyword, because versions of the estimator order the arguments of SparseTernary differently.
    """
    n = 2**instance.log2_n
    weight = instance.hamming_weight
    if weight:
        secret = estimator.ND.SparseTernary(p=weight // 2, m=weight - weight // 2, n=n)
    else:
        secret = estimator.ND.UniformMod(3)
    return estimator.LWE.Parameters(
        n=n,
        q=power_of_two(instance.log2_q),
        Xs=secret,
        Xe=estimator.ND.DiscreteGaussian(instance.error_stddev),
        tag=f"{instance.name}/{instance.secret}",
    )


def power_of_two(log2_q: float) -> int:
    """The integer next to 2^log2_q, to 53 bits: q need not be a prime for an estimate."""
    whole = math.floor(log2_q) - 53
    return round(2 ** (log2_q - whole)) << whole if whole >= 0 else round(2**log2_q)


def cost_bits(cost: Any) -> float:
    """log2 of the operations ("rop") of a result of the estimator."""
    operations = cost["rop"]
    try:
        return math.log2(operations)
    except OverflowError:  # larger than a float: Sage's and Python's integers have their own logarithm
        return float(int(operations).bit_length() - 1)


def estimate(estimator: ModuleType, instance: Instance, attacks: list[str] | None) -> dict[str, float]:
    """log2 of the cost by attack; infinite where an attack does not apply."""
    found = estimator.LWE.estimate(
        lwe_parameters(estimator, instance), red_cost_model=estimator.RC.BDGL16, deny_list=DENIED
    )
    bits = {str(name): cost_bits(cost) for name, cost in found.items()}
    return bits if attacks is None else {name: bits[name] for name in bits if name in attacks}


def load_estimator() -> ModuleType:
    """The package `estimator`; SystemExit that says what is missing."""
    try:
        found = importlib.import_module("estimator")
    except ImportError as error:
        missing = getattr(error, "name", None) or "estimator"
        what = "SageMath" if missing.split(".")[0] == "sage" else f"the Python package '{missing}'"
        sys.stderr.write(
            f"estimate_security: {what} is missing ({error}). The lattice estimator runs under SageMath: "
            "install Sage, clone https://github.com/malb/lattice-estimator, and run\n"
            "  PYTHONPATH=lattice-estimator:python sage -python tools/estimate_security.py --preset n14-d7\n"
            "Without it the bounds of the tables still hold: see `halocline params show NAME` and "
            "docs/concepts/parameters.md.\n"
        )
        raise SystemExit(2) from None
    lacking = [each for each in ("LWE", "ND", "RC") if not hasattr(found, each)]
    if lacking:
        sys.stderr.write(
            f"estimate_security: the package 'estimator' at {getattr(found, '__file__', '?')} has no "
            f"{', '.join(lacking)}; expected the lattice estimator (github.com/malb/lattice-estimator)\n"
        )
        raise SystemExit(2)
    return found


def print_row(row: dict[str, Any]) -> None:
    """One instance: the table's claim, then the attacks from the cheapest on."""
    weight = f"weight {row['hamming_weight']}" if row["hamming_weight"] else "ternary"
    print(f"{row['name']} {row['secret']}: N = 2^{row['log2_n']}, log2(q) = {row['log2_q']:.1f}, {weight}")
    print(f"  {'table':16} {row['table_bits']:8.1f}   bound on log2(q) {row['table_max_log2_q']:.1f}")
    for name, bits in sorted(row["attacks"].items(), key=lambda each: each[1]):
        print(f"  {name:16} {bits:8.1f}")


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Options from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--preset", action="append", metavar="NAME", help="all secure ones unless given")
    parser.add_argument(
        "--attack", action="append", metavar="NAME", help="report these only, e.g. bdd_hybrid"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the costs as JSON")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Estimates and prints; see the module's text for the exit status."""
    options = parse(arguments)
    estimator = load_estimator()
    import halocline as hc

    names = options.preset or [each for each in hc.preset_names() if not each.startswith("test-")]
    chosen = [hc.Params.preset(name, allow_insecure=True) for name in names]
    rows = []
    for instance in (each for params in chosen for each in instances(params)):
        rows.append(asdict(instance) | {"attacks": estimate(estimator, instance, options.attack)})
        print_row(rows[-1])
    if options.json is not None:
        finite = [
            row | {"attacks": {k: v if math.isfinite(v) else None for k, v in row["attacks"].items()}}
            for row in rows
        ]
        options.json.write_text(json.dumps({"schema": 1, "rows": finite}, indent=2) + "\n")
    return int(any(bits < REQUIRED for row in rows for bits in row["attacks"].values()))


if __name__ == "__main__":
    sys.exit(main())
