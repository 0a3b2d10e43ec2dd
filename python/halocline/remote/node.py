# SPDX-License-Identifier: Apache-2.0
"""A key node as its clients see it."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..base import errors
from ..base.errors import Cancelled, CorruptData, Error, InvalidArgument, IoError
from ..base.forks import renew_in_children
from ..base.names import KeyNodeUse, WhenNodeFails, key_node_use, when_node_fails
from ..base.values import positive
from ..circuits.choice import CircuitChoice
from .address import Address, client_tls, is_loopback, token_of_client
from .cost import Link
from .maps import OWN, Circuit, KnownMaps, digest_of, to_bytes
from .wire import MOST_DEADLINE, Channel, Frame, Kind, pack, remaining, unpack

_ANSWERS = frozenset({Kind.WELCOME, Kind.RESULT, Kind.ERROR})
_REFUSALS = {
    name: each for name, each in vars(errors).items() if isinstance(each, type) and issubclass(each, Error)
}
UNKNOWN_MAP = "UnknownMap"
"""Name of the refusal of a map that a node does not have, or not any more."""


@dataclasses.dataclass(frozen=True)
class Reply:
    """What a node answered to a call."""

    blobs: list[bytes]
    seconds: float
    """That it computed."""
    switches: int
    sent_bytes: int
    received_bytes: int
    map_bytes: int
    """Of those sent: a map that it did not have."""


class KeyNode:
    """A process `halocline keynode` that holds keys and does key switches: `Engine(..., key_nodes=node)`.

    url: "tcp://127.0.0.1:7431" on this machine, or "tls://host:port".
    token: what the node asks for, or `token_file` with it in its first line; else the environment variable
        HALOCLINE_KEYNODE_TOKEN. Never shown, and not pickled.
    deadline: seconds for one request with everything that it needs; then the engine does it itself.
    ca_file: certificates that sign the node's, PEM; the system's unless given.
    rate, latency: of the link to the node, bytes a second and seconds of a round trip; store_rate,
        store_latency: of the link to the key store, the same unless given. The cost model compares them: they
        are what you know of your network, not measured.
    switch_seconds: of a key switch at the node; what its answers say unless given.
    use: "cheaper" asks the node where the cost model says so; "always" for every key that the engine lacks.
    on_failure: "fetch" lets the engine fetch the keys and go on after a failure, "raise" raises it.
    retry_after: seconds after a failure until the node is asked again.

    One object may be shared by engines and threads; each request at a time has a connection, which is kept.
    Forked children and unpickled copies make connections of their own. Raises IoError when the node cannot be
    reached, ends, or does not answer in time; CorruptData for answers that are none.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        token_file: str | Path | None = None,
        deadline: float = 60.0,
        ca_file: str | Path | None = None,
        rate: float = 125e6,
        latency: float = 0.0005,
        store_rate: float | None = None,
        store_latency: float | None = None,
        switch_seconds: float | None = None,
        use: KeyNodeUse = "cheaper",
        on_failure: WhenNodeFails = "fetch",
        retry_after: float = 30.0,
    ) -> None:
        self._options = {key: value for key, value in locals().items() if key not in ("self", "token")}
        self._address = Address.parse(url)
        self._given = token is not None
        self._token = token_of_client(token, token_file)
        if positive(deadline, "KeyNode: deadline") > MOST_DEADLINE:
            raise InvalidArgument(f"KeyNode: deadline is {deadline} s, expected at most {MOST_DEADLINE:.0f}")
        self.deadline = float(deadline)
        self.link = Link.of(rate, latency, "KeyNode")
        self.store_link = Link.of(store_rate or rate, store_latency or latency, "KeyNode: store")
        self.use = key_node_use(use, "KeyNode: use")
        self.on_failure = when_node_fails(on_failure, "KeyNode: on_failure")
        self.retry_after = max(0.0, float(retry_after))
        self._fixed = None if switch_seconds is None else max(0.0, float(switch_seconds))
        self._measured = 0.0
        self._tls = client_tls(ca_file) if self._address.tls else None
        self._maps = KnownMaps()
        self._renew_locks()
        renew_in_children(self)

    def _renew_locks(self) -> None:
        """Also in a forked child, which must not speak on its parent's connections."""
        self._lock = threading.Lock()
        self._idle: list[Channel] = []
        self._has: set[str] = set()  # maps that the node has
        self._instance: object = None  # of the process behind the address
        self._next, self._down_until = 1, 0.0

    @property
    def url(self) -> str:
        """The address."""
        return str(self._address)

    @property
    def switch_seconds(self) -> float:
        """Of a key switch at the node: given, or the mean of its answers, 0 before the first one."""
        return self._measured if self._fixed is None else self._fixed

    @property
    def is_resting(self) -> bool:
        """Whether it failed less than `retry_after` ago."""
        return time.monotonic() < self._down_until

    def map_name(self, circuit: Circuit, said: CircuitChoice) -> tuple[str, int] | None:
        """Digest of a circuit and the bytes that must be sent first; None where no node evaluates it."""
        named = self._maps.name(circuit, said)
        if named is None:
            return None
        with self._lock:
            return (named[0], 0) if named[0] in self._has else named

    def status(self) -> dict[str, Any]:
        """What the node says of itself: users, bytes of keys and maps, requests."""
        frame = self._exchange(Kind.STATUS, b"", Kind.WELCOME, time.monotonic() + self.deadline, None)[0]
        said = unpack(frame.payload, "key node: status")[0]
        return {name: value for name, value in said.items() if name != "blobs"}

    def close(self) -> None:
        """Closes the connections that are idle; the next request makes a new one."""
        with self._lock:
            idle, self._idle = self._idle, []
        for each in idle:
            each.close()

    def call(
        self,
        about: dict[str, Any],
        blobs: Sequence[bytes],
        circuit: Circuit | None = None,
        give_up: Callable[[], None] | None = None,
        said: CircuitChoice = OWN,
    ) -> Reply:
        """One request; a map goes there first where the node does not have it.

        give_up: called while waiting; when it raises, a CANCEL frame is sent, and the request ends with that.
        said: what the engine decides about the circuit.
        """
        until = time.monotonic() + self.deadline
        spent = [0, 0, 0]
        named = None if circuit is None else self._maps.name(circuit, said)
        for attempt in range(2):
            if circuit is not None and named is not None:
                about = about | {"map": named[0]}
                self._send_map(circuit, said, named[0], until, spent, give_up)
            try:
                frame, sent, received = self._exchange(
                    Kind.CALL, pack(about, blobs), Kind.RESULT, until, give_up
                )
            except _UnknownMap:
                if attempt:
                    raise
                with self._lock:
                    self._has.discard(named[0] if named else "")
                continue
            return self._reply(frame, [spent[0] + sent, spent[1] + received, spent[2]])
        raise AssertionError("unreachable")

    def _reply(self, frame: Frame, spent: list[int]) -> Reply:
        meta, blobs = unpack(frame.payload, "key node: answer")
        seconds, switches = meta.get("seconds"), meta.get("switches")
        if not isinstance(seconds, int | float) or type(switches) is not int or not 0 <= seconds < 1e9:
            raise CorruptData("key node: an answer without its time")
        if switches > 0:
            mean = seconds / switches
            self._measured = mean if self._measured == 0 else 0.75 * self._measured + 0.25 * mean
        return Reply(blobs, float(seconds), switches, spent[0], spent[1], spent[2])

    def _send_map(
        self,
        circuit: Circuit,
        said: CircuitChoice,
        name: str,
        until: float,
        spent: list[int],
        give_up: Callable[[], None] | None,
    ) -> None:
        with self._lock:
            if name in self._has:
                return
        data = to_bytes(circuit, said)
        assert data is not None and digest_of(data) == name  # weights never change
        payload = pack({"digest": name}, [data])
        _, sent, received = self._exchange(Kind.MAP, payload, Kind.WELCOME, until, give_up)
        for i, each in enumerate((sent, received, sent)):
            spent[i] += each
        with self._lock:
            self._has.add(name)

    # Connections

    def _exchange(
        self, kind: Kind, payload: bytes, answer: Kind, until: float, give_up: Callable[[], None] | None
    ) -> tuple[Frame, int, int]:
        """The answer to a request, and the bytes of both."""
        with self._lock:
            number, self._next = self._next, self._next + 1
            channel = self._idle.pop() if self._idle else None
        if channel is not None:
            try:
                return self._exchange_on(channel, kind, number, payload, answer, until, give_up)
            except IoError:
                # The node may have ended while the connection was idle; requests change nothing there, so
                # that they can be sent again.
                if not channel.is_closed or time.monotonic() >= until:
                    raise
                self.close()
        channel = self._connect(until)
        return self._exchange_on(channel, kind, number, payload, answer, until, give_up)

    def _exchange_on(
        self,
        channel: Channel,
        kind: Kind,
        number: int,
        payload: bytes,
        answer: Kind,
        until: float,
        give_up: Callable[[], None] | None,
    ) -> tuple[Frame, int, int]:
        """On one connection, which is kept for the next request unless this one fails."""
        before = channel.sent, channel.received
        try:
            channel.send(Frame(kind, number, payload, remaining(until)), until, give_up)
            frame = channel.receive(_ANSWERS, until, give_up=give_up)
            if frame.request != number or frame.kind not in (answer, Kind.ERROR):
                raise CorruptData(f"key node: {self.url} answered a {kind.name} with a {frame.kind.name}")
        except Cancelled:
            with contextlib.suppress(IoError):
                channel.send(Frame(Kind.CANCEL, number), time.monotonic() + 1.0)
            channel.close()
            raise
        except IoError as error:
            channel.close()
            raise IoError(f"{error} ({self.url}, deadline of {self.deadline:g} s)") from None
        except BaseException:
            channel.close()
            raise
        moved = channel.sent - before[0], channel.received - before[1]
        with self._lock:
            self._idle.append(channel)
        if frame.kind is Kind.ERROR:
            raise _refusal(frame, self.url)
        return frame, *moved

    def _connect(self, until: float) -> Channel:
        host = self._address.host
        sock = self._first_that_answers(until)
        channel = None
        try:
            if self._tls is None and not is_loopback(str(sock.getpeername()[0])):
                raise IoError(f"key node: {self.url} is another machine, to which only tls:// leads")
            if self._tls is not None:
                sock = self._tls.wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)
            channel = Channel(sock)
            channel.handshake(until)
            hello = {} if self._token is None else {"token": self._token}
            channel.send(Frame(Kind.HELLO, 0, pack(hello), remaining(until)), until)
            frame = channel.receive(frozenset({Kind.WELCOME, Kind.ERROR}), until)
        except BaseException as error:
            (channel or sock).close()
            if isinstance(error, ssl.SSLError | OSError) and not isinstance(error, Error):
                raise IoError(f"key node: no secure connection to {self.url}: {error}") from None
            raise
        if frame.kind is Kind.ERROR:
            channel.close()
            raise _refusal(frame, self.url)
        instance = unpack(frame.payload, "key node: welcome")[0].get("instance")
        with self._lock:
            if instance != self._instance:  # another process than before
                self._has, self._instance = set(), instance
        return channel

    def _first_that_answers(self, until: float) -> socket.socket:
        """A connection to one of the addresses of the host; all of them share the deadline."""
        try:
            found = socket.getaddrinfo(self._address.host, self._address.port, type=socket.SOCK_STREAM)
            why: Exception = OSError("the name has no address")
        except OSError as error:
            found, why = [], error
        for number, (family, kind, protocol, _, address) in enumerate(found):
            try:
                sock = socket.socket(family, kind, protocol)
            except OSError as error:
                why = error
                continue
            try:
                sock.settimeout(remaining(until) / (len(found) - number))  # the others get their share
                sock.connect(address)
            except (OSError, IoError) as error:
                why = error
                sock.close()
            else:
                return sock
        raise IoError(
            f"key node: no connection to {self.url}: {why}; is `halocline keynode` running?"
        ) from None

    def failed(self) -> None:
        """It is not asked again for `retry_after` seconds."""
        self.close()
        with self._lock:
            self._down_until = time.monotonic() + self.retry_after
            self._has.clear()

    def __program_identity__(self) -> KeyNode:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self._given:
            raise errors.NotPicklable(
                "a KeyNode whose token was given as text is not pickled, so that the token stays here; use "
                "token_file= or HALOCLINE_KEYNODE_TOKEN, which the other process reads itself"
            )
        return _again, (self._options,)

    def __repr__(self) -> str:
        return f"KeyNode({self.url!r})"


class _UnknownMap(IoError):
    """The node does not have a map."""


def _again(options: dict[str, Any]) -> KeyNode:
    return KeyNode(**options)


def is_refusal(error: Error) -> bool:
    """Whether a node refused a request, and works otherwise."""
    return getattr(error, "_said_by_node", False)


def _refusal(frame: Frame, url: str) -> Error:
    """What an ERROR frame says, as an exception."""
    meta, _ = unpack(frame.payload, "key node: refusal")
    name, message = str(meta.get("error"))[:64], str(meta.get("message"))[:4096]
    if name == UNKNOWN_MAP:
        return _UnknownMap(f"key node: {url} does not keep the map")
    made = _REFUSALS.get(name, IoError)(f"{message} (said by the key node {url})")
    made._said_by_node = True  # type: ignore[attr-defined]
    return made
