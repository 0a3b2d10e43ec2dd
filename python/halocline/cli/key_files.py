# SPDX-License-Identifier: Apache-2.0
"""The files of a client, which `halocline keygen` and `halocline pir keygen` write together or not at all.

New files are staged in a subfolder of the target folder, complete and synchronized, before an old one is
touched. Then the old files are kept aside as hard links, and the new ones are renamed to their names, the
secret key last. Whatever happens in between, every secret key of an unfinished change stays on disk:

* An error or Ctrl-C puts the old files back and removes the new ones.
* After a crash (`kill -9`, power) the next `keygen` in the folder finishes or undoes the change: a change
  whose files all have their names is done; otherwise the old files get their names back, and the new ones
  are left in a folder of their own, since another process may have used one of them in the meantime.

Until then old and new files may lie side by side. Their key identifiers differ, so nothing takes the one for
the other (KeyMismatch).
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ..base.errors import InvalidArgument, IoError

SECRET_FILE = "secret.hlc"
PUBLIC_FILE = "public.hlc"
KEYS_FILE = "keys.hlc"

_NEW, _OLD = "new", "old"


@dataclasses.dataclass(frozen=True)
class KeySet:
    """Files that are replaced together, and the command that writes them."""

    command: str
    names: tuple[str, ...]
    """In which files get their names: the folder is the old client's until its secret key, the last one, is
    replaced."""

    @property
    def secret(self) -> str:
        """Name of the file that only its owner may read."""
        return self.names[-1]

    @property
    def staged(self) -> str:
        """Begin of the names of subfolders before anything was touched."""
        return f".{self._stem}-staged-"

    @property
    def change(self) -> str:
        """From then on."""
        return f".{self._stem}-change-"

    @property
    def interrupted(self) -> str:
        """With the new files of a change that was undone."""
        return f"{self._stem}-interrupted-"

    @property
    def _stem(self) -> str:
        return self.command.replace(" ", "-")

    def is_partial(self, name: str) -> bool:
        """Whether a file of that name is what a killed process left of one of these (`io/atomic_file`)."""
        names = "|".join(map(re.escape, self.names))
        return re.fullmatch(rf"\.({names})\.partial-[a-z0-9]{{6}}", name) is not None


KEYGEN = KeySet("keygen", (PUBLIC_FILE, KEYS_FILE, SECRET_FILE))

Save = Callable[[Path], None]


@contextlib.contextmanager
def open_folder(
    folder: Path, force: bool, tell: Callable[[str], None], files: KeySet = KEYGEN
) -> Iterator[None]:
    """Makes the folder and keeps other `keygen`s out of it; finishes or undoes what a killed one left.

    A folder that was not there is removed again where an error leaves it empty.

    tell: called with messages about that for the user. Refuses to replace a secret key unless forced. Raises
        InvalidArgument, IoError.
    """
    with _made(folder, files):
        with _os_errors(folder, files):
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with _os_errors(folder, files):
                _lock(handle, folder, files)
                _recover(folder, tell, files)
            _expect_replaceable(folder, force, files)
            yield
        finally:
            os.close(handle)


@contextlib.contextmanager
def _made(folder: Path, files: KeySet) -> Iterator[None]:
    """Inside there is a folder; after an error those that were made for it and are empty are removed."""
    missing = [each for each in (folder, *folder.parents) if not os.path.lexists(each)]
    try:
        with _os_errors(folder, files):
            folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            for each in missing:
                each.rmdir()
        raise


def write_key_files(folder: Path, writers: Mapping[str, Save], files: KeySet = KEYGEN) -> dict[str, int]:
    """Writes the files, all or none, within `open_folder`; returns their sizes by name.

    Raises what the writers raise, and IoError.
    """
    with _os_errors(folder, files):
        return _write_all(folder, writers, files)


def _write_all(folder: Path, writers: Mapping[str, Save], files: KeySet) -> dict[str, int]:
    staged = Path(tempfile.mkdtemp(prefix=files.staged, dir=folder))
    change = folder / staged.name.replace(files.staged, files.change)
    try:
        for each in (_NEW, _OLD):
            (staged / each).mkdir(mode=0o700)
        for name in files.names:
            writers[name](staged / _NEW / name)  # synchronized to disk
        sizes = {name: (staged / _NEW / name).stat().st_size for name in writers}
        _keep_old(folder, staged, files)
        os.rename(staged, change)
        _sync(folder)
        for name in files.names:
            os.replace(change / _NEW / name, folder / name)
        _sync(folder)
    except BaseException:
        if change.exists():
            _undo(folder, change, files)
            os.rename(change, staged)
        shutil.rmtree(staged, ignore_errors=True)
        raise
    _discard(change, files)
    return sizes


def _keep_old(folder: Path, staged: Path, files: KeySet) -> None:
    """Second names for the files that are to be replaced."""
    for name in files.names:
        if (folder / name).exists():
            _keep(folder / name, staged / _OLD / name)
            if name != files.secret:  # which only its owner may read, whatever the old one allowed
                os.chmod(staged / _NEW / name, (folder / name).stat().st_mode & 0o777)
    _sync(staged / _NEW, staged / _OLD, staged)


def _recover(folder: Path, tell: Callable[[str], None], files: KeySet) -> None:
    """Finishes or undoes the changes that were interrupted; says so."""
    for partial in _partial_files(folder, files):
        partial.unlink(missing_ok=True)
    for staged in _folders(folder, files.staged):
        shutil.rmtree(staged)  # no file was changed yet
    for change in _folders(folder, files.change):
        if _names_in(change / _NEW):
            _undo(folder, change, files)
            kept = folder / change.name.replace(files.change, files.interrupted)
            os.rename(change / _NEW, kept)
            tell(
                f"an earlier {files.command} was interrupted: the files of before are in place again; those "
                f"that it made are in '{kept}', to be removed if nothing was done with them"
            )
        _discard(change, files)


def _undo(folder: Path, change: Path, files: KeySet) -> None:
    """Brings back the old files; the new ones go back to where they came from. Can be repeated."""
    waiting = _names_in(change / _NEW)
    # A name that is no longer pending refers to its new file: old files are restored after all new ones are
    # removed.
    for name in files.names:
        if name not in waiting and (folder / name).exists():
            os.replace(folder / name, change / _NEW / name)
    for name in _names_in(change / _OLD):
        back = change / f"{name}.back"
        back.unlink(missing_ok=True)
        _keep(change / _OLD / name, back)
        os.replace(back, folder / name)
    _sync(folder, change / _NEW)


def _discard(change: Path, files: KeySet) -> None:
    """Removes what is left of a change that was finished or undone."""
    done = change.with_name(change.name.replace(files.change, files.staged))
    with contextlib.suppress(OSError):  # the next keygen will
        os.rename(change, done)
        shutil.rmtree(done)


def _partial_files(folder: Path, files: KeySet) -> list[Path]:
    """What killed processes left of key files that they wrote (`io/atomic_file`)."""
    found = [each for each in folder.iterdir() if files.is_partial(each.name)]
    return [each for each in found if each.is_file() and not each.is_symlink() and not _is_open(each)]


def _is_open(path: Path) -> bool:
    """Whether a process has a file open, as far as the file system tells; `Client.save_secret_key` locks no
    folder."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return True  # of another user, or gone by now
    try:
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)  # ignored, where others open the file now
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_WRLCK)  # which needs the only open descriptor
    except BlockingIOError:
        return True
    except OSError:
        return False  # a file system without leases
    finally:
        os.close(handle)
    return False


