# SPDX-License-Identifier: Apache-2.0
"""What surrounds every run of a program: its number, graphs, profiles."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from .. import _core
from ..ckks.host import Host
from .profiling import note_engine
from .program_identity import Arguments, _is_hashable, _shape_of


def program_key(program: Callable[..., Any], arguments: Arguments) -> int:
    """Number of a program: the same for functions with the same code and arguments of the same shapes.

    Programs that share a number by accident only cost time, because graphs are compared kernel by kernel.
    """
    code: Hashable = getattr(getattr(program, "__wrapped__", program), "__code__", None)
    if code is None:
        code = program if _is_hashable(program) else id(program)
    return hash((code, _shape_of(arguments))) & (2**64 - 1)


@contextlib.contextmanager
def run_scope(engine: Host, program: Callable[..., Any], arguments: Arguments) -> Iterator[None]:
    """What surrounds every run of a program: graphs, and profiles that somebody asked for."""
    note_engine(engine)
    if not _core.makes_graphs(engine._core):
        yield
        return
    _core.begin_program(engine._core, program_key(program, arguments))
    try:
        yield
    finally:
        _core.end_program(engine._core)
