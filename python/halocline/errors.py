# SPDX-License-Identifier: Apache-2.0
"""The exceptions and warnings of the package, as `halocline.errors`. `base/errors.py` defines them."""

from .base.errors import (
    ActivationRange,
    Cancelled,
    CorruptData,
    DeviceError,
    Error,
    InsecureParameters,
    InvalidArgument,
    IoError,
    KeyMismatch,
    LevelExhausted,
    MissingExtra,
    MissingKey,
    NotPicklable,
    OutOfMemory,
    PlanDivergence,
    PoorFit,
    ScaleMismatch,
    WrongType,
)

__all__ = [
    "ActivationRange",
    "Cancelled",
    "CorruptData",
    "DeviceError",
    "Error",
    "InsecureParameters",
    "InvalidArgument",
    "IoError",
    "KeyMismatch",
    "LevelExhausted",
    "MissingExtra",
    "MissingKey",
    "NotPicklable",
    "OutOfMemory",
    "PlanDivergence",
    "PoorFit",
    "ScaleMismatch",
    "WrongType",
]
