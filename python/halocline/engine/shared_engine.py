# SPDX-License-Identifier: Apache-2.0
"""The engine of a `UserEngine`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NoReturn, Protocol, TypeVar

from ..base.errors import InvalidArgument, KeyMismatch, OutOfMemory
from ..ckks.ciphertext import Ciphertext, bind_all
from .engine import Engine
from .key_loading import Keys
from .plan_choice import Optimize
from .program_identity import Arguments
from .user_keys import UserKeys

ResultT = TypeVar("ResultT")


class Users(Protocol):
    """Who brings keys into a shared engine: `UserEngine` is one."""

    def ready(
        self, program: Callable[..., Any], arguments: Arguments, name: Any
    ) -> AbstractContextManager[None]:
        """Checks that a program fits, and brings its keys in, for a run inside the block."""

    def evict_idle(self) -> bool:
        """Evicts keys that are not in use; whether there were some."""


class SharedEngine(Engine):
    """The engine of a `UserEngine`: it has the keys of one user at a time, inside `UserEngine.user`."""

    _users: Users | None = None
    _user: UserKeys | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        if options.get("bootstrap") is not None:
            raise InvalidArgument(
                "UserEngine: bootstrap, but keys of users are found by programs as they are written; "
                "bootstrap in the program, with a Bootstrapper or engine.bootstrap"
            )
        self._planned_keys: list[tuple[int, int]] = []
        super().__init__(*args, **options)
        # Users have keys of the same programs, which were found without a budget.
        self._bootstrap_room, self._chooses_seeds = None, False

    def run(
        self,
        program: Callable[..., ResultT],
        *args: Any,
        plan: Any = None,
        key: Any = None,
        optimize: Optimize | None = None,
        **kwargs: Any,
    ) -> ResultT:
        """As `Engine.run`, for the user whose keys are in use.

        First it is found whether the program fits and whether the user has its keys: OutOfMemory, MissingKey
        and KeyMismatch are raised before any key is loaded.
        """
        with self._turns:
            if self._depth != 0 or self._users is None:
                return super().run(program, *args, plan=plan, key=key, optimize=optimize, **kwargs)
            with self._users.ready(program, (args, kwargs), key):
                try:
                    return super().run(program, *args, plan=plan, key=key, optimize=optimize, **kwargs)
                except OutOfMemory:
                    # Results of users that are kept, and what other engines hold, are not part of a forecast.
                    if not self._users.evict_idle():
                        raise
                return super().run(program, *args, plan=plan, key=key, optimize=optimize, **kwargs)

    def add_keys(self, keys: Keys, progress: Any = None) -> NoReturn:
        """Keys of users come from their store."""
        raise InvalidArgument("add_keys: this engine takes keys of users from a store; put them there")

    def _plan_keys(self) -> list[tuple[int, int]]:
        """Those of the program, which are the same for all users."""
        return self._planned_keys


def expect_ciphertexts_of(keys: UserKeys, arguments: Arguments) -> None:
    """Raises KeyMismatch for an argument of another user."""
    own = keys.stored.key_id

    def check(ct: Ciphertext) -> Ciphertext:
        if own is not None and ct.key_id not in (None, own):
            raise KeyMismatch(
                f"run: a ciphertext is encrypted under the secret key {ct.key_id}, the keys of user "
                f"{keys.name!r} are for {own}; nothing was loaded"
            )
        return ct

    for each in (*arguments[0], *arguments[1].values()):
        bind_all(each, check)
