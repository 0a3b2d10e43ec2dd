# SPDX-License-Identifier: Apache-2.0
import subprocess
from pathlib import Path

import check_layers
import pytest


def messages(place: str, relative: str, text: str) -> list[str]:
    return [message for _, message in check_layers.check_text(place, relative, text)]


@pytest.mark.parametrize(
    ("place", "relative", "include"),
    [
        ("include/", "ring/poly.hpp", '"halocline/memory/buffer.hpp"'),
        ("include/", "core/error.hpp", "<string>"),
        ("include/", "io/container.hpp", '"halocline/ckks/ciphertext.hpp"'),
        ("include/", "halocline.hpp", '"halocline/circuits/linear_transform.hpp"'),
        ("src/", "memory/runtime.cpp", '"memory/buffer_state.hpp"'),
        ("src/", "backend/cpu/ntt.cpp", '"halocline/arith/arith.hpp"'),
        ("src/", "backend/cpu/ntt.cpp", "<hwy/highway.h>"),
    ],
)
def test_allowed_includes(place: str, relative: str, include: str) -> None:
    assert messages(place, relative, f"#include {include}\n") == []


@pytest.mark.parametrize(
    ("place", "relative", "include", "part"),
    [
        ("include/", "memory/buffer.hpp", '"halocline/ring/poly.hpp"', "layer 'memory' must not include"),
        ("src/", "memory/buffer.cpp", '"ring/poly_impl.hpp"', "layer 'memory' must not include"),
        ("include/", "ckks/keys.hpp", '"halocline/io/container.hpp"', "layer 'ckks' must not include"),
        ("include/", "io/serialize.hpp", '"halocline/circuits/bootstrap.hpp"', "layer 'io' must not include"),
        ("include/", "backend/ops.hpp", '"halocline/ring/poly.hpp"', "layer 'backend' must not include"),
        ("src/", "backend/cpu/ntt.cpp", '"halocline/ring/poly.hpp"', "layer 'backend' must not include"),
        ("include/", "arith/arith.hpp", '"halocline/params/primes.hpp"', "layer 'arith' must not include"),
        ("src/", "circuits/mod1.cpp", '"ckks/evaluator_detail.hpp"', "is internal to layer 'ckks'"),
        ("include/", "ring/poly.hpp", "<cuda_runtime.h>", "src/backend/<name>/ only"),
        ("src/", "ckks/encoder.cpp", "<hwy/highway.h>", "src/backend/<name>/ only"),
        ("src/", "ring/sampler.cpp", "<immintrin.h>", "src/backend/<name>/ only"),
        ("src/", "backend/registry.cpp", "<omp.h>", "src/backend/<name>/ only"),
        ("include/", "ring/odd.hpp", '"halocline/unknown/file.hpp"', "layer 'unknown'"),
    ],
)
def test_refused_includes(place: str, relative: str, include: str, part: str) -> None:
    found = messages(place, relative, f"#include {include}\n")
    assert len(found) == 1
    assert part in found[0]


def compat_messages(place: str, include: str) -> list[str]:
    text = f"#include {include}\n"
    return [message for _, message in check_layers.check_compat_text("seal", place, text)]


@pytest.mark.parametrize(
    ("place", "include"),
    [
        ("include/", "<vector>"),
        ("include/", '"seal/ciphertext.h"'),
        ("src/", '"seal/ciphertext.h"'),
        ("src/", '"files.hpp"'),
        ("src/", "<sodium.h>"),
        ("src/", '"halocline/seal/evaluator.hpp"'),
    ],
)
def test_allowed_includes_of_compat(place: str, include: str) -> None:
    assert compat_messages(place, include) == []


@pytest.mark.parametrize(
    ("place", "include", "part"),
    [
        ("include/", '"halocline/seal/evaluator.hpp"', "programs do not see it"),
        ("include/", "<sodium.h>", "standard headers and its own only"),
        ("include/", '"files.hpp"', "standard headers and its own only"),
        ("src/", '"halocline/ckks/engine.hpp"', "of layer 'ckks'"),
        ("src/", '"seal_format/fields.hpp"', "internal to a layer"),
        ("src/", "<immintrin.h>", "src/backend/<name>/ only"),
    ],
)
def test_refused_includes_of_compat(place: str, include: str, part: str) -> None:
    found = compat_messages(place, include)
    assert len(found) == 1
    assert part in found[0]


def test_device_code_is_found_outside_kernels_only() -> None:
    text = "#pragma omp parallel for\nauto x = _mm256_add_epi64(a, b);\n__global__ void f();\n"
    assert [line for line, _ in check_layers.check_text("src/", "ckks/encoder.cpp", text)] == [1, 2, 3]
    assert messages("src/", "backend/cpu/ntt.cpp", text) == []
    assert messages("src/", "ckks/encoder.cpp", "// _mm256_add_epi64, #pragma omp\n") == []


def python_tree(root: Path, files: dict[str, str]) -> list[str]:
    """What is found in a checkout with these files below python/halocline."""
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for name, text in files.items():
        path = root / "python/halocline" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return check_layers.check_tree(root)


