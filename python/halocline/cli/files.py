# SPDX-License-Identifier: Apache-2.0
"""`halocline keygen | encrypt | eval | decrypt`: client and server that exchange files.

The client runs keygen, encrypt and decrypt; the server runs eval and sees neither secret key nor values.
"""

from __future__ import annotations

import inspect
import runpy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from .. import _core
from .._values import integer
from ..base.files import file_only, is_standard
from ..budget import MemoryOptions
from ..ciphertext import Ciphertext
from ..client import Client
from ..engine import Engine, RunReport
from ..errors import InvalidArgument, IoError
from ..expression import Expression
from ..keys import EvaluationKeys, KeyPlan, PublicKey
from ..params import Params
from ..program import key_plan
from .common import (
    AllowInsecureOption,
    DeviceOption,
    JsonOption,
    OversubscribeOption,
    ThreadsOption,
    check_device,
    command,
    load_params,
    no_standard_output,
    origin,
    progress_bar,
    results_console,
    size,
    write_json,
)
from .value_files import read_values, write_values

SECRET_FILE = "secret.hlc"
PUBLIC_FILE = "public.hlc"
KEYS_FILE = "keys.hlc"

ClientMemoryOption = Annotated[
    str | None, typer.Option("--memory", help="Budget of the device's memory, e.g. 300MiB.")
]
ExprOption = Annotated[
    str | None,
    typer.Option("--expr", help="Program as an expression, e.g. '(x*x + 0.5).rotate(1)'. Names are inputs."),
]
ScriptOption = Annotated[
    Path | None,
    typer.Option("--script", help="Python file with the program. It is executed: use only files you trust."),
]
FunctionOption = Annotated[
    str, typer.Option("--function", help="Function of the script; its parameters are inputs.")
]


def program_of(expr: str | None, script: Path | None, function: str) -> tuple[Callable[..., Any], list[str]]:
    """The program and the names of its inputs."""
    if (expr is None) == (script is None):
        raise InvalidArgument("program: give either --expr or --script")
    if expr is not None:
        parsed = Expression(expr)
        return parsed, parsed.names
    try:
        found = runpy.run_path(str(script)).get(function)
    except OSError as error:
        raise IoError(f"program: cannot read '{script}': {error.strerror}") from None
    if not callable(found):
        raise InvalidArgument(f"program: '{script}' has no function '{function}'; name one with --function")
    return found, list(inspect.signature(found).parameters)


def _steps(text: str) -> list[int]:
    """Rotation steps from "1,2,-4"."""
    try:
        return [int(word) for word in text.replace(",", " ").split()]
    except ValueError:
        raise InvalidArgument(f"keygen: rotations '{text}', expected integers separated by commas") from None


def _object_params(path: Path, allow_insecure: bool) -> Params:
    return Params.load(file_only(path, "keys"), allow_insecure=allow_insecure)


@command
def keygen(
    folder: Annotated[Path, typer.Argument(help="Folder for the key files; made when missing.")],
    params: Annotated[str, typer.Option("--params", help="A preset, or a file with parameters.")] = "n14-d7",
    rotations: Annotated[str, typer.Option("--rotations", help="Steps, e.g. 1,2,-4.")] = "",
    conjugation: Annotated[bool, typer.Option("--conjugation", help="Add the conjugation key.")] = False,
    level: Annotated[
        int | None, typer.Option("--level", help="Highest level at which keys are used.")
    ] = None,
    expr: ExprOption = None,
    script: ScriptOption = None,
    function: FunctionOption = "program",
    slots: Annotated[int | None, typer.Option("--slots", help="Slots of the program's inputs.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing secret key.")] = False,
    device: DeviceOption = "cpu",
    memory: ClientMemoryOption = None,
    allow_insecure: AllowInsecureOption = False,
    threads: ThreadsOption = None,
    json: JsonOption = None,
) -> None:
    """Generate keys: secret.hlc for the client alone, public.hlc and keys.hlc for others.

    Evaluation keys are those of --rotations, or exactly those that a program needs (--expr, --script). They
    are made one by one: --memory must hold tables, the secret key, one key and three polynomials.
    """
    no_standard_output(folder, "keygen: folder")
    check_device(device)
    chosen = load_params(params, allow_insecure)
    plan = _keygen_plan(chosen, expr, script, function, slots)
    if plan is not None and (rotations or conjugation or level is not None):
        raise InvalidArgument("keygen: give a program or a selection of keys, not both")
    _prepare_folder(folder, force)
    begin = time.perf_counter()
    client = Client(chosen, threads=threads, device=device, memory=memory)
    with progress_bar("generating keys") as progress:
        if plan is not None:
            keys = client.evaluation_keys(plan=plan, progress=progress)
        else:
            steps = _steps(rotations)
            keys = client.evaluation_keys(steps, conjugation=conjugation, level=level, progress=progress)
    files = _write_keys(folder, client, keys)
    results_console(json).print(f"{chosen.name}: {', '.join(keys)}", markup=False)
    _print_files(results_console(json), folder, files)
    content: dict[str, Any] = {"params": chosen.name, "files": files, "rotations": keys.rotations}
    content |= {"keys": list(keys), "device": device, "peak_bytes": client.stats()["peak_bytes"]}
    write_json(json, origin() | content | {"seconds": {"total": time.perf_counter() - begin}})


