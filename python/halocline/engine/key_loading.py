# SPDX-License-Identifier: Apache-2.0
"""How keys come into an engine: from a bundle in memory, or from a key store when they are needed."""

from __future__ import annotations

import functools
from collections.abc import Callable

from .. import _core
from ..base.errors import WrongType
from ..base.values import expect, kind_of
from ..ckks.key_store import StoredKeys
from ..ckks.keys import EvaluationKeys
from ..ckks.params import Params, expect_same

Keys = EvaluationKeys | StoredKeys
"""What an engine takes keys from."""


def check_keys(keys: Keys | None, params: Params, what: str, optional: bool = False) -> None:
    """WrongType for another object, InvalidArgument for keys of other parameters."""
    if kind_of(keys) == "Client":  # engines do not know the class
        raise WrongType(
            f"{what}: got a Client, which owns the secret key; an engine must not see it. "
            "Expected EvaluationKeys: client.evaluation_keys(rotations=[...])"
        )
    if keys is None and optional:
        return
    if not isinstance(keys, StoredKeys):
        keys = expect(keys, EvaluationKeys, what, "use client.evaluation_keys(rotations=[...])")
    expect_same(params, [("the key bundle", keys.params)], what.partition(":")[0])


def loader_of(core: _core.Engine, keys: Keys, lazily: bool) -> Callable[[int], None] | None:
    """Binds an engine to the secret key of these, before any is copied, and also when there is none.

    Returns what adds the key of a Galois element, or None where each waits for its first use.
    """
    if isinstance(keys, StoredKeys):
        core.add_source(keys._core, keys._wanted, not lazily)
        return None if lazily else core.load_key
    core.bind_key(keys._core)
    return functools.partial(core.add_key, keys._core)
