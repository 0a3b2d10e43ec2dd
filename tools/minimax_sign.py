#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Composite minimax polynomials of the sign function: the tables that the library ships.

A set for precision alpha is a chain of odd polynomials p_1, ..., p_k with
|p_k(...p_1(x)...) - sign(x)| <= 2^-alpha for epsilon <= |x| <= 1. Each p_i is the minimax odd
approximation of sign on the range of the previous one, which makes the chain optimal for its
degrees: E. Lee, J.-W. Lee, J.-S. No, Y.-S. Kim, "Minimax approximation of sign function by composite
polynomial for homomorphic comparison" (ePrint 2020/834). The degrees are those that the same group
uses for ReLU with an error of about 2^-alpha on all of [-1, 1] (J. Lee et al., "Precise approximation
of convolutional neural networks for homomorphically encrypted data", arXiv 2105.10879; E. Lee et al.,
ICML 2022). Near zero ReLU forgives a wrong sign, so epsilon is far above 2^-alpha: it is the smallest
one that the degrees allow, and the table states it together with the error of ReLU.

Conventions of the tables (the same in C++ and JSON):
* Units in which sign is +-1 are *plain*. Stage i works on u = plain value / domain_i, domain_1 = 1.
* p_i(u) = sum_k chebyshev_odd[k] T_{2k+1}(u), *already divided by domain_{i+1}*, so its value is the
  next stage's u: a chain is evaluated stage by stage without any scaling in between.
* For input_low <= |u| <= input_high the value lies in [output_low, output_high] times sign(u). The
  next stage's input interval is wider by `margin` on both sides, so noise below it cannot leave it.
* For |u| < input_low the value is between -output_high and output_high.

    python tools/minimax_sign.py     write both tables (mpmath and numpy needed, about half a minute)
