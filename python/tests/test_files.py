# SPDX-License-Identifier: Apache-2.0
"""The one writer of files, standard output and input, and permission for insecure parameters."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import halocline as hc
import numpy as np
import pytest
from file_rig import SECONDS, halocline, run
from halocline.base.files import OWNER, write_file

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a device node")


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


# Writing


def test_only_regular_files_are_replaced(specials):
    descriptors = [Path("/dev/stdout"), Path("/dev/fd/1"), Path("/proc/self/fd/2")]
    before = {path: path.lstat() for path in specials}
    for path in [*specials, *descriptors]:
        with pytest.raises(hc.IoError, match=r"not a regular file|open descriptor"):
            write_file(path, b"content")
    for path, old in before.items():
        now = path.lstat()
        assert (now.st_mode, now.st_ino, now.st_rdev) == (old.st_mode, old.st_ino, old.st_rdev), path
    assert not [each for each in specials[0].parent.iterdir() if ".partial" in each.name]


@root_only
def test_device_nodes_survive_commands(tmp_path, params, client):
    """`decrypt -o /dev/null` as root replaced the node by a file."""
    node = tmp_path / "null"
    os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    client.save_secret_key(tmp_path / "secret.hlc")
    client.encrypt([1.0]).save(tmp_path / "x.hlc")
    status, _, message = halocline(
        "decrypt", tmp_path / "x.hlc", "-o", node, "-k", tmp_path / "secret.hlc", "--allow-insecure"
    )
    assert status == 1 and "not a regular file" in " ".join(message.split())
    assert stat.S_ISCHR(node.stat().st_mode)


def test_links_are_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/file").write_bytes(b"old")
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to(tmp_path / "real/file")
    write_file(tmp_path / "one", b"new")
    assert (tmp_path / "one").is_symlink() and (tmp_path / "two").is_symlink()
    assert (tmp_path / "real/file").read_bytes() == b"new"
    (tmp_path / "dangling").symlink_to("real/made")
    write_file(tmp_path / "dangling", b"made")
    assert (tmp_path / "dangling").is_symlink() and (tmp_path / "real/made").read_bytes() == b"made"
    (tmp_path / "nowhere").symlink_to("missing/file")
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for name, why in (("nowhere", "No such file"), ("a", "loop")):
        with pytest.raises(hc.IoError, match=why):
            write_file(tmp_path / name, b"")
        assert (tmp_path / name).is_symlink()


def test_modes_are_kept(tmp_path):
    old = os.umask(0o027)
    try:
        write_file(tmp_path / "shared", b"")
        write_file(tmp_path / "owner", b"", OWNER)
        assert (mode(tmp_path / "shared"), mode(tmp_path / "owner")) == (0o640, 0o600)
        for bits in (0o600, 0o644, 0o664, 0o400):
            for privacy in ((), (OWNER,)):
                path = tmp_path / f"{bits:o}-{len(privacy)}"
                path.write_bytes(b"old")
                path.chmod(bits)
                write_file(path, b"new", *privacy)
                assert mode(path) == bits and path.read_bytes() == b"new"
    finally:
        os.umask(old)


def test_decrypted_values_are_for_their_owner(tmp_path, client):
    client.save_secret_key(tmp_path / "secret.hlc")
    client.encrypt([1.0, 2.0]).save(tmp_path / "x.hlc")
    given = ("decrypt", tmp_path / "x.hlc", "-k", tmp_path / "secret.hlc", "--allow-insecure", "-o")
    for name in ("new.txt", "new.npy"):
        assert halocline(*given, tmp_path / name)[0] == 0
        assert mode(tmp_path / name) == 0o600
    (tmp_path / "new.txt").chmod(0o640)
    assert halocline(*given, tmp_path / "new.txt")[0] == 0
    assert mode(tmp_path / "new.txt") == 0o640


def test_a_full_disk_keeps_the_old_file(tmp_path):
    (tmp_path / "x").write_bytes(b"old")
    program = """
import resource, sys, halocline as hc
from halocline.base.files import write_file
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    write_file(sys.argv[1], b"n" * 10_000)
except hc.IoError as refused:
    print(refused)
"""
    status, output, _ = run(program, tmp_path / "x")
    assert status == 0 and b"nothing was replaced" in output
    assert [each.name for each in tmp_path.iterdir()] == ["x"] and (tmp_path / "x").read_bytes() == b"old"


def test_an_interrupt_leaves_the_old_file_or_the_new_one(tmp_path):
    program = """
import sys
from halocline.base.files import write_file
old, new = b"o" * (1 << 20), b"n" * (1 << 20)
print("ready", flush=True)
while True:
    write_file(sys.argv[1], old)
    write_file(sys.argv[1], new)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "x")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        while not (tmp_path / "x").exists():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        try:
            process.wait(SECONDS)
        finally:
            process.kill()  # leaving the block waits without a limit
    assert [each.name for each in tmp_path.iterdir()] == ["x"]
    content = (tmp_path / "x").read_bytes()
    assert len(content) == 1 << 20 and len(set(content)) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to any folder")
