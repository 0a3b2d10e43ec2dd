# SPDX-License-Identifier: Apache-2.0
"""Addresses of key nodes, tokens, and TLS: loopback only unless both sides are sure of each other."""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import ipaddress
import os
import re
import ssl
from collections.abc import Sequence
from pathlib import Path

from ..base import limits
from ..base.errors import InvalidArgument, IoError
from ..base.files import read_text
from ..base.values import expect, path_text

TOKEN_VARIABLE = "HALOCLINE_KEYNODE_TOKEN"
LEAST_TOKEN = 16
MOST_TOKEN = 256
_TOKEN = re.compile(rf"[\x21-\x7e]{{{LEAST_TOKEN},{MOST_TOKEN}}}")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine: "localhost", 127.0.0.0/8 or ::1. Other names are not looked up."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_and_port(text: str, what: str) -> tuple[str, int]:
    """The parts of "host:port" or "[v6]:port"; port 0 is any free one."""
    host, colon, digits = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        host = ""
    if not colon or not host or not digits.isascii() or not digits.isdigit() or int(digits) > 65535:
        raise InvalidArgument(f"{what}: '{text}', expected host:port, such as 127.0.0.1:7431")
    return host, int(digits)


@dataclasses.dataclass(frozen=True)
class Address:
    """Where a key node is."""

    host: str
    port: int
    tls: bool

    @classmethod
    def parse(cls, url: str) -> Address:
        """From "tcp://host:port" or "tls://host:port". InvalidArgument for others, tcp beyond loopback."""
        scheme, separator, rest = expect(url, str, "KeyNode: url").partition("://")
        if not separator or scheme not in ("tcp", "tls") or "@" in rest or "/" in rest:
            raise InvalidArgument(
                f"KeyNode: '{url}', expected tcp://host:port on this machine, or tls://host:port"
                + ("; a token does not belong into an address: give token_file=" if "@" in rest else "")
            )
        host, port = host_and_port(rest, "KeyNode")
        if port == 0:
            raise InvalidArgument(f"KeyNode: '{url}', expected the port that the node listens on")
        if scheme == "tcp" and not is_loopback(host):
            raise InvalidArgument(
                f"KeyNode: '{url}' is another machine; without TLS every host on the way can read and "
                f"change ciphertexts: use tls://{rest} and a token"
            )
        return cls(host, port, scheme == "tls")

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'tls' if self.tls else 'tcp'}://{host}:{self.port}"


def check_token(token: str, what: str) -> str:
    """A token as it is sent. The message of an error does not show it."""
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise InvalidArgument(
            f"{what}: no token; expected {LEAST_TOKEN} to {MOST_TOKEN} printable ASCII characters without "
            "spaces, such as `openssl rand -hex 32` prints"
        )
    return token


def read_tokens(path: str | Path, what: str) -> list[str]:
    """The tokens in a file, one in a line; empty lines and those that begin with # do not count."""
    lines = read_text(Path(path_text(path, what)), what, limits.KEY_NODE_META).splitlines()
    found = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if not found:
        raise InvalidArgument(f"{what}: '{path}' holds no token; expected one in a line")
    return [check_token(each, what) for each in found]


def tokens_of_server(path: str | Path | None) -> list[str]:
    """Of a file, or else of the environment; empty where there are none."""
    if path is not None:
        return read_tokens(path, "--token-file")
    found = os.environ.get(TOKEN_VARIABLE)
    return [] if found is None else [check_token(found, TOKEN_VARIABLE)]


def token_of_client(token: str | None, path: str | Path | None) -> str | None:
    """The one that was given, or of a file, or of the environment, or None."""
    if token is not None:
        return check_token(token, "KeyNode: token")
    if path is not None:
        return read_tokens(path, "KeyNode: token_file")[0]
    found = os.environ.get(TOKEN_VARIABLE)
    return None if found is None else check_token(found, TOKEN_VARIABLE)


def token_is_known(token: object, known: Sequence[str]) -> bool:
    """Whether it is one of them, in a time that depends on how many there are only."""
    text = token.encode(errors="replace") if isinstance(token, str) else b""
    given = hashlib.sha256(text).digest()
    found = False
    for each in known:
        found |= hmac.compare_digest(given, hashlib.sha256(each.encode()).digest())
    return found


def client_tls(ca_file: str | Path | None) -> ssl.SSLContext:
    """TLS 1.3 that verifies certificate and name, by the system's authorities or those of a file."""
    try:
        context = ssl.create_default_context(
            cafile=None if ca_file is None else path_text(ca_file, "KeyNode: ca_file")
        )
    except (OSError, ssl.SSLError) as error:
        raise IoError(f"KeyNode: cannot read certificates of '{ca_file}': {error}") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


def server_tls(certificate: str | Path, private_key: str | Path) -> ssl.SSLContext:
    """TLS 1.3 with a certificate chain and its key, PEM files."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    names = [path_text(each, "keynode: certificate") for each in (certificate, private_key)]
    try:
        # Without a password that is asked for: an encrypted key is refused instead.
        context.load_cert_chain(names[0], names[1], password=lambda: b"")
    except (OSError, ssl.SSLError) as error:
        raise IoError(
            f"keynode: cannot use certificate '{names[0]}' with key '{names[1]}': {error}; expected PEM "
            "files, the key without a password"
        ) from None
    return context
