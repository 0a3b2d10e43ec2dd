# SPDX-License-Identifier: Apache-2.0
"""Operators of ciphertexts against numpy. N = 2^10 and a 40-bit scale leave about 2^-26 of error."""

import halocline as hc
import numpy as np
import pytest

TOLERANCE = 2.0**-20


def check(client, ct, expected):
    assert np.abs(client.decrypt(ct) - expected).max() < TOLERANCE


@pytest.fixture
def cx(client, engine, x):
    return client.encrypt(x).to(engine)


@pytest.fixture
def cz(client, engine, z):
    return client.encrypt(z).to(engine)


def test_ciphertexts_with_ciphertexts(client, cx, cz, x, z):
    check(client, cx + cz, x + z)
    check(client, cx - cz, x - z)
    check(client, cx * cz, x * z)
    check(client, cx * cx, x * x)


def test_numbers(client, cx, x):
    check(client, cx + 0.5, x + 0.5)
    check(client, 0.5 + cx, x + 0.5)
    check(client, cx - 2, x - 2)
    check(client, 2 - cx, 2 - x)
    check(client, cx * 3, x * 3)
    check(client, 0.25j * cx, x * 0.25j)
    check(client, cx / 4, x / 4)
    check(client, cx * np.float32(0.5), x * 0.5)
    check(client, np.float64(0.5) * cx, x * 0.5)
    check(client, np.array(0.5) + cx, x + 0.5)
    check(client, +cx, x)
    check(client, -cx, -x)


def test_vectors(client, cx, x, z, params):
    check(client, cx + z, x + z)
    check(client, z + cx, x + z)
    check(client, cx - z, x - z)
    check(client, z - cx, z - x)
    check(client, cx * z, x * z)
    check(client, z * cx, x * z)
    check(client, cx / (2 + x), x / (2 + x))
    check(client, cx * [1, 2, 3], x * np.pad([1, 2, 3], (0, params.slots - 3)))
    check(client, cx + np.arange(params.slots) / 512, x + np.arange(params.slots) / 512)


@pytest.mark.parametrize("exponent", [1, 2, 3, 4, 5, 7, 8])
def test_powers_take_logarithmic_depth(client, cx, x, exponent):
    power = cx**exponent
    check(client, power, x**exponent)
    assert power.level == cx.level - int(np.ceil(np.log2(exponent)))


def test_in_place_forms_make_new_ciphertexts(client, cx, x):
    before = cx
    cx += 0.5
    cx *= x
    cx -= x
    cx /= 2
    cx = cx.drop_level(cx.level)
    check(client, before, x)
    check(client, cx, ((x + 0.5) * x - x) / 2)
    power = before
    power **= 2
    check(client, power, x**2)


@pytest.mark.parametrize("steps", [0, 1, -1, 5, 3, np.int64(2)])
def test_rotations_to_the_left(client, cx, x, steps):
    check(client, cx.rotate(steps), np.roll(x, -steps))


def test_rotation_by_all_slots_needs_no_key(client, cx, x, params):
    check(client, cx.rotate(params.slots), x)


def test_conjugate_and_multiply_by_i(client, cz, z):
    check(client, cz.conj(), z.conj())
    product = cz.mul_i()
    check(client, product, 1j * z)
    assert product.level == cz.level


def test_sparse_ciphertext_behaves_like_its_vector(client, engine):
    values = np.array([1.0, -2.0, 3.0, 4.0])
    ct = client.encrypt(values).to(engine)
    assert ct.slots == 4
    check(client, ct.rotate(1), np.roll(values, -1))
    check(client, ct.rotate(-1) * values, np.roll(values, 1) * values)
    assert client.decrypt(ct).shape == (4,)
    assert client.encrypt([1, 2, 3]).slots == 4
    assert client.encrypt([1, 2, 3], slots=16).slots == 16


def test_repeated_values_are_read_with_other_slots(client, engine):
    values = np.linspace(-1, 1, 16)
    many = client.encrypt(values).to(engine).with_slots(64)
    assert many.slots == 64
    check(client, many + np.arange(64) / 64, np.tile(values, 4) + np.arange(64) / 64)
    few = client.encrypt(np.tile(values, 4)).to(engine).with_slots(16)
    assert few.is_real
    check(client, few.rotate(1), np.roll(values, -1))
    check(client, many.with_slots(16), values)
    with pytest.raises(hc.InvalidArgument, match="24 slots; expected a power of two up to 512"):
        few.with_slots(24)


