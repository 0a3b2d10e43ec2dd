# SPDX-License-Identifier: Apache-2.0
"""Locks between processes: the second one is refused and told the first one, a dead one locks nothing."""

import fcntl
import os
import signal
import subprocess
import sys

import halocline as hc
import numpy as np
import pytest
from halocline.base import locks
from halocline.base.locks import FileLock
from halocline.workloads.images.run_folder import RunFolder

HOLD = """
import sys, time
import numpy as np
from halocline.workloads.images.run_folder import RunFolder
with RunFolder(sys.argv[1], "network", np.zeros((1, 4))):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """A process that uses the folder `run`; its standard input ends it."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "run")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def folder(path):
    return RunFolder(path, "network", np.zeros((1, 4)))


def test_the_second_process_is_refused_and_named(tmp_path, holder):
    before = sorted(each.name for each in (tmp_path / "run").iterdir())
    with pytest.raises(hc.InvalidArgument, match=rf"run': in use by process {holder.pid}; wait for it"):
        folder(tmp_path / "run")
    assert sorted(each.name for each in (tmp_path / "run").iterdir()) == before == ["run.json", "run.lock"]
    holder.stdin.close()
    assert holder.wait() == 0
    with folder(tmp_path / "run") as mine:
        assert (mine.path / "run.lock").read_text() == f"{os.getpid()}\n"
        assert (mine.path / "run.lock").stat().st_mode & 0o777 == 0o600
        with pytest.raises(hc.InvalidArgument, match="another run in this process"):
            folder(tmp_path / "run")
    assert [each.name for each in (tmp_path / "run").iterdir()] == ["run.json"]


def test_a_killed_process_locks_nothing(tmp_path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / "run/run.lock").read_text() == f"{holder.pid}\n"  # left behind, and no lock
    with folder(tmp_path / "run") as mine:
        mine.finish()
    assert not (tmp_path / "run").exists()


def test_a_refused_folder_is_not_locked(tmp_path):
    with folder(tmp_path / "run"):
        pass
    with pytest.raises(hc.InvalidArgument, match="another network"):
        RunFolder(tmp_path / "run", "other", np.zeros((1, 4)))
    with folder(tmp_path / "run"):
        pass


def test_children_do_not_hold_the_lock_of_their_parent(tmp_path):
    lock = FileLock(tmp_path / "lock", "test")
    ready, done = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.write(ready[1], b"x")
        os.read(done[0], 1)
        os._exit(0)
    try:
        os.read(ready[0], 1)
        lock.close()
        FileLock(tmp_path / "lock", "test").close()  # the child still lives
    finally:
        os.write(done[1], b"x")
        os.waitpid(child, 0)


def test_a_lock_that_was_removed_meanwhile_is_made_anew(tmp_path, monkeypatch):
    """Between opening the file and locking it, its holder may have given it back."""
    real, removed = fcntl.flock, []

    def flock(handle, how):
        if not removed:
            os.unlink(tmp_path / "lock")
            removed.append(handle)
        real(handle, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with FileLock(tmp_path / "lock", "test"):
        assert (tmp_path / "lock").exists()
    assert removed and not (tmp_path / "lock").exists()


def test_places_that_take_no_lock_are_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(hc.IoError, match=r"cannot write .* its lock"):
        FileLock(tmp_path / "folder", "test")
    (tmp_path / "link").symlink_to("elsewhere")
    with pytest.raises(hc.IoError, match=r"cannot write .* its lock"):
        FileLock(tmp_path / "link", "test")
    with pytest.raises(hc.IoError, match=r"cannot write .* its lock"):
        FileLock(tmp_path / "missing/lock", "test")


def open_files():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("content", [b"precious\n" * 9, b"12\n34\n", b"1" * 40, b"\0\0\0", b" 12\n"])
def test_files_of_others_are_kept(tmp_path, content):
    (tmp_path / "lock").write_bytes(content)
    before = open_files()
    with pytest.raises(hc.IoError, match=r"lock', its lock: there is something else of that name; move it"):
        FileLock(tmp_path / "lock", "test")
    assert (tmp_path / "lock").read_bytes() == content and open_files() == before


@pytest.mark.parametrize("content", [b"", b"4194304\n"])
def test_what_a_dead_holder_left_is_taken(tmp_path, content):
    (tmp_path / "lock").write_bytes(content)
    with FileLock(tmp_path / "lock", "test"):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    assert not (tmp_path / "lock").exists()


def test_refused_locks_leave_no_descriptor(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    before = open_files()
    with pytest.raises(hc.IoError, match="something else of that name"):
        FileLock(tmp_path / "pipe", "test")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(hc.IoError, match="No space left"):
        FileLock(tmp_path / "lock", "test")
    monkeypatch.undo()
    assert open_files() == before and not (tmp_path / "lock").exists()
    with FileLock(tmp_path / "lock", "test"), pytest.raises(hc.InvalidArgument, match="another run"):
        FileLock(tmp_path / "lock", "test")
    assert open_files() == before


def test_a_file_that_changes_all_the_time_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "_is_same", lambda *_: False)
    before = open_files()
    with pytest.raises(hc.IoError, match="changes all the time; name a place"):
        FileLock(tmp_path / "lock", "test")
    assert open_files() == before