"""

from __future__ import annotations

import argparse
import json
import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import mpmath as mp
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
TABLE_CPP = ROOT / "cpp/src/circuits/minimax_sign_tables.inc"
TABLE_JSON = ROOT / "python/halocline/data/minimax_sign.json"
SCHEMA = "halocline.minimax_sign.v1"

DEGREES: dict[int, tuple[int, ...]] = {
    6: (3, 7),
    7: (7, 7),
    8: (7, 15),
    9: (15, 15),
    10: (7, 7, 13),
    11: (7, 7, 27),
    12: (7, 15, 27),
    13: (15, 15, 27),
}

# Noise that the input of each later stage may carry, in the stage's own variable. CKKS noise at the
# 40-bit scale is several bits below it.
MARGIN = mp.mpf(2) ** -16

# Share of 2^-alpha that the polynomials may use; the rest is left to the noise of the last stage.
SHARE = 1 - mp.mpf(2) ** -6

# Grid on which epsilon is chosen, so that it is short and exact.
EPSILON_STEP = mp.mpf(2) ** -20

# Rounding of coefficients to double moves a value by less than this.
ROUNDING = mp.mpf(2) ** -45

mp.mp.dps = 60


def bracketed_root(f: Callable[[mp.mpf], mp.mpf], low: mp.mpf, high: mp.mpf, digits: int) -> mp.mpf:
    """The root of `f` between points of different sign (regula falsi with the Illinois rule)."""
    f_low, f_high = f(low), f(high)
    if f_low * f_high > 0:
        raise ArithmeticError(f"no sign change between {mp.nstr(low, 8)} and {mp.nstr(high, 8)}")
    tolerance = mp.mpf(10) ** -digits
    side = 0
    while high - low > tolerance * high:
        middle = (low * f_high - high * f_low) / (f_high - f_low)
        f_middle = f(middle)
        if f_middle == 0:
            return middle
        if f_middle * f_high > 0:
            if high - middle < tolerance * high and side == 1:
                return middle
            high, f_high = middle, f_middle
            f_low = f_low / 2 if side == 1 else f_low
            side = 1
        else:
            if middle - low < tolerance * high and side == -1:
                return middle
            low, f_low = middle, f_middle
            f_high = f_high / 2 if side == -1 else f_high
            side = -1
    return (low + high) / 2


def horner(coefficients: Sequence[mp.mpf], x: mp.mpf) -> mp.mpf:
    """sum_k coefficients[k] x^k."""
    total = mp.mpf(0)
    for coefficient in reversed(coefficients):
        total = total * x + coefficient
    return total


@dataclass(frozen=True)
class OddPolynomial:
    """sum_k coefficients[k] x^(2k+1)."""

    coefficients: tuple[mp.mpf, ...]

    def __call__(self, x: mp.mpf) -> mp.mpf:
        """The value at x."""
        return x * horner(self.coefficients, x * x)

    def slope(self, x: mp.mpf) -> mp.mpf:
        """The derivative."""
        scaled = [(2 * k + 1) * c for k, c in enumerate(self.coefficients)]
        return horner(scaled, x * x)

    def chebyshev(self) -> list[mp.mpf]:
        """Coefficients of T_1, T_3, ...: a discrete cosine transform, exact for this degree."""
        count = 4 * len(self.coefficients)
        angles = [mp.pi * (2 * j + 1) / (2 * count) for j in range(count)]
        values = [self(mp.cos(angle)) for angle in angles]
        return [
            2 * mp.fsum(v * mp.cos((2 * k + 1) * a) for v, a in zip(values, angles, strict=True)) / count
            for k in range(len(self.coefficients))
        ]


def minimax_odd(low: mp.mpf, degree: int) -> tuple[OddPolynomial, mp.mpf]:
    """Best odd approximation of 1 on [low, 1] with its error, by Remez exchange.

    Odd monomials are a Haar system on (0, inf), and symmetry turns the two intervals of sign into
    this one. With n coefficients, the error has n zeros between the n + 1 points where it
    alternates, hence its derivative, which is a polynomial of degree n - 1 in x^2, has exactly one
    root between neighbouring zeros: all extrema are found, and the end points are among them.
    """
    terms = (degree + 1) // 2
    points = [low ** ((1 + mp.cos(mp.pi * i / terms)) / 2) for i in range(terms + 1)]
    for _ in range(100):
        system = mp.matrix(terms + 1, terms + 1)
        for i, x in enumerate(points):
            for k in range(terms):
                system[i, k] = x ** (2 * k + 1)
            system[i, terms] = (-1) ** i
        solution = mp.lu_solve(system, mp.matrix([1] * (terms + 1)))
        polynomial = OddPolynomial(tuple(solution[k] for k in range(terms)))
        zeros = [
            bracketed_root(lambda x: polynomial(x) - 1, a, b, 15)  # noqa: B023
            for a, b in zip(points, points[1:], strict=False)
        ]
        inner = [bracketed_root(polynomial.slope, a, b, 20) for a, b in zip(zeros, zeros[1:], strict=False)]
        points = [low, *inner, mp.mpf(1)]
        errors = [abs(polynomial(x) - 1) for x in points]
        if max(errors) < min(errors) * (1 + mp.mpf(10) ** -12):
            return polynomial, max(errors)
    raise ArithmeticError(f"Remez exchange did not settle for degree {degree} on [{low}, 1]")


@dataclass(frozen=True)
class Stage:
    """One polynomial of a chain; see the conventions above."""

    domain: float
    input_low: float
    input_high: float
    output_low: float
    output_high: float
    chebyshev_odd: tuple[float, ...]


@dataclass(frozen=True)
class Composite:
    """A chain for one alpha; `error` bounds |chain - sign| on epsilon <= |x| <= 1, `relu_error`
    bounds |x (1 + chain) / 2 - ReLU(x)| on [-1, 1], `margin` is the noise tolerated between stages.
    """

    alpha: int
    epsilon: float
    error: float
    relu_error: float
    margin: float
    degrees: tuple[int, ...]
    levels: int
    stages: tuple[Stage, ...]

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The chain in float64."""
        for stage in self.stages:
            series = np.zeros(2 * len(stage.chebyshev_odd))
            series[1::2] = stage.chebyshev_odd
            x = np.polynomial.chebyshev.chebval(x, series)
        return x


@dataclass(frozen=True)
class Link:
    """A minimax polynomial on low <= |u| <= high, its error and the domain of its variable."""

    polynomial: OddPolynomial
    domain: mp.mpf
    low: mp.mpf
    high: mp.mpf
    error: mp.mpf


def links(degrees: tuple[int, ...], epsilon: mp.mpf) -> list[Link]:
    """The minimax chain from epsilon on; empty when noise could flip a sign on the way."""
    chain = []
    domain, low, high = mp.mpf(1), epsilon, 1 + MARGIN
    for degree in degrees:
        if low <= 0:
            return []
        scaled, error = minimax_odd(low / high, degree)
        # `scaled` is in u / high; write it in u.
        polynomial = OddPolynomial(tuple(c / high ** (2 * k + 1) for k, c in enumerate(scaled.coefficients)))
        error += ROUNDING
        chain.append(Link(polynomial, domain, low, high, error))
        # The largest output plus the margin is the end of the next stage's interval, u = 1.
        domain = mp.mpf(float((1 + error) / (1 - MARGIN)))
        low, high = (1 - error) / domain - MARGIN, mp.mpf(1)
    return chain


