# SPDX-License-Identifier: Apache-2.0
"""The committed type stub describes the compiled module."""

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
