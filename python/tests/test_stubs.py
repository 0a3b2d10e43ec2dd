# SPDX-License-Identifier: Apache-2.0
"""The committed type stub describes the compiled module."""

import re
import subprocess
import sys
from pathlib import Path

import halocline


def test_stub_is_current(tmp_path: Path) -> None:
    generated = tmp_path / "_core.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "--exclude-values"]
    subprocess.run([*command, "-m", "halocline._core", "-o", str(generated)], check=True)
    committed = Path(halocline.__file__).with_name("_core.pyi")
    assert committed.read_text() == generated.read_text(), "the bindings have changed; run: make stubs"


NAMED_BY_PARTS = {"store_busy_ns"}
"""Made of parts where they are used (`PlanSummary`)."""
FOR_READERS_OF_STUBS = {"iteration_bits"}
"""Described by a bootstrapper; chosen by the library."""


def test_every_binding_is_used_by_the_package() -> None:
    """What only tests call has no place in the extension module."""
    package = Path(halocline.__file__).parent
    stub = (package / "_core.pyi").read_text()
    bound = set(re.findall(r"^ *(?:def|class) ([a-z]\w*|[A-Z]\w*)", stub, re.MULTILINE))
    assert len(bound) > 200
    used = {word for file in package.rglob("*.py") for word in re.findall(r"\w+", file.read_text())}
    assert bound - used == (NAMED_BY_PARTS | FOR_READERS_OF_STUBS) & bound
