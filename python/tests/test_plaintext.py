# SPDX-License-Identifier: Apache-2.0
"""Single steps of the extension module: encode, encrypt, decrypt, decode, operations with encoded vectors."""

import halocline as hc
import numpy as np
import pytest
from halocline import _core

PRESET = "test-n10-d3"
SEED = bytes(range(32))


@pytest.fixture
def client():
    return hc.Client(hc.Params.preset(PRESET, allow_insecure=True), seed=SEED, threads=1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64])
def test_steps_of_a_client(client, dtype):
    slots = client.params.slots
    values = np.linspace(-1, 1, slots).astype(dtype)
    if values.dtype.kind == "c":
        values = values * dtype(1j)
    plain = _core.encode(client._core, values, 2)
    assert (plain.level, plain.slots, plain.scale) == (2, slots, client.params.level(2).scale)
    for public in (False, True):
        ct = _core.encrypt_plain(client._core, plain, public)
        assert ct.level == 2
        back = _core.decrypt_plain(client._core, ct)
        assert back.nbytes == plain.nbytes, "over all primes of the level"
        assert np.abs(_core.decode(client._core, back) - values).max() < 1e-5


def test_encoded_operands(client):
    engine = hc.Engine(client.params, threads=1)
    x, y = np.linspace(-1, 1, client.params.slots), np.linspace(2, 1, client.params.slots)
    ct = client.encrypt(x).to(engine)
    plain = _core.encode(engine._core, y, ct.level, ct.scale)
    total = _core.add_plain(engine._core, ct._core, plain)
    product = _core.multiply_plain(engine._core, ct._core, plain)
    assert np.abs(client._core.decrypt(total, 0.0) - (x + y)).max() < 1e-5
    assert np.abs(client._core.decrypt(product, 0.0) - x * y).max() < 1e-5
    assert product.scale == ct.scale * plain.scale


def test_foreign_plaintexts_are_refused(client):
    other = hc.Client(client.params, threads=1)
    plain = _core.encode(other._core, np.zeros(4), 1)
    with pytest.raises(hc.InvalidArgument, match="belongs to another client or engine"):
        _core.decode(client._core, plain)
    with pytest.raises(hc.InvalidArgument, match="belongs to another engine or client"):
        _core.encrypt_plain(client._core, plain, True)
    engine = hc.Engine(client.params, threads=1)
    ct = client.encrypt(np.zeros(4), level=1).to(engine)
    with pytest.raises(hc.InvalidArgument):
        _core.multiply_plain(engine._core, ct._core, plain)


def test_level_must_exist(client):
    with pytest.raises(hc.InvalidArgument):
        _core.encode(client._core, np.zeros(4), client.params.max_level + 1)
