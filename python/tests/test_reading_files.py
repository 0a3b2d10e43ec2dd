# SPDX-License-Identifier: Apache-2.0
"""What readers of files refuse, and how much they allocate."""

import hashlib
import lzma
import re
import signal
from pathlib import Path

import halocline as hc
import numpy as np
import pytest
from file_rig import SECONDS, loaders, run
from halocline.base import limits
from halocline.base.files import read_file, read_text

NAMES = list(loaders("x"))


@pytest.mark.parametrize("name", NAMES)
def test_loaders_take_regular_files_only(name, specials):
    """At once: a pipe is not waited for, a device not read."""
    for path in specials:
        if path.is_dir() and name == "images":
            continue
        signal.alarm(SECONDS)
        try:
            with pytest.raises(hc.IoError):
                loaders(path)[name]()
        finally:
            signal.alarm(0)
    with pytest.raises((hc.IoError, hc.InvalidArgument)):  # parameters: neither a preset nor a file
        loaders(specials[0].parent / "missing")[name]()


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"container", "ciphertext", "keys", "file"}))
def test_loaders_refuse_huge_files_at_once(name, tmp_path):
    """A file without blocks, of 64 GiB: nothing is allocated for it."""
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(64 << 30)
    before = peak_bytes()
    with pytest.raises((hc.CorruptData, hc.IoError)):
        loaders(path)[name]()
    assert peak_bytes() - before < 64 << 20


def test_files_at_and_above_the_limit(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"x" * 100)
    assert read_file(path, "file", 100) == b"x" * 100
    assert read_file(path, "file", 100, 3) == b"xxx"
    with pytest.raises(hc.CorruptData, match="100 bytes, expected at most 99"):
        read_file(path, "file", 99)
    path.write_bytes(b"a\xff")
    with pytest.raises(hc.CorruptData, match=r"no UTF-8 text .* byte 1"):
        read_text(path, "file", 99)


def peak_bytes():
    """The most memory that this process ever had."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    raise AssertionError("no VmHWM")


# Containers


LARGE = {"log_n": 17, "word_bits": 64, "depth": 40, "scale_bits": 45, "base_bits": 60}
LARGE |= {"special_primes": 10, "special_bits": 60, "digit_size": 10, "main_bits": 0, "terminal_bits": 0}

GROWTH = """
import sys, halocline as hc
from pathlib import Path
def peak():
    return int(next(l for l in open("/proc/self/status") if l.startswith("VmHWM:")).split()[1]) << 10
kind, path = sys.argv[1:]
hc.Params.preset("n13-d3")
before = peak()
try:
    getattr(hc, kind).load(path)
except hc.Error as refused:
    print(type(refused).__name__, str(refused)[:300].replace(chr(10), " "))
