# SPDX-License-Identifier: Apache-2.0
"""Type checkers find wrong names of policies, devices and modes, and accept right ones."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import halocline as hc
import pytest
from halocline.circuits.encoded import MODES

ROOT = Path(__file__).resolve().parents[2]

USES = """\
import halocline as hc
import numpy as np

params = hc.Params.preset("n13-d3")
policy: hc.Policy = "planned"
hc.Engine(params, device="cpu", policy=policy, memory="1GiB")
hc.Engine(params, device=hc.device_name("cuda:" + "11"), policy=hc.policy_name(input()))
hc.Client(params, device="cuda:0", policy="lru")
hc.LinearTransform(np.eye(4), mode="small_key")
hc.Polynomial([0, 1], "chebyshev")
hc.BootstrapOptions(order="stc_first", cts_mode="bsgs")
hc.replay(hc.trace_program(params, lambda x: x).trace, "h200", "managed")
hc.Engine(params, policy="plannd")  # wrong
hc.Engine(params, device="gpu")  # wrong
hc.Engine(params, policy=input())  # wrong
hc.Client(params, device="cuda")  # wrong
hc.Client.load("secret.hlc", policy="fast")  # wrong
hc.LinearTransform(np.eye(4), mode="hoisted")  # wrong
hc.Polynomial([0, 1], "chebychev")  # wrong
hc.BootstrapOptions(order="cts")  # wrong
hc.BootstrapOptions(stc_mode="fast")  # wrong
hc.replay(hc.trace_program(params, lambda x: x).trace, "h200", "mangd")  # wrong
"""


def test_type_checkers_find_wrong_names(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "uses.py").write_text(USES)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "--no-color-output"]
    command += ["--cache-dir", str(ROOT / ".mypy_cache"), str(tmp_path / "uses.py")]
    environment = os.environ | {"MYPYPATH": str(ROOT / "python")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    found = {int(line) for line in re.findall(r"uses\.py:(\d+): error:", done.stdout)}
    wrong = {number for number, line in enumerate(USES.splitlines(), 1) if line.endswith("# wrong")}
    assert found == wrong, done.stdout + done.stderr


def test_types_are_what_the_library_has():
    assert set(get_args(hc.Policy)) == set(hc._core.policy_names())
    assert get_args(hc.Mode) == MODES
    assert {"cpu", "ghost"} < set(get_args(hc.Device))


def test_text_becomes_a_name():
    assert hc.policy_name("lru") == "lru"
    with pytest.raises(hc.InvalidArgument, match=r"unknown name 'plannd'; expected one of: .*planned"):
        hc.policy_name("plannd")
    with pytest.raises(hc.WrongType):
        hc.policy_name(3)
    assert hc.device_name("cuda:12") == "cuda:12"
