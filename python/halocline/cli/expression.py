# SPDX-License-Identifier: Apache-2.0
"""Programs written as one expression, safe to accept from untrusted sources: `(x*x + 0.5).rotate(1)`.

An expression is parsed with `ast` and interpreted node by node; nothing is ever handed to `eval`. It consists
of ciphertexts by name, numbers, lists of numbers, `+ - * / **`, and the methods and functions listed in
METHODS and FUNCTIONS. Length, depth and size of numbers are limited.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from ..base.errors import Error, InvalidArgument
from ..ckks.ciphertext import Ciphertext

MAX_LENGTH = 20_000
"""Characters of an expression."""
MAX_DEPTH = 100
"""Nested brackets and operators."""
MAX_EXPONENT = 4096

METHODS = ("rotate", "conj", "mul_i", "rescale", "relinearize", "drop_level", "adjust")
"""Methods of ciphertexts that an expression may call."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "inner_sum": lambda x, count=None, stride=1, radix=2: x._on("inner_sum").inner_sum(
        x, count, stride, radix
    ),
    "polynomial": lambda x, coefficients: x._on("polynomial").polynomial(x, coefficients),
    "sign": lambda x, alpha=8: x._on("sign").sign(x, alpha=alpha),
    "relu": lambda x, alpha=8: x._on("relu").relu(x, alpha=alpha),
    "compare": lambda a, b, alpha=8: a._on("compare").compare(a, b, alpha=alpha),
}
"""Functions of ciphertexts: see the methods of `Engine` of the same names."""

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}


class Expression:
    """A parsed expression. Calling it with one ciphertext per name, in the order of `names`, evaluates it."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_LENGTH:
            raise InvalidArgument(f"expression: {len(text)} characters, expected at most {MAX_LENGTH}")
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except SyntaxError as error:
            place = f"column {error.offset}: " if error.offset else ""
            raise InvalidArgument(f"expression: cannot be parsed: {place}{error.msg}") from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise InvalidArgument(f"expression: cannot be parsed: {error}") from None
        self.text = text
        self._body = tree.body
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called]
        self.names = sorted({node.id for node in names})
        _check(self._body, MAX_DEPTH)
        if not self.names:
            raise InvalidArgument("expression: names no ciphertext")

    def __call__(self, *ciphertexts: Ciphertext) -> Ciphertext:
        """The value for the given ciphertexts."""
        if len(ciphertexts) != len(self.names):
            raise InvalidArgument(
                f"expression: {len(ciphertexts)} inputs, expected {len(self.names)}: {', '.join(self.names)}"
            )
        value = _value(self._body, dict(zip(self.names, ciphertexts, strict=True)))
        if not isinstance(value, Ciphertext):
            raise InvalidArgument("expression: the result is no ciphertext")
        return value

    def __program_identity__(self) -> str:
        return self.text


def _refuse(node: ast.AST, why: str) -> InvalidArgument:
    place = getattr(node, "col_offset", 0) + 1
    return InvalidArgument(f"expression: column {place}: {why}")


def _check(node: ast.expr, depth: int) -> None:
    """Raises InvalidArgument for anything that an expression may not contain."""
    if depth == 0:
        raise _refuse(node, f"nested deeper than {MAX_DEPTH}")
    if isinstance(node, ast.BinOp):
        if type(node.op) not in _BINARY:
            raise _refuse(node, f"operator {type(node.op).__name__} is not allowed; expected + - * / **")
        parts = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp):
        if type(node.op) not in _UNARY:
            raise _refuse(node, f"operator {type(node.op).__name__} is not allowed; expected + or -")
        parts = [node.operand]
    elif isinstance(node, ast.Call):
        parts = _check_call(node)
    elif isinstance(node, ast.List | ast.Tuple):
        parts = list(node.elts)
    elif isinstance(node, ast.Name):
        parts = []
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool) or not isinstance(node.value, int | float | complex):
            raise _refuse(node, f"{node.value!r:.40} is no number")
        parts = []
    else:
        raise _refuse(
            node, f"{type(node).__name__} is not allowed; expected names, numbers, operators and calls"
        )
    for part in parts:
        _check(part, depth - 1)


def _check_call(node: ast.Call) -> list[ast.expr]:
    """The parts of a call that must be checked."""
    parts = [*node.args, *(each.value for each in node.keywords)]
    if any(each.arg is None for each in node.keywords):
        raise _refuse(node, "** in a call is not allowed")
    if isinstance(node.func, ast.Attribute):
        if node.func.attr not in METHODS:
            raise _refuse(node, f"unknown method '{node.func.attr}'; expected one of: {', '.join(METHODS)}")
        return [node.func.value, *parts]
    if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
        name = node.func.id if isinstance(node.func, ast.Name) else type(node.func).__name__
        raise _refuse(node, f"unknown function '{name}'; expected one of: {', '.join(FUNCTIONS)}")
    return parts


def _value(node: ast.expr, names: dict[str, Ciphertext]) -> Any:
    """The value of a node that `_check` has accepted."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(each, names) for each in node.elts]
    if isinstance(node, ast.UnaryOp):
        return _negated(node, _value(node.operand, names))
    if isinstance(node, ast.BinOp):
        return _combine(node, _value(node.left, names), _value(node.right, names))
    assert isinstance(node, ast.Call)
    arguments = [_value(each, names) for each in node.args]
    named = {each.arg: _value(each.value, names) for each in node.keywords if each.arg is not None}
    if isinstance(node.func, ast.Attribute):
        target = _value(node.func.value, names)
        called = getattr(_ciphertext(node, target), node.func.attr)
    else:
        assert isinstance(node.func, ast.Name)
        _ciphertext(node, arguments[0] if arguments else None)
        called = FUNCTIONS[node.func.id]
    try:
        return called(*arguments, **named)
    except Error:
        raise
    except (TypeError, ValueError, ArithmeticError) as error:
        raise _refuse(node, str(error)) from None


