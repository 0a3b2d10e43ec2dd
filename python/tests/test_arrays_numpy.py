# SPDX-License-Identifier: Apache-2.0
"""Functions of numpy on encrypted arrays, and what is refused."""

import operator

import halocline as hc
import numpy as np
import pytest
from array_rig import ArrayRig

X = np.random.default_rng(1).uniform(-1, 1, (4, 5))
ONES = np.ones((4, 5))

FUNCTIONS = {
    "add": lambda x: np.add(X, x),
    "subtract": lambda x: np.subtract(X, x),
    "multiply": lambda x: np.multiply(x, X),
    "divide": lambda x: np.divide(x, 2 + X),
    "power": lambda x: np.power(x, 2),
    "negative": np.negative,
    "positive": np.positive,
    "square": np.square,
    "reduce": np.add.reduce,
    "accumulate": lambda x: np.add.accumulate(x, axis=1),
    "sum": lambda x: np.sum(x, axis=(0, 1), keepdims=True),
    "mean": lambda x: np.mean(x, 0),
    "var": lambda x: np.var(x, axis=1, ddof=1),
    "prod": lambda x: np.prod(x, axis=0),
    "diff": lambda x: np.diff(x, 2, axis=0),
    "reshape": lambda x: np.reshape(x, (2, -1)),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "expand_dims": lambda x: np.expand_dims(x, (0, 3)),
    "squeeze": lambda x: np.squeeze(x[:, :1], 1),
    "diagonal": lambda x: np.diagonal(x, 1),
    "trace": np.trace,
    "diag": np.diag,
    "diag of a vector": lambda x: np.diag(x[0], 1),
    "tril": np.tril,
    "triu": lambda x: np.triu(x, 2),
    "flip": lambda x: np.flip(x, 1),
    "rot90": np.rot90,
    "roll": lambda x: np.roll(x, (1, 2), axis=(0, 1)),
    "take": lambda x: np.take(x, [3, 0, 0], axis=1),
    "tile": lambda x: np.tile(x, (2, 1)),
    "repeat": lambda x: np.repeat(x, 2, axis=0),
    "pad": lambda x: np.pad(x, ((1, 0), (0, 2))),
    "pad with edges": lambda x: np.pad(x, 1, "reflect"),
    "delete": lambda x: np.delete(x, 1, axis=0),
    "fancy index": lambda x: x[[0, 2], [1, 3]],
    "mask": lambda x: x[X > 0],
    "concatenate": lambda x: np.concatenate([x, ONES, x[:2]], axis=0),
    "concatenate columns": lambda x: np.concatenate([X, x], axis=1),
    "concatenate all": lambda x: np.concatenate([x, X], axis=None),
    "concatenate rows": np.concatenate,
    "stack": lambda x: np.stack([x, X, x], axis=1),
    "hstack": lambda x: np.hstack([x, x]),
    "vstack": lambda x: np.vstack([x[0], X]),
    "column_stack": lambda x: np.column_stack([x[:, 0], X]),
    "append": lambda x: np.append(x, [1.0, 2.0]),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 4, 5)),
    "atleast_3d": np.atleast_3d,
    "split": lambda x: np.split(x, [1, 3])[1],
    "dtype and copy": lambda x: x.copy() * (x.dtype == np.float64),
    "whole exponents": lambda x: x**2.0 + np.power(x, np.float64(3)),
    "ones_like": lambda x: x + np.ones_like(x) + np.zeros_like(x),
    "rows": lambda x: sum(row for row in x),
}  # fmt: skip


@pytest.fixture(scope="module")
def rig():
    return ArrayRig()


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_function_of_numpy(rig, name):
    rig.check(FUNCTIONS[name], X)


def test_shapes_are_plain(rig):
    x = rig.client.encrypt_array(X)
    assert (np.shape(x), np.ndim(x), np.size(x), np.size(x, 0), len(x)) == ((4, 5), 2, 20, 4, 4)
    assert not np.iscomplexobj(x)
    assert [each.shape for each in np.broadcast_arrays(rig.run(lambda x: x[:, :1], X), X)] == [(4, 5)] * 2


