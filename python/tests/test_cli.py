# SPDX-License-Identifier: Apache-2.0
"""The command line, in this process where possible."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import halocline as hc
import numpy as np
import pytest
from halocline.ckks.client import Client as VectorClient
from halocline.cli.app import app
from typer.testing import CliRunner

OLD_FILES = Path(__file__).resolve().parents[2] / "cpp/tests/fuzz/corpus/serialize"
PARAMS = ["--params", "test-n10-d3", "--allow-insecure"]


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Runs a command in an empty folder; returns (exit status, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()

    def run(*args, status=0):
        result = runner.invoke(app, [str(each) for each in args])
        assert result.exit_code == status, result.output + repr(result.exception)
        return result

    return run


def test_version_and_help(call):
    assert hc.__version__ in call("--version").stdout
    for command in (
        (),
        ("params",),
        ("trace",),
        ("run",),
        ("keygen",),
        ("encrypt",),
        ("eval",),
        ("decrypt",),
    ):
        assert "Usage" in call(*command, "--help").stdout
    call("no-such-command", status=2)
    call("run", status=2)


def test_info(call, tmp_path):
    output = call("info", "--json", tmp_path / "i.json").stdout
    content = json.loads((tmp_path / "i.json").read_text())
    assert {each["name"] for each in content["devices"]} == {"cpu", "ghost"}
    assert all(each["read_bytes_per_second"] > 0 for each in content["tiers"])
    assert "resident" in output


def test_info_of_files(call, tmp_path):
    call("keygen", "k", *PARAMS)
    names = ["k/secret.hlc", "k/public.hlc", "k/keys.hlc"]
    output = call("info", *names, "--json", "i.json").stdout
    rows = json.loads((tmp_path / "i.json").read_text())["files"]
    assert [each["kind"] for each in rows] == ["secret key", "public key", "evaluation keys"]
    assert len({each["key_id"] for each in rows}) == 1
    assert {each["version"] for each in rows} == {2}
    assert output.count(f"key {rows[0]['key_id']}") == 3
    (tmp_path / "old").write_bytes((OLD_FILES / "ciphertext").read_bytes())
    assert "ciphertext" in call("info", "old").stdout
    assert "format version 1" in call("info", "old").stdout
    assert "key unknown" in call("info", "old").stdout
    assert "not a Halocline file" in call("info", "i.json", status=1).stderr


def test_params(call):
    rows = json.loads(call("params", "list", "--json", "-").stdout)["presets"]
    assert [row["name"] for row in rows] == hc.preset_names()
    output = call("params", "show", "n14-d7").stdout
    assert "128 bits" in output
    assert "log2 PQ" in output
    shown = json.loads(call("params", "show", "n14-d7", "--json", "-").stdout)
    assert shown["security_bits"] >= 128
    assert len(shown["level_table"]) == 8
    assert shown["security_source"]
    assert shown["bootstrapping"] is None
    assert "nope" in call("params", "show", "nope", status=1).stderr


def test_params_of_bootstrappable_sets(call):
    output = call("params", "show", "n16-boot").stdout
    for text in ("EvalMod", "sparse secret", "weight 32", "range 12", "2^-34.1", "eval mod", "worst slot"):
        assert text in output
    assert "14 levels" in output
    shown = json.loads(call("params", "show", "n16-boot", "--json", "-").stdout)
    assert len(shown["level_table"]) == 29
    found = shown["bootstrapping"]
    assert (found["levels_left"], found["raise_weight"], found["ephemeral_security_bits"]) == (14, 32, 128)
    assert [each["range"] for each in found["ranges"]] == [12, 16]
    assert all(each["log2_overflow_probability"] < -32 for each in found["ranges"])
    assert found["forecast"]["mean_bits"] > found["forecast"]["worst_bits"] > 19


def test_client_and_server_exchange_files(call, tmp_path):
    x, y = np.linspace(-1, 1, 16), np.linspace(0, 1, 16)
    np.save("x.npy", x)
    (tmp_path / "y.csv").write_text("\n".join(map(str, y)))
    program = "(x*x + 0.5*y).rotate(1)"
    call("keygen", "keys", *PARAMS, "--expr", program, "--json", "k.json")
    assert (tmp_path / "keys" / "secret.hlc").stat().st_mode & 0o777 == 0o600
    content = json.loads((tmp_path / "k.json").read_text())
    assert content["rotations"] == [1]
    assert content["keys"] == ["relinearization key", "rotation key for step 1"]
    call("encrypt", "x.npy", "--key", "keys/secret.hlc", "--out", "x.hlc", "--allow-insecure")
    call("encrypt", "y.csv", "--key", "keys/public.hlc", "--out", "y.hlc", "--allow-insecure")
    inputs = ("--input", "x=x.hlc", "--input", "y=y.hlc", "--allow-insecure")
    call("eval", "--keys", "keys/keys.hlc", *inputs, "--out", "z.hlc", "--expr", program, "--json", "e.json")
    report = json.loads((tmp_path / "e.json").read_text())
    assert {"device", "policy", "budget_bytes", "peak_bytes", "seconds", "commit"} <= set(report)
    call("decrypt", "z.hlc", "--key", "keys/secret.hlc", "--out", "z.npy", "--allow-insecure")
    assert np.abs(np.load("z.npy") - np.roll(x * x + 0.5 * y, -1)).max() < 2.0**-14
    call("decrypt", "z.hlc", "--key", "keys/secret.hlc", "--out", "z.csv", "--count", 3, "--allow-insecure")
    assert len((tmp_path / "z.csv").read_text().splitlines()) == 3


def test_complex_numbers_in_text(call, tmp_path):
    (tmp_path / "v.txt").write_text("1+2j, -0.5i 3")
    call("keygen", "k", *PARAMS)
    call("encrypt", "v.txt", "-k", "k/secret.hlc", "-o", "v.hlc", "--allow-insecure")
    call("decrypt", "v.hlc", "-k", "k/secret.hlc", "-o", "w.txt", "--allow-insecure")
    call("encrypt", "w.txt", "-k", "k/secret.hlc", "-o", "v.hlc", "--allow-insecure")
    call("decrypt", "v.hlc", "-k", "k/secret.hlc", "-o", "w.npy", "--allow-insecure")
    assert np.abs(np.load("w.npy") - [1 + 2j, -0.5j, 3, 0]).max() < 2.0**-18


def test_scripts(call, tmp_path):
    (tmp_path / "p.py").write_text(
        "def program(x):\n    return x * x\n\ndef other(a, b):\n    return a + b\n"
    )
    call("keygen", "k", *PARAMS, "--script", "p.py")
    (tmp_path / "v.csv").write_text("0.5,1")
    call("encrypt", "v.csv", "-k", "k/secret.hlc", "-o", "v.hlc", "--allow-insecure")
    evaluate = ("eval", "-k", "k/keys.hlc", "-i", "v.hlc", "-o", "w.hlc", "--allow-insecure")
    call(*evaluate, "--script", "p.py")
    call("decrypt", "w.hlc", "-k", "k/secret.hlc", "-o", "w.npy", "--allow-insecure")
    assert np.abs(np.load("w.npy") - [0.25, 1]).max() < 2.0**-18
    assert "--input a=FILE" in call(*evaluate, "--script", "p.py", "--function", "other", status=1).stderr
    assert "no function" in call(*evaluate, "--script", "p.py", "--function", "none", status=1).stderr
    assert "cannot read" in call(*evaluate, "--script", "no.py", status=1).stderr
    assert "either" in call(*evaluate, status=1).stderr


def test_faults_of_a_script_are_told_by_their_line(call, tmp_path):
    call("keygen", "k", *PARAMS)
    (tmp_path / "v.txt").write_text("1 2")
    call("encrypt", "v.txt", "-o", "x.hlc", "-k", "k/secret.hlc", "--allow-insecure")
    for text, message in (
        ("def program(x) return x", "line 1: SyntaxError: expected ':'"),
        ("import no_such_module", "line 1: ModuleNotFoundError: No module named 'no_such_module'"),
        ("open('no_such_file')", "line 1: FileNotFoundError"),
        ("def program(x):\n    return x.turn(1)", "line 2: AttributeError: 'Ciphertext' object has no"),
    ):
        (tmp_path / "p.py").write_text(text)
        for command in (
            ("eval", "-k", "k/keys.hlc", "-i", "x.hlc", "-o", "y.hlc", "--allow-insecure"),
            ("keygen", "other", *PARAMS),
            ("trace", "record", "-o", "t.csv", *PARAMS),
        ):
            result = call(*command, "--script", "p.py", status=1)
            assert f"program: 'p.py', {message}" in result.stderr
            assert result.stderr.startswith("error: ")  # no empty line of a progress bar, no traceback
    assert not list(tmp_path.glob("[yt].*"))


def test_folders_of_outputs_are_looked_for_before_the_work(call, tmp_path):
    for command in (
        ("run", "digits", "--json", "none/x.json"),
        ("run", "digits", "--trace", "none/x.csv"),
        ("run", "digits", "--profile", "none/x.json"),
        ("keygen", "k", *PARAMS, "--json", "none/x.json"),
        ("trace", "record", "digits", "-o", "none/x.csv"),
    ):
        result = call(*command, status=1)
        assert f"cannot write '{command[-1]}': there is no folder 'none'; make it first" in result.stderr
    assert not list(tmp_path.iterdir())


def test_errors_name_options_of_the_command_line(call, tmp_path):
    assert "say --allow-insecure" in call("keygen", "k", "--params", "test-n10-d3", status=1).stderr
    call("keygen", "k", *PARAMS)
    (tmp_path / "v.txt").write_text("1 2")
    message = call("encrypt", "v.txt", "-o", "x.hlc", "-k", "k/keys.hlc", "--allow-insecure", status=1).stderr
    assert "'k/keys.hlc' is of kind 'evaluation keys'; give secret.hlc or public.hlc" in message
    call("encrypt", "v.txt", "-o", "x.hlc", "-k", "k/secret.hlc", "--allow-insecure")
    on_server = ("eval", "-k", "k/keys.hlc", "-o", "y.hlc", "--allow-insecure")
    message = call(*on_server, "-i", "x.hlc", "--expr", "x.rotate(3)", status=1).stderr
    assert "rotation key for step 3 missing" in message
    assert "`halocline keygen FOLDER --add`" in message
    message = call(*on_server, "-i", "y=x.hlc", "--expr", "x*x", status=1).stderr
    assert "the program needs --input x=FILE" in message
    message = call("keygen", "other", *PARAMS, "--expr", "x )", status=1).stderr
    assert "cannot be parsed: column 3: unmatched ')'" in message
    call(*on_server, "-i", "x.hlc", "--expr", "x * x")
    sharing = ("decrypt", "y.hlc", "-o", "y.txt", "-k", "k/secret.hlc", "--allow-insecure", "--for-sharing")
    assert "give --error-bound, the" in call(*sharing, status=1).stderr
    assert "or say --magnitude if" in call(*sharing, "--error-bound", "1e-2", status=1).stderr


def test_results_for_others_get_noise(call, tmp_path):
    call("keygen", "k", *PARAMS)
    (tmp_path / "v.csv").write_text("0.25, -0.5")
    call("encrypt", "v.csv", "-k", "k/secret.hlc", "-o", "v.hlc", "--allow-insecure")
    call("eval", "-k", "k/keys.hlc", "-i", "v.hlc", "-o", "w.hlc", "--expr", "x*x", "--allow-insecure")
    decrypt = ("decrypt", "-k", "k/secret.hlc", "--allow-insecure", "-o")
    shared = call(*decrypt, "v.npy", "v.hlc", "--for-sharing", "--queries", 4)
    assert "30 bits of security for 4 results" in " ".join(shared.output.split())
    error = np.abs(np.load("v.npy") - [0.25, -0.5]).max()
    assert 2.0**-30 < error < 2.0**-8
    call(*decrypt, "w.npy", "w.hlc", "--for-sharing", "--error-bound", 1e-8, "--magnitude", 2)
    assert np.abs(np.load("w.npy") - [0.0625, 0.25]).max() < 0.1
    for options, message in [
        (("w.hlc", "--for-sharing"), "--error-bound"),
        (("w.hlc", "--error-bound", 1e-8), "--for-sharing"),
        (("v.hlc", "--for-sharing", "--flooding-bits", 3), "leave --flooding-bits out"),
        (("v.hlc", "--for-sharing", "--queries", 10**15), "would leave nothing"),
    ]:
        assert message in " ".join(call(*decrypt, "no.npy", *options, status=1).stderr.split())
    assert not (tmp_path / "no.npy").exists()


def test_errors_are_one_message_and_no_file(call, tmp_path):
    call("keygen", "k", *PARAMS, "--rotations", "1,-2")
    (tmp_path / "v.csv").write_text("1, 2")
    call("encrypt", "v.csv", "-k", "k/secret.hlc", "-o", "v.hlc", "--allow-insecure")
    before = sorted(each.name for each in tmp_path.iterdir())
    evaluate = ("eval", "-i", "v.hlc", "-o", "w.hlc", "--allow-insecure")
    for args, message in [
        (("keygen", "k", *PARAMS), "--force"),
        (("keygen", "j", "--params", "test-n10-d3"), "--allow-insecure"),
        (("keygen", "j", *PARAMS, "--rotations", "one"), "integers"),
        (("keygen", "j", *PARAMS, "--rotations", "9999"), "9999"),
        (("keygen", "j", *PARAMS, "--rotations", "1", "--expr", "x"), "not both"),
        (("encrypt", "no.csv", "-k", "k/secret.hlc", "-o", "w.hlc", "--allow-insecure"), "no.csv"),
        (("encrypt", "v.hlc", "-k", "k/secret.hlc", "-o", "w.hlc", "--allow-insecure"), "of numbers"),
        (("encrypt", "v.csv", "-k", "k/keys.hlc", "-o", "w.hlc", "--allow-insecure"), "secret.hlc"),
        (("encrypt", "v.csv", "-k", "k/secret.hlc", "-o", "w.hlc"), "--allow-insecure"),
        (("decrypt", "v.hlc", "-k", "k/public.hlc", "-o", "w.npy", "--allow-insecure"), "secret key"),
        (("decrypt", "k/keys.hlc", "-k", "k/secret.hlc", "-o", "w.npy", "--allow-insecure"), "ciphertext"),
        ((*evaluate, "-k", "k/secret.hlc", "--expr", "x*x"), "evaluation keys"),
        ((*evaluate, "-k", "k/keys.hlc", "--expr", "x.rotate(5)"), "step 5"),
        ((*evaluate, "-k", "k/keys.hlc", "--expr", "open(x)"), "unknown function"),
        ((*evaluate, "-k", "k/keys.hlc", "--expr", "x", "--memory", "10KiB"), "budget"),
        ((*evaluate, "-k", "k/keys.hlc", "--expr", "x", "--device", "tpu"), "unknown device"),
        ((*evaluate, "-k", "k/keys.hlc", "--expr", "x", "--policy", "magic"), "unknown"),
    ]:
        result = call(*args, status=1)
        assert message in " ".join(result.stderr.split()), args
        assert "Traceback" not in result.output
        (tmp_path / "j").rmdir() if (tmp_path / "j").exists() else None
        assert sorted(each.name for each in tmp_path.iterdir()) == before, args


def test_clients_say_where_they_work_and_in_how_much_memory(call, tmp_path):
    steps = ",".join(str(step) for step in range(1, 12))
    call("keygen", "k", *PARAMS, "--rotations", steps, "--memory", "4MiB", "--json", "k.json")
    content = json.loads((tmp_path / "k.json").read_text())
    assert content["device"] == "cpu"
    assert content["peak_bytes"] < 4 << 20
    assert content["files"]["keys.hlc"] > 0
    (tmp_path / "v.txt").write_text("1, 2, 3")
    common = ("--allow-insecure", "--memory", "4MiB")
    call("encrypt", "v.txt", "--key", "k/secret.hlc", "--out", "x.hlc", *common)
    call("decrypt", "x.hlc", "--key", "k/secret.hlc", "--out", "y.txt", *common)
    assert np.allclose(np.loadtxt(tmp_path / "y.txt")[:3], [1, 2, 3], atol=1e-6)
    for args, words in (
        (("keygen", "j", *PARAMS, "--memory", "100KiB"), "budget"),
        (("keygen", "j", *PARAMS, "--device", "abacus"), "abacus"),
        (("encrypt", "v.txt", "-k", "k/public.hlc", "-o", "z", *common), "secret key"),
    ):
        assert words in call(*args, status=1).stderr


def test_traces(call, tmp_path):
    call("trace", "record", "-o", "t.csv", *PARAMS, "--expr", "(x*y).rotate(1)")
    assert "ciphertext" in call("trace", "stats", "t.csv", "--json", "s.json").stdout
    stats = json.loads((tmp_path / "s.json").read_text())
    assert stats["peak_bytes"] == hc.Trace.load("t.csv").peak_bytes
    assert stats["classes"]["evaluation_key"]["peak_bytes"] > 0
    for name in ("t.png", "t.svg"):
        call("trace", "plot", "t.csv", "-o", name)
        assert (tmp_path / name).stat().st_size > 1000
    assert ".png" in call("trace", "plot", "t.csv", "-o", "t.xyz", status=1).stderr
    (tmp_path / "bad.csv").write_text("step\n1\n")
    call("trace", "stats", "bad.csv", status=1)
    call("trace", "record", "-o", "t.csv", status=1)
    call("trace", "record", "mnist", "-o", "t.csv", status=1)
    call("trace", "record", "-o", "t.csv", "--device", "cpu", "--expr", "x", status=1)


def test_bench(call, tmp_path):
    assert "unknown suite" in call("bench", "nonsense", status=2).stderr
    assert "--binary: cannot read 'none'" in call("bench", "ntt", "--binary", "none", status=1).stderr
    (tmp_path / "text").write_text("no program")
    assert "make bench" in call("bench", "ntt", "--binary", "text", status=1).stderr
    fake = tmp_path / "fake"
    row = {"name": "ntt/1", "real_time": 1.5, "cpu_time": 1.0, "time_unit": "us", "iterations": 9}
    (tmp_path / "rows.json").write_text(json.dumps({"benchmarks": [row]}))
    copy = f"cp {tmp_path / 'rows.json'} ${{a#*=}}"
    script = f'#!/bin/sh\nfor a in "$@"; do case $a in --benchmark_out=*) {copy};; esac; done\n'
    fake.write_text(script)
    fake.chmod(0o755)
    assert "ntt/1" in call("bench", "ntt", "--quick", "--binary", fake, "--json", "b.json").stdout
    assert json.loads((tmp_path / "b.json").read_text())["benchmarks"][0]["name"] == "ntt/1"
    fake.write_text("#!/bin/sh\necho broken >&2; exit 3\n")
    assert "status 3" in call("bench", "ntt", "--binary", fake, status=1).stderr


def test_interrupt_in_a_command(call, tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(VectorClient, "public_key", interrupted)  # commands have no arrays
    result = call("keygen", "k", *PARAMS, status=130)
    assert "interrupted" in result.stderr
    assert "Traceback" not in result.output


def test_ctrl_c_leaves_no_half_file(tmp_path):
    folder = tmp_path / "keys"
    rotations = ",".join(str(i) for i in range(1, 400))
    command = [sys.executable, "-m", "halocline", "keygen", str(folder), "--params", "n15-d14"]
    # A shell makes its background jobs ignore the signal; a new process inherits that, but no handler.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [*command, "--rotations", rotations],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"NO_COLOR": "1"},
    )
    signal.signal(signal.SIGINT, before)
    while not folder.exists() and process.poll() is None:  # made just before the keys
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert not folder.exists()  # the command made it


def test_run_refuses_options_of_other_workloads(call):
    result = call("run", "digits", "--kinds", "full", status=2)
    said = " ".join(result.output.replace("│", " ").split())
    assert "digits has no option --kinds." in said
    assert all(flag in said for flag in ("--images", "--memory", "--json"))