def test_the_folder_must_be_writable(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "x").write_bytes(b"old")
    folder.chmod(0o500)
    with pytest.raises(hc.IoError, match="making a temporary file in"):
        write_file(folder / "x", b"new")
    folder.chmod(0o700)
    assert (folder / "x").read_bytes() == b"old"


def test_names_that_are_none(tmp_path):
    for name in ("", "a\0b", b"\xff"):
        with pytest.raises(hc.InvalidArgument, match="file name"):
            write_file(name, b"")
    with pytest.raises(hc.WrongType):
        write_file(17, b"")
    with pytest.raises(hc.IoError, match="names no file"):
        write_file(f"{tmp_path}/", b"")


# Standard output and input


def test_pipelines(tmp_path, params, client, keys, x):
    """encrypt, eval and decrypt through pipes: exactly the bytes of the file, and nothing else."""
    client.save_secret_key(tmp_path / "secret.hlc")
    keys.save(tmp_path / "keys.hlc")
    secret = ("-k", tmp_path / "secret.hlc", "--allow-insecure")
    numbers = "\n".join(map(repr, x.tolist())).encode()
    status, encrypted, message = halocline("encrypt", "-", "-o", "-", *secret, data=numbers)
    assert status == 0 and "Ciphertext" in message
    assert hc.Ciphertext.from_bytes(encrypted, params).slots == params.slots
    program = ("eval", "-k", tmp_path / "keys.hlc", "--allow-insecure", "--expr", "x*x", "-i", "-", "-o", "-")
    status, result, _ = halocline(*program, data=encrypted)
    assert status == 0
    status, text, _ = halocline("decrypt", "-", "-o", "-", *secret, data=result)
    assert status == 0
    assert np.abs(np.array([float(line) for line in text.split()]) - x * x).max() < 2.0**-14
    assert halocline(*program, "--json", "-", data=encrypted)[0] == 1  # two outputs, one standard output
    two = ("--expr", "x*y", "-i", "x=-", "-i", "y=-", "-o", tmp_path / "y.hlc", "--allow-insecure")
    for arguments in (("-k", tmp_path / "keys.hlc", *two), ("-k", "-", *two)):
        status, _, message = halocline("eval", *arguments, data=encrypted)
        assert status == 1 and "standard" in message


def test_traces_and_plans_through_pipes(tmp_path):
    record = ("trace", "record", "--params", "test-n10-d3", "--allow-insecure", "--expr", "x*x", "-o")
    status, trace, _ = halocline(*record, "-")
    assert status == 0 and len(hc.Trace.from_csv(trace))
    status, plan, _ = halocline("trace", "plan", "-", "--memory", "100%", "-o", "-", data=trace)
    assert status == 0 and hc.Plan.from_bytes(plan).steps > 0
    status, again, _ = halocline("trace", "convert", "-", "-", data=trace)
    assert (status, again) == (0, trace)
    status, decisions, _ = halocline("trace", "decide", "-", "-o", "-", data=trace)
    assert status == 0 and decisions.startswith(b"halocline decisions 1,")
    for expected, *refused in (
        (1, "keygen", "-"),
        (1, "trace", "plot", "-", "--out", "-"),
        (1, "trace", "replay", "-", "--perfetto", "-"),
        (2, "bench", "ratio", "--plot", "-"),
    ):
        status, output, message = halocline(*refused, data=trace)
        assert (status, output) == (expected, b"") and "standard output" in message, refused
    assert not Path("-").exists()


def test_secrets_do_not_go_to_standard_output(client):
    with pytest.raises(hc.InvalidArgument, match="standard output"):
        client.save_secret_key("-")


def test_standard_input_is_limited(monkeypatch):
    program = "from halocline.base.files import read_file; read_file('-', 'values', 1 << 20)"
    with Path("/dev/zero").open("rb") as endless:
        status, _, message = run(program, stdin=endless)
    assert status == 1 and "more than 1048576 bytes" in message


# Permission for insecure parameters


def test_pickles_carry_no_permission(params, client, keys):
    import pickle

    secure = hc.Params.preset("n13-d3")
    assert pickle.loads(pickle.dumps(secure)) == secure
    for each in (
        params,
        keys,
        client.public_key(),
        client.encrypt([1.0]),
        hc.key_plan(params, lambda a: a + 1),
    ):
        data = pickle.dumps(each)
        with pytest.raises(hc.InsecureParameters, match="allow_insecure_unpickling"):
            pickle.loads(data)
        with hc.allow_insecure_unpickling():
            pickle.loads(data)
        with pytest.raises(hc.InsecureParameters):
            pickle.loads(data)


def test_pools_of_processes_take_insecure_parameters_when_told(params, client):
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    with hc.allow_insecure_unpickling(), context.Pool(1, hc.allow_insecure_unpickling) as pool:
        found = pool.apply_async(hc.Ciphertext.from_bytes, (client.encrypt([1.0]).to_bytes(), params))
        assert found.get(SECONDS).params == params