def _print_files(console: Console, folder: Path, files: dict[str, int]) -> None:
    """One line per key file."""
    for name, count in files.items():
        note = "keep it secret" if name == SECRET_FILE else "may be published"
        console.print(f"  {folder / name}  {size(count)}, {note}", soft_wrap=True, markup=False)


def _prepare_folder(folder: Path, force: bool) -> None:
    """Makes the folder; refuses to replace a secret key unless forced."""
    secret_path = folder / SECRET_FILE
    if secret_path.exists() and not force:
        raise InvalidArgument(f"keygen: '{secret_path}' exists; say --force to replace the secret key")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IoError(f"keygen: cannot make folder '{folder}': {error.strerror}") from None


def _write_keys(folder: Path, client: Client, keys: EvaluationKeys) -> dict[str, int]:
    """Writes the three files and returns their sizes."""
    client.save_secret_key(folder / SECRET_FILE)
    client.public_key().save(folder / PUBLIC_FILE)
    keys.save(folder / KEYS_FILE)
    return {each: (folder / each).stat().st_size for each in (SECRET_FILE, PUBLIC_FILE, KEYS_FILE)}


def _keygen_plan(
    params: Params, expr: str | None, script: Path | None, function: str, slots: int | None
) -> KeyPlan | None:
    if expr is None and script is None:
        return None
    program, names = program_of(expr, script, function)
    count = params.slots if slots is None else integer(slots, "keygen: slots", 1, params.slots)
    return key_plan(params, program, *(np.zeros(count) for _ in names))


@command
def encrypt(
    values: Annotated[
        Path, typer.Argument(help="Numbers: .npy, or text separated by commas or lines; - is standard input.")
    ],
    output: Annotated[
        Path, typer.Option("--out", "-o", help="Ciphertext file to write; - is standard output.")
    ],
    key: Annotated[Path, typer.Option("--key", "-k", help="secret.hlc, or public.hlc.")],
    slots: Annotated[
        int | None, typer.Option("--slots", help="Power of two; as many as needed by default.")
    ] = None,
    level: Annotated[int | None, typer.Option("--level", help="Level of the ciphertext.")] = None,
    device: DeviceOption = "cpu",
    memory: ClientMemoryOption = None,
    allow_insecure: AllowInsecureOption = False,
) -> None:
    """Encrypt numbers with the secret key (smaller, more precise) or the public key."""
    console = results_console(output)
    params = _object_params(key, allow_insecure)
    check_device(device)
    array = read_values(values)
    public = _core.inspect_file(str(key))["kind"] == "public key"
    if public and (device != "cpu" or memory is not None):
        raise InvalidArgument(
            "encrypt: --device and --memory go with the secret key; public keys use the CPU"
        )
    owner = PublicKey.load(key, params) if public else Client.load(key, params, device=device, memory=memory)
    ct = owner.encrypt(array, level=level, slots=slots)
    ct.save(output)
    written = "" if is_standard(output) else f", {size(output.stat().st_size)}"
    console.print(f"{output}: {ct}{written}", markup=False, soft_wrap=True)


