# SPDX-License-Identifier: Apache-2.0
"""The library needs numpy only; what needs more says which extra installs it."""

import subprocess
import sys
from pathlib import Path

import pytest
from halocline.base import extras
from halocline.errors import MissingExtra

OPTIONAL = ("typer", "rich", "matplotlib", "safetensors", "sklearn", "PIL", "scipy", "torch", "onnx")
PACKAGE = Path(__file__).resolve().parents[1] / "halocline"


def run(code: str) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter where none of the optional packages can be imported."""
    head = f"import sys\nfor name in {OPTIONAL!r}:\n    sys.modules[name] = None\n"
    return subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True, check=False)


def raised(code: str) -> str:
    """The message of the MissingExtra that the code raises."""
    lines = "".join(f"    {line}\n" for line in code.splitlines())
    done = run(f"import halocline as hc\ntry:\n{lines}except hc.MissingExtra as error:\n    print(error)\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout, "nothing was raised"
    return done.stdout


def test_the_package_loads_numpy_only() -> None:
    code = """
before = set(sys.modules)
import halocline, halocline.nn
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(loaded - sys.stdlib_module_names))
"""
    alone = run(code.replace("halocline, halocline.nn", "numpy"))
    done = run(code)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) - set(alone.stdout.split()) == {"halocline"}


def test_every_room_but_those_of_extras_can_be_imported() -> None:
    closed = ("cli", "plots", "bench/peers")  # rooms for an extra
    names = [
        ".".join(("halocline", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name != "__main__.py" and not path.relative_to(PACKAGE).as_posix().startswith(closed)
    ]
    assert len(names) > 80
    done = run(f"import importlib\nfor name in {names!r}:\n    importlib.import_module(name)\n")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("code", "extra"),
    [
        ("import halocline.nn\nhalocline.nn.resnet20('weights.safetensors')", "nn"),
        ("from halocline.nn.tensors import write_tensors\nwrite_tensors({}, 'w.safetensors', {})", "nn"),
        ("import halocline.nn\nhalocline.nn.load_images(IMAGE)", "nn"),
        ("from halocline.workloads.digits.model import load_model\nload_model()", "nn"),
        ("from halocline.workloads.helr.data import load_data\nload_data(None, 10, 0)", "lab"),
        ("import halocline.plots.traces", "lab"),
        ("import halocline.bench.peers.run", "lab"),
    ],
)
def test_what_is_missing_is_named(code: str, extra: str, tmp_path: Path) -> None:
    image = tmp_path / "image.png"
    image.write_bytes(b"never read")
    message = raised(code.replace("IMAGE", repr(str(image))))
    assert f"pip install 'halocline[{extra}]'" in message


def test_the_extra_is_that_of_the_wheel_that_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "packages_distributions", lambda: {"halocline": ["halocline-cu13"]})
    with pytest.raises(MissingExtra, match=r"pip install 'halocline-cu13\[nn\]'"):
        extras.require("no_such_module", "nn", "weights")
    monkeypatch.setattr(extras, "packages_distributions", dict)  # run from a source tree
    assert extras.install("nn") == "pip install 'halocline[nn]'"


def test_the_command_line_names_its_extra() -> None:
    for code in (
        "from halocline.cli import main\nmain()",
        "import runpy\nsys.argv = ['x', 'info']\nrunpy.run_module('halocline', run_name='__main__')",
    ):
        done = run(code)
        assert done.returncode == 1
        assert done.stdout == ""
        assert "pip install 'halocline[cli]'" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_table_of_a_profile_needs_rich() -> None:
    code = """
params = hc.Params.preset("test-n10-d3", allow_insecure=True)
engine = hc.Engine(params)
with engine.profile() as profile:
    pass
profile.table()
"""
    assert "pip install 'halocline[cli]'" in raised(code.strip())


def test_pictures_are_refused_before_the_run() -> None:
    """`run --plot` without matplotlib, the rest installed: no minute of encrypted work is lost."""
    code = """
import sys
sys.modules["matplotlib"] = None
sys.argv = ["halocline", "run", "bootstrap", "--plot", "p.png"]
import halocline.workloads.bootstrap.run as run
run.BootstrapRun = None  # a run would fail in another way
from halocline.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'halocline[lab]'" in done.stderr
