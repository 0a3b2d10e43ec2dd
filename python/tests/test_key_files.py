# SPDX-License-Identifier: Apache-2.0
"""The files of `keygen`: all or none, whatever happens, and no secret key is ever lost."""

import json
import os
import resource
import signal
import subprocess
import sys

import halocline as hc
import pytest
from halocline.cli import key_files
from halocline.cli.app import app
from halocline.cli.key_files import KEYS_FILE, PUBLIC_FILE, SECRET_FILE, open_folder, write_key_files
from typer.testing import CliRunner

PARAMS = ["--params", "test-n10-d3", "--allow-insecure"]
NAMES = (SECRET_FILE, PUBLIC_FILE, KEYS_FILE)


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*args, status=0):
        result = CliRunner().invoke(app, [str(each) for each in args])
        assert result.exit_code == status, result.output + repr(result.exception)
        return result

    return run


def files(folder):
    """Name -> bytes of everything in the folder, subfolders too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def writers(text):
    return {name: lambda path, name=name: path.write_bytes(f"{text} {name}".encode()) for name in NAMES}


def expected(text):
    return {name: f"{text} {name}".encode() for name in NAMES}


def key_ids(folder):
    return {hc._core.inspect_file(str(folder / name))["key_id"] for name in NAMES}


def test_keygen_writes_one_set_and_says_which(call, tmp_path):
    call("keygen", "k", *PARAMS, "--json", "k.json")
    first = key_ids(tmp_path / "k")
    assert first == {json.loads((tmp_path / "k.json").read_text())["key_id"]}
    assert "--force" in call("keygen", "k", *PARAMS, status=1).stderr
    assert key_ids(tmp_path / "k") == first
    (tmp_path / "k" / PUBLIC_FILE).chmod(0o640)
    (tmp_path / "k" / SECRET_FILE).chmod(0o644)
    assert next(iter(first)) not in call("keygen", "k", *PARAMS, "--force").stdout
    assert len(key_ids(tmp_path / "k")) == 1
    assert key_ids(tmp_path / "k") != first
    assert sorted(files(tmp_path / "k")) == sorted(NAMES)
    assert (tmp_path / "k" / PUBLIC_FILE).stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "k" / SECRET_FILE).stat().st_mode & 0o777 == 0o600


def test_programs_without_keys_get_an_empty_bundle(call, tmp_path):
    assert "no evaluation keys" in call("keygen", "k", *PARAMS, "--expr", "x+y").stdout
    (tmp_path / "v.txt").write_text("1,2\n")
    for name in "xy":
        call("encrypt", "v.txt", "-k", "k/secret.hlc", "-o", f"{name}.hlc", "--allow-insecure")
    inputs = ("-i", "x=x.hlc", "-i", "y=y.hlc", "--expr", "x+y", "--allow-insecure")
    call("eval", "-k", "k/keys.hlc", *inputs, "-o", "z.hlc")
    call("decrypt", "z.hlc", "-k", "k/secret.hlc", "-o", "z.txt", "--allow-insecure")
    assert [round(float(each), 3) for each in (tmp_path / "z.txt").read_text().split()] == [2.0, 4.0]


def test_files_of_two_clients_are_refused_by_name(call, tmp_path):
    for name in ("a", "b"):
        call("keygen", name, *PARAMS, "--rotations", "1")
        (tmp_path / "v.txt").write_text("1,2\n")
        call("encrypt", "v.txt", "-k", f"{name}/public.hlc", "-o", f"{name}.hlc", "--allow-insecure")
    ids = [next(iter(key_ids(tmp_path / name))) for name in ("a", "b")]
    program = ("--expr", "x + y", "-o", "z.hlc", "--allow-insecure")
    refused = [
        call("eval", "-k", "a/keys.hlc", "-i", "x=a.hlc", "-i", "y=b.hlc", *program, status=1),
        call("eval", "-k", "b/keys.hlc", "-i", "x=a.hlc", "-i", "y=a.hlc", *program, status=1),
        call("decrypt", "b.hlc", "-k", "a/secret.hlc", "-o", "z.txt", "--allow-insecure", status=1),
    ]
    for each in refused:
        assert all(name in each.stderr for name in (*ids, ".hlc"))
    assert not (tmp_path / "z.hlc").exists()
    assert not (tmp_path / "z.txt").exists()


def test_a_mix_of_two_key_sets_is_noticed(call, tmp_path):
    call("keygen", "k", *PARAMS)
    old = (tmp_path / "k" / SECRET_FILE).read_bytes()
    call("keygen", "k", *PARAMS, "--force")
    (tmp_path / "k" / SECRET_FILE).write_bytes(old)
    (tmp_path / "v.txt").write_text("1,2\n")
    call("encrypt", "v.txt", "-k", "k/public.hlc", "-o", "x.hlc", "--allow-insecure")
    message = call(
        "decrypt", "x.hlc", "-k", "k/secret.hlc", "-o", "x.txt", "--allow-insecure", status=1
    ).stderr
    assert all(each in message for each in key_ids(tmp_path / "k"))


@pytest.mark.parametrize("failing", NAMES)
def test_a_failing_writer_leaves_the_old_files(tmp_path, failing):
    with open_folder(tmp_path, force=False, tell=print):
        write_key_files(tmp_path, writers("old"))
    for error in (hc.IoError("full"), KeyboardInterrupt()):

        def fail(path, error=error):
            path.write_bytes(b"half")
            raise error

        with pytest.raises(type(error)), open_folder(tmp_path, force=True, tell=print):
            write_key_files(tmp_path, writers("new") | {failing: fail})
        assert files(tmp_path) == expected("old")


@pytest.mark.parametrize("call_number", range(1, 8))
def test_errors_while_renaming_are_undone(tmp_path, monkeypatch, call_number):
    with open_folder(tmp_path, force=False, tell=print):
        write_key_files(tmp_path, writers("old"))
    calls = []

    def failing(real):
        def run(*args, **kwargs):
            calls.append(args)
            if len(calls) == call_number:
                raise OSError(5, "Input/output error")
            return real(*args, **kwargs)

        return run

    for name in ("rename", "replace", "link"):
        monkeypatch.setattr(key_files.os, name, failing(getattr(os, name)))
    if call_number <= 3:  # a link that cannot be made is a copy
        with open_folder(tmp_path, force=True, tell=print):
            write_key_files(tmp_path, writers("new"))
        assert files(tmp_path) == expected("new")
    else:
        with pytest.raises(hc.IoError, match="Input/output"), open_folder(tmp_path, force=True, tell=print):
            write_key_files(tmp_path, writers("new"))
        assert files(tmp_path) == expected("old")


def killed_at(folder, number, force=True):
    """Runs a change in a process that is killed at its n-th look at the file system; whether it was."""
    child = os.fork()
    if child == 0:
        seen = 0

        def count(event, args):
            nonlocal seen
            if event == "open" or event.partition(".")[0] in ("os", "shutil"):
                seen += 1
                if seen == number:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        with open_folder(folder, force, tell=print):
            write_key_files(folder, writers("new"))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.parametrize("first", [True, False])
def test_a_kill_at_any_point_loses_no_secret_key(tmp_path, first):
    """The next keygen finds or restores one whole set, also when it is killed at that."""
    for number in range(1, 1000):
        folder = tmp_path / str(number)
        folder.mkdir()
        if not first:
            with open_folder(folder, force=False, tell=print):
                write_key_files(folder, writers("old"))
        killed = killed_at(folder, number, force=not first)
        after = files(folder)
        if not first and after.get(SECRET_FILE) != expected("new")[SECRET_FILE]:
            assert after[SECRET_FILE] == expected("old")[SECRET_FILE]  # in its place all the time
        killed_at(folder, 1 + number % 17)  # in the middle of the repair, now and then
        for _ in range(2):  # repairs what there is; twice is once
            with open_folder(folder, force=True, tell=print):
                pass
            placed = {name: data for name, data in files(folder).items() if name in NAMES}
            assert placed in (expected("new"), {} if first else expected("old"))
            hidden = [each for each in folder.iterdir() if each.name.startswith(".")]
            assert hidden == []
        if not killed:
            assert number > 20
            return
    pytest.fail("the change never ended")


def test_the_next_keygen_says_what_it_repaired(call, tmp_path, monkeypatch):
    call("keygen", "k", *PARAMS)
    before = files(tmp_path / "k")
    real = os.replace
    # As if killed between the files: nothing cleans up.
    count = iter(range(10))
    monkeypatch.setattr(key_files, "_undo", lambda *args: (_ for _ in ()).throw(MemoryError("killed")))
    monkeypatch.setattr(
        key_files.os, "replace", lambda *args: real(*args) if next(count) < 2 else 1 / 0, raising=True
    )
    assert isinstance(CliRunner().invoke(app, ["keygen", "k", *PARAMS, "--force"]).exception, MemoryError)
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert len(key_ids(tmp_path / "k")) == 2
    refused = call("keygen", "k", *PARAMS, status=1)
    assert "interrupted" in refused.stderr
    assert "--force" in refused.stderr
    after = files(tmp_path / "k")
    assert {name: after[name] for name in NAMES} == before
    kept = [name for name in after if name.startswith("keygen-interrupted-")]
    assert {os.path.basename(name) for name in kept} == set(NAMES)


@pytest.mark.parametrize("limit", [1000, 10_000, 30_000, 200_000])
def test_a_full_disk_keeps_the_old_keys(tmp_path, limit):
    command = [sys.executable, "-m", "halocline", "keygen", "k", *PARAMS]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    before = files(tmp_path / "k")
    assert all(len(data) > 1000 for data in before.values())

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    result = subprocess.run(
        [*command, "--force", "--rotations", "1,2,3"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=limited,
        check=False,
    )
    assert result.returncode == 1, result.stderr
    assert "error:" in result.stderr
    assert files(tmp_path / "k") == before


def test_two_keygens_take_turns(tmp_path):
    with (
        open_folder(tmp_path, force=False, tell=print),
        pytest.raises(hc.IoError, match="another keygen"),
        open_folder(tmp_path, force=False, tell=print),
    ):
        pass
    with open_folder(tmp_path, force=False, tell=print):
        pass


def test_links_and_folders_are_not_replaced(tmp_path):
    (tmp_path / "elsewhere").write_bytes(b"key")
    (tmp_path / SECRET_FILE).symlink_to(tmp_path / "elsewhere")
    with (
        pytest.raises(hc.InvalidArgument, match="regular file"),
        open_folder(tmp_path, force=True, tell=print),
    ):
        pass
    (tmp_path / SECRET_FILE).unlink()
    (tmp_path / KEYS_FILE).mkdir()
    with (
        pytest.raises(hc.InvalidArgument, match="regular file"),
        open_folder(tmp_path, force=True, tell=print),
    ):
        pass


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("x")
    with (
        pytest.raises(hc.IoError, match="file"),
        open_folder(tmp_path / "file" / "k", force=False, tell=print),
    ):
        pass


def test_links_of_such_names_are_left_alone(call, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    folder = tmp_path / "keys"
    folder.mkdir()
    for name in (".keygen-staged-x", ".keygen-change-x"):
        (folder / name).symlink_to(other)
    done = call("keygen", folder, "--params", "test-n10-d3", "--allow-insecure")
    assert done.exit_code == 0, done.output
    assert other.is_dir()


def test_what_a_killed_writer_left_is_removed(call, tmp_path):
    call("keygen", "k", *PARAMS)
    folder = tmp_path / "k"
    left = [folder / f".{name}.partial-ab12cd" for name in NAMES]
    others = [
        folder / ".keys.hlc.partial-mine",
        folder / ".x.hlc.partial-ab12cd",
        folder / "notes.partial-ab12cd",
    ]
    for each in (*left, *others):
        each.write_text("x")
    (folder / ".keys.hlc.partial-linked").symlink_to(others[0])
    call("keygen", "k", "--add", "--allow-insecure", "--rotations", "1")
    assert not any(each.exists() for each in left)
    assert all(each.exists() for each in others) and (folder / ".keys.hlc.partial-linked").is_symlink()


def test_a_file_that_is_being_written_is_not_removed(tmp_path):
    """`EvaluationKeys.save` into the folder does not hold its lock."""
    path = tmp_path / ".keys.hlc.partial-ab12cd"
    command = [sys.executable, "-c", f"f = open({str(path)!r}, 'wb'); print('open', flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout.readline() == "open\n"
        with open_folder(tmp_path, force=False, tell=print):
            assert path.exists()
        writer.communicate("\n")
    with open_folder(tmp_path, force=False, tell=print):
        assert not path.exists()


def test_a_failed_keygen_leaves_no_empty_folder(call, tmp_path):
    said = call("keygen", "new/k", *PARAMS, "--rotations", "99999", status=1).stderr
    assert "keygen: --rotations: got 99999, expected -511 to 511" in " ".join(said.split())
    assert not (tmp_path / "new").exists()
    (tmp_path / "there").mkdir()
    call("keygen", "there", *PARAMS, "--rotations", "99999", status=1)
    assert (tmp_path / "there").is_dir()  # this command did not make it
    with pytest.raises(ZeroDivisionError), open_folder(tmp_path / "k", force=False, tell=print):
        (tmp_path / "k" / "file").write_text("x")
        raise ZeroDivisionError
    assert files(tmp_path / "k") == {"file": b"x"}