def _folders(folder: Path, prefix: str) -> list[Path]:
    """Folders that a keygen made; links and files of such names are of others and stay as they are."""
    found = sorted(folder.glob(prefix + "*"))
    return [each for each in found if each.is_dir() and not each.is_symlink()]


def _names_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir()) if folder.is_dir() else []


def _keep(path: Path, target: Path) -> None:
    """A second name for a file; a copy where the file system has no links."""
    try:
        os.link(path, target)
    except OSError:
        shutil.copy2(path, target)
        with open(target, "rb") as copy:
            os.fsync(copy.fileno())


def _sync(*folders: Path) -> None:
    """Makes the names in folders durable; some network file systems cannot."""
    for folder in folders:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with contextlib.suppress(OSError):
                os.fsync(handle)
        finally:
            os.close(handle)


def _lock(handle: int, folder: Path, files: KeySet) -> None:
    """One `keygen` a folder; released when the process ends, however it does."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise IoError(
            f"{files.command}: another keygen is at work in '{folder}'; wait for it, or name another folder"
        ) from None
    except OSError:
        return  # a file system without locks


def _expect_replaceable(folder: Path, force: bool, files: KeySet) -> None:
    for name in files.names:
        path = folder / name
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise InvalidArgument(
                f"{files.command}: '{path}' is not a regular file, so the key files cannot be replaced "
                "together; name the folder where they are"
            )
    secret = folder / files.secret
    if secret.exists() and not force:
        raise InvalidArgument(f"{files.command}: '{secret}' exists; say --force to replace the secret key")


@contextlib.contextmanager
def _os_errors(folder: Path, files: KeySet) -> Iterator[None]:
    try:
        yield
    except IoError:
        raise
    except OSError as error:
        raise IoError(f"{files.command}: cannot write key files in '{folder}': {error.strerror}") from None
