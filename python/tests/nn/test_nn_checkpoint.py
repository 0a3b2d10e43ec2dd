# SPDX-License-Identifier: Apache-2.0
"""Interrupted runs go on from their checkpoints; what does not belong to them is refused."""

import hashlib
import json

import halocline as hc
import halocline.nn as nn
import numpy as np
import pytest
from halocline.nn.checkpoint import MAGIC, Checkpoint


class Stopped(Exception):
    """What interrupts a run."""


@pytest.fixture(scope="module")
def engine(network):
    return hc.Engine(network.compiled.params, network.keys, threads=2)


@pytest.fixture(scope="module")
def ct(network, images):
    return network.compiled.encrypt(network.client, images(1, 11)[0])


@pytest.fixture(scope="module")
def whole(network, engine, ct):
    """The result of a run that nothing interrupts."""
    return network.client.decrypt(network.compiled.run(engine, ct))


def interrupted(compiled, engine, ct, path, segments):
    """A run that stops after some segments."""

    def progress(done, total):
        assert total == 5
        if done == segments:
            raise Stopped

    with pytest.raises(Stopped):
        compiled.run(engine, ct, checkpoint=path, progress=progress)


@pytest.fixture(scope="module")
def saved(network, engine, ct, tmp_path_factory):
    """Bytes of a checkpoint with two live ciphertexts: within a residual block."""
    path = tmp_path_factory.mktemp("saved") / "run"
    interrupted(network.compiled, engine, ct, path, 3)
    return path.read_bytes()


@pytest.mark.parametrize("segments", [1, 3])
def test_a_run_goes_on_with_the_same_result(network, engine, ct, whole, tmp_path, segments):
    path = tmp_path / "run.checkpoint"
    interrupted(network.compiled, engine, ct, path, segments)
    assert path.exists()
    seen = []
    rest = network.compiled.run(engine, ct, checkpoint=path, progress=lambda done, total: seen.append(done))
    assert seen == list(range(segments, 6))
    np.testing.assert_array_equal(network.client.decrypt(rest), whole)
    assert list(tmp_path.iterdir()) == []


def test_another_process_goes_on_without_the_input(network, whole, saved, tmp_path):
    path = tmp_path / "run"
    path.write_bytes(saved)
    compiled = nn.compile(network.model, network.compiled.params, network.ranges)
    other = hc.Engine(compiled.params, network.keys, threads=1)
    np.testing.assert_array_equal(network.client.decrypt(compiled.run(other, None, checkpoint=path)), whole)


def test_the_live_values_are_what_is_needed(network):
    live = [network.compiled.live_values(k) for k in range(6)]
    assert live[1:3] == [{"relu1 (sum)"}, {"relu2 (sum)"}]
    assert live[3:5] == [{"relu2", "relu3 (sum)"}, {"relu4 (sum)"}]
    assert live[0] == live[5] == set()


def test_values_of_different_numbers_of_images_are_refused(network, ct, tmp_path):
    kept = Checkpoint(tmp_path / "run", network.compiled, network.client.key_id)
    kept.expect_input([ct, ct], False)
    value = network.client.encrypt(np.zeros(64), level=3, slots=64)
    kept.save(3, {"relu2": [value, value], "relu3 (sum)": [value, value]})
    position, values = kept.load()
    assert (position, {name: len(each) for name, each in values.items()}) == (
        3,
        {"relu2": 2, "relu3 (sum)": 2},
    )
    kept.save(3, {"relu2": [value, value], "relu3 (sum)": [value]})
    with pytest.raises(hc.CorruptData, match="a value of at least 2 images and one of at most 1"):
        kept.load()


def test_other_networks_and_inputs_are_refused(network, residual, images, engine, saved, ct, tmp_path):
    path = tmp_path / "run"
    path.write_bytes(saved)
    compiled, params = network.compiled, network.compiled.params
    others = {
        "weights": nn.compile(residual(2), params, network.ranges),
        "ranges": nn.compile(network.model, params, nn.Ranges({k: 2 * v for k, v in network.ranges.items()})),
        "options": nn.compile(network.model, params, network.ranges, bootstrap={"stc_mode": "bsgs"}),
    }
    for other in others.values():
        with pytest.raises(hc.InvalidArgument, match=r"made by another network.*remove the file"):
            other.run(engine, ct, checkpoint=path)
    again = compiled.encrypt(network.client, images(1, 12)[0])
    with pytest.raises(hc.InvalidArgument, match="made from another encrypted input"):
        compiled.run(engine, again, checkpoint=path)
    assert path.read_bytes() == saved


