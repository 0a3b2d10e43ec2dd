# SPDX-License-Identifier: Apache-2.0
"""Checks the order of the C++ layers and of the Python rooms, and that device code stays in its backend.

A file under cpp/include or cpp/src belongs to the layer named by its first folder. It may include its own
layer and those to its left in CHAIN; `io`, `storage`, `pir` and the two of SEAL have
their own lists in BESIDE.
Below cpp/compat stand libraries with the interface of another one (COMPAT): their headers include standard
headers and each other only. `python_rooms.py` has the rooms of the Python package. Public headers, which are
installed, include public ones only. Prints `file:line: message`; the exit status is 1 if there is one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from cpp_scan import ROOT, blank, source_files
from python_rooms import check_rooms

CHAIN = ("core", "arith", "memory", "backend", "params", "ring", "rns", "ckks", "circuits", "apps")

# Layers beside the chain: what each of them may include.
BESIDE = {
    "io": ("core", "arith", "memory", "params", "ring", "rns", "ckks", "io"),
    "storage": ("core", "memory", "io", "storage"),
    "pir": ("core", "arith", "memory", "backend", "params", "ring", "rns", "io", "pir"),
    "seal_format": ("core", "seal_format"),
    "seal": ("core", "arith", "memory", "backend", "params", "ring", "rns", "seal_format", "seal"),
}

# Who may include a layer that stands beside the chain.
USERS_OF_BESIDE = {
    "io": ("storage", "apps"),
    "storage": ("apps",),
    "pir": ("apps",),
    "seal_format": ("seal",),
    "seal": (),
}

# Libraries below cpp/compat: the layers whose headers their sources may include. No layer includes theirs.
COMPAT = {
    "seal": ("core", "arith", "memory", "backend", "params", "ring", "rns", "seal_format", "seal"),
}

# Includes every public header.
UMBRELLA = "halocline/halocline.hpp"

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
DEVICE_HEADER = re.compile(
    r"^(cuda|cooperative_groups|cub/|thrust/|nvtx|device_launch_parameters|hwy/|omp\.h|sycl/|CL/"
    r"|[a-z]*intrin\.h|arm_neon\.h|arm_sve\.h|cpuid\.h)"
)
# Folders below cpp/src whose code is written for instruction sets and devices.
KERNELS = r"(backend/[^/]+|storage/digest)/"
KERNEL_FOLDERS = "src/storage/digest/ or src/backend/<name>/"
DEVICE_CODE = (
    (re.compile(r"^\s*#\s*pragma\s+omp\b|\b_Pragma\s*\(\s*\"omp\b", re.M), "OpenMP pragma"),
    (re.compile(r"\b_mm(?:\d+)?_\w+|\bv(?:ld|st|add|mul)\w*q_[usf]\d+\b|\b__builtin_ia32_\w+"), "intrinsic"),
    (re.compile(r"__global__\b|<<<"), "CUDA kernel"),
)


def layer_of(relative: str) -> str | None:
    """First folder of a path below cpp/include/halocline or cpp/src; None for a file outside any folder."""
    return relative.partition("/")[0] if "/" in relative else None


def target_of(include: str) -> str | None:
    """Path below the tree that an include names (`arith/arith.hpp`), or None when it is not one of ours."""
    if include.startswith("halocline/"):
        return include.removeprefix("halocline/")
    return include if layer_of(include) in (*CHAIN, *BESIDE) else None


def allowed(layer: str, target: str) -> bool:
    """Whether a file of one layer may include a file of another."""
    if layer == target:
        return True
    if layer in BESIDE:
        return target in BESIDE[layer]
    if target in BESIDE:
        return layer in USERS_OF_BESIDE[target]
    return target in CHAIN and CHAIN.index(target) <= CHAIN.index(layer)


def check_include(relative: str, include: str) -> str | None:
    """Message for an include against the chain, or of another layer's internal header; or None."""
    target = target_of(include)
    if target is None:
        return None
    layer, other = layer_of(relative), layer_of(target)
    if layer is None:  # the umbrella header stands right of everything
        return None
    if other is None or not allowed(layer, other):
        return f"layer '{layer}' must not include '{target}' of layer '{other}'"
    if layer != other and not include.startswith("halocline/"):
        return f"'{target}' is internal to layer '{other}'; layer '{layer}' includes its public headers only"
    return None


def check_compat_include(name: str, place: str, style: str, include: str) -> str | None:
    """Message for an include of a library below cpp/compat; `place` is its include/ or src/ folder."""
    if include.startswith("halocline/"):
        layer = layer_of(include.removeprefix("halocline/"))
        if place == "include/":
            return f"a header of compat '{name}' must not include '{include}': programs do not see it"
        if layer not in COMPAT[name]:
            return f"compat '{name}' must not include '{include}' of layer '{layer}'"
        return None
    if place == "include/":
        own = style == '"' and include.startswith(f"{name}/")
        standard = style == "<" and "/" not in include and not include.endswith(".h")
        if not own and not standard:
            return (
                f"a header of compat '{name}' must not include '{include}': standard headers and its own only"
            )
    elif style == '"' and "/" in include and not include.startswith(f"{name}/"):
        return f"'{include}' is internal to a layer; compat '{name}' includes headers of cpp/include only"
    return None


