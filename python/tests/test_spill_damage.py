# SPDX-License-Identifier: Apache-2.0
"""The spill file is harmed while an engine uses it: an error or a right value, never a wrong one."""

import os
from pathlib import Path

import halocline as hc
import numpy as np
import pytest


def spill_file(folder: Path) -> int:
    """Opens the file of the only engine that keeps one in the folder, behind its back."""
    for each in Path("/proc/self/fd").iterdir():
        try:
            target = os.readlink(each)
        except FileNotFoundError:  # the descriptor of the listing itself
            continue
        if target.startswith(f"{folder}/"):
            return os.open(each, os.O_RDWR)
    raise AssertionError(f"no file of an engine in {folder}")


def truncate(file: int) -> None:
    os.ftruncate(file, 0)


def zero(file: int) -> None:
    size = os.fstat(file).st_size
    os.pwrite(file, bytes(size), 0)


def flip(file: int) -> None:
    contents = bytearray(os.pread(file, os.fstat(file).st_size, 0))
    for at in range(0, len(contents), 4096):
        contents[at + 7] ^= 1
    os.pwrite(file, contents, 0)


@pytest.fixture
def params() -> hc.Params:
    return hc.Params.preset("test-n10-d3", allow_insecure=True)


@pytest.mark.parametrize("harm", [truncate, zero, flip])
def test_no_ciphertext_decrypts_to_wrong_values(params, tmp_path, harm):
    client = hc.Client(params)
    least = 12 * params.ciphertext_bytes(params.max_level)
    engine = hc.Engine(
        params, memory=least, policy="lru", memory_options=hc.MemoryOptions(tier_folder=str(tmp_path))
    )
    values = [np.full(params.slots, i / 60) for i in range(60)]
    held = [client.encrypt(value).to(engine) for value in values]
    file = spill_file(tmp_path)
    try:
        harm(file)
    finally:
        os.close(file)
    lost = []
    for i, (value, ciphertext) in enumerate(zip(values, held, strict=True)):
        try:
            got = client.decrypt(ciphertext + ciphertext)
        except hc.CorruptData as error:
            assert "are lost" in str(error) and "ciphertext" in str(error) and str(tmp_path) in str(error)
            lost.append(i)
        else:
            np.testing.assert_allclose(got.real, 2 * value, atol=1e-2)
    assert 30 <= len(lost) < 60  # the budget holds a few of them
    for i in lost:
        with pytest.raises(hc.CorruptData, match="are lost"):
            _ = held[i] + held[i]
    stats = engine.stats()
    assert stats["losses"] >= len(lost) and stats["lost_bytes"] > 0

    # The engine goes on: new ciphertexts, and tables that were lost too, are right.
    fresh = client.encrypt(values[17]).to(engine)
    np.testing.assert_allclose(client.decrypt(fresh + fresh).real, 2 * values[17], atol=1e-2)


def test_what_has_a_source_is_made_again_and_keys_can_be_added_again(params, tmp_path):
    client = hc.Client(params)
    engine = hc.Engine(
        params, memory="2MiB", policy="lru", memory_options=hc.MemoryOptions(tier_folder=str(tmp_path))
    )
    keys = client.evaluation_keys(rotations=list(range(1, 16)))
    engine.add_keys(keys)
    value = np.linspace(-1, 1, params.slots)
    x = client.encrypt(value).to(engine)
    for step in range(1, 16):
        _ = x.rotate(step)
    file = spill_file(tmp_path)
    try:
        flip(file)
    finally:
        os.close(file)
    failures = 0
    for step in range(1, 16):
        try:
            got = x.rotate(step)
        except hc.CorruptData as error:
            assert "evaluation_key" in str(error)
            failures += 1
        else:
            np.testing.assert_allclose(client.decrypt(got).real, np.roll(value, -step), atol=1e-2)
    assert failures > 0
    engine.add_keys(keys)
    for step in range(1, 16):
        got = client.decrypt(x.rotate(step)).real
        np.testing.assert_allclose(got, np.roll(value, -step), atol=1e-2)
    stats = engine.stats()
    assert stats["repairs"] > 0 and stats["repaired_bytes"] > 0  # seeded halves, tables


def test_a_planned_run_fails_once_and_the_next_one_is_right(params, tmp_path):
    client = hc.Client(params)
    keys = client.evaluation_keys(rotations=list(range(1, 16)))

    def program(x):
        y = x
        for step in range(1, 16):
            y = y + x.rotate(step)
        return y

    traced = hc.trace_program(params, program, client.encrypt(np.zeros(params.slots)))
    engine = hc.Engine(
        params,
        keys,
        memory=max(traced.peak_bytes // 3, 1 << 20),
        policy="planned",
        memory_options=hc.MemoryOptions(tier_folder=str(tmp_path)),
    )
    value = np.linspace(-0.05, 0.05, params.slots)
    expected = sum(np.roll(value, -step) for step in range(16))
    for _ in range(2):  # the second run has the plan and costs of the first
        np.testing.assert_allclose(
            client.decrypt(engine.run(program, client.encrypt(value))).real, expected, atol=1e-2
        )
    file = spill_file(tmp_path)
    try:
        truncate(file)
    finally:
        os.close(file)
    with pytest.raises(hc.CorruptData, match="are lost"):
        engine.run(program, client.encrypt(value))
    engine.add_keys(keys)
    got = client.decrypt(engine.run(program, client.encrypt(value)))
    np.testing.assert_allclose(got.real, expected, atol=1e-2)
    assert engine.last_run.followed_plan
