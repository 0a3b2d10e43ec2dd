# SPDX-License-Identifier: Apache-2.0
"""The extension module beside other ones: what it exports, and the order in which modules are imported.

The crash that this guards against needs a libstdc++ inside the module. The tests therefore also use a module
linked with a static one, which the C++ build makes beside the usual one.
"""

import importlib.util
import itertools
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import halocline
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


def exported(module):
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(module)], check=True, capture_output=True, text=True
    )
    return {line.split()[-1].partition("@")[0] for line in listed.stdout.splitlines()}


@pytest.fixture(scope="module")
def static_module():
    """The module with a static libstdc++; newest build first."""
    built = sorted(ROOT.glob(f"build/*/python_static/_core{SUFFIX}"), key=lambda path: -path.stat().st_mtime)
    if not built:
        pytest.skip("no module with a static libstdc++ is built; run make test-cpp")
    return built[0]


def test_exports_the_initialisation_only():
    assert exported(halocline._core.__file__) == {"PyInit__core"}


def test_a_static_runtime_exports_nothing_more(static_module):
    assert exported(static_module) == {"PyInit__core"}
    needed = subprocess.run(
        ["readelf", "-d", static_module], check=True, capture_output=True, text=True
    ).stdout
    assert "libstdc++" not in needed  # or the next test would test nothing


PROGRAM = """
import sys
for name in sys.argv[1].split(","):
    __import__(name)
import halocline as hc
import numpy as np
assert "python_static" in __import__("os").path.realpath(hc._core.__file__), hc._core.__file__
client = hc.Client(hc.Params.preset("test-n10-d3", allow_insecure=True), threads=1)
try:  # messages are made by streams
    hc.Client(hc.Params.preset("test-n10-d3", allow_insecure=True), device="ghost")
    raise SystemExit("a ghost client was made")
except hc.InvalidArgument as error:
    assert "ghost" in str(error)
assert abs(client.decrypt(client.encrypt([1.0, 2.0])) - [1, 2]).max() < 1e-3
assert np.linalg.inv(np.eye(2) * 2)[0, 0] == 0.5
"""


def import_orders():
    """numpy and, where it is installed, torch, before and after halocline."""
    names = ["halocline", "numpy"]
    if importlib.util.find_spec("torch"):
        names.append("torch")
    return [",".join(order) for order in itertools.permutations(names)]


@pytest.mark.parametrize("order", import_orders())
def test_import_orders_with_a_static_runtime(static_module, order, tmp_path):
    package = tmp_path / "halocline"
    package.mkdir()
    for each in Path(halocline.__file__).parent.iterdir():
        if not each.name.startswith("_core.cpython"):
            (package / each.name).symlink_to(each)
    (package / static_module.name).symlink_to(static_module)
    # Without the site module: the finder of an editable installation would find the usual module first.
    path = os.pathsep.join([str(tmp_path), str(Path(np.__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM, order],
        env=os.environ | {"PYTHONPATH": path},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
