# SPDX-License-Identifier: Apache-2.0
"""Exceptions. Every exception that the package raises derives from `Error`.

The classes mirror those of the C++ library and also derive from the built-in exception that Python
programmers expect in their place, so `except MemoryError` and `except KeyError` work as usual. The
message says what failed, what was given, what was expected and how to fix it.
"""

from __future__ import annotations


class Error(Exception):
    """Root of all exceptions of this package."""


class InvalidArgument(Error, ValueError):
    """An argument is outside its documented range, or objects that do not belong together were combined."""


class WrongType(InvalidArgument, TypeError):
    """An argument is an object of another kind than expected."""


class InsecureParameters(InvalidArgument):
    """A parameter set misses 128 bits of security and `allow_insecure=True` was not given."""


class KeyMismatch(InvalidArgument):
    """Objects that belong to two secret keys were combined; the message names both keys."""


class LevelExhausted(Error, ArithmeticError):
    """An operation needs more levels than the ciphertext has left."""


class ScaleMismatch(Error, ArithmeticError):
    """Two operands carry scales that cannot be reconciled at the level they have."""


class MissingKey(Error, KeyError):
    """An evaluation key is not in the key set, or is there for too few levels; the message names it."""

    def __str__(self) -> str:
        # KeyError would show the quoted representation of the message.
        return str(self.args[0]) if self.args else ""


class OutOfMemory(Error, MemoryError):
    """The memory budget, or the machine, cannot hold what a step needs."""


class CorruptData(Error, ValueError):
    """Bytes from outside fail validation: truncated, corrupted, foreign or oversized."""


class IoError(Error, OSError):
    """A file could not be read or written."""


class UnknownUser(IoError):
    """A key store was reached and has no keys of the user."""


class DeviceError(Error, RuntimeError):
    """A device or its driver failed, or a backend lacks an operation."""


class Cancelled(Error):
    """The caller cancelled the work (`engine.cancel()`), or the program ends (`pir.Server`)."""


class PlanDivergence(UserWarning):
    """A program diverged from its plan, or could not be planned: it was finished under `lru`."""


class KeyNodeFailure(UserWarning):
    """A key node did not answer or refused; the engine computed with keys that it fetched itself."""


class PrecisionLoss(UserWarning):
    """A number is so small beside the scale of a ciphertext that nothing of it is left: the product is 0."""


class PoorFit(UserWarning):
    """A polynomial is far from the function that it was fitted to, on some part of the domain."""


class ActivationRange(UserWarning):
    """An input drives activations of a network out of the ranges that it was calibrated for."""


class MissingExtra(Error, ImportError):
    """A part of the package needs an optional package; the message names the extra that installs it."""


class NotPicklable(Error, TypeError):
    """An object that must not leave its process, such as a client with its secret key, was pickled."""
