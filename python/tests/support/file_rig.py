# SPDX-License-Identifier: Apache-2.0
"""Programs in processes of their own, for tests of files: with a time limit, and with measured memory."""

import subprocess
import sys
from pathlib import Path

SECONDS = 60
"""Far more than anything here takes; a pipe that is waited for is noticed by it."""


def run(program, *arguments, stdin=None, data=None):
    """A program in a process of its own: (exit status, standard output, standard error)."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    made = subprocess.run(command, stdin=stdin, input=data, capture_output=True, timeout=SECONDS, check=False)
    return made.returncode, made.stdout, made.stderr.decode()


def halocline(*arguments, data=None):
    """The command line, with standard input."""
    program = "import sys; from halocline.cli import main; sys.exit(main())"
    return run(program, *arguments, data=data if data is not None else b"")


def loaders(path):
    """Every loader of files, on a path."""
    import halocline as hc
    import halocline.nn as nn
    from halocline.base.files import open_regular, read_text
    from halocline.cli.bench.results import stored
    from halocline.cli.common import load_params
    from halocline.cli.value_files import read_values
    from halocline.engine.planned_run import load_plan
    from halocline.nn.tensors import read_tensors
    from halocline.workloads.digits.model import load_model
    from halocline.workloads.helr.data import read_idx

    public = hc.Client(hc.Params.preset("test-n10-d3", allow_insecure=True), threads=1).public_key()
    return {
        "params": lambda: load_params(str(path)),
        "container": lambda: hc.Params.load(path),
        "ciphertext": lambda: hc.Ciphertext.load(path),
        "encrypted array": lambda: hc.EncryptedArray.load(path),
        "keys": lambda: hc.EvaluationKeys.load(path),
        "public key": lambda: hc.PublicKey.load(path),
        "secret key": lambda: hc.Client.load(path),
        "plan": lambda: hc.Plan.load(path),
        "plan of a run": lambda: load_plan(path, "", False),
        "trace": lambda: hc.Trace.load(path),
        "device model": lambda: hc.DeviceModel.load(path),
        "decisions": lambda: hc.MemoryOptions(decisions=path)._bind(False, None, "tests"),
        "values": lambda: public.encrypt(read_values(Path(path))),
        "weights": lambda: read_tensors(path),
        "model": lambda: nn.load(path),
        "digits": lambda: load_model(path),
        "images": lambda: nn.load_images(path),
        "result": lambda: stored(Path(path), "ratio"),
        "array": lambda: read_idx(path, 1),
        "text": lambda: read_text(path, "text", 1000),
        "file": lambda: open_regular(path, "file"),
    }
