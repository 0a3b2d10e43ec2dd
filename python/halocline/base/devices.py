# SPDX-License-Identifier: Apache-2.0
"""Devices of this machine, and the runtime that those of SYCL need, found among the packages of Python."""

from __future__ import annotations

import os
import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from .. import _core
from .errors import MissingExtra
from .extras import install

_PACKAGE = "intel-sycl-rt"
_RELEASE = "2026.2"


def _root_of(package: Distribution) -> Path | None:
    """The folder with `lib/libsycl.so` of an installed runtime."""
    for each in package.files or ():
        if each.parts[-2:] == ("lib", "libsycl.so"):
            return Path(os.path.normpath(str(package.locate_file(each)))).parent.parent
    return None


def _find_sycl() -> str:
    """Names the SYCL runtime of this environment to the library; why there is none, or ""."""
    if os.environ.get("HALOCLINE_SYCL_ROOT"):
        return ""
    try:
        package = distribution(_PACKAGE)
    except PackageNotFoundError:
        return f"{_PACKAGE} is not installed"
    if not package.version.startswith(_RELEASE + "."):
        return f"{_PACKAGE} {package.version} is installed; expected {_RELEASE}"
    root = _root_of(package)
    if root is None:
        return f"{_PACKAGE} {package.version} is installed without lib/libsycl.so"
    _core.use_sycl_root(str(root))
    return ""


def prepare_device(name: str) -> str:
    """The name of a device that is about to be opened, after what it needs was found.

    Raises MissingExtra for a SYCL device without the extra halocline[sycl].
    """
    if re.fullmatch(r"sycl(:\d+)?", name):
        problem = _find_sycl()
        if problem:
            raise MissingExtra(f"device {name!r}: {problem}; {install('sycl')}")
    return name


def available_devices() -> list[str]:
    """Devices that engines accept here: "cpu", "ghost", GPUs, and those of SYCL where the extra is."""
    _find_sycl()
    return _core.available_devices()


def sycl_problem() -> str:
    """Why the SYCL runtime that is installed cannot be used; "" where it can, or where there is none."""
    _find_sycl()
    return _core.sycl_problem()