def smallest_epsilon(degrees: tuple[int, ...], goal: mp.mpf) -> mp.mpf:
    """The smallest multiple of EPSILON_STEP from which the chain's error is at most `goal`."""
    steps = int(1 / EPSILON_STEP)

    def reaches(epsilon: int) -> bool:
        chain = links(degrees, epsilon * EPSILON_STEP)
        return bool(chain) and chain[-1].error <= goal

    # Up by doubling first: far above the answer the error drowns in the working precision.
    high = int(goal * steps)
    while not reaches(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high * EPSILON_STEP


def relu_error(chain: Composite) -> float:
    """Largest |x| |chain(x) - sign(x)| / 2 on [-1, 1], from a grid fine enough for six digits."""
    x = np.geomspace(chain.epsilon / 4096, 1.0, 400_001)
    worst = np.max(x * np.abs(chain(x) - 1.0)) / 2.0
    return float(worst) * (1.0 + 1e-6)


def compose(alpha: int, degrees: tuple[int, ...]) -> Composite:
    """The chain for one alpha with all numbers of the table."""
    goal = SHARE * mp.mpf(2) ** -alpha
    epsilon = smallest_epsilon(degrees, goal)
    chain = links(degrees, epsilon)
    stages = []
    for link, following in zip(chain, [*chain[1:], None], strict=True):
        domain = following.domain if following else mp.mpf(1)
        stages.append(
            Stage(
                domain=float(link.domain),
                input_low=float(link.low),
                input_high=float(link.high),
                output_low=float((1 - link.error) / domain),
                output_high=float((1 + link.error) / domain),
                chebyshev_odd=tuple(float(c / domain) for c in link.polynomial.chebyshev()),
            )
        )
    result = Composite(
        alpha=alpha,
        epsilon=float(epsilon),
        error=float(chain[-1].error),
        relu_error=0.0,
        margin=float(MARGIN),
        degrees=degrees,
        levels=sum(degree.bit_length() for degree in degrees),
        stages=tuple(stages),
    )
    return replace(result, relu_error=relu_error(result))


def cpp_table(sets: list[Composite]) -> str:
    """Text of the C++ table, to be included inside an unnamed namespace."""
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// Written by tools/minimax_sign.py; do not edit. Conventions: circuits/minimax_sign.hpp.",
        "// clang-format off",
        "",
    ]
    for chain in sets:
        name = f"alpha_{chain.alpha}"
        for number, stage in enumerate(chain.stages, start=1):
            body = textwrap.wrap(", ".join(map(repr, stage.chebyshev_odd)), 104, break_on_hyphens=False)
            lines.append(f"constexpr double {name}_p{number}[] = {{")
            lines += [f"    {line}" for line in body] + ["};"]
        lines.append(f"constexpr minimax_stage {name}[] = {{")
        for number, stage in enumerate(chain.stages, start=1):
            interval = (stage.domain, stage.input_low, stage.input_high, stage.output_low, stage.output_high)
            lines.append(f"    {{{', '.join(map(repr, interval))},")
            lines.append(f"     {name}_p{number}}},")
        lines += ["};", ""]
    lines.append("constexpr composite_sign all_sets[] = {")
    for chain in sets:
        figures = (chain.epsilon, chain.error, chain.relu_error, chain.margin)
        lines.append(f"    {{{chain.alpha}, {chain.levels}, {', '.join(map(repr, figures))},")
        lines.append(f"     alpha_{chain.alpha}}},")
    lines += ["};", ""]
    return "\n".join(lines)


def json_table(sets: list[Composite]) -> str:
    """Text of the JSON table."""

    def plain(chain: Composite) -> dict[str, object]:
        fields = {**chain.__dict__, "degrees": list(chain.degrees)}
        fields["stages"] = [{**s.__dict__, "chebyshev_odd": list(s.chebyshev_odd)} for s in chain.stages]
        return fields

    return json.dumps({"schema": SCHEMA, "sets": [plain(chain) for chain in sets]}, indent=1) + "\n"


def main() -> None:
    """Compute all sets, write both tables and print a summary."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    sets = []
    for alpha, degrees in DEGREES.items():
        chain = compose(alpha, degrees)
        sets.append(chain)
        print(
            f"alpha {alpha}: degrees {degrees}, {chain.levels} levels, epsilon {chain.epsilon:.6f}, "
            f"error 2^{math.log2(chain.error):.3f}, ReLU error 2^{math.log2(chain.relu_error):.3f}",
            flush=True,
        )
    TABLE_CPP.write_text(cpp_table(sets))
    TABLE_JSON.write_text(json_table(sets))


if __name__ == "__main__":
    main()
