# SPDX-License-Identifier: Apache-2.0
"""A client on a GPU: the same bytes as on the CPU. HALOCLINE_GPU_TEST_DEVICE names another device."""

import os

import halocline as hc
import numpy as np
import pytest
from halocline import _core

SEED = bytes(range(32))
GPU = os.environ.get("HALOCLINE_GPU_TEST_DEVICE", "cuda:0")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(GPU not in _core.available_devices(), reason=f"no device '{GPU}' here"),
]


@pytest.fixture(params=["test-n10-d3", "test-n10-d3-w64", "test-n11-d8"])
def pair(request):
    """The same client on the CPU and on the GPU."""
    params = hc.Params.preset(request.param, allow_insecure=True)
    return hc.Client(params, seed=SEED, threads=1), hc.Client(params, seed=SEED, device=GPU)


def test_keys_are_the_same_bytes(pair, tmp_path):
    for cpu_keys, gpu_keys in zip(
        *([c.evaluation_keys((1, -2), conjugation=True), c.public_key()] for c in pair), strict=True
    ):
        assert cpu_keys.to_bytes() == gpu_keys.to_bytes()
    for name, client in zip(("cpu", "gpu"), pair, strict=True):
        client.save_secret_key(tmp_path / name)
    assert (tmp_path / "cpu").read_bytes() == (tmp_path / "gpu").read_bytes()


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("share", [1, 8, 256])
def test_ciphertexts_and_results_are_the_same_bytes(pair, public, share):
    slots = pair[0].params.slots // share
    random = np.random.default_rng(share)
    values = random.uniform(-1, 1, slots) + 1j * random.uniform(-1, 1, slots)
    cpu, gpu = (client.encrypt(values, public=public) for client in pair)
    assert cpu.to_bytes() == gpu.to_bytes()
    results = [client.decrypt(ct) for client in pair for ct in (cpu, gpu)]
    for result in results:
        assert np.array_equal(result, results[0])
    assert np.abs(results[0] - values).max() < 2.0**-14


def test_large_values_are_the_same_bytes(pair):
    """Coefficients of two words, whose size the device has to find."""
    values = np.full(8, 2.0**30)
    cpu, gpu = (client.encrypt(values, scale=2.0**50) for client in pair)
    assert cpu.to_bytes() == gpu.to_bytes()
    for client in pair:
        with pytest.raises(hc.InvalidArgument, match="does not fit"):
            client.encrypt(values, level=0, scale=2.0**60)


def test_flooding_noise_comes_from_the_same_seed(pair):
    values = np.linspace(-1, 1, 16)
    results = [client.decrypt(client.encrypt(values), flooding_bits=10.0) for client in pair]
    assert np.array_equal(*results)


def test_products_with_values_are_the_same_on_engines(pair):
    cpu = pair[0]
    values = np.linspace(-1, 1, cpu.params.slots)
    made = [hc.Engine(cpu.params, cpu.evaluation_keys((1,)), device) for device in ("cpu", GPU)]
    ct = cpu.encrypt(values)
    results = [engine.run(lambda x: x * values + values, ct).to_bytes() for engine in made]
    assert results[0] == results[1]


def test_keys_fit_the_room_of_one(pair):
    gpu = pair[1]
    steps = range(1, 9)
    keys = gpu.evaluation_keys(steps)
    peak = gpu.stats()["peak_bytes"]
    small = hc.Client(gpu.params, seed=SEED, device=GPU, memory=peak)
    assert small.evaluation_keys(steps).to_bytes() == keys.to_bytes()
    with pytest.raises(hc.OutOfMemory, match="budget"):
        hc.Client(gpu.params, seed=SEED, device=GPU, memory=peak // 8).evaluation_keys(steps)