print(peak() - before)
"""


def of_kind(data, kind):
    """A container with another kind in its header, and the digest that makes it consistent."""

    header = bytearray(data[:112])
    header[12:16] = kind.to_bytes(4, "little")
    return bytes(header) + hashlib.blake2b(header, digest_size=16).digest() + data[128:]


@pytest.mark.parametrize(
    ("kind", "number"), [("Ciphertext", 3), ("PublicKey", 4), ("Client", 5), ("EvaluationKeys", 6)]
)
def test_a_small_container_of_large_parameters_costs_little(kind, number, tmp_path):
    """8 KiB that name N = 2^17 cost 413 MiB of tables before it was found that sections are missing."""
    data = hc.Params(**LARGE).to_bytes()
    assert len(data) < 16 << 10
    for content, why in ((data, "InvalidArgument"), (of_kind(data, number), "CorruptData")):
        (tmp_path / "x.hlc").write_bytes(content)
        status, output, message = run(GROWTH, kind, tmp_path / "x.hlc")
        assert status == 0, message
        refused, growth = output.decode().splitlines()
        assert refused.startswith(why), refused
        assert int(growth) < 16 << 20, refused


def test_loading_costs_a_multiple_of_the_file(tmp_path):
    """A ciphertext of N = 2^16 whose tables are 40 times larger than itself."""
    params = hc.Params.preset("n16-d25")
    client = hc.Client(params, threads=1)
    client.encrypt([1.0], level=0).save(tmp_path / "x.hlc")
    status, output, message = run(GROWTH, "Ciphertext", tmp_path / "x.hlc")
    assert status == 0, message
    size = (tmp_path / "x.hlc").stat().st_size
    assert params.table_bytes > 20 * size
    assert int(output) < 4 * size + (16 << 20)


def test_a_loaded_public_key_encrypts(tmp_path, params, client, x):
    """Tables that loading does without are there when they are needed."""
    data = client.public_key().to_bytes()
    made = hc.PublicKey.from_bytes(data, params).encrypt(x)
    assert np.abs(client.decrypt(made) - x).max() < 2.0**-12


# Traces

HEADER = "step,op,action,object,class,bytes,offset,stream,time_ns,tag\n"


def test_compressed_traces_are_bounded_by_their_size(tmp_path):

    packer = lzma.LZMACompressor(preset=1)
    parts = [packer.compress(HEADER.encode())]
    rows = b"".join(b"%d,-,free,%d,table,0,0,0,0,\n" % (i, i) for i in range(20_000))
    parts += [packer.compress(rows) for _ in range(512)]
    (tmp_path / "bomb.csv.xz").write_bytes(b"".join([*parts, packer.flush()]))
    assert (tmp_path / "bomb.csv.xz").stat().st_size < 1 << 20
    status, output, message = run(GROWTH, "Trace", tmp_path / "bomb.csv.xz")
    assert status == 0, message
    refused, growth = output.decode().splitlines()
    assert "CorruptData" in refused and "the most for an xz file" in refused
    packed = (tmp_path / "bomb.csv.xz").stat().st_size
    assert int(growth) < 3 * (limits.TRACE_UNPACKED_BASE + limits.TRACE_UNPACKED_FACTOR * packed)


def test_memory_of_a_trace_follows_its_text(tmp_path):
    path = tmp_path / "x.csv"
    for row in ("{i},-,free,{i},table,0,0,0,0,\n", "0,{i},free,0,table,0,0,0,0,t{i}\n"):
        path.write_text(HEADER + "".join(row.format(i=i) for i in range(400_000)))
        status, output, message = run(GROWTH, "Trace", path)
        assert status == 0, message
        assert int(output) < 32 * path.stat().st_size


def test_a_trace_with_too_many_texts_is_refused():
    rows = "".join(f"0,{i},free,0,table,0,0,0,0,\n" for i in range((1 << 20) + 1))
    with pytest.raises(hc.CorruptData, match="different texts"):
        hc.Trace.from_csv(HEADER + rows)


def test_xz_files_that_are_none(tmp_path):

    good = lzma.compress(HEADER.encode())
    large = lzma.compress(
        HEADER.encode(), filters=[{"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": 1 << 30}]
    )
    for data, why in (
        (good[:-4], "cut off"),
        (good + b"more", "after its end"),
        (good[:20] + b"\0\0\0\0" + good[24:], "damaged"),
        (large, "damaged"),  # needs 1 GiB to unpack a line
    ):
        (tmp_path / "x.csv.xz").write_bytes(data)
        with pytest.raises(hc.CorruptData, match=why):
            hc.Trace.load(tmp_path / "x.csv.xz")
    (tmp_path / "x.csv.xz").write_bytes(good)
    assert len(hc.Trace.load(tmp_path / "x.csv.xz")) == 0


# Documentation


def test_security_md_states_the_limits():
    """Each limit stands in the table with its value."""
    text = Path(__file__).parents[2].joinpath("SECURITY.md").read_text()
    units = {"KiB": limits.KIB, "MiB": limits.MIB, "GiB": limits.GIB}
    rows = re.findall(r"^\| `(\w+)` \| ([\d^]+)(?: (KiB|MiB|GiB))? \|", text, re.MULTILINE)
    stated = {}
    for name, number, unit in rows:
        base, _, power = number.partition("^")
        stated[name] = int(base) ** int(power or 1) * units.get(unit, 1)
    names = {name: value for name, value in vars(limits).items() if name.isupper() and name not in units}
    names = {name: value for name, value in names.items() if name not in ("KIB", "MIB", "GIB")}
    assert stated == names
