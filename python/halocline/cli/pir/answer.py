# SPDX-License-Identifier: Apache-2.0
"""`halocline pir answer | lookup`: what a server does, and the whole way in one process."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ... import _core
from ...base import limits
from ...base.errors import InvalidArgument
from ...base.files import is_standard, read_file, write_file
from ...base.names import device_name, policy_name
from ...base.option_values import Choice, Size
from ...pir import Client, Database, Server
from ..common import (
    AllowInsecureOption,
    DeviceOption,
    JsonOption,
    PolicyOption,
    ThreadsOption,
    check_device,
    checked,
    command,
    origin,
    results_console,
    size,
    write_json,
)
from .client_commands import write_record
from .common import decoded, message_size, open_database, query_for, read_messages, sent
from .outputs import expect_outputs
from .wanted import IndexOption, KeyOption, WantedOption, expect_one, read_wanted

DatabaseArgument = Annotated[Path, typer.Argument(help="What `pir build` wrote.")]
KeysOption = Annotated[list[Path], typer.Option("--keys", help="pir-keys.hlr of a client; again for others.")]
QueriesOption = Annotated[
    list[Path], typer.Option("--query", "-q", help="What `pir query` wrote; again for others.")
]
AnswersOption = Annotated[
    Path, typer.Option("--out", "-o", help="Answers, one after the other; - is standard output.")
]
RecordOption = Annotated[Path, typer.Option("--out", "-o", help="File for the record; - is standard output.")]
StorageOption = Annotated[
    str,
    typer.Option(
        "--storage",
        metavar="transformed|raw",
        callback=checked(Choice(("transformed", "raw"))),
        help="Keep the database transformed, fast, or as its bytes, small.",
    ),
]
MemoryOption = Annotated[
    str | None,
    typer.Option("--memory", callback=checked(Size(share=False)), help="Budget of the device's memory."),
]


@dataclasses.dataclass(frozen=True)
class _Answered:
    answers: list[bytes]
    seconds: dict[str, float]
    peak_bytes: int


@command
def answer(
    database: DatabaseArgument,
    keys: KeysOption,
    queries: QueriesOption,
    output: AnswersOption,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
    memory: MemoryOption = None,
    policy: PolicyOption = "resident",
    storage: StorageOption = "transformed",
    allow_insecure: AllowInsecureOption = False,
    json: JsonOption = None,
) -> None:
    """Answer queries, without learning what they ask for. All of them are one batch."""
    console = results_console(json, output)
    check_device(device)
    inputs = {"DATABASE": [database], "--keys": keys, "--query": queries}
    expect_outputs("pir answer", {"--out": output, "--json": json}, inputs)
    opened = open_database(database, allow_insecure)
    bytes_of_query = message_size(opened.info, "query")
    asked_for = [each for path in queries for each in read_messages(path, "--query", bytes_of_query)]
    sent_keys = _read_keys(keys)
    place: dict[str, Any] = {"device": device_name(device), "threads": threads, "memory": memory}
    place |= {"policy": policy_name(policy), "storage": storage}
    found = _answer(opened, sent_keys, asked_for, place)
    write_file(output, b"".join(found.answers))
    each = len(found.answers[0])
    console.print(
        f"{output}: {_counted(len(found.answers))} of {size(each)} in {found.seconds['total']:.3g} s "
        f"({found.seconds['database']:.3g} s for the database before)",
        markup=False,
        soft_wrap=True,
    )
    about = {"queries": len(found.answers), "answer_bytes": each, "device": device, "storage": storage}
    write_json(json, origin() | about | {"peak_bytes": found.peak_bytes, "seconds": found.seconds})


def _read_keys(paths: list[Path]) -> list[bytes]:
    """Keys of clients, in files. Raises InvalidArgument for different ones of one client."""
    found: dict[bytes, tuple[Path, bytes]] = {}
    for path in paths:
        data = read_file(path, "--keys", limits.RETRIEVAL_MESSAGES)
        client = _core.retrieval_message(data)["client"]
        other, known = found.setdefault(client, (path, data))
        if data != known:
            raise InvalidArgument(
                f"pir answer: '{other}' and '{path}' have different keys of client {client.hex()}; name the "
                "file that comes from that client"
            )
    return [data for _, data in found.values()]


def _counted(answers: int) -> str:
    return "1 answer" if answers == 1 else f"{answers} answers"


def _answer(database: Database, keys: list[bytes], queries: list[bytes], place: dict[str, Any]) -> _Answered:
    begin = time.perf_counter()
    with Server(database, batch=len(queries), **place) as server:
        server.time_stages()
        for each in keys:
            server.add_client(each)
        ready = time.perf_counter()
        answers = server.answer_many(queries)
        end = time.perf_counter()
        stages = server.stats().stage_seconds
        seconds = stages | {"database": ready - begin, "total": end - ready}
        return _Answered(answers, seconds, server.memory()["peak_fast_bytes"])


@command
def lookup(
    database: DatabaseArgument,
    output: RecordOption,
    index: IndexOption = None,
    key: KeyOption = None,
    wanted: WantedOption = None,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
    allow_insecure: AllowInsecureOption = False,
) -> None:
    """Try a database: client and server in one process, from a new secret to the record."""
    expect_one("pir lookup", index, key, wanted)
    console = results_console(output)
    check_device(device)
    inputs = {"DATABASE": [database]} | ({} if wanted is None else {"--wanted": [wanted]})
    expect_outputs("pir lookup", {"--out": output}, inputs)
    opened = open_database(database, allow_insecure)
    asked = read_wanted("pir lookup", opened.info, index, key, wanted)
    client = Client(opened.info)
    with Server(opened, device_name(device), threads=threads) as server:
        server.add_client(client.server_keys())
        begin = time.perf_counter()
        query = query_for(client, asked)
        answers = server.answer_many(sent(query))
        record = decoded(client, query, answers)
        seconds = time.perf_counter() - begin
    write_record(output, record)
    count = sum(map(len, sent(query))), sum(map(len, answers))
    where = "" if is_standard(output) else f"{output}: "
    console.print(
        f"{where}{seconds:.3g} s, {size(count[0])} to the server, {size(count[1])} back",
        markup=False,
        soft_wrap=True,
    )
