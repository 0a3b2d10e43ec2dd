# SPDX-License-Identifier: Apache-2.0
"""Optional packages: the library needs numpy only, and says which extra installs what a part of it needs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from importlib.util import find_spec

from .errors import MissingExtra


def install(extra: str) -> str:
    """The command that adds an extra to what is installed: the wheel for GPUs has a name of its own.

    pip would look up another name in the package index and install what it finds there.
    """
    found = packages_distributions().get("halocline", ["halocline"])
    return f"pip install '{found[0]}[{extra}]'"


@contextlib.contextmanager
def needs(extra: str, what: str) -> Iterator[None]:
    """`with needs("nn", "weights"): import safetensors` raises MissingExtra that names the extra."""
    try:
        yield
    except ImportError as error:
        raise MissingExtra(
            f"{what}: an optional package cannot be imported ({error}); {install(extra)}"
        ) from None


def require(module: str, extra: str, what: str) -> None:
    """Raises MissingExtra that names the extra unless a package is installed; does not import it."""
    if find_spec(module) is None:
        raise MissingExtra(f"{what}: {module} is not installed; {install(extra)}")
