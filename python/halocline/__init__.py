# SPDX-License-Identifier: Apache-2.0
"""Halocline: homomorphic encryption (CKKS) whose working set is not limited by the memory it runs on.

import halocline as hc, numpy as np

params = hc.Params.preset("n14-d7")                  # checked: at least 128 bits
client = hc.Client(params)                           # owns the secret key
keys = client.evaluation_keys(rotations=[1])         # holds no secret: send it to the server
engine = hc.Engine(params, keys, memory="2GiB")      # evaluates, never sees a secret

x = client.encrypt(np.linspace(-1, 1, params.slots))
y = engine.run(lambda x: (x * x + 0.5).rotate(1), x)
print(client.decrypt(y)[:4], y.level, y.nbytes)
"""

# isort: off
from .base import interrupts as _interrupts  # noqa: F401  # first, as the others take long

# isort: on
import importlib as _importlib
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import _core as _core  # re-exported for the modules of the package
from . import errors as errors  # so that `halocline.errors.Error` needs no import of its own
from .arrays import functions as functions
from .arrays.array import EncryptedArray
from .arrays.calibration import CalibratedProgram, CallSite, calibrate
from .arrays.client import Client, encrypt_array
from .arrays.packing import Packing
from .arrays.packing_choice import choose_packing
from .arrays.products import matmul
from .arrays.stand_ins import ArraySpec
from .arrays.statistics import corrcoef, cov, standardize, variance_range
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
    KeyNodeFailure,
    LevelExhausted,
    MissingExtra,
    MissingKey,
    NotPicklable,
    OutOfMemory,
    PlanDivergence,
    PoorFit,
    PrecisionLoss,
    ScaleMismatch,
    UnknownUser,
    WrongType,
)
from .base.names import (
    Basis,
    Device,
    KeyNodeUse,
    Mode,
    Order,
    Policy,
    WhenNodeFails,
    device_name,
    policy_name,
)
from .choosing.choice import Choice
from .choosing.choose import choose
from .choosing.evaluation import Evaluation, OutputForecast
from .choosing.simulate import simulate
from .circuits.bootstrapping import BootstrapOptions, Bootstrapper
from .circuits.choice import CircuitChoice
from .circuits.layers import BlockMatmul, Convolution2d, ImageLayout, MatrixVector
from .circuits.methods import sign_epsilon, sign_levels
from .circuits.polynomial import Polynomial
from .circuits.transforms import LinearTransform, TransformGrid
from .ckks.ciphertext import Ciphertext
from .ckks.key_cache import KeyCache
from .ckks.key_store import KeyStore, StoredKeys
from .ckks.keys import EvaluationKeys, KeyPlan, PublicKey
from .ckks.params import (
    Bootstrapping,
    LevelInfo,
    Params,
    allow_insecure_unpickling,
    preset_description,
    preset_names,
)
from .ckks.sharing import Flooding, SharedResult, fresh_error_bound, plan_flooding
from .engine.advice import Advice, advise
from .engine.engine import Engine, RunReport
from .engine.minimum import MinimumBudget
from .engine.plan_choice import PlanChoice
from .engine.program import ProgramTrace, key_plan, trace_program
from .engine.users import UserEngine
from .keynode.server import KeyNodeServer
from .memory.budget import MemoryBudget, MemoryOptions
from .memory.plan import Plan, PlanSummary
from .memory.tiers import Tiers
from .memory.trace import ClassStats, Lifetimes, Trace
from .remote.node import KeyNode
from .sharing.error_bound import measure_error_bound
from .tracing.links import LINKS, Link
from .tracing.plan_trace import plan_trace
from .tracing.replay import DeviceModel, PhaseTime, ReplayReport, decide, device_models, replay

__version__: str = _core.version
"""Version of the library, "major.minor.patch"."""
__commit__: str = _core.commit
"""Git commit that it was built from, or "unknown"."""

if _TYPE_CHECKING:
    from . import nn as nn
    from . import pir as pir
    from . import seal as seal
else:

    def __getattr__(name: str) -> _ModuleType:
        """`halocline.nn`, `.pir` and `.seal` need no import of their own: they are loaded at first use."""
        if name in ("nn", "pir", "seal"):
            return _importlib.import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "LINKS",
    "ActivationRange",
    "Advice",
    "ArraySpec",
    "Basis",
    "BlockMatmul",
    "BootstrapOptions",
    "Bootstrapper",
    "Bootstrapping",
    "CalibratedProgram",
    "CallSite",
    "Cancelled",
    "Choice",
    "Ciphertext",
    "CircuitChoice",
    "ClassStats",
    "Client",
    "Convolution2d",
    "CorruptData",
    "Device",
    "DeviceError",
    "DeviceModel",
    "EncryptedArray",
    "Engine",
    "Error",
    "Evaluation",
    "EvaluationKeys",
    "Flooding",
    "ImageLayout",
    "InsecureParameters",
    "InvalidArgument",
    "IoError",
    "KeyCache",
    "KeyMismatch",
    "KeyNode",
    "KeyNodeFailure",
    "KeyNodeServer",
    "KeyNodeUse",
    "KeyPlan",
    "KeyStore",
    "LevelExhausted",
    "LevelInfo",
    "Lifetimes",
    "LinearTransform",
    "Link",
    "MatrixVector",
    "MemoryBudget",
    "MemoryOptions",
    "MinimumBudget",
    "MissingExtra",
    "MissingKey",
    "Mode",
    "NotPicklable",
    "Order",
    "OutOfMemory",
    "OutputForecast",
    "Packing",
    "Params",
    "PhaseTime",
    "Plan",
    "PlanChoice",
    "PlanDivergence",
    "PlanSummary",
    "Policy",
    "Polynomial",
    "PoorFit",
    "PrecisionLoss",
    "ProgramTrace",
    "PublicKey",
    "ReplayReport",
    "RunReport",
    "ScaleMismatch",
    "SharedResult",
    "StoredKeys",
    "Tiers",
    "Trace",
    "TransformGrid",
    "UnknownUser",
    "UserEngine",
    "WhenNodeFails",
    "WrongType",
    "advise",
    "allow_insecure_unpickling",
    "calibrate",
    "choose",
    "choose_packing",
    "corrcoef",
    "cov",
    "decide",
    "device_models",
    "device_name",
    "encrypt_array",
    "fresh_error_bound",
    "functions",
    "key_plan",
    "matmul",
    "measure_error_bound",
    "plan_flooding",
    "plan_trace",
    "policy_name",
    "preset_description",
    "preset_names",
    "replay",
    "sign_epsilon",
    "sign_levels",
    "simulate",
    "standardize",
    "trace_program",
    "variance_range",
]