def test_properties(client, engine, cx, params):
    assert (cx.level, cx.slots, cx.components) == (params.max_level, params.slots, 2)
    assert cx.nbytes == params.ciphertext_bytes()
    assert cx.device == "cpu"
    assert cx.engine is engine
    assert cx.scale == params.level(params.max_level).scale
    assert cx.params == params
    assert "level 3" in repr(cx)
    unbound = client.encrypt([1.0, 2.0])
    assert unbound.device is None
    assert unbound.engine is None
    assert "unbound" in repr(unbound)
    assert cx.to(engine) is cx


def test_levels_and_scales_are_kept_canonical(cx, params):
    product = cx * cx
    assert product.level == params.max_level - 1
    assert product.scale == params.level(product.level).scale
    assert product.components == 2
    mixed = product * product + cx
    assert mixed.level == params.max_level - 2


def test_manual_mode(client, engine, cx, x):
    with engine.manual():
        product = cx * cx
        assert (product.components, product.level) == (3, cx.level)
        assert product.scale == pytest.approx(cx.scale**2)
        check(client, product, x * x)
        product = product.relinearize()
        assert product.components == 2
        product = product.rescale()
        assert product.level == cx.level - 1
        check(client, product, x * x)
        with pytest.raises(hc.InvalidArgument, match="levels"):
            _ = product + cx
        lower = cx.adjust(product.level, product.scale)
        check(client, product + lower, x * x + x)
        with pytest.raises(hc.ScaleMismatch, match="scale"):
            _ = cx * 0.5 + cx
    assert (cx * cx).level == cx.level - 1  # automatic again


def test_unbound_operations_say_so(client, x):
    ct = client.encrypt(x)
    operations = [
        lambda: ct + 1,
        lambda: 1 - ct,
        lambda: ct * ct,
        lambda: ct * x,
        lambda: x * ct,
        lambda: -ct,
        lambda: ct**2,
        lambda: ct / 2,
        lambda: ct.rotate(1),
        ct.conj,
        ct.mul_i,
        ct.rescale,
        ct.relinearize,
        lambda: ct.drop_level(0),
        lambda: ct.adjust(0, 2.0**40),
        lambda: np.eye(len(x)) @ ct,
    ]
    for operation in operations:
        with pytest.raises(
            hc.InvalidArgument, match=r"not bound to an engine; bind it with ct\.to\(engine\)"
        ):
            operation()


def test_operands_of_two_engines_are_refused(params, keys, client, engine, x):
    other = hc.Engine(params, keys, threads=1)
    a, b = client.encrypt(x).to(engine), client.encrypt(x).to(other)
    with pytest.raises(hc.InvalidArgument, match="two engines"):
        _ = a + b
    check(client, a + b.to(engine), 2 * x)


def test_bad_operands(cx, params):
    for operand, kind in [
        ("two", hc.WrongType),
        (None, hc.WrongType),
        (object(), hc.WrongType),
        ({1: 2}, hc.WrongType),
        (np.ones((2, 2)), hc.InvalidArgument),
        ([], hc.InvalidArgument),
        ([1.0], hc.InvalidArgument),
        (np.ones(params.slots + 1), hc.InvalidArgument),
        (float("nan"), hc.InvalidArgument),
        ([1.0, float("inf")], hc.InvalidArgument),
        (complex(0, float("inf")), hc.InvalidArgument),
    ]:
        for operation in (cx.__add__, cx.__radd__, cx.__sub__, cx.__mul__, cx.__rmul__):
            with pytest.raises(kind):
                operation(operand)
    for exponent in (0, -1, 1.5, "2"):
        with pytest.raises(hc.InvalidArgument, match="exponent"):
            _ = cx**exponent
    with pytest.raises(hc.WrongType, match="divisor is encrypted"):
        _ = cx / cx
    for number in (1, 1j, np.ones(2)):
        with pytest.raises(hc.WrongType, match="divisor is encrypted"):
            _ = number / cx
    with pytest.raises(hc.InvalidArgument, match="zero"):
        _ = cx / 0
    with pytest.raises(hc.WrongType, match="integer"):
        cx.rotate(1.5)
    with pytest.raises(hc.InvalidArgument):
        cx.drop_level(cx.level + 1)
    with pytest.raises(hc.WrongType, match="truth value"):
        bool(cx)
    with pytest.raises(hc.WrongType, match="decrypt"):
        float(cx)


def test_missing_key_names_the_rotation(cx):
    with pytest.raises(hc.MissingKey, match="step 7") as caught:
        cx.rotate(7)
    assert isinstance(caught.value, KeyError)
    assert str(caught.value).startswith("rotation key")


def test_exhausted_levels_name_the_operation(cx):
    bottom = cx.drop_level(0)
    with pytest.raises(hc.LevelExhausted, match="multiply"):
        _ = bottom * bottom
    with pytest.raises(hc.LevelExhausted, match="rescale"):
        bottom.rescale()
