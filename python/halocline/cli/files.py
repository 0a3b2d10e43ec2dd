# SPDX-License-Identifier: Apache-2.0
"""`halocline keygen | encrypt | eval | decrypt`: client and server that exchange files.

The client runs keygen, encrypt and decrypt; the server runs eval and sees neither secret key nor values.
"""

from __future__ import annotations

import contextlib
import inspect
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from .. import _core
from ..base.errors import InvalidArgument, KeyMismatch, MissingKey
from ..base.files import file_only, is_standard
from ..base.names import device_name, policy_name
from ..base.values import integer
from ..ckks.ciphertext import Ciphertext
from ..ckks.client import Client
from ..ckks.keys import EvaluationKeys, KeyPlan, PublicKey
from ..ckks.params import Params
from ..ckks.sharing import Flooding
from ..engine.engine import Engine, RunReport
from ..engine.program import key_plan
from ..memory.budget import MemoryOptions
from .common import (
    AllowInsecureOption,
    DeviceOption,
    JsonOption,
    OversubscribeOption,
    PolicyOption,
    ThreadsOption,
    check_device,
    command,
    err,
    load_params,
    no_standard_output,
    origin,
    progress_bar,
    results_console,
    size,
    write_json,
)
from .eval_budget import EvalBudget, memory_text
from .expression import FUNCTIONS, METHODS, Expression
from .key_files import KEYS_FILE, PUBLIC_FILE, SECRET_FILE, open_folder, write_key_files
from .script import script_errors, script_function
from .value_files import read_values, write_values

