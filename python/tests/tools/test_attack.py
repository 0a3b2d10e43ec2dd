# SPDX-License-Identifier: Apache-2.0
"""The program that attacks the product: it notices what it is there for."""

import random
import subprocess
import sys

import attack
import halocline as hc
import numpy as np
import pytest
from attacks.case import Case, Finding, outcome
from attacks.seals import mutate, seal_container, seal_plan


def test_seals_are_those_of_the_library(client, params):
    for data in (client.encrypt([1.0]).to_bytes(), client.evaluation_keys([1]).to_bytes()):
        assert seal_container(data) == data
        broken = bytearray(data)
        broken[96:128] = bytes(32)
        assert seal_container(bytes(broken)) == data
    trace = hc.trace_program(params, lambda x: x.rotate(1) + x.rotate(2), np.zeros(8)).trace
    plan = hc.plan_trace(trace, "80%").to_bytes()
    assert seal_plan(plan[:-8] + bytes(8)) == plan


def test_mutations_repeat_with_their_seed_and_change_something():
    data = bytes(range(256)) * 20
    made = [mutate(random.Random(7), data) for _ in range(2)]
    assert made[0] == made[1]
    assert sum(mutate(random.Random(i), data) != data for i in range(50)) > 40


def test_only_exceptions_of_the_package_are_clean():
    def raises(error):
        raise error

    assert isinstance(outcome(lambda: raises(hc.CorruptData("why")), "x"), hc.CorruptData)
    assert outcome(lambda: 5, "x") == 5
    for error in (ValueError("no"), MemoryError(), hc.CorruptData("")):
        with pytest.raises(Finding):
            outcome(lambda error=error: raises(error), "x")


@pytest.fixture
def planted(monkeypatch):
    """Runs attack.attack with a worker made of the given lines; the number of findings."""

    def run(body, patience=60.0):
        program = "import json, os, sys, time\nopen(sys.argv[-1] + '/case', 'w').write('3')\n" + body
        start = subprocess.Popen

        def replaced(command, **options):
            return start([sys.executable, "-c", program, *command[-1:]], **options)

        monkeypatch.setattr(attack, "PATIENCE", patience)
        monkeypatch.setattr(attack.subprocess, "Popen", replaced)
        return attack.attack("loaders", 1, 3, 0.0)

    return run


def test_a_clean_process_is_no_finding(planted):
    assert planted("print(json.dumps({'cases': 1}))") == 0


@pytest.mark.parametrize(
    "body",
    [
        "print(json.dumps({'case': 3, 'what': 'wrong result'}))\nprint(json.dumps({'cases': 1}))",
        "os.abort()",
        "sys.exit(5)",
        "print('Traceback (most recent call last)', file=sys.stderr)",
    ],
)
def test_wrong_results_crashes_and_tracebacks_are_findings(planted, body, capsys):
    assert planted(body) == 1
    assert "--only loaders --case 3" in capsys.readouterr().err


def test_a_hang_is_a_finding(planted, capsys):
    assert planted("time.sleep(600)", patience=0.5) == 1
    assert "hung" in capsys.readouterr().err


def test_a_case_is_repeatable(tmp_path):
    a, b = (Case("plans", 5, 17, tmp_path).rng.random() for _ in range(2))
    assert a == b != Case("plans", 5, 18, tmp_path).rng.random()


@pytest.mark.parametrize(
    "options", [["--only", "nothing"], ["--case", "3"], ["--seconds", "0"], ["--seconds", "nan"]]
)
def test_options_are_checked_first(options, capsys):
    with pytest.raises(SystemExit) as ended:
        attack.main(options)
    assert ended.value.code == 2
    assert ": error: " in capsys.readouterr().err


def test_a_second_of_one_attack(capfd):
    assert attack.main(["--seconds", "1", "--seed", "3", "--only", "plans"]) == 0
    assert "plans:" in capfd.readouterr().out
