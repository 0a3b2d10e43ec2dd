# SPDX-License-Identifier: Apache-2.0
"""What surrounds every run of a program: graphs, profiles."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from .. import _core
from ..ckks.host import Host
from .profiling import note_engine


@contextlib.contextmanager
def run_scope(engine: Host, graph_number: Callable[[], int]) -> Iterator[None]:
    """What surrounds every run of a program: graphs, and profiles that were asked for.

    graph_number: number of the program, by which graphs are kept; asked for where there are any.
    """
    note_engine(engine)
    if not _core.makes_graphs(engine._native):
        yield
        return
    _core.begin_program(engine._native, graph_number())
    try:
        yield
    finally:
        _core.end_program(engine._native)