HIGHER = {"engine/engine.py": "class Engine: ...\n", "engine/__init__.py": ""}


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("from ..engine.engine import Engine\n", 1),
        ("from ..engine import engine\n", 1),
        ("from .. import _core, engine\n", 1),
        ("import halocline.engine.engine as e\n", 1),
        ("from halocline.engine.engine import Engine\n", 1),
        ("def f():\n    from ..engine.engine import Engine\n", 2),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..engine.engine import Engine\n", 3),
        ("import importlib\nimportlib.import_module('halocline.engine.engine')\n", 2),
        ("from importlib import import_module\nimport_module('..engine.engine', __package__)\n", 2),
    ],
)
def test_an_upward_import_is_found(tmp_path: Path, code: str, line: int) -> None:
    found = python_tree(tmp_path, {**HIGHER, "ckks/params.py": code})
    assert len(found) == 1
    assert found[0].startswith(f"python/halocline/ckks/params.py:{line}: room 'ckks' must not import")
    assert "'engine' does not stand below it" in found[0]


def test_rooms_of_one_floor_do_not_know_each_other(tmp_path: Path) -> None:
    found = python_tree(tmp_path, {"plots/a.py": "from ..circuits import b\n", "circuits/b.py": ""})
    assert len(found) == 1 and "room 'plots' must not import halocline.circuits.b" in found[0]


def test_the_public_names_stand_above_what_they_are_made_of(tmp_path: Path) -> None:
    files = {"__init__.py": "", "nn/a.py": "from .. import Params\n", "cli/b.py": "import halocline\n"}
    assert [each.partition(": ")[0] for each in python_tree(tmp_path, files)] == [
        "python/halocline/nn/a.py:1"
    ]


def test_downward_imports_are_allowed(tmp_path: Path) -> None:
    files = {
        "cli/run/commands.py": "from ...workloads.digits.run import Run\nfrom ..common import x",
        "cli/common.py": "from .. import _core\nfrom ..base.errors import Error\n",
        "workloads/digits/run.py": "from ... import nn\nfrom .._core import Engine\n",
        "nn/__init__.py": "from .model import Model\n",
        "nn/model.py": "",
        "base/errors.py": "",
    }
    assert python_tree(tmp_path, files) == []


def test_a_circle_is_found_also_within_a_room(tmp_path: Path) -> None:
    files = {
        "nn/a.py": "from .b import f\n",
        "nn/b.py": "def f():\n    from . import c\n",
        "nn/c.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .a import A\n",
        "nn/d.py": "from . import a\n",
    }
    found = python_tree(tmp_path, files)
    assert found == ["python/halocline/nn/a.py:1: circle of imports: nn.a -> nn.b -> nn.c -> nn.a"]


def test_an_unknown_room_is_found(tmp_path: Path) -> None:
    files = {"misc/a.py": "", "helpers.py": "", "cli/b.py": "from ..misc import a\n", "base/errors.py": ""}
    found = python_tree(tmp_path, files)
    assert [each.split(": ")[0] for each in found] == [
        "python/halocline/cli/b.py:1",
        "python/halocline/helpers.py:1",
        "python/halocline/misc/a.py:1",
    ]
    assert all("is not in the table of tools/python_rooms.py" in each for each in found)


def test_tree_reports_file_and_line(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    header = tmp_path / "cpp/include/halocline/core/bad.hpp"
    header.parent.mkdir(parents=True)
    header.write_text('#pragma once\n#include "halocline/ckks/keys.hpp"\n')
    found = check_layers.check_tree(tmp_path)
    assert found == [
        "cpp/include/halocline/core/bad.hpp:2: layer 'core' must not include 'ckks/keys.hpp' of layer 'ckks'"
    ]


def public_headers(root: Path, listed: list[str], files: dict[str, str]) -> list[str]:
    """What is found of public headers with these contents below cpp/include/halocline."""
    for name, text in files.items():
        path = root / "cpp/include/halocline" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "cpp/include/public_headers.txt").write_text("".join(f"halocline/{each}\n" for each in listed))
    return check_layers.check_public(root)


def test_public_headers_need_public_ones_only(tmp_path: Path) -> None:
    files = {
        "halocline.hpp": '#include "halocline/ckks/client.hpp"\n',
        "ckks/client.hpp": '#include <vector>\n\n#include "halocline/ckks/context.hpp"\n',
        "ckks/context.hpp": "",
        "core/error.hpp": "",
    }
    assert public_headers(tmp_path, ["ckks/client.hpp", "ckks/context.hpp", "halocline.hpp"], files) == []
    assert public_headers(tmp_path, ["ckks/client.hpp", "halocline.hpp"], files) == [
        "cpp/include/halocline/ckks/client.hpp:3: a public header must not include "
        "'halocline/ckks/context.hpp', which is not installed"
    ]
    assert public_headers(
        tmp_path,
        ["ckks/client.hpp", "ckks/context.hpp", "core/error.hpp", "core/none.hpp", "halocline.hpp"],
        files,
    ) == [
        "cpp/include/public_headers.txt:1: there is no halocline/core/none.hpp",
        "cpp/include/public_headers.txt:1: halocline/halocline.hpp does not include halocline/core/error.hpp",
    ]


def test_the_list_of_public_headers_is_in_order(tmp_path: Path) -> None:
    found = public_headers(tmp_path, ["halocline.hpp", "core/error.hpp"], {"halocline.hpp": ""})
    assert found == ["cpp/include/public_headers.txt:1: expected each header once, in alphabetical order"]