def check_compat_text(name: str, place: str, text: str) -> Iterator[tuple[int, str]]:
    """Line and message of each violation in one file of a library below cpp/compat."""
    code = blank(text, strings=False)
    for match in INCLUDE.finditer(code):
        message = check_compat_include(name, place, match[1], match[2])
        if message:
            yield line_of(code, match.start(2)), message
        if DEVICE_HEADER.match(match[2]):
            yield line_of(code, match.start(2)), f"<{match[2]}> belongs in {KERNEL_FOLDERS} only"
    for pattern, what in DEVICE_CODE:
        for match in pattern.finditer(code):
            yield line_of(code, match.start()), f"{what} belongs in {KERNEL_FOLDERS} only"


def check_compat(root: Path) -> list[str]:
    """`file:line: message` for each violation below cpp/compat."""
    found = []
    for path in source_files("cpp/compat/*", root=root):
        if path.suffix not in (".h", ".hpp", ".cpp"):
            continue
        _, _, name, place, *_ = path.relative_to(root).parts
        if name not in COMPAT:
            found.append(f"{path.relative_to(root)}:1: compat '{name}' has no row in COMPAT")
            continue
        for line, message in check_compat_text(name, f"{place}/", path.read_text()):
            found.append(f"{path.relative_to(root)}:{line}: {message}")
    return found


def line_of(text: str, offset: int) -> int:
    """Line number of an offset."""
    return text.count("\n", 0, offset) + 1


def check_text(place: str, relative: str, text: str) -> Iterator[tuple[int, str]]:
    """Line and message of each violation in one file."""
    code = blank(text, strings=False)
    in_kernels = place == "src/" and re.match(KERNELS, relative) is not None
    for match in INCLUDE.finditer(code):
        line, name = line_of(code, match.start(2)), match[2]
        message = check_include(relative, name)
        if message:
            yield line, message
        if DEVICE_HEADER.match(name) and not in_kernels:
            yield line, f"<{name}> belongs in {KERNEL_FOLDERS} only"
    if in_kernels:
        return
    for pattern, what in DEVICE_CODE:
        for match in pattern.finditer(code):
            yield line_of(code, match.start()), f"{what} belongs in {KERNEL_FOLDERS} only"


def check_public_header(root: Path, header: str, public: list[str]) -> Iterator[str]:
    """Includes of a public header that are not public, as `file:line: message`."""
    code = blank((root / "cpp/include" / header).read_text(), strings=False)
    for match in INCLUDE.finditer(code):
        if match[2] in public or (match[1] == "<" and not match[2].startswith("halocline/")):
            continue
        place = f"cpp/include/{header}:{line_of(code, match.start(2))}"
        yield f"{place}: a public header must not include '{match[2]}', which is not installed"


def check_public(root: Path) -> list[str]:
    """Violations of `cpp/include/public_headers.txt`, the list of the headers that are installed.

    Each one exists, needs listed ones only, and is included by the umbrella header.
    """
    listing = root / "cpp/include/public_headers.txt"
    place = listing.relative_to(root)
    public = listing.read_text().split()
    if public != sorted(set(public)):
        return [f"{place}:1: expected each header once, in alphabetical order"]
    there = [header for header in public if (root / "cpp/include" / header).is_file()]
    found = [f"{place}:1: there is no {header}" for header in public if header not in there]
    includes = {}
    for header in there:
        found += check_public_header(root, header, public)
        text = (root / "cpp/include" / header).read_text()
        includes[header] = [match[2] for match in INCLUDE.finditer(blank(text, strings=False))]
    reached, waiting = set(), [UMBRELLA]
    while waiting:
        header = waiting.pop()
        if header not in reached:
            reached.add(header)
            waiting += includes.get(header, [])
    return found + [
        f"{place}:1: {UMBRELLA} does not include {header}" for header in there if header not in reached
    ]


def check_tree(root: Path) -> list[str]:
    """`file:line: message` for each violation in a checkout."""
    found = []
    for place, folder in (("include/", "cpp/include/halocline"), ("src/", "cpp/src")):
        for path in source_files(f"{folder}/*", root=root):
            if path.suffix not in (".hpp", ".cpp", ".cuh", ".cu", ".h", ".inl"):
                continue
            relative = path.relative_to(root / folder).as_posix()
            for line, message in check_text(place, relative, path.read_text()):
                found.append(f"{path.relative_to(root)}:{line}: {message}")
    return found + check_compat(root) + check_rooms(root)


def main() -> int:
    """Checks the checkout that this file lies in."""
    found = check_tree(ROOT) + check_public(ROOT)
    print("\n".join(found) if found else "layers: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