ClientMemoryOption = Annotated[
    str | None, typer.Option("--memory", help="Budget of the device's memory, e.g. 300MiB.")
]
ExprOption = Annotated[
    str | None,
    typer.Option(
        "--expr",
        help="Program as an expression, e.g. '(x*x + 0.5).rotate(1)'. Names are inputs; "
        f"functions: {', '.join(FUNCTIONS)}; methods of names: {', '.join(METHODS)}.",
    ),
]
ScriptOption = Annotated[
    Path | None,
    typer.Option("--script", help="Python file with the program. It is executed: use only files you trust."),
]
DecisionsOption = Annotated[
    Path | None,
    typer.Option("--decisions", metavar="FILE", help="Policy profiled: what `halocline trace decide` wrote."),
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
    assert script is not None
    found = script_function(script, function)
    return found, list(inspect.signature(found).parameters)


def _steps(text: str, params: Params) -> list[int]:
    """Rotation steps from "1,2,-4"."""
    try:
        steps = [int(word) for word in text.replace(",", " ").split()]
    except ValueError:
        raise InvalidArgument(f"keygen: rotations '{text}', expected integers separated by commas") from None
    return [integer(step, "keygen: --rotations", 1 - params.slots, params.slots - 1) for step in steps]


def _object_params(path: Path, allow_insecure: bool) -> Params:
    return Params.load(file_only(path, "keys"), allow_insecure=allow_insecure)


@command
def keygen(
    folder: Annotated[Path, typer.Argument(help="Folder for the key files; made when missing.")],
    params: Annotated[
        str | None, typer.Option("--params", help="A preset, or a file with parameters; n14-d7 by default.")
    ] = None,
    add: Annotated[
        bool, typer.Option("--add", help="Add evaluation keys to those of the secret key in the folder.")
    ] = False,
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
    """Generate keys: secret.hlc for the client alone, public.hlc and keys.hlc for others; all or none.

    Evaluation keys are those of --rotations, or exactly those that a program needs (--expr, --script). They
    are made one by one: --memory must hold tables, the secret key, one key and three polynomials. With --add
    keys.hlc gets more keys, for another program, and the rest of the folder stays.
    """
    no_standard_output(folder, "keygen: folder")
    check_device(device)
    _check_add(folder, add, params, force)
    chosen = _keygen_params(folder, params, add, allow_insecure)
    plan = _keygen_plan(chosen, expr, script, function, slots)
    if plan is not None and (rotations or conjugation or level is not None):
        raise InvalidArgument("keygen: give a program or a selection of keys, not both")
    wanted: dict[str, Any] = {"plan": plan}
    if plan is None:
        wanted = {"rotations": _steps(rotations, chosen), "conjugation": conjugation, "level": level}
    with open_folder(folder, force or add, _tell):
        begin = time.perf_counter()
        place: dict[str, Any] = {"threads": threads, "device": device_name(device), "memory": memory}
        client = Client.load(folder / SECRET_FILE, chosen, **place) if add else Client(chosen, **place)
        keys, files = _make_keys(folder, client, wanted, add)
    _report_keygen(json, folder, client, keys, files, time.perf_counter() - begin)


def _keygen_params(folder: Path, params: str | None, add: bool, allow_insecure: bool) -> Params:
    """Those of the secret key to add to, or those asked for."""
    if add:
        return _object_params(folder / SECRET_FILE, allow_insecure)
    return load_params(params or "n14-d7", allow_insecure)


def _report_keygen(
    json: Path | None,
    folder: Path,
    client: Client,
    keys: EvaluationKeys,
    files: dict[str, int],
    seconds: float,
) -> None:
    _print_keys(results_console(json), client, keys)
    _print_files(results_console(json), folder, files)
    content: dict[str, Any] = {"params": client.params.name, "files": files, "key_id": client.key_id}
    content |= {"rotations": keys.rotations, "keys": list(keys)}
    content |= {"device": client.device, "peak_bytes": client.stats()["peak_bytes"]}
    write_json(json, origin() | content | {"seconds": {"total": seconds}})


def _tell(note: str) -> None:
    err().print(f"note: {note}", markup=False, soft_wrap=True)


def _print_keys(console: Console, client: Client, keys: EvaluationKeys) -> None:
    names = ", ".join(keys) or "no evaluation keys"
    console.print(f"{client.params.name or 'own parameters'}: {names}", markup=False)
    console.print(f"  key identifier {client.key_id}", markup=False)


def _print_files(console: Console, folder: Path, files: dict[str, int]) -> None:
    """One line per key file."""
    for name, count in files.items():
        note = "keep it secret" if name == SECRET_FILE else "may be published"
        console.print(f"  {folder / name}  {size(count)}, {note}", soft_wrap=True, markup=False)


def _make_keys(
    folder: Path, client: Client, wanted: dict[str, Any], add: bool
) -> tuple[EvaluationKeys, dict[str, int]]:
    """The evaluation keys, and the sizes of the files that were written, all or none.

    wanted: arguments of `Client.evaluation_keys`. add: to the keys in the folder, and write their file only.
    """
    there = EvaluationKeys.load(folder / KEYS_FILE, client.params) if add else None
    with progress_bar("generating keys") as progress:
        keys = client.evaluation_keys(**wanted, extend=there, progress=progress)
    if add:
        keys.save(folder / KEYS_FILE)
        return keys, {KEYS_FILE: (folder / KEYS_FILE).stat().st_size}
    public = client.public_key()
    writers = {SECRET_FILE: client.save_secret_key, PUBLIC_FILE: public.save, KEYS_FILE: keys.save}
    return keys, write_key_files(folder, writers)


def _check_add(folder: Path, add: bool, params: str | None, force: bool) -> None:
    """Raises InvalidArgument where --add has nothing to add to, or stands beside what it excludes."""
    if not add:
        return
    if params is not None or force:
        raise InvalidArgument(
            "keygen: --add keeps the secret key and its parameters; leave --params and --force out"
        )
    missing = [name for name in (SECRET_FILE, KEYS_FILE) if not (folder / name).is_file()]
    if missing:
        raise InvalidArgument(
            f"keygen: --add: '{folder}' has no {' and no '.join(missing)}; make a client without --add first"
        )


def _keygen_plan(
    params: Params, expr: str | None, script: Path | None, function: str, slots: int | None
) -> KeyPlan | None:
    if expr is None and script is None:
        return None
    program, names = program_of(expr, script, function)
    count = params.slots if slots is None else integer(slots, "keygen: slots", 1, params.slots)
    with script_errors(script):
        return key_plan(params, program, *(np.zeros(count) for _ in names))


def _expect_one_key(operation: str, paths: list[Path]) -> None:
    """Compares the secret keys that files belong to, as their headers say, before anything is loaded.

    Raises KeyMismatch that names two files and their keys.
    """
    known: dict[str, Path] = {}
    for path in paths:
        if is_standard(path):
            continue  # it can be read only once; what it is loaded for compares its key
        key_id = _core.inspect_file(str(path))["key_id"]
        if key_id is not None:
            known.setdefault(key_id, path)
    if len(known) > 1:
        (one, path), (other, second) = list(known.items())[:2]
        raise KeyMismatch(
            f"{operation}: '{path}' belongs to the secret key {one}, '{second}' to the secret key {other}; "
            "use ciphertexts and keys of one client together"
        )


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
    kind = _core.inspect_file(str(key))["kind"]
    if kind not in ("public key", "secret key"):
        raise InvalidArgument(
            f"encrypt: --key: '{key}' is of kind '{kind}'; give {SECRET_FILE} or {PUBLIC_FILE}"
        )
    public = kind == "public key"
    if public and (device != "cpu" or memory is not None):
        raise InvalidArgument(
            "encrypt: --device and --memory go with the secret key; public keys use the CPU"
        )
    owner: PublicKey | Client
    if public:
        owner = PublicKey.load(key, params)
    else:
        owner = Client.load(key, params, device=device_name(device), memory=memory)
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
    memory: Annotated[
        str | None, typer.Option("--memory", help="Budget, e.g. 2GiB, or 50% of what the program holds.")
    ] = None,
    policy: PolicyOption = "resident",
    decisions: DecisionsOption = None,
    oversubscribe_managed: OversubscribeOption = False,
    allow_insecure: AllowInsecureOption = False,
    threads: ThreadsOption = None,
    json: JsonOption = None,
) -> None:
    """Evaluate a program on ciphertext files, without any secret."""
    console = results_console(json, output)
    check_device(device)
    _check_decisions(policy, decisions)
    params = _object_params(keys, allow_insecure)
    program, names = program_of(expr, script, function)
    chosen = named_inputs(inputs, names, "eval")
    _expect_one_key("eval", [keys, *(chosen[name] for name in names)])
    bundle = EvaluationKeys.load(keys, params)
    ciphertexts = [Ciphertext.load(chosen[name], params) for name in names]
    with script_errors(script), _key_advice():
        budget = EvalBudget(memory, policy_name(policy), program, ciphertexts, bundle)
        with progress_bar("loading keys") as progress:
            options = MemoryOptions(oversubscribe_managed=oversubscribe_managed, decisions=decisions)
            engine = budget.make_engine(device_name(device), threads, options, progress)
        result = engine.run(program, *ciphertexts)
    if not isinstance(result, Ciphertext):
        raise InvalidArgument(f"eval: the program returned {type(result).__name__}, expected a ciphertext")
    result.save(output)
    report = engine.last_run
    assert report is not None
    spent = f"{report.seconds:.3f} s, {memory_text(report, engine.budget_bytes)}"
    console.print(f"{output}: {result}, {spent}", markup=False, soft_wrap=True)
    write_json(json, origin() | _measured(engine, report) | {"level": result.level})


def _check_decisions(policy: str, decisions: Path | None) -> None:
    """Raises InvalidArgument where policy `profiled` has nothing to follow, or another one has decisions."""
    if decisions is not None and policy != "profiled":
        raise InvalidArgument(f"eval: --decisions is for --policy profiled, got --policy {policy}")
    if policy == "profiled" and decisions is None:
        raise InvalidArgument(
            "eval: --policy profiled needs --decisions: what `halocline trace decide` wrote"
        )


@contextlib.contextmanager
def _key_advice() -> Iterator[None]:
    """Adds to MissingKey how the command line makes the keys of a program."""
    try:
        yield
    except MissingKey as error:
        raise MissingKey(
            f"{error}. `halocline keygen FOLDER --add` adds the keys of a program to those of a client: give "
            "it the same --expr or --script"
        ) from None


def _measured(engine: Engine, report: RunReport) -> dict[str, Any]:
    """What every command that evaluates writes."""
    return {
        "device": engine.device,
        "params": engine.params.name,
        "policy": engine.policy,
        "budget_bytes": engine.budget_bytes,
        "peak_bytes": report.peak_fast_bytes,
        "live_peak_bytes": report.peak_bytes,
        "seconds": {"total": report.seconds},
        "bytes_moved": report.bytes_moved,
        "stall_seconds": report.stall_seconds,
        "plan_seconds": report.plan_seconds,
    }


def named_inputs(inputs: list[str], names: list[str], what: str) -> dict[str, Path]:
    """Name -> file from NAME=FILE arguments."""
    alone = len(inputs) == len(names) == 1 and not inputs[0].startswith(f"{names[0]}=")
    if alone and ("=" not in inputs[0] or Path(inputs[0]).exists()):
        return {names[0]: Path(inputs[0])}
    pairs = [each.partition("=") for each in inputs]
    chosen = {name: Path(file) for name, equals, file in pairs if equals}
    if sum(is_standard(each) for each in chosen.values()) > 1:
        raise InvalidArgument(f"{what}: '-' is given for several inputs; standard input has one of them")
    if len(chosen) != len(inputs) or set(chosen) != set(names):
        wanted = " ".join(f"--input {name}=FILE" for name in names)
        raise InvalidArgument(f"{what}: inputs {', '.join(inputs)}; the program needs {wanted}")
    return chosen


def _check_sharing(for_sharing: bool, has_options: bool, flooding_bits: float) -> None:
    if has_options and not for_sharing:
        raise InvalidArgument("decrypt: --error-bound, --queries, --magnitude need --for-sharing; add it")
    if for_sharing and flooding_bits:
        raise InvalidArgument("decrypt: --for-sharing computes the noise; leave --flooding-bits out")


def _noise_text(found: Flooding) -> str:
    return (
        f", noise of deviation {found.slot_stddev:.3g}: {found.precision_bits:.1f} bits are left; "
        f"{found.statistical_bits:g} bits of security for {found.queries} results under this key"
    )


@command
def decrypt(
    ciphertext: Annotated[Path, typer.Argument(help="Ciphertext file; - is standard input.")],
    output: Annotated[
        Path, typer.Option("--out", "-o", help="File to write: .npy, or text; - is standard output, as text.")
    ],
    key: Annotated[Path, typer.Option("--key", "-k", help="secret.hlc.")],
    count: Annotated[int | None, typer.Option("--count", min=1, help="Write the first values only.")] = None,
    flooding_bits: Annotated[
        float, typer.Option("--flooding-bits", help="Noise of a width of your own; see --for-sharing.")
    ] = 0.0,
    for_sharing: Annotated[
        bool, typer.Option("--for-sharing", help="With the noise that results for others need.")
    ] = False,
    error_bound: Annotated[
        float | None, typer.Option("--error-bound", help="Largest error of a slot, for computed results.")
    ] = None,
    queries: Annotated[
        int, typer.Option("--queries", min=1, help="Results ever shared under this secret key.")
    ] = 1,
    magnitude: Annotated[float, typer.Option("--magnitude", help="Largest value that is expected.")] = 1.0,
    device: DeviceOption = "cpu",
    memory: ClientMemoryOption = None,
    allow_insecure: AllowInsecureOption = False,
) -> None:
    """Decrypt a ciphertext file with the secret key. A new output can be read by its owner only."""
    _check_sharing(for_sharing, error_bound is not None or queries != 1 or magnitude != 1.0, flooding_bits)
    console = results_console(output)
    params = _object_params(key, allow_insecure)
    check_device(device)
    _expect_one_key("decrypt", [key, ciphertext])
    client = Client.load(key, params, device=device_name(device), memory=memory)
    loaded = Ciphertext.load(ciphertext, params)
    if for_sharing:
        shared = client.decrypt_for_sharing(
            loaded, error_bound=error_bound, queries=queries, magnitude=magnitude
        )
        values, noise = shared.values[:count], _noise_text(shared.flooding)
    else:
        values, noise = client.decrypt(loaded, flooding_bits=flooding_bits)[:count], ""
    write_values(output, values)
    console.print(f"{output}: {len(values)} values{noise}", markup=False, soft_wrap=True)
