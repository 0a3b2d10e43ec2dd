# SPDX-License-Identifier: Apache-2.0
"""Damaged and hostile content: every error is one of halocline.base.errors."""

import hashlib

import halocline as hc
import numpy as np
import pytest
from file_rig import halocline, loaders
from halocline.base import limits
from halocline.base.files import parse_json

HEADER = "step,op,action,object,class,bytes,offset,stream,time_ns,tag\n"


@pytest.mark.parametrize("loader", ["values", "records"])
def test_mutated_headers_of_arrays(tmp_path, loader):
    """Whatever the header of a .npy file says, the error is one of ours."""
    from halocline.cli.value_files import read_values
    from halocline.pir.sources import source_of

    def read_records(path):
        source_of(path, None, None).pour(lambda piece: None)

    read = read_values if loader == "values" else read_records
    path = tmp_path / "x.npy"
    np.save(path, np.arange(8.0))
    good = path.read_bytes()
    seed = 20
    rng = np.random.default_rng(seed)
    texts = [
        b"(((" * 20,
        b"-" * 100,
        b"{" * 100,
        b"[1,",
        b"'\\",
        b'"""',
        b"1e999",
        b"\xff\xfe",
        b"(99999999999999,)",
    ]
    for attempt in range(600):
        data = bytearray(good)
        for _ in range(rng.integers(1, 6)):
            if rng.random() < 0.5:
                data[rng.integers(6, 128)] = rng.integers(0, 256)
            else:
                text = texts[rng.integers(len(texts))]
                at = int(rng.integers(10, 100))
                data[at : at + len(text)] = text
        path.write_bytes(data)
        try:
            read(path)
        except hc.Error:
            pass
        except BaseException as wrong:
            pytest.fail(f"seed {seed}, attempt {attempt}: {type(wrong).__name__} for {bytes(data)!r}")


def array_file(header, values=b""):
    text = header.encode() + b" " * (117 - len(header)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + values


@pytest.mark.parametrize(
    ("header", "why"),
    [
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}", "bytes of values"),
        ("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "expected real or complex"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", "bytes of values"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (", "damaged header"),
        ("'" * 20, "damaged header"),
    ],
)
def test_damaged_headers_of_arrays(tmp_path, header, why):
    from halocline.cli.value_files import read_values

    (tmp_path / "x.npy").write_bytes(array_file(header))
    with pytest.raises(hc.CorruptData, match=why):
        read_values(tmp_path / "x.npy")


def test_arrays_of_any_shape_are_read(tmp_path):
    from halocline.cli.value_files import read_values

    for array in (np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3)), np.array(2j)):
        np.save(tmp_path / "x.npy", array)
        assert np.array_equal(read_values(tmp_path / "x.npy"), array.ravel())
    (tmp_path / "x.txt").write_text("1 " * (limits.VALUE_COUNT + 1))
    with pytest.raises(hc.CorruptData, match="more than 65536 numbers"):
        read_values(tmp_path / "x.txt")


HOSTILE = (
    b"1e999",
    b"NaN",
    b"1" * 5000,
    b"[" * 100_000,
    b"\xff\xfe{",
    b'{"a": 1, "a": 2}',
    b'"\\ud800"',
    b'{"schema": 1e999}',
    b'{"schema": 1, "keys": [[1e999, 0]], "parameters": ""}',
    b"",
    b"null",
    b"\0" * 100,
)


@pytest.mark.parametrize("data", HOSTILE, ids=lambda data: repr(data[:20]))
def test_hostile_texts_raise_errors_of_ours(data, tmp_path, params):
    path = tmp_path / "x"
    path.write_bytes(data)
    for name, load in loaders(path).items():
        if name in ("file", "text"):
            continue
        with pytest.raises(hc.Error):
            load()
            pytest.fail(name)
    with pytest.raises(hc.Error):
        hc.Params.from_json(data, allow_insecure=True)
    with pytest.raises(hc.Error):
        hc.KeyPlan.from_json(data.decode("latin-1"), params)
    if data not in (b"null",):
        parsed = (b'{"schema": 1, "keys"', b'"\\ud800"')
        if not data.startswith(parsed):
            with pytest.raises(hc.CorruptData):
                parse_json(data, "text")


def test_checkpoints_with_numbers_that_are_none(tmp_path):

    from halocline.nn.checkpoint import MAGIC, Checkpoint

    class Compiled:
        fingerprint = "f"

    row = '["x", {}, "d"]'
    for position, size in (("1e999", "1"), ("1", "1e999"), ("NaN", "1"), ("1" * 5000, "1"), ("1.5", "1")):
        text = (
            f'{{"fingerprint": "f", "input": null, "position": {position}, "values": [{row.format(size)}]}}'
        )
        blob = text.encode()
        digest = hashlib.blake2b(blob, digest_size=32).digest()
        path = tmp_path / "x.checkpoint"
        path.write_bytes(MAGIC + len(blob).to_bytes(4, "little") + digest + blob)
        with pytest.raises(hc.CorruptData, match="description cannot be read"):
            Checkpoint(path, Compiled()).load()


@pytest.mark.parametrize(
    "arguments",
    [
        ("keygen", "{}/keys", "--rotations", "9" * 5000),
        ("keygen", "{}/keys", "--rotations", "9" * 30),
        ("keygen", "{}/keys", "--slots", "9" * 30, "--expr", "x*x"),
        ("keygen", "{}/keys", "--level", "9" * 30),
        ("trace", "record", "-o", "{}/t.csv", "--expr", "1/x"),
        ("trace", "record", "-o", "{}/t.csv", "--expr", "x**" + "9" * 400),
        ("trace", "plan", "{}/t.csv", "--memory", "9" * 400),
    ],
)
def test_huge_numbers_in_options(arguments, tmp_path):
    filled = [each.format(tmp_path) for each in arguments]
    if "trace" not in filled or "record" in filled:
        filled += ["--params", "test-n10-d3", "--allow-insecure"]
    else:
        (tmp_path / "t.csv").write_text(HEADER + "1,-,allocate,1,scratch,64,0,0,0,\n")
    status, _, message = halocline(*filled)
    assert status in (1, 2) and "Traceback" not in message, message
