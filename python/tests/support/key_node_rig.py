# SPDX-License-Identifier: Apache-2.0
"""Key nodes in processes of their own, and clients of them that can be killed."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

READY = re.compile(rb"key node: (\S+), keys of")


@contextlib.contextmanager
def key_node(
    store: Path, *options: str, env: dict[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """`halocline keynode` on a free port: (process, its URL)."""
    command = [sys.executable, "-m", "halocline", "keynode", "--store", f"file:{store}", "--threads", "1"]
    command += ["--listen", "127.0.0.1:0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, **(env or {})})
    assert process.stderr is not None
    said = b""
    try:
        while (found := READY.search(said)) is None:
            line = process.stderr.readline()
            said += line
            assert line, f"the key node ended: {said.decode()}"
        yield process, found[1].decode()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def in_thread(action) -> tuple[threading.Thread, list]:
    """A thread that runs an action, and the list that gets its result or its exception."""
    results: list = []

    def run() -> None:
        try:
            results.append(action())
        except BaseException as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, results
