# SPDX-License-Identifier: Apache-2.0
"""Small parameters, a reproducible client and an engine, made once for all tests."""

import os
import signal
import socket
from pathlib import Path

import halocline as hc
import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("ci", deadline=None, print_blob=True, max_examples=30, derandomize=True)
settings.load_profile("ci")

# Shells start what runs in the background without interrupts, and so would be all processes that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SEED = bytes(range(32))
ROTATIONS = (1, 2, 3, 4, 8, 16, 32, 64, 128, 256, -1, -2, 5)


@pytest.fixture(scope="session")
def params():
    """N = 2^10, 3 levels: insecure, fast."""
    return hc.Params.preset("test-n10-d3", allow_insecure=True)


@pytest.fixture(scope="session")
def deep_params():
    """N = 2^11, 8 levels."""
    return hc.Params.preset("test-n11-d8", allow_insecure=True)


@pytest.fixture(scope="session")
def client(params):
    return hc.Client(params, seed=SEED, threads=1)


@pytest.fixture(scope="session")
def keys(client):
    return client.evaluation_keys(ROTATIONS, conjugation=True)


@pytest.fixture(scope="session")
def engine(params, keys):
    return hc.Engine(params, keys, threads=1)


@pytest.fixture(scope="session")
def deep_client(deep_params):
    return hc.Client(deep_params, seed=SEED, threads=1)


@pytest.fixture(scope="session")
def deep_engine(deep_params, deep_client):
    keys = deep_client.evaluation_keys((1, 2, 4, -1), conjugation=True)
    return hc.Engine(deep_params, keys, threads=1)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def x(rng, params):
    """Real values in [-1, 1], one for each slot."""
    return rng.uniform(-1, 1, params.slots)


@pytest.fixture
def z(rng, params):
    """Complex values in the unit square, one for each slot."""
    return rng.uniform(-1, 1, params.slots) + 1j * rng.uniform(-1, 1, params.slots)


@pytest.fixture
def specials(tmp_path):
    """Things with names that are no regular files."""
    folder = tmp_path / "special"
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    (folder / "link").symlink_to("pipe")
    server = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(folder)  # names of sockets are short
    try:
        server.bind("socket")
    finally:
        os.chdir(here)
    yield [*folder.iterdir(), Path("/dev/null"), Path("/dev/zero")]
    server.close()