@command
def evaluate(
    keys: Annotated[Path, typer.Option("--keys", "-k", help="keys.hlc of the client.")],
    inputs: Annotated[
        list[str], typer.Option("--input", "-i", help="NAME=FILE, or FILE for a single input.")
    ],
    output: Annotated[
        Path, typer.Option("--out", "-o", help="Ciphertext file to write; - is standard output.")
    ],
    expr: ExprOption = None,
    script: ScriptOption = None,
    function: FunctionOption = "program",
    device: DeviceOption = "cpu",
    memory: Annotated[str | None, typer.Option("--memory", help="Budget, e.g. 2GiB.")] = None,
    policy: Annotated[str, typer.Option("--policy", help="How memory is managed.")] = "resident",
    oversubscribe_managed: OversubscribeOption = False,
    allow_insecure: AllowInsecureOption = False,
    threads: ThreadsOption = None,
    json: JsonOption = None,
) -> None:
    """Evaluate a program on ciphertext files, without any secret."""
    console = results_console(json, output)
    check_device(device)
    params = _object_params(keys, allow_insecure)
    program, names = program_of(expr, script, function)
    chosen = _named_inputs(inputs, names)
    bundle = EvaluationKeys.load(keys, params)
    ciphertexts = [Ciphertext.load(chosen[name], params) for name in names]
    with progress_bar("loading keys") as progress:
        options = MemoryOptions(oversubscribe_managed=oversubscribe_managed)
        engine = Engine(
            params, bundle, device, memory, policy, threads=threads, memory_options=options, progress=progress
        )
    result = engine.run(program, *ciphertexts)
    if not isinstance(result, Ciphertext):
        raise InvalidArgument(f"eval: the program returned {type(result).__name__}, expected a ciphertext")
    result.save(output)
    report = engine.last_run
    assert report is not None
    seconds = f"{report.seconds:.3f} s, peak {size(report.peak_bytes)}"
    console.print(f"{output}: {result}, {seconds}", markup=False, soft_wrap=True)
    write_json(json, origin() | _measured(engine, report) | {"level": result.level})


def _measured(engine: Engine, report: RunReport) -> dict[str, Any]:
    """What every command that evaluates writes."""
    return {
        "device": engine.device,
        "params": engine.params.name,
        "policy": engine.policy,
        "budget_bytes": engine.budget_bytes,
        "peak_bytes": report.peak_bytes,
        "seconds": {"total": report.seconds},
        "bytes_moved": report.bytes_moved,
        "stall_seconds": report.stall_seconds,
        "plan_seconds": report.plan_seconds,
    }


def _named_inputs(inputs: list[str], names: list[str]) -> dict[str, Path]:
    """Name -> file from NAME=FILE arguments."""
    if len(inputs) == len(names) == 1 and not inputs[0].startswith(f"{names[0]}="):
        return {names[0]: Path(inputs[0])}
    pairs = [each.partition("=") for each in inputs]
    chosen = {name: Path(file) for name, equals, file in pairs if equals}
    if sum(is_standard(each) for each in chosen.values()) > 1:
        raise InvalidArgument("eval: '-' is given for several inputs; standard input has one of them")
    if len(chosen) != len(inputs) or set(chosen) != set(names):
        wanted = " ".join(f"--input {name}=FILE" for name in names)
        raise InvalidArgument(f"eval: inputs {', '.join(inputs)}; the program needs {wanted}")
    return chosen


@command
def decrypt(
    ciphertext: Annotated[Path, typer.Argument(help="Ciphertext file; - is standard input.")],
    output: Annotated[
        Path, typer.Option("--out", "-o", help="File to write: .npy, or text; - is standard output, as text.")
    ],
    key: Annotated[Path, typer.Option("--key", "-k", help="secret.hlc.")],
    count: Annotated[int | None, typer.Option("--count", min=1, help="Write the first values only.")] = None,
    flooding_bits: Annotated[
        float, typer.Option("--flooding-bits", help="Noise for published results.")
    ] = 0.0,
    device: DeviceOption = "cpu",
    memory: ClientMemoryOption = None,
    allow_insecure: AllowInsecureOption = False,
) -> None:
    """Decrypt a ciphertext file with the secret key. A new output can be read by its owner only."""
    console = results_console(output)
    params = _object_params(key, allow_insecure)
    check_device(device)
    client = Client.load(key, params, device=device, memory=memory)
    values = client.decrypt(Ciphertext.load(ciphertext, params), flooding_bits=flooding_bits)[:count]
    write_values(output, values)
    console.print(f"{output}: {len(values)} values", markup=False, soft_wrap=True)
