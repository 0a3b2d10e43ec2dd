# SPDX-License-Identifier: Apache-2.0
"""`halocline bench` in an empty folder, with small parameters, and runs that stop."""

import json
from pathlib import Path

from halocline.cli.app import app
from typer.testing import CliRunner

SMALL = ["--params", "test-n11-boot", "--allow-insecure", "--threads", "1", "--set", "slots=8"]
CURVE = ["bootstrap-budget", *SMALL, "--batches", "1", "--repetitions", "1", "--policies", "lru,planned"]


class BenchRunner:
    """Runs `halocline bench` and expects an exit status."""

    def __call__(self, *arguments, status=0):
        result = CliRunner().invoke(app, ["bench", *map(str, arguments)])
        assert result.exit_code == status, (result.output, result.exception)
        return result


def read(path):
    return json.loads(Path(path).read_text())


def stop_at(wanted, monkeypatch, owner, name, error):
    """Makes the wanted-th call of a function raise."""
    calls, original = [], getattr(owner, name)

    def stopping(*arguments, **given):
        calls.append(None)
        if len(calls) == wanted:
            raise error
        return original(*arguments, **given)

    monkeypatch.setattr(owner, name, stopping)
