# SPDX-License-Identifier: Apache-2.0
import ast
from collections.abc import Callable
from typing import Any

import halocline as hc
import numpy as np
import pytest
from halocline.cli import expression as expressions
from halocline.cli.expression import Expression
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("(x*x + 0.5).rotate(1)", lambda x, y: np.roll(x * x + 0.5, -1)),
        ("x - 2*y + 1", lambda x, y: x - 2 * y + 1),
        ("-x.conj() / 4 + 2**-1", lambda x, y: -x / 4 + 0.5),
        ("x**3 * y", lambda x, y: x**3 * y),
        ("x * [1, 2, 3, 4] + (0.5, -0.5)", lambda x, y: x * [1, 2, 3, 4] + [0.5, -0.5, 0, 0]),
        ("inner_sum(x, count=4) + x*0", lambda x, y: np.full(4, x.sum())),
        ("polynomial(x, [1, 0, 2])", lambda x, y: 1 + 2 * x**2),
        ("(3 - 1) * (x + 1e-3)", lambda x, y: 2 * (x + 1e-3)),
        ("x.drop_level(1)", lambda x, y: x),
    ],
)
def test_values(client, engine, text, reference):
    values = {"x": np.array([0.5, -0.25, 0.75, 1.0]), "y": np.array([-1.0, 0.5, 0.25, 0.0])}
    expression = Expression(text)
    result = engine.run(expression, *(client.encrypt(values[name]) for name in expression.names))
    assert np.abs(client.decrypt(result, real=True) - reference(**values)).max() < 2.0**-18


def test_complex_numbers(client, engine):
    result = engine.run(Expression("x*(1+2j) + x.mul_i()"), client.encrypt([1.0, 2.0]))
    assert np.abs(client.decrypt(result) - np.array([1, 2]) * (1 + 3j)).max() < 2.0**-18


def test_names_are_sorted():
    assert Expression("b*a + inner_sum(c, 4)").names == ["a", "b", "c"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 + 2",
        "x +",
        "x; y",
        "x = 1",
        "__import__('os').system('ls')",
        "x.__class__",
        "x.__class__()",
        "x.to_bytes()",
        "x.save('f')",
        "open('f')",
        "print(x)",
        "x[0]",
        "lambda: x",
        "[x for x in y]",
        "x if y else x",
        "x @ y",
        "x // 2",
        "x % 2",
        "x == y",
        "not x",
        "~x",
        "'text' * x",
        "True * x",
        "f'{x}'",
        "x.rotate(*y)",
        "x.rotate(**y)",
        "(x := y)",
        "x.rotate",
        "await x",
        "(" * 500 + "x" + ")" * 500,
        "-" * 500 + "x",
        "+".join(["x"] * 30000),
        "x\0",
    ],
)
def test_everything_else_is_refused_before_it_runs(text):
    with pytest.raises(hc.InvalidArgument, match="expression"):
        Expression(text)


def watched(kind: type[ast.operator]) -> Callable[[Any, Any], Any]:
    """The operator, but no arithmetic of Python whose work grows with its operands."""
    compute = expressions._BINARY[kind]

    def checked(left: Any, right: Any) -> Any:
        numbers = [each for each in (left, right) if isinstance(each, int)]
        plain = not any(isinstance(each, hc.Ciphertext | list) for each in (left, right))
        assert all(abs(each) < 1 << 64 for each in numbers), f"{kind.__name__} of whole numbers without bound"
        assert not (plain and kind is ast.Pow and isinstance(left, int)), "an exact power"
        assert not any(isinstance(each, list) for each in (left, right)) or not plain, "a list times a number"
        return compute(left, right)

    return checked


@pytest.mark.parametrize(
    "text",
    [
        "x * 9**9**9",
        "x + 9**4096",
        "x + 10.0**999",
        "x * (1/0)",
        "x ** 100000",
        "2 ** x",
        "x ** [1, 2]",
        "x + [1] * 100",
        "x + [1] + [2]",
        "x.rotate()",
        "x.rotate(1, 2)",
        "x.rotate('a')",
        "(1).rotate(2) + x",
        "inner_sum(1) + x",
        "inner_sum() + x",
        "x + [[1]]",
        "x - 1e400",
        "[x, x]",
    ],
)
def test_bad_operands_get_an_error_of_the_package_before_any_long_work(client, engine, text, monkeypatch):
    for kind in list(expressions._BINARY):
        monkeypatch.setitem(expressions._BINARY, kind, watched(kind))
    with pytest.raises(hc.Error):
        engine.run(Expression(text), client.encrypt([1.0, 2.0]))


def test_number_of_inputs_is_checked(client, engine):
    with pytest.raises(hc.InvalidArgument, match="expected 2: x, y"):
        engine.run(Expression("x + y"), client.encrypt([1.0]))


@settings(max_examples=300)
@given(st.text(alphabet="xy()+-*/.,0123456789rotateconj[] '_", max_size=40))
def test_no_text_does_anything_but_parse_or_fail(client, engine, text):
    cts = [client.encrypt([1.0, 2.0], level=1) for _ in range(2)]
    try:
        expression = Expression(text)
        if len(expression.names) <= 2:
            engine.run(expression, *cts[: len(expression.names)])
    except hc.Error:
        pass


@pytest.mark.parametrize(
    "text",
    [
        "1/x",
        "[1]/x",
        "x/[1, [2]]",
        "-[1] + x",
        "x/0",
        "x/(1-1)",
        "x*(1e308*10)",
        "x*(2**4096)",
        "x**0.5",
        "x**1j",
        "x**(1e999)",
        "x*" + "9" * 4000,
        "x.rotate(" + "9" * 400 + ")",
        "x.rotate(1.5)",
        "x.rotate([1])",
        "x.rotate(y=1)",
        "x.drop_level(-1)",
        "x.adjust(1e999)",
        "inner_sum(x, [1])",
        "inner_sum(x, 1e999)",
        "polynomial(x, x)",
        "polynomial(x, [[1]])",
        "polynomial(x, [1e999])",
        "sign(x, 1e999)",
        "compare(x, 1)",
        "[x]*2",
        "x*[x]",
        "0**-1*x",
        "(-8)**0.5*x/[1]",
    ],
)
def test_errors_of_evaluation_are_ours(params, text):
    """Whatever an expression does with its operands, Python's own errors do not come out."""
    with pytest.raises(hc.Error):
        hc.key_plan(params, Expression(text), np.zeros(params.slots))
