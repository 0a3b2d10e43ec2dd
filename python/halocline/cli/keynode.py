# SPDX-License-Identifier: Apache-2.0
"""`halocline keynode`: holds keys of a store and does key switches for engines of other processes."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from ..base.names import device_name
from ..base.option_values import Size
from ..ckks.key_store import KeyStore
from ..keynode.server import KeyNodeServer
from .common import AllowInsecureOption, DeviceOption, ThreadsOption, check_device, checked, command, err

StoreOption = Annotated[
    str,
    typer.Option("--store", metavar="URL", help="Where the keys are: file:FOLDER, http(s)://... or s3://..."),
]
ListenOption = Annotated[
    str,
    typer.Option(
        "--listen",
        metavar="HOST:PORT",
        help="Where to listen; port 0 takes a free one. Beyond loopback, TLS and a token are required.",
    ),
]
CertificateOption = Annotated[
    Path | None, typer.Option("--tls-cert", help="Certificate chain for TLS 1.3, a PEM file.")
]
KeyOption = Annotated[Path | None, typer.Option("--tls-key", help="Its private key, a PEM file.")]
TokenOption = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        help="Tokens, one in a line, of which clients must bring one; else HALOCLINE_KEYNODE_TOKEN is one.",
    ),
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory", callback=checked(Size(share=False)), help="Budget of all keys and encoded weights."
    ),
]
MapMemoryOption = Annotated[
    str,
    typer.Option(
        "--map-memory",
        metavar="SIZE",
        callback=checked(Size(share=False)),
        help="Budget of uploaded weights, as they came.",
    ),
]
DeadlineOption = Annotated[
    float, typer.Option("--deadline", metavar="SECONDS", min=0.001, help="Most seconds for one request.")
]


@command
def keynode(
    store: StoreOption,
    listen: ListenOption = "127.0.0.1:7431",
    certificate: CertificateOption = None,
    private_key: KeyOption = None,
    token_file: TokenOption = None,
    device: DeviceOption = "cpu",
    memory: MemoryOption = None,
    map_memory: MapMemoryOption = "1GiB",
    threads: ThreadsOption = None,
    deadline: DeadlineOption = 600.0,
    allow_insecure: AllowInsecureOption = False,
) -> None:
    """Hold keys of a store, and do key switches for engines that send ciphertexts instead of fetching them.

    Ends on Ctrl-C and SIGTERM; what is being computed then is given up.
    """
    check_device(device)
    server = KeyNodeServer(
        KeyStore(store),
        listen,
        certificate=certificate,
        private_key=private_key,
        token_file=token_file,
        device=device_name(device),
        threads=threads,
        memory=memory,
        map_memory=map_memory,
        deadline=deadline,
        allow_insecure=allow_insecure,
    )
    with _until_told(), contextlib.closing(server):
        err().print(f"key node: {server.url}, keys of {store}", markup=False, soft_wrap=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve()
    err().print("key node: ended", markup=False)


@contextlib.contextmanager
def _until_told() -> Iterator[None]:
    """SIGTERM ends the block as Ctrl-C does."""

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
