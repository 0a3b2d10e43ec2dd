# SPDX-License-Identifier: Apache-2.0
"""Key stores: the evaluation keys of many users in a folder, on a web server or in a bucket of S3."""

from __future__ import annotations

import os
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import _core
from ..base.errors import InvalidArgument
from ..base.values import byte_count, expect, integer, positive
from .keys import EvaluationKeys, KeyPlan, _KeyNames
from .params import Params, expect_same

Wanted = list[tuple[int, int]] | None
"""(Galois element, highest level) of the keys that are wanted; None: all of them."""


class KeyStore:
    """Evaluation keys of many users. Nothing secret is stored, and nothing in the store is trusted.

    url: "file:/srv/keys", "http://host/keys" or "https://host/keys" (a server with byte ranges; WebDAV for
        `put` and `delete`, a listing in JSON for `users`), "s3://bucket/prefix". Credentials of S3 come from
        AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.
    quota: bytes that the keys of one user may have, or text such as "2GiB"; None is no limit. Checked by
        `put` of this object.
    connections: to a server, at once.
    deadline: seconds for one call with all its retries, for one key of an engine as well.
    connect_timeout, stall_timeout: seconds until a connection stands, and that it may be silent.
    attempts: that bring no byte, one after the other, until a call gives up; pauses between them double.
    endpoint, region: of S3, where AWS_ENDPOINT_URL and AWS_REGION shall not decide.

    Calls from several threads are safe and run at once. A store is pickled as its address and options; the
    other process reads its own credentials. Raises IoError when the store cannot be reached, refuses, or does
    not answer in time; CorruptData when what it gives is not what was put.
    """

    def __init__(
        self,
        url: str | os.PathLike[str],
        *,
        quota: int | str | None = None,
        connections: int = 8,
        deadline: float = 120.0,
        connect_timeout: float = 10.0,
        stall_timeout: float = 10.0,
        attempts: int = 6,
        endpoint: str | None = None,
        region: str | None = None,
    ) -> None:
        self._arguments = (url, quota, connections, deadline, connect_timeout, stall_timeout, attempts)
        self._s3 = (endpoint, region)
        if isinstance(url, os.PathLike):
            url = f"file:{os.fspath(url)}"
        options = _core.StoreOptions()
        options.connections = integer(connections, "KeyStore: connections", 1, 64)
        options.deadline_seconds = positive(deadline, "KeyStore: deadline")
        options.connect_seconds = positive(connect_timeout, "KeyStore: connect_timeout")
        options.stall_seconds = positive(stall_timeout, "KeyStore: stall_timeout")
        options.attempts = integer(attempts, "KeyStore: attempts", 1, 1000)
        options.endpoint = expect(endpoint or "", str, "KeyStore: endpoint")
        options.region = expect(region or "", str, "KeyStore: region")
        self._quota = None if quota is None else byte_count(quota, "KeyStore: quota")
        self._core = _core.KeyStore.open(expect(url, str, "KeyStore: url"), options, self._quota or 0)

    @property
    def url(self) -> str:
        """The address."""
        return self._core.url

    @property
    def quota(self) -> int | None:
        """Bytes that the keys of one user may have; None is no limit."""
        return self._quota

    def put(self, user: str, keys: EvaluationKeys | str | Path) -> str:
        """Stores the keys of a user, or a file of `EvaluationKeys.save`, in place of those that are there.

        Everything is checked first. Readers see the old keys or the new ones, never a part. user: 1 to 128
        letters, digits and `._@-`, not starting with a dot. Returns the digest of the keys: given to `user`
        later, it shows that they are these. Raises IoError beyond the quota.
        """
        name = expect(user, str, "put: user")
        if isinstance(keys, EvaluationKeys):
            return self._core.put_keys(name, keys._core)
        if not isinstance(keys, (str, os.PathLike)):
            expect(keys, EvaluationKeys, "put: keys", "or the path of a file of EvaluationKeys.save")
        return self._core.put_file(name, os.fspath(keys))

    def user(
        self,
        name: str,
        params: Params | None = None,
        *,
        key_id: str | None = None,
        digest: str | None = None,
        plan: KeyPlan | None = None,
        allow_insecure: bool = False,
    ) -> StoredKeys:
        """The keys of a user, for `Engine`. Only the list of them is read now.

        params: what they must belong to; otherwise the parameters that they carry are taken, which must be
            secure unless `allow_insecure`.
        key_id: the secret key that they must be for, as `Client.key_id`; KeyMismatch otherwise.
        digest: what `put` returned; CorruptData when the keys are others. Without it, who can write to the
            store can replace them.
        plan: limits them to what a program needs, each key to the level up to which it does: less is read.

        Raises UnknownUser, an IoError, when the store has no keys of the user.
        """
        digest, key_id = checked_pins("user", digest, key_id)
        core = self._core.find(expect(name, str, "user: name"), digest, key_id)
        return self._keys_of(name, core, params, plan, allow_insecure)

    def _keys_of(
        self, name: str, core: _core.StoredKeys, params: Params | None, plan: KeyPlan | None, allow: bool
    ) -> StoredKeys:
        """Keys that were found, checked to belong to parameters."""
        if params is None:
            params = Params._wrap(core.params(bool(allow)))
        wanted = None
        if plan is not None:
            expect_same(params, [("the key plan", expect(plan, KeyPlan, "user: plan").params)], "user")
            wanted = plan.requests()
        return StoredKeys(self, name, core, params, wanted)

    def get(self, user: str, params: Params | None = None, **pins: Any) -> EvaluationKeys:
        """All keys of a user in memory; arguments as those of `user`, without `plan`."""
        return self.user(user, params, **pins).load()

    def check(self, user: str, *, key_id: str | None = None, digest: str | None = None) -> str:
        """Fetches all keys of a user and compares every block with its digest; nothing is kept.

        Arguments as those of `user`. Returns the digest of the keys. Raises CorruptData for a block or a
        manifest that is not what was put, IoError for an object that is missing.
        """
        digest, key_id = checked_pins("check", digest, key_id)
        return self._core.check(expect(user, str, "check: user"), digest, key_id)[0]

    def clean(self, user: str) -> int:
        """Removes what writers that were killed left of a user's keys; returns how many objects.

        On a server, not while the keys of this user are being put. Raises CorruptData when the manifest is
        not valid; nothing is removed then.
        """
        return self._core.clean(expect(user, str, "clean: user"))

    def users(self) -> list[str]:
        """Names of the users that have keys, ascending."""
        return self._core.users()

    def nbytes(self, user: str) -> int:
        """Bytes that the keys of a user have in the store; 0 when there are none."""
        return self._core.nbytes(expect(user, str, "nbytes: user"))

    def delete(self, user: str) -> bool:
        """Removes the keys of a user; whether there were some."""
        return self._core.remove(expect(user, str, "delete: user"))

    def counts(self) -> dict[str, int]:
        """Since this object was made: requests, retries, resumed, read_bytes, sent_bytes."""
        return self._core.counts()

    def __program_identity__(self) -> KeyStore:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self._arguments, self._s3)

    def __repr__(self) -> str:
        return f"KeyStore({self.url!r})"


