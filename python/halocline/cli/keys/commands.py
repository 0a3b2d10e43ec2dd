# SPDX-License-Identifier: Apache-2.0
"""`halocline keys`: the commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from ... import KeyStore
from ...base.errors import Error, InvalidArgument, IoError
from ...base.values import byte_count
from ..common import (
    AllowInsecureOption,
    JsonOption,
    command,
    err,
    no_standard_output,
    origin,
    results_console,
    size,
    write_json,
)
from ..groups import Group
from .options import (
    ConnectionsOption,
    DeadlineOption,
    DigestOption,
    KeyIdOption,
    QuotaOption,
    UrlArgument,
    UserArgument,
    UsersArgument,
    check_hex,
    open_store,
)

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Evaluation keys of many users in a folder, on a web server or in S3.",
)

KeysArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="Keys, as `halocline keygen` writes them.")
]
OutOption = Annotated[Path, typer.Option("--out", "-o", help="File of keys to write.")]
CleanOption = Annotated[
    bool,
    typer.Option(
        "--clean", help="Remove what killed writers left. On a server: while no other process puts keys."
    ),
]


_EMPTY = "{}: no user has keys there; see that the URL is the one that they were put to"


@command
def put(
    url: UrlArgument,
    user: UserArgument,
    keys: KeysArgument,
    quota: QuotaOption = None,
    connections: ConnectionsOption = 8,
    deadline: DeadlineOption = 120.0,
    json: JsonOption = None,
) -> None:
    """Put a user's keys, in place of those that are there. Prints their digest, to be kept elsewhere."""
    console = results_console(json)
    store = open_store(url, connections, deadline, quota)
    digest = store.put(user, keys)
    console.print(digest)
    write_json(json, origin() | {"user": user, "digest": digest, "sent_bytes": store.counts()["sent_bytes"]})


@command
def get(
    url: UrlArgument,
    user: UserArgument,
    output: OutOption,
    digest: DigestOption = None,
    key_id: KeyIdOption = None,
    connections: ConnectionsOption = 8,
    deadline: DeadlineOption = 120.0,
    allow_insecure: AllowInsecureOption = False,
    json: JsonOption = None,
) -> None:
    """Fetch a user's keys, verified, into a file of keys."""
    no_standard_output(output, "--out")
    console = results_console(json)
    pins = _pins(digest, key_id)
    store = open_store(url, connections, deadline)
    stored = store.user(user, allow_insecure=allow_insecure, **pins)
    stored.load().save(output)
    console.print(f"{output}: {len(stored)} keys, {size(output.stat().st_size)}, digest {stored.digest}")
    about = {"user": user, "digest": stored.digest, "key_id": stored.key_id, "keys": len(stored)}
    write_json(json, origin() | about | {"file": str(output), "file_bytes": output.stat().st_size})


@command
def list_users(
    url: UrlArgument,
    connections: ConnectionsOption = 8,
    deadline: DeadlineOption = 120.0,
    json: JsonOption = None,
) -> None:
    """List the users that have keys."""
    console = results_console(json)
    users = open_store(url, connections, deadline).users()
    if not users:
        err().print(_EMPTY.format(url), soft_wrap=True, markup=False)
    for each in users:
        console.print(each)
    write_json(json, origin() | {"users": users})


@command
def delete(
    url: UrlArgument,
    user: UserArgument,
    connections: ConnectionsOption = 8,
    deadline: DeadlineOption = 120.0,
) -> None:
    """Delete a user's keys. It is no error when there are none."""
    found = open_store(url, connections, deadline).delete(user)
    results_console().print("deleted" if found else "there were none")


@command
def check(
    url: UrlArgument,
    users: UsersArgument = None,
    digest: DigestOption = None,
    key_id: KeyIdOption = None,
    clean: CleanOption = False,
    connections: ConnectionsOption = 8,
    deadline: DeadlineOption = 120.0,
    json: JsonOption = None,
) -> None:
    """Compare every block of the keys with its digest. Exit status 1 for damaged keys, or none."""
    console = results_console(json)
    pins = _pins(digest, key_id)
    store = open_store(url, connections, deadline)
    names = _names(store, users, bool(pins))
    if not names:
        raise IoError(f"{_EMPTY.format(url)}, so nothing was checked")

    def one(user: str) -> dict[str, Any]:
        removed = store.clean(user) if clean else 0
        return {"digest": store.check(user, **pins), "bytes": store.nbytes(user), "removed": removed}

    rows = _each(names, one)
    table = Table("user", "bytes", "digest", *(["removed"] if clean else []))
    for row in rows:
        cells = (row["error"],) if "error" in row else (row["digest"],)
        last = (str(row.get("removed", "")),) if clean else ()
        table.add_row(row["user"], size(row["bytes"]) if "bytes" in row else "", *cells, *last)
    console.print(table)
    write_json(json, origin() | {"users": rows})
    _end(rows)


@command
def usage(
    url: UrlArgument,
    users: UsersArgument = None,
    quota: QuotaOption = None,
    connections: ConnectionsOption = 8,
    deadline: DeadlineOption = 120.0,
    json: JsonOption = None,
) -> None:
    """Show the bytes of each user, and with --quota the share of it. Exit status 1 where one exceeds it."""
    console = results_console(json)
    limit = None if quota is None else byte_count(quota, "--quota")
    store = open_store(url, connections, deadline)
    rows = _each(_names(store, users, False), lambda user: _used(store.nbytes(user), limit))
    table = Table("user", "bytes", *(["of the quota"] if limit else []))
    for row in rows:
        share = [f"{row['bytes'] / limit:.1%}"] if limit and "bytes" in row else []
        table.add_row(row["user"], size(row["bytes"]) if "bytes" in row else row["error"], *share)
    if not rows:
        err().print(_EMPTY.format(url), soft_wrap=True, markup=False)
    total = sum(row.get("bytes", 0) for row in rows)
    table.add_row("all", size(total))
    console.print(table)
    write_json(json, origin() | {"users": rows, "bytes": total, "quota": limit})
    _end(rows)


def _used(count: int, limit: int | None) -> dict[str, Any]:
    about: dict[str, Any] = {"bytes": count}
    if limit is not None and count > limit:
        about["error"] = f"{count} bytes, the quota is {limit}"
    return about


def _pins(digest: str | None, key_id: str | None) -> dict[str, Any]:
    found = {"digest": check_hex(digest, 64, "--digest"), "key_id": check_hex(key_id, 32, "--key-id")}
    return {name: value for name, value in found.items() if value is not None}


def _names(store: KeyStore, users: list[str] | None, is_pinned: bool) -> list[str]:
    """The users that a command is about."""
    if is_pinned and (users is None or len(users) != 1):
        raise InvalidArgument("keys check: --digest and --key-id are of one user; name just one")
    return users or store.users()


def _each(users: list[str], work: Callable[[str], dict[str, Any]]) -> list[dict[str, Any]]:
    """What a function says of each user; an error of one does not keep others from being looked at."""
    rows = []
    for user in users:
        try:
            rows.append({"user": user} | work(user))
        except Error as error:
            rows.append({"user": user, "error": str(error)})
    return rows


def _end(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if "error" in row:
            err().print(f"{row['user']}: {row['error']}", soft_wrap=True, markup=False)
    if any("error" in row for row in rows):
        raise typer.Exit(1)


app.command("put")(put)
app.command("get")(get)
app.command("list")(list_users)
app.command("delete")(delete)
app.command("check")(check)
app.command("usage")(usage)
