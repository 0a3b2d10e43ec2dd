# SPDX-License-Identifier: Apache-2.0
"""Options that the commands of key stores share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ... import KeyStore
from ...base.errors import InvalidArgument

UrlArgument = Annotated[
    str,
    typer.Argument(
        metavar="STORE",
        help="file:DIR, http(s)://HOST/PATH or s3://BUCKET/PREFIX; a folder may go without file:.",
    ),
]
UserArgument = Annotated[str, typer.Argument(metavar="USER", help="Whose keys: letters, digits and ._@-.")]
UsersArgument = Annotated[
    list[str] | None, typer.Argument(metavar="USER...", help="Whose keys; all by default.")
]
ConnectionsOption = Annotated[
    int, typer.Option("--connections", min=1, max=64, metavar="COUNT", help="To a server, at once.")
]
DeadlineOption = Annotated[
    float, typer.Option("--deadline", metavar="SECONDS", help="For one request with all its retries.")
]
DigestOption = Annotated[
    str | None, typer.Option("--digest", metavar="HEX", help="What the keys must be: printed by `keys put`.")
]
KeyIdOption = Annotated[
    str | None, typer.Option("--key-id", metavar="HEX", help="The secret key that they must be for.")
]
QuotaOption = Annotated[
    str | None, typer.Option("--quota", metavar="SIZE", help="Bytes that the keys of a user may have: 2GiB.")
]

_SCHEMES = ("file:", "http:", "https:", "s3:")


def open_store(url: str, connections: int, deadline: float, quota: str | None = None) -> KeyStore:
    """A store of a URL, or of the path of a folder. Nothing is sent yet."""
    if not url:
        raise InvalidArgument("keys: STORE is empty; expected a URL or a folder")
    if not url.startswith(_SCHEMES) and "://" not in url:
        url = f"file:{url}"
    options: dict[str, Any] = {"connections": connections, "deadline": deadline, "quota": quota}
    return KeyStore(url, **options)


def check_hex(text: str | None, digits: int, option: str) -> str | None:
    """Digits in small letters, or None. Raises InvalidArgument for what is no such number."""
    if text is None:
        return None
    small = text.lower()
    if len(small) != digits or any(each not in "0123456789abcdef" for each in small):
        raise InvalidArgument(f"{option}: expected {digits} hexadecimal digits, got {len(text)} letters")
    return small
