# SPDX-License-Identifier: Apache-2.0
"""Programs from Python files (`--script`). Faults of a file are reported with its line, without a
traceback."""

from __future__ import annotations

import contextlib
import runpy
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..base.errors import Error, InvalidArgument, IoError


def script_function(script: Path, function: str) -> Callable[..., Any]:
    """Executes a file and returns its function of that name. Raises IoError, InvalidArgument."""
    try:
        with open(script, "rb"):
            pass
    except OSError as error:
        raise IoError(f"program: cannot read '{script}': {error.strerror}") from None
    with script_errors(script):
        found = runpy.run_path(str(script)).get(function)
    if not callable(found):
        raise InvalidArgument(f"program: '{script}' has no function '{function}'; name one with --function")
    return found


@contextlib.contextmanager
def script_errors(script: Path | None) -> Iterator[None]:
    """Exceptions that come from the code of a script become InvalidArgument with its line.

    Errors of the library and exceptions from elsewhere pass as they are.
    """
    try:
        yield
    except Error:
        raise
    except Exception as error:
        line = _line_of(error, script)
        if line is None:
            raise
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        raise InvalidArgument(
            f"program: '{script}', line {line}: {type(error).__name__}: {what}; correct the file"
        ) from None


def _line_of(error: Exception, script: Path | None) -> int | None:
    """The line of the script where an exception comes from; None where it does not come from there."""
    if script is None:
        return None
    if isinstance(error, SyntaxError) and error.filename == str(script):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((each.lineno for each in reversed(frames) if each.filename == str(script)), None)