def checked_pins(what: str, digest: str | None, key_id: str | None) -> tuple[str | None, str | None]:
    """Both in lower case. Raises InvalidArgument for another form, so that keys do not seem forged."""
    return _hexadecimal(f"{what}: digest", digest, 64), _hexadecimal(f"{what}: key_id", key_id, 32)


def _hexadecimal(what: str, value: str | None, digits: int) -> str | None:
    if value is None:
        return None
    text = expect(value, str, what)
    if len(text) != digits or not set(text) <= set(string.hexdigits):
        raise InvalidArgument(f"{what} is {text!r}; expected {digits} hexadecimal digits")
    return text.lower()


class StoredKeys(_KeyNames):
    """Keys of a user in a store. An engine loads each one when it needs it first. Made by `KeyStore.user`.

    They are those that were in the store then: when they are replaced or deleted, an engine that needs
    others of them raises IoError or CorruptData.
    """

    def __init__(
        self, store: KeyStore, user: str, core: _core.StoredKeys, params: Params, wanted: Wanted
    ) -> None:
        self.params = params
        self.store = store
        self.user = user
        self._core = core
        self._wanted = wanted
        self._requests = core.list(params._core)
        if wanted is not None:
            limits = dict(wanted)
            self._requests = [(g, min(level, limits[g])) for g, level in self._requests if g in limits]

    def requests(self) -> list[tuple[int, int]]:
        """(Galois element, highest level) of each key that an engine gets, ascending."""
        return list(self._requests)

    def load(self) -> EvaluationKeys:
        """All keys of the user in memory, whatever the plan."""
        return EvaluationKeys(self._core.load(self.params._core))

    @property
    def key_id(self) -> str | None:
        """The secret key that they are for, as `Client.key_id`."""
        return self._core.key_id

    @property
    def digest(self) -> str:
        """Digest of the keys, as `KeyStore.put` returns it."""
        return self._core.digest

    @property
    def nbytes(self) -> int:
        """Bytes of all keys of the user in the store."""
        return self._core.nbytes

    def __iter__(self) -> Iterator[str]:
        return (_core.describe_key(self.params._core, element) for element, _ in self._requests)

    def __program_identity__(self) -> StoredKeys:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.store, self.user, self.params, self.digest, self._wanted)

    def __repr__(self) -> str:
        return f"StoredKeys({self.user!r} in {self.store.url!r}: {self._summary()})"


def _reopen(arguments: tuple[Any, ...], s3: tuple[Any, ...]) -> KeyStore:
    url, quota, connections, deadline, connect, stall, attempts = arguments
    return KeyStore(
        url,
        quota=quota,
        connections=connections,
        deadline=deadline,
        connect_timeout=connect,
        stall_timeout=stall,
        attempts=attempts,
        endpoint=s3[0],
        region=s3[1],
    )


def _again(store: KeyStore, user: str, params: Params, digest: str, wanted: Wanted) -> StoredKeys:
    return StoredKeys(store, user, store._core.find(user, digest, None), params, wanted)
