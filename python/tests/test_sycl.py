# SPDX-License-Identifier: Apache-2.0
"""Devices of SYCL: what is said where there is none, and equal integers where there is.

The programs of test_gpu.py, test_gpu_client.py and test_gpu_key_nodes.py run on them too, with
HALOCLINE_GPU_TEST_DEVICE=sycl:0 (`make test-sycl`).
"""

import json
import os
import random
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, PackagePath
from pathlib import Path

import halocline as hc
import numpy as np
import pytest
from halocline import seal
from halocline.base import devices

PRIMES = [1152921504606830593, 1099511480321, 1099510890497, 1152921504606748673]
N = 8192


class Package:
    """What importlib.metadata says of an installed package."""

    def __init__(self, version, root=None, files=()):
        self.version, self._root = version, root
        self.files = [PackagePath(each) for each in files]

    def locate_file(self, path):
        return Path(self._root) / "lib" / "python3" / "site-packages" / path


@pytest.fixture
def no_root(monkeypatch):
    """An environment that names no runtime; what the library received before is kept out too."""
    monkeypatch.delenv("HALOCLINE_SYCL_ROOT", raising=False)
    given = []
    monkeypatch.setattr(devices._core, "use_sycl_root", given.append)
    return given


def install(monkeypatch, package):
    def found(name):
        assert name == "intel-sycl-rt"
        if isinstance(package, Exception):
            raise package
        return package

    monkeypatch.setattr(devices, "distribution", found)


@pytest.mark.parametrize(
    ("package", "message"),
    [
        (PackageNotFoundError("intel-sycl-rt"), "intel-sycl-rt is not installed"),
        (Package("2025.1.1"), "intel-sycl-rt 2025.1.1 is installed; expected 2026.2"),
        (Package("2026.20.0"), "intel-sycl-rt 2026.20.0 is installed; expected 2026.2"),
        (Package("2026.2.0", "/r", ["a/b.py"]), "without lib/libsycl.so"),
    ],
)
def test_says_which_extra_is_missing(no_root, monkeypatch, package, message):
    install(monkeypatch, package)
    params = hc.Params.preset("test-n10-d3", allow_insecure=True)
    for make in (hc.Engine, hc.Client):
        with pytest.raises(hc.MissingExtra, match=message) as raised:
            make(params, device="sycl:0")
        assert "[sycl]'" in str(raised.value)
    with pytest.raises(hc.MissingExtra, match=message):
        seal.Engine(seal.Parameters(N, PRIMES), device="sycl:1")
    assert not no_root


def test_finds_the_runtime_of_the_environment(no_root, monkeypatch):
    install(monkeypatch, Package("2026.2.1", "/r", ["x.py", "../../../lib/libsycl.so"]))
    assert devices.prepare_device("sycl:0") == "sycl:0"
    assert no_root == ["/r"]
    assert devices.prepare_device("cpu") == "cpu"
    monkeypatch.setenv("HALOCLINE_SYCL_ROOT", "/else")
    devices.prepare_device("sycl")
    assert no_root == ["/r"], "the variable goes before the environment's package"


def test_says_what_a_folder_lacks(tmp_path):
    script = """
import halocline as hc
try:
    hc.Engine(hc.Params.preset("n13-d3"), device="sycl:0")
except hc.DeviceError as error:
    print(error)
print(any(each.startswith("sycl") for each in hc.base.devices.available_devices()))
"""
    there = {"HALOCLINE_SYCL_ROOT": str(tmp_path), "HALOCLINE_SYCL_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | there,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "include/sycl/version.hpp is not there" in done.stdout
    assert done.stdout.endswith("False\n")


def usable():
    return any(each.startswith("sycl") for each in devices.available_devices())


with_runtime = pytest.mark.skipif(not usable(), reason="no SYCL runtime (make test-sycl)")


@pytest.mark.sycl
@with_runtime
def test_is_listed_and_described(tmp_path):
    assert devices.sycl_problem() == ""
    target = tmp_path / "info.json"
    done = subprocess.run(
        [sys.executable, "-m", "halocline", "info", "--json", str(target)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = {each["name"]: each for each in json.loads(target.read_text())["devices"]}
    assert found["sycl:0"]["memory_bytes"] > 0
    assert "SPIR-V" in found["sycl:0"]["simd"]
    with pytest.raises(hc.DeviceError, match="no such device"):
        hc.Engine(hc.Params.preset("n13-d3"), device="sycl:99")


@pytest.mark.sycl
@with_runtime
@pytest.mark.parametrize("name", ["n13-d3", "test-n10-d3-w64"])
def test_programs_give_the_bytes_of_the_cpu(name):
    params = hc.Params.preset(name, allow_insecure=True)
    client = hc.Client(params, seed=bytes(range(32)))
    keys = client.evaluation_keys((1, -2), conjugation=True)
    rng = np.random.default_rng(3)
    x, y = (client.encrypt(rng.uniform(-1, 1, params.slots)) for _ in range(2))

    def program(x, y):
        return [x * y + x.rotate(1), (x - y).conj() * 0.5, (x * x).rotate(-2)]

    expected, found = (hc.Engine(params, keys, device).run(program, x, y) for device in ("cpu", "sycl:0"))
    assert [each.to_bytes() for each in found] == [each.to_bytes() for each in expected]


def ciphertext(params, primes, rng):
    """Random residues: evaluation is defined for all of them."""
    words = np.stack(
        [np.stack([rng.integers(0, q, N, dtype=np.uint64) for q in PRIMES[:primes]]) for _ in range(2)]
    )
    return seal.Ciphertext(params, words, 2.0**20)


@pytest.mark.sycl
@with_runtime
def test_objects_of_seal_give_the_integers_of_the_cpu():
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    params = seal.Parameters(N, PRIMES)
    cpu, device = (seal.Engine(params, device=name, allow_insecure=True) for name in ("cpu", "sycl:0"))
    for primes in (3, 2, 1):
        a, b = (ciphertext(params, primes, rng) for _ in range(2))
        results = []
        for on in (cpu, device):
            x, y = on.load(a), on.load(b)
            product = on.multiply(x, y)
            made = [on.add(x, y), on.sub(x, y), on.negate(x), product, on.square(x)]
            if primes > 1:
                made += [on.rescale_to_next(product), on.mod_switch_to_next(x)]
            results.append([each.store().residues for each in made])
        for number, (ours, theirs) in enumerate(zip(*results, strict=True)):
            assert np.array_equal(ours, theirs), f"result {number} at {primes} primes"