def _negated(node: ast.UnaryOp, value: Any) -> Any:
    try:
        return _UNARY[type(node.op)](value)
    except Error:
        raise
    except TypeError as error:
        raise _refuse(node, str(error)) from None


def _ciphertext(node: ast.AST, value: Any) -> Ciphertext:
    if isinstance(value, Ciphertext):
        return value
    raise _refuse(node, f"this call needs a ciphertext, got {type(value).__name__}")


def _combine(node: ast.BinOp, left: Any, right: Any) -> Any:
    """left (op) right, with numbers kept small enough that no expression takes long to evaluate."""
    if isinstance(node.op, ast.Pow):
        if isinstance(right, Ciphertext | list):
            raise _refuse(node, "an exponent must be a number")
        if not abs(right) <= MAX_EXPONENT:
            raise _refuse(node, f"exponent {right!r:.40}, expected at most {MAX_EXPONENT}")
        left = left if isinstance(left, Ciphertext | complex | list) else _float(node, left)
    if isinstance(left, list) and isinstance(right, list):
        raise _refuse(node, "operators on two lists are not defined; one operand must be a ciphertext")
    if isinstance(left, list | int | float | complex) and isinstance(right, list | int | float | complex):
        left, right = _bounded(node, left), _bounded(node, right)
    try:
        return _BINARY[type(node.op)](left, right)
    except Error:
        raise
    except (TypeError, ValueError, ArithmeticError) as error:
        # Python's own: an operand has no such operation (1 / ciphertext, list + number), or no such value.
        raise _refuse(node, str(error)) from None


def _bounded(node: ast.AST, value: Any) -> Any:
    """A number that arithmetic may be done with."""
    if isinstance(value, list):
        raise _refuse(
            node, "operators on a list and a number are not defined; one operand must be a ciphertext"
        )
    if isinstance(value, int) and abs(value) >= 1 << 64:
        return _float(node, value)
    return value


def _float(node: ast.AST, value: Any) -> float:
    """A number as a float; refused where it has no place among them."""
    try:
        return float(value)
    except OverflowError:
        raise _refuse(node, f"a number of {value.bit_length()} bits, expected less than 2^1024") from None
