# SPDX-License-Identifier: Apache-2.0
"""Polynomials of comparisons in the clear: those that engines evaluate, and their errors."""

from __future__ import annotations

import halocline as hc
import numpy as np
import pytest
from halocline.circuits.minimax import minimax_relu, minimax_sign, relu_error


def test_is_what_an_engine_computes():
    params = hc.Params.preset("test-n12-boot", allow_insecure=True)
    client = hc.Client(params, threads=1)
    engine = hc.Engine(params, client.evaluation_keys(relinearization=True), threads=1)
    x = np.linspace(-2, 2, 64)
    ct = client.encrypt(x).to(engine)
    for alpha in (6, 13):
        signs = client.decrypt(engine.sign(ct, alpha=alpha, bound=2))
        assert np.abs(signs - minimax_sign(x, alpha, 2)).max() < 1e-6
        relus = client.decrypt(engine.relu(ct, alpha=alpha, bound=2))
        assert np.abs(relus - minimax_relu(x, alpha, 2)).max() < 1e-6


@pytest.mark.parametrize("alpha", range(6, 14))
def test_errors(alpha):
    x = np.linspace(-1, 1, 20_001)
    error = np.abs(minimax_relu(x, alpha) - np.maximum(x, 0)).max()
    assert 0.9 * relu_error(alpha) < error <= relu_error(alpha) < 1.1 * 2.0**-alpha
    beyond = x[np.abs(x) > hc.sign_epsilon(alpha)]
    assert np.abs(minimax_sign(beyond, alpha) - np.sign(beyond)).max() <= 2.0**-alpha
    assert np.array_equal(minimax_sign(-x, alpha), -minimax_sign(x, alpha))


def test_bad_input():
    with pytest.raises(hc.InvalidArgument, match="alpha"):
        minimax_sign(0.5, 14)
    with pytest.raises(hc.InvalidArgument, match="bound"):
        minimax_relu(0.5, 8, 0)
    with pytest.raises(hc.WrongType, match="alpha"):
        relu_error("8")
