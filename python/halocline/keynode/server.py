# SPDX-License-Identifier: Apache-2.0
"""A key node: listens for engines, and does key switches for them with keys of a store."""

from __future__ import annotations

import contextlib
import secrets
import select
import socket
import ssl
import threading
from pathlib import Path
from typing import Any, NoReturn

from ..base.errors import InvalidArgument, IoError, NotPicklable
from ..base.limits import GIB
from ..base.names import Device
from ..base.values import byte_count, expect, integer, positive
from ..ckks.key_store import KeyStore
from ..remote.address import host_and_port, is_loopback, server_tls, tokens_of_server
from ..remote.wire import MOST_DEADLINE, Channel
from .held_maps import HeldMaps
from .jobs import Jobs
from .session import Session, Shared
from .users import Users
from .work import Worker

QUEUE = 256
"""Requests that may wait."""
INBOX = 2 * GIB
"""Bytes of requests that may be read or wait at once."""
_BACKLOG = 64


class KeyNodeServer:
    """`halocline keynode` as an object: `with KeyNodeServer(store) as node: ... node.url ...`.

    store: where the keys of the users are, a `KeyStore`.
    listen: "host:port"; port 0 takes a free one. Beyond loopback a certificate and a token are required.
    certificate, private_key: PEM files for TLS. token_file: tokens, one in a line; else the environment
        variable HALOCLINE_KEYNODE_TOKEN; any client may ask where there is none.
    device, threads: where key switches are computed, as for `Engine`.
    memory: bytes of all keys and encoded weights together, or text such as "8GiB"; None is unlimited.
    map_memory: bytes of uploaded weights as they came.
    deadline: most seconds for one request. connections: at once.
    allow_insecure: serve keys of parameters below 128 bits of security (tests only).

    One request is computed at a time, with all threads. Raises InvalidArgument where it would listen beyond
    loopback without TLS and a token, IoError where it cannot listen.
    """

    def __init__(
        self,
        store: KeyStore,
        listen: str = "127.0.0.1:0",
        *,
        certificate: str | Path | None = None,
        private_key: str | Path | None = None,
        token_file: str | Path | None = None,
        device: Device = "cpu",
        threads: int | None = None,
        memory: int | str | None = None,
        map_memory: int | str = "1GiB",
        deadline: float = 600.0,
        connections: int = 64,
        allow_insecure: bool = False,
    ) -> None:
        host, port = host_and_port(listen, "keynode: listen")
        if (certificate is None) != (private_key is None):
            raise InvalidArgument(
                "keynode: a certificate needs its key, and a key its certificate; give both"
            )
        tokens = tokens_of_server(token_file)
        _expect_safe(host, certificate is not None, bool(tokens))
        if positive(deadline, "keynode: deadline") > MOST_DEADLINE:
            raise InvalidArgument(f"keynode: deadline is {deadline} s, expected at most {MOST_DEADLINE:.0f}")
        users = Users(
            expect(store, KeyStore, "keynode: store"), device, memory, threads, bool(allow_insecure)
        )
        self._most = integer(connections, "keynode: connections", 1, 1024)
        maps = HeldMaps(byte_count(map_memory, "keynode: map_memory"))
        self._tls = server_tls(certificate, private_key) if certificate and private_key else None
        self._socket = _listening(host, port, certificate is not None and bool(tokens))
        self._host, self._port = host, int(self._socket.getsockname()[1])
        jobs = Jobs(QUEUE, INBOX)
        self._shared = Shared(Worker(users, maps), maps, jobs, tokens, float(deadline), secrets.token_hex(16))
        self._lock = threading.Lock()
        self._channels: set[Channel] = set()
        self._sessions: set[threading.Thread] = set()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._port

    @property
    def url(self) -> str:
        """What clients give to `KeyNode`."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{'tcp' if self._tls is None else 'tls'}://{host}:{self._port}"

    def status(self) -> dict[str, Any]:
        """Users and maps that it holds, their bytes, requests that wait and that are finished."""
        return self._shared.status()

    def start(self) -> KeyNodeServer:
        """Serves in a thread of its own until `close`."""
        self._thread = threading.Thread(target=self.serve, name="keynode", daemon=True)
        self._thread.start()
        return self

    def serve(self) -> None:
        """Serves in this thread until `close` is called in another one."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        while not self._closed.is_set():
            if not poll.poll(200):
                continue
            with contextlib.suppress(OSError):  # a connection that is gone again
                self._accept(self._socket.accept()[0])

    def close(self) -> None:
        """Stops listening, gives up what waits and closes all connections. May be called again."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._socket.close()
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            channels, sessions = list(self._channels), list(self._sessions)
        for each in channels:
            each.close()
        for session in sessions:
            session.join()
        self._shared.jobs.close()
        self._shared.worker.users.close()

    def _accept(self, sock: socket.socket) -> None:
        with self._lock:
            full = len(self._channels) >= self._most
        if full:
            sock.close()
            return
        try:
            if self._tls is not None:
                sock = self._tls.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
            channel = Channel(sock)
        except (OSError, ssl.SSLError):
            sock.close()
            return
        thread = threading.Thread(target=self._run, args=(channel,), name="keynode connection", daemon=True)
        with self._lock:
            self._channels.add(channel)
            self._sessions.add(thread)
        thread.start()

    def _run(self, channel: Channel) -> None:
        try:
            Session(channel, self._shared).run()
        finally:
            with self._lock:
                self._channels.discard(channel)
                self._sessions.discard(threading.current_thread())

    def __enter__(self) -> KeyNodeServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise NotPicklable("a KeyNodeServer listens in its process; make one in each, or pickle its url")

    def __repr__(self) -> str:
        return f"KeyNodeServer({self.url!r})"


def _expect_safe(host: str, tls: bool, token: bool) -> None:
    """Raises InvalidArgument where others could listen in, or ask, on the way to this machine."""
    if is_loopback(host) or (tls and token):
        return
    missing = " and ".join(
        text
        for has, text in (
            (tls, "TLS (--tls-cert and --tls-key)"),
            (token, "a token (--token-file or HALOCLINE_KEYNODE_TOKEN)"),
        )
        if not has
    )
    raise InvalidArgument(
        f"keynode: refuses to listen on '{host}', which others can reach, without {missing}; give both, or "
        "listen on 127.0.0.1"
    )


def _listening(host: str, port: int, anywhere: bool) -> socket.socket:
    """A socket that listens on one address of a host, on loopback unless `anywhere`."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        if not anywhere:
            _expect_safe(str(address[0]), False, False)  # what the name "localhost" stands for
        return socket.create_server((str(address[0]), port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise IoError(f"keynode: cannot listen on '{host}' port {port}: {error}") from None
