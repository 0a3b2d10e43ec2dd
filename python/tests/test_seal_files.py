# SPDX-License-Identifier: Apache-2.0
"""Files of SEAL: what it writes we read, what we write it reads, and nothing else is taken."""

from __future__ import annotations

import pickle
import stat
import zlib
from pathlib import Path
from typing import Any, get_args

import halocline as hc
import numpy as np
import pytest
from halocline import seal
from halocline.seal.files import Compression, Version
from seal_peer import Peer, primes_below, sealapi

COMPRESSIONS: tuple[Compression, ...] = get_args(Compression)
VERSIONS: tuple[Version, ...] = get_args(Version)


@pytest.fixture(scope="module")
def params() -> seal.Parameters:
    return seal.Parameters(1024, primes_below(1 << 40, 1024, 3))


def residues(params: seal.Parameters, size: int, primes: int, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    limbs = [rng.integers(0, q, (size, 1, params.n), dtype=np.uint64) for q in params.primes[:primes]]
    return np.concatenate(limbs, axis=1)


def ciphertext(params: seal.Parameters, size: int = 2, primes: int = 2) -> seal.Ciphertext:
    return seal.Ciphertext(params, residues(params, size, primes), 2.0**30)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_saved_is_loaded(
    params: seal.Parameters, tmp_path: Path, compression: Compression, version: Version
) -> None:
    path = tmp_path / "object"
    cipher, plain = ciphertext(params, 3), seal.Plaintext(params, residues(params, 1, 2), 4.0)
    seal.save(path, params, compression=compression, version=version)
    assert seal.load(path, seal.Parameters) == params
    assert path.read_bytes()[3:6] == bytes([4, VERSIONS.index(version), COMPRESSIONS.index(compression)])
    seal.save(path, cipher, compression=compression, version=version)
    loaded = seal.load(path, seal.Ciphertext, params)
    assert np.array_equal(loaded.residues, cipher.residues)
    assert (loaded.size, loaded.prime_count, loaded.scale, loaded.is_seeded) == (3, 2, 2.0**30, False)
    seal.save(path, plain, compression=compression, version=version)
    assert np.array_equal(seal.load(path, seal.Plaintext, params).residues, plain.residues)


def test_objects_on_an_engine_are_saved(params: seal.Parameters, tmp_path: Path) -> None:
    engine = seal.Engine(params, allow_insecure=True, threads=1)
    x = engine.load(ciphertext(params))
    p = engine.load(seal.Plaintext(params, residues(params, 1, 2), 2.0**30))
    seal.save(tmp_path / "x", x)
    assert seal.to_bytes(x) == seal.to_bytes(ciphertext(params)) == (tmp_path / "x").read_bytes()
    assert np.array_equal(p.store().residues, residues(params, 1, 2))
    low = engine.mod_switch_to_next(p)
    assert np.array_equal(low.store().residues, residues(params, 1, 2)[:, :1])
    assert repr(low) == "seal.DevicePlaintext(primes=1, scale=1.07374e+09)"
    x.scale = 3.0
    assert x.store().scale == 3.0
    with pytest.raises(hc.ScaleMismatch, match="scales 3 and"):
        engine.add_plain(x, p)
    for each in (engine, x, p):
        with pytest.raises(hc.NotPicklable):
            pickle.dumps(each)


def test_wrong_arguments_are_refused(params: seal.Parameters, tmp_path: Path) -> None:
    cipher = ciphertext(params)
    other = seal.Parameters(1024, primes_below(1 << 41, 1024, 3))
    with pytest.raises(hc.InvalidArgument, match="parms_id is that of another parameter set"):
        seal.from_bytes(seal.to_bytes(cipher), seal.Ciphertext, other)
    with pytest.raises(hc.WrongType, match=r"load them with seal\.Parameters"):
        seal.from_bytes(seal.to_bytes(cipher), seal.Ciphertext)
    with pytest.raises(hc.WrongType, match=r"seal.SecretKey from files only"):
        seal.from_bytes(b"", seal.SecretKey, params)
    with pytest.raises(hc.InvalidArgument, match="compression 'xz'; expected one of: none, zlib, zstd"):
        seal.to_bytes(cipher, compression="xz")  # type: ignore[arg-type]
    with pytest.raises(hc.InvalidArgument, match=r"version '3.6'; expected one of: 4.0, 4.1"):
        seal.to_bytes(cipher, version="3.6")  # type: ignore[arg-type]
    with pytest.raises(hc.WrongType, match=r"expected an object of halocline\.seal"):
        seal.to_bytes(1)  # type: ignore[arg-type]
    with pytest.raises(hc.InvalidArgument, match="expected uint64 in the order"):
        seal.Ciphertext(params, np.zeros((2, 2, 1024)), 1.0)
    with pytest.raises(hc.CorruptData, match="expected less than its prime"):
        seal.Ciphertext(params, np.full((2, 2, 1024), 1 << 50, dtype=np.uint64), 1.0)
    with pytest.raises(hc.InvalidArgument, match="expected 1 to 2 and 1024"):
        seal.Ciphertext(params, np.zeros((2, 3, 1024), dtype=np.uint64), 1.0)
    with pytest.raises(hc.CorruptData, match="1 polynomials; expected 2 to 16"):
        seal.Ciphertext(params, residues(params, 1, 2), 1.0)
    with pytest.raises(hc.InvalidArgument, match="2 polynomials, expected 1"):
        seal.Plaintext(params, residues(params, 2, 2), 1.0)
    with pytest.raises(hc.InvalidArgument, match="modulus 15"):
        seal.Parameters(1024, [15])
    with pytest.raises(hc.InsecureParameters, match="at most 27 for ring degree 1024"):
        seal.Engine(params)
    with pytest.raises(hc.InvalidArgument, match="a ghost computes nothing"):
        seal.Engine(params, device="ghost")
    (tmp_path / "short").write_bytes(seal.to_bytes(cipher)[:-1])
    with pytest.raises(hc.CorruptData, match="its header says"):
        seal.load(tmp_path / "short", seal.Ciphertext, params)
    with pytest.raises(hc.WrongType, match=r"expected DeviceCiphertext; load it with engine\.load"):
        seal.Engine(params, allow_insecure=True).negate(cipher)  # type: ignore[arg-type]


def test_operands_of_two_engines_are_not_combined(params: seal.Parameters) -> None:
    one, two = (seal.Engine(params, allow_insecure=True, threads=1) for _ in range(2))
    x, y = one.load(ciphertext(params)), two.load(ciphertext(params))
    with pytest.raises(hc.InvalidArgument, match="of another engine"):
        one.add(x, y)
    with pytest.raises(hc.MissingKey, match="no key for 1 steps"):
        one.rotate_vector(x, 1)


def test_lists_and_objects_are_not_mixed(params: seal.Parameters) -> None:
    on = seal.Engine(params, allow_insecure=True, threads=1)
    x = on.load(ciphertext(params))
    plain = on.load(seal.Plaintext(params, residues(params, 1, 2), x.scale))
    assert on.add([], []) == [] and len(on.negate([x, x])) == 2
    with pytest.raises(hc.WrongType, match="add: got DeviceCiphertext, expected a list"):
        on.add([x], x)  # type: ignore[call-overload]
    with pytest.raises(hc.WrongType, match=r"multiply: got list, expected a seal\.DeviceCiphertext"):
        on.multiply(x, [x])  # type: ignore[call-overload]
    with pytest.raises(
        hc.WrongType, match=r"add_plain: got DeviceCiphertext, expected a seal\.DevicePlaintext"
    ):
        on.add_plain(x, x)  # type: ignore[call-overload]
    with pytest.raises(hc.WrongType, match="expected DevicePlaintext"):
        on.add_plain([x], [x])  # type: ignore[list-item]
    with pytest.raises(hc.InvalidArgument, match="lists of 2 and 1 operands"):
        on.add_plain([x, x], [plain])
    with pytest.raises(hc.InvalidArgument, match="rows of different lengths"):
        on.matrix([[x], [x, x]])
    with pytest.raises(hc.InvalidArgument, match="0 ciphertexts for 0 by 0 entries"):
        on.matrix([])
    with pytest.raises(hc.WrongType, match=r"make it with engine\.matrix"):
        on.multiply_matrices(on.matrix([[x]]), x)  # type: ignore[arg-type]


def test_a_packed_file_cannot_take_more_than_its_limit(params: seal.Parameters) -> None:
    """70 MiB of zeros in 70 KiB: more than the base and 32 times the bytes."""
    zeros = seal.to_bytes(ciphertext(params))[:16]
    packed = zlib.compress(bytes(70 << 20), 9)
    data = zeros[:5] + b"\x01\x00\x00" + (16 + len(packed)).to_bytes(8, "little") + packed
    with pytest.raises(hc.CorruptData, match="unpacks to more than"):
        seal.from_bytes(data, seal.Ciphertext, params)


def test_seal_reads_and_writes_the_same_bytes(tmp_path: Path) -> None:
    peer = Peer(tmp_path, 4096, [36, 36, 37], threads=1)
    path = str(tmp_path / "theirs")
    theirs = {
        seal.Ciphertext: peer.encryptor.encrypt(peer.encoder.encode(1.5, 2.0**30)),
        seal.Plaintext: peer.encoder.encode(1.5, 2.0**30),
        seal.RelinKeys: peer.relin,
        seal.GaloisKeys: peer.galois,
        seal.PublicKey: peer.lib.KeyGenerator(peer.context).create_public_key(),
    }
    for kind, each in theirs.items():
        each.save(path)
        ours = seal.load(path, kind, peer.params)
        assert seal.to_bytes(ours) == Path(path).read_bytes(), kind
    assert seal.to_bytes(peer.params) == (tmp_path / "parameters").read_bytes()
    assert peer.params.parms_id(2) == np.array(theirs[seal.Ciphertext].parms_id(), np.uint64).tobytes()
    assert peer.ours(peer.relin, seal.RelinKeys).powers == [2]
    elements = peer.ours(peer.galois, seal.GaloisKeys).elements
    assert {3, pow(3, -1, 8192), 8191} < set(elements)
    for version in VERSIONS:  # 4.4 reads all of them
        cipher = peer.ours(theirs[seal.Ciphertext], seal.Ciphertext)
        seal.save(tmp_path / "ours", cipher, version=version)
        again = peer.lib.Ciphertext()
        again.load(peer.context, str(tmp_path / "ours"))
        decoded = peer.encoder.decode(peer.decryptor.decrypt(again))
        assert np.abs(np.array(decoded) - 1.5).max() < 1e-3


def test_a_secret_key_goes_from_file_to_file(tmp_path: Path) -> None:
    peer = Peer(tmp_path, 4096, [36, 36, 37], threads=1)
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    peer.secret.save(str(theirs))
    key = seal.load(theirs, seal.SecretKey, peer.params)
    seal.save(ours, key)
    assert ours.read_bytes() == theirs.read_bytes()
    assert stat.S_IMODE(ours.stat().st_mode) == 0o600
    with pytest.raises(hc.NotPicklable):
        pickle.dumps(key)
    with pytest.raises(hc.WrongType):
        seal.to_bytes(key)  # type: ignore[arg-type]
    theirs.write_bytes(theirs.read_bytes()[:-8])
    with pytest.raises(hc.CorruptData, match="SEAL secret key: its header says"):
        seal.load(theirs, seal.SecretKey, peer.params)


class _Tenseal:
    """A client of SEAL 4.3, which writes seeds and packs with zstd."""

    def __init__(self, folder: Path) -> None:
        self.lib, self.folder = sealapi(), folder
        n = 1024
        # 2^64 leaves 2 to 5 % modulo these primes: so many words of a seed are drawn again.
        primes = [primes_below(int(part * 2**60), n)[0] for part in (0.95, 0.52, 0.97)]
        chain = self.lib.EncryptionParameters(self.lib.SCHEME_TYPE.CKKS)
        chain.set_poly_modulus_degree(n)
        chain.set_coeff_modulus([self.lib.Modulus(prime) for prime in primes])
        self.context = self.lib.SEALContext(chain, True, self.lib.SEC_LEVEL_TYPE.NONE)
        self.generator = self.lib.KeyGenerator(self.context)
        encoder = self.lib.CKKSEncoder(self.context)
        self.plain = self.lib.Plaintext()
        encoder.encode(1.5, 2.0**30, self.plain)
        public = self.lib.PublicKey()
        self.generator.create_public_key(public)
        self.encryptor = self.lib.Encryptor(self.context, public, self.generator.secret_key())
        self.params = seal.from_bytes(self.saved(chain), seal.Parameters)

    def saved(self, value: Any) -> bytes:
        path = self.folder / "tenseal"
        value.save(str(path))
        return path.read_bytes()

    def expanded(self, data: bytes, kind: str) -> bytes:
        """What SEAL makes of the bytes of an object, written in full."""
        path = self.folder / "tenseal"
        path.write_bytes(data)
        made = getattr(self.lib, kind)()
        made.load(self.context, str(path))
        return self.saved(made)


@pytest.mark.parametrize("generator", [1, 2], ids=["blake2xb", "shake256"])
def test_seeds_expand_as_seal_expands_them(tmp_path: Path, generator: int) -> None:
    """TenSEAL writes seeds of the first generator, and takes any seed for either."""
    peer = _Tenseal(tmp_path)
    written = seal.from_bytes(
        peer.saved(peer.encryptor.encrypt_symmetric(peer.plain)), seal.Ciphertext, peer.params
    )
    seeded = bytearray(seal.to_bytes(written, version="4.3"))
    assert seeded[-65] == 1
    seeded[-65] = generator
    ours = seal.from_bytes(seeded, seal.Ciphertext, peer.params)
    full = seal.from_bytes(peer.expanded(bytes(seeded), "Ciphertext"), seal.Ciphertext, peer.params)
    assert (ours.is_seeded, full.is_seeded) == (True, False)
    assert np.array_equal(ours.residues, full.residues)
    assert np.array_equal(ours.residues[1], written.residues[1]) == (generator == 1)


def test_seeded_keys_are_those_that_seal_expands(tmp_path: Path) -> None:
    peer = _Tenseal(tmp_path)
    ours = seal.from_bytes(
        peer.saved(peer.encryptor.encrypt_symmetric(peer.plain)), seal.Ciphertext, peer.params
    )
    kinds = {seal.RelinKeys: "create_relin_keys", seal.GaloisKeys: "create_galois_keys"}
    results = []
    for kind, maker in kinds.items():
        data = peer.saved(getattr(peer.generator, maker)())
        mine = seal.from_bytes(data, kind, peer.params)
        theirs = seal.from_bytes(peer.expanded(data, kind.__name__), kind, peer.params)
        assert (mine.is_seeded, theirs.is_seeded) == (True, False)
        results.append((mine, theirs))
    computed = []
    for i in range(2):
        engine = seal.Engine(
            peer.params, relin_keys=results[0][i], galois_keys=results[1][i], allow_insecure=True, threads=1
        )
        x = engine.load(ours)
        computed.append(seal.to_bytes(engine.rotate_vector(engine.relinearize(engine.square(x)), 3)))
    assert computed[0] == computed[1]


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_an_older_seal_reads_its_own_version(tmp_path: Path, compression: Compression) -> None:
    peer = _Tenseal(tmp_path)
    seeded = peer.saved(peer.encryptor.encrypt_symmetric(peer.plain))
    assert seeded[3:6] == bytes([4, 3, 2]), "TenSEAL writes version 4.3 with zstd"
    ours = seal.from_bytes(seeded, seal.Ciphertext, peer.params)
    again = peer.expanded(seal.to_bytes(ours, compression=compression, version="4.3"), "Ciphertext")
    assert np.array_equal(seal.from_bytes(again, seal.Ciphertext, peer.params).residues, ours.residues)
    with pytest.raises(Exception, match="incompatible version"):
        peer.expanded(seal.to_bytes(ours, compression=compression, version="4.4"), "Ciphertext")
