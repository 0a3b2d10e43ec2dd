# SPDX-License-Identifier: Apache-2.0
"""`halocline pir keygen | query | decode`: what a client does, without the database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...base.errors import InvalidArgument
from ...base.files import OWNER, is_standard, write_file
from ...pir import Client, DatabaseInfo, Lookup, Query
from ..common import (
    AllowInsecureOption,
    command,
    err,
    expect_writable,
    no_standard_output,
    results_console,
    size,
)
from ..key_files import KeySet, open_folder, write_key_files
from ..signals import terminable
from .asked import Asked, chosen, note_of, read_note, write_note
from .common import (
    KEYS_FILE,
    SECRET_FILE,
    InfoOption,
    SecretOption,
    decoded,
    message_size,
    query_for,
    read_messages,
    sent,
)
from .outputs import NOTE, expect_outputs
from .wanted import IndexOption, KeyOption, WantedOption, expect_one, fitting, read_wanted

_CLIENT = KeySet("pir keygen", (KEYS_FILE, SECRET_FILE))


@command
def keygen(
    folder: Annotated[Path, typer.Argument(help="Folder for the files; made when missing.")],
    info: InfoOption,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing secret.")] = False,
    allow_insecure: AllowInsecureOption = False,
) -> None:
    """Make a client: pir-secret.hlr for itself alone, pir-keys.hlr for the server, once."""
    no_standard_output(folder, "pir keygen: folder")
    expect_writable(folder, folder=True)
    console = results_console()

    def tell(message: str) -> None:
        err().print(message, markup=False, soft_wrap=True)

    described = DatabaseInfo.load(info, allow_insecure=allow_insecure)
    with terminable(), open_folder(folder, force, tell, _CLIENT):
        client = Client(described)
        writers = {KEYS_FILE: lambda path: write_file(path, client.server_keys()), SECRET_FILE: client.save}
        sizes = write_key_files(folder, writers, _CLIENT)
    secret, keys = folder / SECRET_FILE, folder / KEYS_FILE
    console.print(f"client {client.id}", markup=False)
    console.print(f"  {secret}  keep it secret", markup=False, soft_wrap=True)
    console.print(f"  {keys}  {size(sizes[KEYS_FILE])}, for the server", markup=False, soft_wrap=True)


@command
def query(
    info: InfoOption,
    secret: SecretOption,
    output: Annotated[Path, typer.Option("--out", "-o", help="File for the server; - is standard output.")],
    index: IndexOption = None,
    key: KeyOption = None,
    wanted: WantedOption = None,
    allow_insecure: AllowInsecureOption = False,
) -> None:
    """Ask for a record by number, or for a value by key. What the file asks for is hidden in it.

    A lookup by key makes a file of one to three queries. Keep the file, and OUT.asked beside it, which says
    what was asked for and stays with you: `decode` needs both.
    """
    expect_one("pir query", index, key, wanted)
    console = results_console(output)
    note = None if is_standard(output) else note_of(output)
    inputs = {"--info": [info], "--secret": [secret]} | ({} if wanted is None else {"--wanted": [wanted]})
    expect_outputs("pir query", {"--out": output, NOTE: note}, inputs)
    described = DatabaseInfo.load(info, allow_insecure=allow_insecure)
    asked = read_wanted("pir query", described, index, key, wanted)
    made = sent(query_for(Client.load(secret, described), asked))
    write_file(output, b"".join(made))
    if note is not None:
        write_note(output, made, asked)
    else:
        err().print(
            "no note is written beside standard output; decode needs --index, --key or --wanted again"
        )
    plural = "query" if len(made) == 1 else "queries"
    console.print(f"{output}: {len(made)} {plural} of {size(len(made[0]))}", markup=False, soft_wrap=True)


@command
def decode(
    info: InfoOption,
    secret: SecretOption,
    question: Annotated[Path, typer.Option("--query", "-q", help="What `pir query` wrote.")],
    answer: Annotated[
        Path, typer.Option("--answer", "-a", help="What the server sent; - is standard input.")
    ],
    output: Annotated[Path, typer.Option("--out", "-o", help="File to write; - is standard output.")],
    index: IndexOption = None,
    key: KeyOption = None,
    wanted: WantedOption = None,
    allow_insecure: AllowInsecureOption = False,
) -> None:
    """Read the record from an answer. A new output can be read by its owner only.

    What was asked for stands in the note beside the query (QUERY.asked); without one, give --index, --key or
    --wanted. For a key that is not in the database nothing is written, and the exit status is 1.
    """
    console = results_console(output)
    inputs = {"--info": [info], "--secret": [secret], "--query": [question], "--answer": [answer]}
    inputs |= {} if wanted is None else {"--wanted": [wanted]}
    expect_outputs("pir decode", {"--out": output}, inputs)
    if is_standard(answer) and is_standard(wanted):
        raise InvalidArgument("pir decode: --answer and --wanted are both standard input; name a file")
    described = DatabaseInfo.load(info, allow_insecure=allow_insecure)
    queries = read_messages(question, "--query", message_size(described, "query"))
    given = None
    if any(each is not None for each in (index, key, wanted)):
        given = read_wanted("pir decode", described, index, key, wanted)
    asked = chosen(read_note(question, queries), given, question)
    fitting("pir decode", described, asked, "the number in the note")
    answers = read_messages(answer, "--answer", message_size(described, "answer"))
    client = Client.load(secret, described)
    write_record(output, decoded(client, _again(client, queries, asked), answers))
    if not is_standard(output):
        console.print(f"{output}: {size(output.stat().st_size)}", markup=False, soft_wrap=True)


def _again(client: Client, queries: list[bytes], asked: Asked) -> Query | Lookup:
    """The query whose bytes were stored."""
    if asked.key is None:
        if len(queries) != 1:
            raise InvalidArgument(f"pir decode: --query has {len(queries)} queries; a record needs one")
        assert asked.index is not None
        return Query(asked.index, queries[0])
    fresh = client.lookup_queries(asked.key)
    if len(queries) != len(fresh):
        raise InvalidArgument(f"pir decode: --query has {len(queries)} queries; a lookup has {len(fresh)}")
    places = zip(fresh, queries, strict=True)
    return Lookup(fresh.key, [Query(each.record, data) for each, data in places])


def write_record(output: Path, record: bytes | None) -> None:
    """Writes what was found; exit status 1 where there is nothing."""
    if record is None:
        err().print("the database has no such key")
        raise typer.Exit(1)
    write_file(output, record, OWNER)
