# SPDX-License-Identifier: Apache-2.0
"""What encrypted values cannot do, and what there is instead."""

from __future__ import annotations

from typing import Any, NoReturn

from ..base.errors import WrongType

_INSTEAD = {
    "abs": "x * engine.sign(x)",
    "np.absolute": "x * engine.sign(x)",
    "np.sign": "engine.sign(x)",
    "np.maximum": "engine.maximum(a, b)",
    "np.minimum": "engine.minimum(a, b)",
    "np.greater": "engine.compare(a, b)",
    "np.less": "engine.compare(b, a)",
    "np.square": "x * x",
    "np.conjugate": "x.conj()",
    "np.add.reduce": "engine.inner_sum(x)",
    "np.sum": "engine.inner_sum(x)",
    "np.mean": "engine.inner_sum(x) * (1 / x.slots)",
    "np.dot": "engine.inner_sum(x * y)",
    "np.inner": "engine.inner_sum(x * y)",
    "np.vdot": "engine.inner_sum(x.conj() * y)",
    "np.roll": "x.rotate(-k)",
    "np.where": "c * a + (1 - c) * b with a condition c of ones and zeros",
    "np.power": "x**n with a whole number n",
    "np.stack": "a list",
}


def numpy_name(function: Any) -> str:
    """How programs call a function of numpy: `np.mean`, `np.linalg.svd`."""
    module = str(getattr(function, "__module__", "") or "numpy")
    inner = module.partition(".")[2]
    prefix = "np." + (f"{inner}." if module.startswith("numpy.") and not inner.startswith("_") else "")
    return prefix + str(function.__name__)


def unsupported(what: str) -> WrongType:
    """The error of a function that only numbers have, with what ciphertexts have instead."""
    name = what if what.startswith("np.") else "f"
    general = (
        "engine.polynomial(x, coefficients) for polynomials, hc.functions (or hc.functions.apply) for "
        f"functions within an interval, or engine.chebyshev(x, {name}, (low, high), degree)"
    )
    arrays = (
        ". Encrypted arrays have it: client.encrypt_array(values), and arrays=True (--arrays) for hc.choose "
        "and hc.simulate"
        if what.startswith("np.")
        else ""
    )
    return WrongType(f"{what}: not defined on ciphertexts; use {_INSTEAD.get(what, general)}{arrays}")


def refuse_function(self: Any, function: Any, types: Any, args: Any, options: Any) -> NoReturn:
    """`__array_function__`: numpy would take a ciphertext for an array of one object, its own mean."""
    raise unsupported(numpy_name(function))


def divisor_encrypted() -> WrongType:
    """The error of a division by a ciphertext."""
    return WrongType("divide: the divisor is encrypted; multiply by an approximation of its reciprocal")
