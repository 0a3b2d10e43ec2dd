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
        ("src/", "backend/cpu/ntt.cpp", '"halocline/ring/arith.hpp"'),
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
        ("include/", "backend/ops.hpp", '"halocline/ring/arith.hpp"', "layer 'backend' must not include"),
        ("src/", "backend/cpu/ntt.cpp", '"halocline/ring/poly.hpp"', "layer 'backend' must not include"),
        ("include/", "ring/arith.hpp", '"halocline/params/primes.hpp"', "may include core only"),
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


def test_device_code_is_found_outside_kernels_only() -> None:
    text = "#pragma omp parallel for\nauto x = _mm256_add_epi64(a, b);\n__global__ void f();\n"
    assert [line for line, _ in check_layers.check_text("src/", "ckks/encoder.cpp", text)] == [1, 2, 3]
    assert messages("src/", "backend/cpu/ntt.cpp", text) == []
    assert messages("src/", "ckks/encoder.cpp", "// _mm256_add_epi64, #pragma omp\n") == []


def test_tree_reports_file_and_line(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    header = tmp_path / "cpp/include/halocline/core/bad.hpp"
    header.parent.mkdir(parents=True)
    header.write_text('#pragma once\n#include "halocline/ckks/keys.hpp"\n')
    found = check_layers.check_tree(tmp_path)
    assert found == [
        "cpp/include/halocline/core/bad.hpp:2: layer 'core' must not include 'ckks/keys.hpp' of layer 'ckks'"
    ]