REFUSED = {
    "np.exp2": np.exp2,
    "np.add.outer": lambda x: np.add.outer(x, x),
    "floordiv": lambda x: x // 2,
    "mod": lambda x: 3 % x,
    "and": lambda x: x & 1,
    "invert": operator.invert,
    "round": round,
    "bool": bool,
    "float": float,
    "index": lambda x: [1, 2][x],
    "contains": lambda x: 1 in x,
    "asarray": np.asarray,
    "encrypted exponent": lambda x: 2**x,
    "list of arrays": lambda x: np.mean([x, x], axis=0),
    "exponent": lambda x: x**0.25,
    "einsum": lambda x: np.einsum("ij->ji", x),
    "method": lambda x: x.astype(np.float32),
    "method of numpy": lambda x: x.tolist(),
    "decrypt": lambda x: ArrayRig().client.decrypt([x]),
    "text": lambda x: x + "1",
    "ciphertext": lambda x: x + x.parts[0],
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused_with_an_error_of_ours(rig, name):
    x = rig.client.encrypt_array(X).to(hc.Engine(rig.params))
    with pytest.raises(hc.WrongType) as error:
        REFUSED[name](x)
    assert len(str(error.value)) > 30


WRONG = {
    "encrypted divisor": (lambda x: 1 / x, "hc.calibrate"),
    "no interval": (np.median, "functions.median"),
    "shapes": (lambda x: x + np.ones(3), r"\(4, 5\) and \(3,\)"),
    "axis": (lambda x: x.sum(axis=2), "axis 2"),
    "axis twice": (lambda x: x.sum(axis=(0, -2)), "twice"),
    "index": (lambda x: x[4], "out of bounds"),
    "no elements": (lambda x: x[:0], "no elements"),
    "reshape": (lambda x: x.reshape(3, 7), "reshape"),
    "axes": (lambda x: x.transpose(0, 0), "transpose"),
    "concatenate": (lambda x: np.concatenate([x, x[:, :2]]), "equal lengths"),
    "concatenate axes": (lambda x: np.concatenate([x, x[0]]), "equal lengths"),
    "stack": (lambda x: np.stack([x, x[0]]), "equal ones"),
    "broadcast": (lambda x: np.broadcast_to(x, (4, 10)), "do not go together"),
    "smaller": (lambda x: np.broadcast_to(x, (5,)), "cannot become"),
    "zero": (lambda x: x / np.array([1, 2, 0, 4, 5]), "divisor"),
    "nan": (lambda x: x * np.nan, "NaN"),
    "exponent": (lambda x: x**-2, "exponent -2"),
    "exponent -1": (lambda x: x**-1, r"functions.reciprocal\(x, interval"),
    "accumulated": (lambda x: operator.iadd(np.zeros(X.shape), x), r"t = t \+ x"),
    "ddof": (lambda x: x.var(ddof=20), "ddof 20"),
    "out": (lambda x: np.sum(x, out=np.zeros(())), "option 'out'"),
    "where": (lambda x: np.sum(x, where=X > 0), "option 'where'"),
    "option": (lambda x: np.mean(x, dtype=np.float32), "option 'dtype'"),
    "pad": (lambda x: np.pad(x, 1, constant_values=3), "constant_values"),
    "pad mode": (lambda x: np.pad(x, 1, "mean"), "mean"),
    "split": (lambda x: np.split(x, 3), "np.split"),
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_wrong_arguments(rig, name):
    program, text = WRONG[name]
    with pytest.raises(hc.InvalidArgument, match=text):
        rig.run(program, X)


def test_methods_that_are_missing_name_what_is_there(rig):
    x = rig.client.encrypt_array(X)
    assert not hasattr(x, "tolist") and not hasattr(x, "no_such_name")
    with pytest.raises(hc.WrongType, match=r"use np.repeat\(x\)"):
        x.repeat(2)


def test_nothing_is_assigned(rig):
    x = rig.client.encrypt_array(X)
    with pytest.raises(hc.WrongType, match="never change"):
        x[0] = 1


def test_unbound_arrays_say_so(rig):
    with pytest.raises(hc.InvalidArgument, match="not bound"):
        rig.client.encrypt_array(X) * 2


@pytest.mark.parametrize("name", ["sum", "mean", "cumsum", "roll", "diff", "take", "rows", "concatenate"])
def test_functions_of_unbound_arrays_say_so(rig, name):
    with pytest.raises(hc.InvalidArgument, match="not bound"):
        {**FUNCTIONS, "cumsum": np.cumsum}[name](rig.client.encrypt_array(X))


def test_approximations_of_unbound_arrays_say_so(rig):
    x = rig.client.encrypt_array(X)
    for call in (hc.functions.exp, hc.functions.sign, hc.functions.argmax, np.sort):
        with pytest.raises(hc.InvalidArgument, match=r"not bound|no interval"):
            call(x)
    for call in (hc.functions.exp, hc.functions.sign):
        with pytest.raises(hc.InvalidArgument, match="not bound"):
            call(x, interval=(-1, 1))


def test_levels_run_out_with_an_error_that_says_so(rig):
    def program(x):
        for _ in range(9):
            x = x * x
        return x

    with pytest.raises(hc.LevelExhausted):
        rig.run(program, X)
