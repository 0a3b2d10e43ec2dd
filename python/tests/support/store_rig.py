# SPDX-License-Identifier: Apache-2.0
"""Real servers on loopback for tests of key stores, and a proxy that injects faults."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")

CONFIG = """
daemon off; master_process off; worker_processes 1; pid {root}/nginx.pid; error_log {root}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off; client_max_body_size 0; sendfile on; keepalive_requests 100000;
  client_body_temp_path {root}/body; proxy_temp_path {root}/t1; fastcgi_temp_path {root}/t2;
  uwsgi_temp_path {root}/t3; scgi_temp_path {root}/t4;
  server {{
    listen 127.0.0.1:{port};
    location / {{
      root {root}/www; autoindex on; autoindex_format json;
      dav_methods PUT DELETE; create_full_put_path on;
    }}
  }}
}}
"""


def free_port() -> int:
    """A port that no other one of up to four processes of a test run gets: each has its remainder.

    Linux gives ports of one parity, so the remainder is that of half the port.
    """
    remainder = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 4
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port // 2 % 4 == remainder:
            return port


def wait_for(port: int, process: subprocess.Popen[bytes], seconds: float = 30.0) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        assert process.poll() is None, f"the server ended with status {process.returncode}"
        time.sleep(0.02)
    raise AssertionError(f"no server on port {port} after {seconds} s")


@contextlib.contextmanager
def serving(
    command: list[str], port: int, env: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port, process)
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def nginx(root: Path) -> Iterator[str]:
    """URL of an nginx with byte ranges, WebDAV and a listing in JSON; files in root/www."""
    with Nginx(root) as server:
        yield server.url


class Nginx:
    """An nginx that can be stopped, killed and started again at the same address."""

    def __init__(self, root: Path, rate: str = "0") -> None:
        """rate: bytes a second for each answer, as `limit_rate` takes it."""
        if NGINX is None:
            pytest.skip("nginx is not installed (tools/bootstrap.sh test)")
        (root / "www" / "keys").mkdir(parents=True)
        self.root, self.port = root, free_port()
        self.url = f"http://127.0.0.1:{self.port}/keys"
        self.process: subprocess.Popen[bytes] | None = None
        self.set_rate(rate)

    def set_rate(self, rate: str) -> None:
        """Counts from the next start on."""
        text = CONFIG.format(root=self.root, port=self.port)
        (self.root / "nginx.conf").write_text(
            text.replace("sendfile on;", f"sendfile on; limit_rate {rate};")
        )

    def start(self) -> None:
        command = [str(NGINX), "-p", str(self.root), "-c", str(self.root / "nginx.conf")]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.port, self.process)

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL; a process that is stopped dies of it too."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def __enter__(self) -> Nginx:
        self.start()
        return self

    def __exit__(self, *ignored: object) -> None:
        self.kill()


@contextlib.contextmanager
def moto(root: Path) -> Iterator[str]:
    """URL of a moto server, a real server of the S3 protocol, without buckets."""
    pytest.importorskip("moto", reason="moto is not installed (tools/bootstrap.sh test)")
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with serving(command, port, {**os.environ, "TMPDIR": str(root)}):
        yield f"http://127.0.0.1:{port}"


Answer = bytes
Fault = Callable[[bytes, bytes], "tuple[bytes, bool]"]
"""From head and body of an answer to what is sent, and whether the connection then hangs."""


def cut(head: bytes, body: bytes) -> tuple[bytes, bool]:
    return head + body[: len(body) // 2], False


def stall(head: bytes, body: bytes) -> tuple[bytes, bool]:
    return head + body[: len(body) // 2], True


def error_500(head: bytes, body: bytes) -> tuple[bytes, bool]:
    return b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", False


def corrupt(head: bytes, body: bytes) -> tuple[bytes, bool]:
    middle = len(body) // 2
    return head + body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :], False


def ignores_range(head: bytes, body: bytes) -> tuple[bytes, bool]:
    length = f"Content-Length: {len(body)}\r\n".encode()
    return b"HTTP/1.1 200 OK\r\n" + length + b"Connection: close\r\n\r\n" + body, False


def wrong_length(head: bytes, body: bytes) -> tuple[bytes, bool]:
    """Twice the bytes that were asked for."""
    head = head.replace(f"Content-Length: {len(body)}".encode(), f"Content-Length: {2 * len(body)}".encode())
    return head + body + body, False


def truncated(head: bytes, body: bytes) -> tuple[bytes, bool]:
    """A shorter length that is declared: the connection looks complete."""
    half = body[: len(body) // 2]
    head = head.replace(f"Content-Length: {len(body)}".encode(), f"Content-Length: {len(half)}".encode())
    return head + half, False


def unsatisfiable(head: bytes, body: bytes) -> tuple[bytes, bool]:
    return b"HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", False


class FaultProxy:
    """Passes requests on. `faults` are used up by range requests, one each; `every` is applied to all."""

    def __init__(self, upstream: str) -> None:
        host, self.path = (
            upstream.removeprefix("http://").split("/", 1) if "/" in upstream[7:] else (upstream[7:], "")
        )
        name, port = host.split(":")
        self.upstream = (name, int(port))
        self.faults: list[Fault] = []
        self.every: Fault | None = None
        self.stopped = threading.Event()
        proxy = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with contextlib.suppress(OSError):
                    proxy.pass_on(self.request)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True
            request_queue_size = 64

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/{self.path}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self.stopped.set()
        self.server.shutdown()
        self.server.server_close()

    def pass_on(self, client: socket.socket) -> None:
        head, rest = read_head(client)
        if not head:
            return
        length = int(header(head, b"content-length") or 0)
        while len(rest) < length:
            rest += client.recv(1 << 16)
        head = b"\r\n".join(
            line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")
        )
        with socket.create_connection(self.upstream) as server:
            server.sendall(head + b"\r\nConnection: close\r\n\r\n" + rest)
            answer, body = read_head(server)
            while part := server.recv(1 << 20):
                body += part
        answer += b"\r\n\r\n"
        fault = None
        if header(head, b"range"):
            fault = self.faults.pop(0) if self.faults else self.every
        out, hangs = (answer + body, False) if fault is None else fault(answer, body)
        client.sendall(out)
        if hangs:
            self.stopped.wait(60)


def read_head(connection: socket.socket) -> tuple[bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(1 << 16)
        if not part:
            return b"", b""
        data += part
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def header(head: bytes, name: bytes) -> bytes | None:
    for line in head.split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key.strip().lower() == name:
            return value.strip()
    return None


@contextlib.contextmanager
def faulty(upstream: str) -> Iterator[FaultProxy]:
    proxy = FaultProxy(upstream)
    try:
        yield proxy
    finally:
        proxy.close()
