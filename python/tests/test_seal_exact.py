# SPDX-License-Identifier: Apache-2.0
"""Every residue that we compute equals that of SEAL, for the same ciphertexts and keys."""

from __future__ import annotations

import random
from pathlib import Path

import halocline as hc
import numpy as np
import pytest
from halocline import seal
from seal_peer import Peer

SETS = {
    "4096": (1 << 12, [36, 36, 37]),
    "8192": (1 << 13, [60, 40, 40, 60]),
    "16384": (1 << 14, [60, 50, 40, 55, 50, 60]),
    "32768": (1 << 15, [60, 40, 40, 50, 60, 60]),
}
"""Ring degree, and bits of the primes, the special one last: digits smaller and larger than other primes."""


@pytest.fixture(params=SETS, scope="module")
def peer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Peer:
    return Peer(tmp_path_factory.mktemp("seal"), *SETS[request.param])


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")  # pytest shows it where a test fails
    return random.Random(seed)


def _values(peer: Peer, rng: random.Random) -> np.ndarray:
    return np.random.default_rng(rng.randrange(1 << 32)).uniform(-1, 1, peer.params.n // 2)


def test_elementwise_operations_are_those_of_seal(peer: Peer, rng: random.Random) -> None:
    for primes in {peer.params.data_primes, rng.randint(1, peer.params.data_primes)}:
        (a, x), (b, y) = (peer.encrypt(_values(peer, rng), 2.0**15, primes) for _ in range(2))
        plain, p = peer.encode(_values(peer, rng), 2.0**15, primes)
        on, by = peer.engine, peer.evaluator
        peer.check_equal(on.negate(x), by.negate(a), "negate")
        peer.check_equal(on.add(x, y), by.add(a, b), "add")
        peer.check_equal(on.sub(x, y), by.sub(a, b), "sub")
        peer.check_equal(on.add_plain(x, p), by.add_plain(a, plain), "add_plain")
        peer.check_equal(on.sub_plain(x, p), by.sub_plain(a, plain), "sub_plain")
        peer.check_equal(on.multiply_plain(x, p), by.multiply_plain(a, plain), "multiply_plain")
        peer.check_equal(on.multiply(x, y), by.multiply(a, b), "multiply")
        peer.check_equal(on.square(x), by.square(a), "square")


def test_products_at_all_levels_are_those_of_seal(peer: Peer, rng: random.Random) -> None:
    on, by = peer.engine, peer.evaluator
    for primes in range(peer.params.data_primes, 0, -1):
        (a, x), (b, y) = (peer.encrypt(_values(peer, rng), 2.0**15, primes) for _ in range(2))
        product, ours = by.multiply(a, b), on.multiply(x, y)
        linear, flat = by.relinearize(product, peer.relin), on.relinearize(ours)
        peer.check_equal(flat, linear, f"relinearize at {primes} primes")
        if primes == 1:
            continue
        peer.check_equal(on.rescale_to_next(flat), by.rescale_to_next(linear), f"rescale at {primes} primes")
        peer.check_equal(on.rescale_to_next(ours), by.rescale_to_next(product), "rescale of a product")
        peer.check_equal(on.mod_switch_to_next(flat), by.mod_switch_to_next(linear), "mod_switch")


def test_lists_give_the_integers_of_seal(peer: Peer, rng: random.Random) -> None:
    on, by = peer.engine, peer.evaluator
    primes = rng.randint(2, peer.params.data_primes)
    (left, a), (right, b) = (
        zip(*(peer.encrypt(_values(peer, rng), 2.0**15, primes) for _ in range(3)), strict=True)
        for _ in range(2)
    )
    plain, p = peer.encode(_values(peer, rng), 2.0**15, primes)
    flat = on.relinearize(on.multiply(list(a), list(b)))
    found = (
        on.rescale_to_next(flat),
        on.mod_switch_to_next(flat),
        on.rotate_vector(a, 3),
        on.add_plain(a, [p] * 3),
    )
    for i in range(3):
        linear = by.relinearize(by.multiply(left[i], right[i]), peer.relin)
        wanted = (
            by.rescale_to_next(linear),
            by.mod_switch_to_next(linear),
            by.rotate_vector(left[i], 3, peer.galois),
            by.add_plain(left[i], plain),
        )
        for made, expected in zip(found, wanted, strict=True):
            peer.check_equal(made[i], expected, f"ciphertext {i}")


def test_matrix_products_give_the_integers_of_seal(peer: Peer, rng: random.Random) -> None:
    on, by = peer.engine, peer.evaluator
    pairs = [peer.encrypt(_values(peer, rng), 2.0**15, 1) for _ in range(4)]
    (a, x), (b, y), (c, z), (d, w) = pairs
    product = on.multiply_matrices(on.matrix([[x, y]]), on.matrix([[z], [w]]))
    assert product.shape == (1, 1)
    wanted = by.add(by.multiply(a, c), by.multiply(b, d))
    peer.check_equal(product.entries()[0], wanted, "two products")
    on.add_matrix_product(product, on.matrix([[x]]), on.matrix([[w]]))
    peer.check_equal(product.entries([0])[0], by.add(wanted, by.multiply(a, d)), "one more")


def test_mixed_sizes_are_those_of_seal(peer: Peer, rng: random.Random) -> None:
    on, by = peer.engine, peer.evaluator
    primes = peer.params.data_primes
    (a, x), (b, y) = (peer.encrypt(_values(peer, rng), 2.0**10, primes) for _ in range(2))
    square, ours = by.square(a), on.square(x)
    peer.check_equal(on.multiply(ours, y), by.multiply(square, b), "three by two polynomials")
    plain, p = peer.encode(_values(peer, rng), 2.0**20, primes)
    fresh, mine = peer.encryptor.encrypt(plain), None
    mine = on.load(peer.ours(fresh, seal.Ciphertext))
    peer.check_equal(on.add(ours, mine), by.add(square, fresh), "sum of three and two")
    peer.check_equal(on.sub(mine, ours), by.sub(fresh, square), "difference of two and three")
    peer.check_equal(on.add_plain(ours, p), by.add_plain(square, plain), "three and a plaintext")


def test_rotations_are_those_of_seal(peer: Peer, rng: random.Random) -> None:
    """Steps without a key of their own are composed in SEAL's order: others give other integers."""
    on, by = peer.engine, peer.evaluator
    half = peer.params.n // 2
    primes = rng.randint(1, peer.params.data_primes)
    a, x = peer.encrypt(_values(peer, rng), 2.0**15, primes)
    steps = [1, -1, 3, -5, half - 1, 1 - half, half // 4 * 3, rng.randrange(1, half), -rng.randrange(1, half)]
    for step in steps:
        peer.check_equal(on.rotate_vector(x, step), by.rotate_vector(a, step, peer.galois), f"{step} steps")
    peer.check_equal(on.complex_conjugate(x), by.complex_conjugate(a, peer.galois), "conjugate")
    element = pow(3, 4, 2 * peer.params.n)
    peer.check_equal(on.apply_galois(x, element), by.apply_galois(a, element, peer.galois), "apply_galois")


def test_seal_decrypts_what_we_computed(peer: Peer, rng: random.Random) -> None:
    values = _values(peer, rng)
    _, x = peer.encrypt(values, 2.0**28, peer.params.data_primes)
    on = peer.engine
    turned = on.rotate_vector(on.relinearize(on.square(x)), 5)
    decrypted = peer.decryptor.decrypt(peer.theirs(turned))
    decoded = np.array(peer.encoder.decode(decrypted))
    assert np.abs(decoded - np.roll(values**2, -5)).max() < 0.05


def test_a_long_random_program_gives_the_integers_of_seal(tmp_path: Path, rng: random.Random) -> None:
    peer = Peer(tmp_path, 1 << 13, [40, 30, 30, 30, 40], threads=1)
    on, by = peer.engine, peer.evaluator
    a, x = peer.encrypt(_values(peer, rng), 2.0**12, 4)
    for round_number in range(3):
        step = rng.randrange(1, 4096)
        a = by.rotate_vector(a, step, peer.galois)
        a = by.add(a, by.complex_conjugate(a, peer.galois))
        a = by.rescale_to_next(by.relinearize(by.square(a), peer.relin))
        x = on.rotate_vector(x, step)
        x = on.add(x, on.complex_conjugate(x))
        x = on.rescale_to_next(on.relinearize(on.square(x)))
        peer.check_equal(x, a, f"round {round_number}, {step} steps")
        a.scale(2.0**12)
        x.scale = 2.0**12
    with pytest.raises(hc.LevelExhausted, match="one prime left"):
        on.rescale_to_next(x)