def with_description(saved, change):
    """A checkpoint whose description was changed, with a digest that fits."""
    start = len(MAGIC) + 4 + 32
    size = int.from_bytes(saved[len(MAGIC) : len(MAGIC) + 4], "little")
    header = json.loads(saved[start : start + size])
    change(header)
    text = json.dumps(header).encode()
    digest = hashlib.blake2b(text, digest_size=32).digest()
    return b"".join([MAGIC, len(text).to_bytes(4, "little"), digest, text, saved[start + size :]])


def test_checkpoints_of_another_key_are_refused(network, ct, saved, tmp_path):
    path = tmp_path / "run"
    params, own = network.compiled.params, network.client.key_id
    stranger = hc.Client(params, threads=1)
    other = hc.Engine(params, stranger.evaluation_keys(relinearization=False), threads=1)
    hidden = with_description(saved, lambda header: header.update(key=None))
    claimed = with_description(saved, lambda header: header.update(key=stranger.key_id))
    for data in (saved, hidden, claimed):
        path.write_bytes(data)
        with pytest.raises(hc.KeyMismatch, match=rf"{own}.*{stranger.key_id}|{stranger.key_id}.*{own}"):
            network.compiled.run(other, None, checkpoint=path)
        assert path.read_bytes() == data
    with pytest.raises(hc.KeyMismatch, match=rf"the input belongs to the secret key {own}"):
        network.compiled.run(other, ct, checkpoint=tmp_path / "none")


def test_checkpoints_that_name_no_key_go_on(network, engine, whole, saved, tmp_path):
    """As those of earlier versions."""
    path = tmp_path / "run"
    path.write_bytes(with_description(saved, lambda header: header.pop("key")))
    result = network.compiled.run(engine, None, checkpoint=path)
    np.testing.assert_array_equal(network.client.decrypt(result), whole)


def test_damaged_files_are_refused(network, engine, saved, tmp_path):
    path = tmp_path / "run"
    rng = np.random.default_rng(5)
    places = [0, 23, 30, 60, 200, len(saved) // 2, len(saved) - 1, *rng.integers(0, len(saved), 20)]
    for place in places:
        damaged = bytearray(saved)
        damaged[place] ^= 1 + int(rng.integers(255))
        path.write_bytes(bytes(damaged))
        with pytest.raises((hc.CorruptData, hc.InvalidArgument)):
            network.compiled.run(engine, None, checkpoint=path)
    for size in (0, 10, 50, 300, len(saved) - 1):
        path.write_bytes(saved[:size])
        with pytest.raises(hc.CorruptData, match="remove the file"):
            network.compiled.run(engine, None, checkpoint=path)
    path.write_bytes(saved + b"x")
    with pytest.raises(hc.CorruptData, match="1 bytes too many"):
        network.compiled.run(engine, None, checkpoint=path)


def test_files_that_are_not_there(network, engine, ct, tmp_path):
    with pytest.raises(hc.InvalidArgument, match="no checkpoint to continue from at"):
        network.compiled.run(engine, None, checkpoint=tmp_path / "none")
    with pytest.raises(hc.InvalidArgument, match="pass checkpoint="):
        network.compiled.run(engine, None)
    with pytest.raises(hc.IoError, match="cannot write"):
        network.compiled.run(engine, ct, checkpoint=tmp_path / "folder" / "run")
    with pytest.raises(hc.IoError, match="cannot read"):
        network.compiled.run(engine, ct, checkpoint=tmp_path)


def test_segments_have_plans_of_their_own(network, ct, whole, tmp_path):
    compiled = network.compiled
    budget = compiled.report().peak_bytes // 2
    engine = hc.Engine(compiled.params, network.keys, memory=budget, policy="planned", threads=2)
    result = compiled.run(engine, ct, checkpoint=tmp_path / "run")
    np.testing.assert_array_equal(network.client.decrypt(result), whole)
    assert compiled.last_run.followed_plan
    assert compiled.last_run.peak_fast_bytes <= budget
