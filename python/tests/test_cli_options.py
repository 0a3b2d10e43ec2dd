# SPDX-License-Identifier: Apache-2.0
"""Commands that are made from dataclasses: each shows and takes its own options, and checks them first."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import halocline as hc
import pytest
from halocline.base import option_values as values
from halocline.base.options import OptionError, Options, described
from halocline.cli.app import app
from halocline.cli.bench import commands as bench_commands
from halocline.cli.bench.table import SUITES, Suite
from halocline.cli.outputs import PictureOutputs, RunOutputs
from halocline.cli.run.table import WORKLOADS, Workload
from halocline.workloads.bootstrap.options import BootstrapRunOptions
from halocline.workloads.bootstrap.run import run as run_bootstrap
from halocline.workloads.digits.options import DigitsOptions
from halocline.workloads.options import ParamsName
from halocline.workloads.settings import parse_settings
from typer.testing import CliRunner

SMALL = {"params": "test-n11-boot", "allow_insecure": True, "threads": 1, "bootstrap": {"slots": 8}}


def kinds_of(command, name):
    """The dataclasses of a command."""
    if command == "run":
        workload = WORKLOADS[name]
        return (workload.options_class(), PictureOutputs if workload.pictures else RunOutputs)
    return (SUITES[name].options_class(), bench_commands._outputs(SUITES[name]))


COMMANDS = [("run", name) for name in WORKLOADS] + [("bench", name) for name in SUITES]


def options_of(command, name):
    return [each for kind in kinds_of(command, name) for each in described(kind) if not each.given_by]


def words(text):
    return " ".join(text.replace("│", " ").split())


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Runs a command in an empty folder, in a terminal that is wide."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments, status=0):
        result = CliRunner().invoke(app, [str(each) for each in arguments])
        assert result.exit_code == status, (arguments, result.output, result.exception)
        return result

    return run


class Began(hc.Error):
    """The work began."""


@pytest.fixture
def begun(monkeypatch):
    """Options of the runs that began; they end at once."""
    found = []

    def make(self, options, update):
        found.append(options)
        raise Began("began")

    def runner(self, name):
        return lambda options, watcher: make(self, options, watcher)

    monkeypatch.setattr(Workload, "make", make)
    monkeypatch.setattr(Suite, "runner", runner)
    monkeypatch.setattr("halocline.cli.run.commands.check_device", lambda device: None)
    monkeypatch.setattr("halocline.cli.bench.commands.check_device", lambda device: None)
    return found


def flags_in(text):
    return re.findall(r"^│ \*?\s*(--[a-z0-9-]+)", text, re.M)


@pytest.mark.parametrize(("command", "name"), COMMANDS)
def test_help_shows_the_fields_and_nothing_else(call, command, name):
    text = call(command, name, "--help").stdout
    wanted = [each.flag for each in options_of(command, name)]
    assert sorted(flags_in(text)) == sorted([*wanted, "--help"])
    assert len(set(wanted)) == len(wanted)
    assert len(wanted) <= 25
    for each in options_of(command, name):
        assert each.help.split(".")[0].split()[0] in text
        assert len(each.help.rstrip(".")) > 10 and each.help.endswith(".")


@pytest.mark.parametrize(("command", "table"), [("run", WORKLOADS), ("bench", SUITES)])
def test_groups_list_what_they_have_with_a_line_each(call, command, table):
    text = call(command, "--help").stdout
    for name, each in table.items():
        assert re.search(rf"^│ {name} +{re.escape(each.line)}", text, re.M), name
    assert table.keys() == set(re.findall(r"^│ ([a-z][a-z0-9_-]+) ", text, re.M))
    said = words(call(command, "nonsense", status=2).stderr)
    assert "'nonsense'" in said and all(name in said for name in table)


@pytest.mark.parametrize(("command", "name"), COMMANDS)
def test_options_of_others_are_refused(call, begun, command, name):
    own = {each.flag for each in options_of(command, name)}
    others = {each.flag for where, other in COMMANDS if where == command for each in options_of(where, other)}
    for flag in sorted(others - own)[::4]:
        said = words(call(command, name, flag, "1", status=2).stderr)
        assert f"{name} has no option {flag}." in said
        assert all(each in said for each in own)
    assert not begun


def sample(each, folder):
    """Text for an option, and the value that it stands for: another one than the default."""
    value = each.value
    if isinstance(value, values.Several):
        inner, found = sample(_Inner(value.each, each.default), folder)
        return inner, (found,)
    if isinstance(value, values.Count):
        for number in (value.low, value.low + 1, 1024):
            if number != each.default and value.problem(number) is None:
                return str(number), number
    if isinstance(value, values.Number):
        number = value.low + 0.75 if value.high > value.low + 0.75 else value.low
        return str(number), number
    if isinstance(value, values.Size):
        return ("37%", "37%") if value.share else ("37MiB", "37MiB")
    if isinstance(value, values.Choice):
        name = next(name for name in reversed(value.names) if name != each.default)
        return name, name
    if isinstance(value, values.Settings):
        return "compact=true", {"compact": True}
    if isinstance(value, values.PathName):
        (folder / "there").write_text("{}")
        return "there", "there"
    if isinstance(value, values.Checked) and value.metavar == "POLICY":
        return "profiled@65%", "profiled@65%"
    if isinstance(value, values.Checked) and value.metavar == "TIERS":
        return "memory=64MiB", "memory=64MiB"
    if isinstance(value, values.Checked) and value.metavar.startswith("NAME=VALUE"):
        return "baby_count=4", "baby_count=4"
    if isinstance(value, ParamsName) or "PRESET" in value.metavar:
        return "n13-d3", "n13-d3"
    return "cuda:0" if each.default != "cuda:0" else "cpu", "cuda:0" if each.default != "cuda:0" else "cpu"


class _Inner:
    def __init__(self, value, default):
        self.value, self.default = value, None if default is None else next(iter(default))


NEEDS = {
    "decisions": ("--policy", "profiled"),
    "blocking_copies": ("--policy", "lru"),
    "tiers": ("--policy", "planned"),
    "weights": ("--image", "there"),
    "policy": ("--decisions", "there"),
}
"""What else must be given with a field. Samples of --policy are checked by themselves."""


@pytest.mark.parametrize(("command", "name"), COMMANDS)
def test_every_field_is_reached_from_the_command_line(call, begun, command, name, tmp_path):
    (tmp_path / "there").write_text("{}")
    kind = kinds_of(command, name)[0]
    for each in described(kind):
        if each.given_by:
            arguments, expected = (f"--{each.given_by}", "written"), True
        elif isinstance(each.value, values.Flag):
            arguments, expected = (each.flag,), True
        elif each.field == "policy":
            arguments, expected = (each.flag, "lru"), "lru"
        else:
            text, expected = sample(each, tmp_path)
            arguments = (each.flag, text, *NEEDS.get(each.field, ()))
        arguments += NEEDS["blocking_copies"] if each.field == "blocking_copies" else ()
        call(command, name, *arguments, status=1)
        found = getattr(begun.pop(), each.field)
        assert str(found) == str(expected) or found == expected, each.field
        assert found != each.default, each.field
    assert not begun


BAD = [
    ("run digits --images 0", "'--images': got 0, expected an integer of at least 1"),
    ("run digits --images many", "'--images': got 'many'"),
    (
        "run digits --memory much",
        "'--memory': got 'much', expected a size such as 256MiB or a share such as 25%",
    ),
    ("run digits --memory 0%", "'--memory': got '0%'"),
    ("run digits --memory nan%", "'--memory': got 'nan%'"),
    ("run digits --policy magic", "'--policy': got 'magic', expected one of: resident"),
    ("run digits --policy profiled", "--policy profiled needs --decisions"),
    ("run digits --blocking-copies", "--blocking-copies is for --policy lru"),
    ("run digits --tiers memory=64MiB", "--tiers are for --policy lru or planned, got --policy resident"),
    ("run digits --policy lru --tiers speed=1", "'--tiers': tiers: got 'speed=1'; expected name=value"),
    ("run digits --policy lru --tiers memory=lots", "'--tiers': tiers: memory: 'lots' is not a size"),
    ("run digits --device ghost", "--device: the ghost device computes nothing"),
    ("run digits --threads 0", "'--threads': got 0, expected 1 to 1024"),
    ("run digits --profile x.txt", "'--profile': 'x.txt' has an unknown suffix"),
    ("run digits --profile -", "'--profile': '-' is standard output"),
    ("run digits --json a.json --trace a.json", "--json and --trace are both 'a.json'"),
    ("run digits --json - --trace -", "--json and --trace are both standard output"),
    ("run bootstrap --plot x.svg", "'--plot': 'x.svg' has an unknown suffix; expected one of .png"),
    ("run bootstrap --set slots", "'--set': got 'slots', expected NAME=VALUE"),
    ("run bootstrap --set speed=1", "'--set': unknown name 'speed', expected one of: slots"),
    ("run bootstrap --set compact=maybe", "'--set': got 'compact=maybe', expected true or false"),
    ("run bootstrap --set slots=8 --set slots=16", "'--set': slots is given twice"),
    ("run bootstrap --set order=backwards", "'--set': bootstrap: order 'backwards'"),
    ("run bootstrap --key-memory lots", "'--key-memory': got 'lots'"),
    ("run bootstrap --seed -1", "'--seed': got -1"),
    ("run resnet20 --set slots=8", "'--set': slots follow from the workload"),
    ("run resnet20 --margin 0.5", "'--margin': got 0.5, expected a number of at least 1"),
    ("run sorting --count 100", "'--count': got 100, expected a power of two"),
    ("run sorting --alpha 14", "'--alpha': got 14, expected 6 to 13"),
    ("run sorting --set real=false", "'--set': real follow from the workload"),
    ("run helr --rate 0", "'--rate': got 0.0, expected a number above 0"),
    ("run helr --rate inf", "'--rate': got inf"),
    ("run bm-bootstrap --kinds full,empty", "'--kinds': got 'empty', expected one of: full, full-stc"),
    ("run bm-bootstrap --presets FVa-boot,FVa-boot", "--presets: the same set twice"),
    ("run bm-bootstrap --async-peak 1.5", "'--async-peak': got 1.5, expected 0 to 1"),
    ("bench bootstrap-budget --policies lru,magic", "'--policies': policy 'magic'; expected one of resident"),
    ("bench bootstrap-budget --policies profiled@140%", "'--policies': policy 'profiled@140%'"),
    ("bench bootstrap-budget --budgets 50%,least", "'--budgets': got 'least', expected a size"),
    ("bench bootstrap-budget --batches 1,0", "'--batches': got 0"),
    ("bench wide-rotations --policies lru@blocking", "'--policies': got 'lru@blocking'"),
    ("bench wide-rotations --budgets minimum", "'--budgets': got 'minimum'"),
    ("bench wide-rotations --device h200", "'h200' is a device model"),
    ("bench bm-operations --device ghost", "'--device': the ghost device computes nothing"),
    ("bench bm-bootstrap --async-peaks 0.5,2", "'--async-peaks': got 2.0"),
    ("bench operations --set w128", "'--set': got 'w128', expected one of: w32-47"),
    ("bench operations --log-n 9", "'--log-n': got 9, expected 10 to 16"),
    ("bench peers --set n99", "'--set': got 'n99'"),
    ("bench peers --repetitions 10", "'--repetitions': got 10, expected an integer of at least 11"),
    ("bench ratio --device cpu", "'--device': got 'cpu', expected one of: cuda:0"),
    ("bench ratio --plot -", "'--plot': '-' is standard output"),
]


@pytest.mark.parametrize(("line", "message"), BAD)
def test_bad_values_are_refused_before_the_work(call, begun, line, message):
    result = call(*line.split(), status=2)
    said = words(result.stderr)
    assert message in said, said
    assert not begun and "Traceback" not in result.output


@pytest.mark.parametrize(("command", "name"), COMMANDS)
def test_paths_are_looked_at_before_the_work(call, begun, command, name, tmp_path):
    (tmp_path / "file").write_text("text")
    (tmp_path / "folder").mkdir()
    for each in options_of(command, name):
        if isinstance(each.value, values.OutputName) and each.value.folder:
            bad = {"file": "it is no folder"}
        elif isinstance(each.value, values.OutputName):
            ending = (*each.value.endings, "")[0]
            (tmp_path / f"folder{ending}").mkdir(exist_ok=True)
            bad = {f"none/x{ending}": "there is no folder 'none'", f"folder{ending}": "it is a folder"}
        elif isinstance(each.value, values.PathName) and not each.value.made:
            bad = {"none": "there is no such file or folder"}
        else:
            continue
        for path, message in bad.items():
            also = NEEDS.get(each.field, ()) if each.field == "decisions" else ()
            also = ("--image", "file") if each.field == "weights" else also
            assert message in words(call(command, name, each.flag, path, *also, status=1).stderr)
    assert not begun


def test_unknown_devices_and_parameters_are_refused_first(call):
    assert "unknown device 'abacus'" in call("run", "digits", "--device", "abacus", status=1).stderr
    assert "neither a preset nor a file" in call("run", "sorting", "--params", "n99", status=1).stderr
    assert "unknown device" in call("bench", "bm-operations", "--device", "abacus", status=1).stderr
    assert "neither a preset" in call("bench", "bm-operations", "--params", "n99", status=1).stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("replay t.csv --policy magic", "'--policy': got 'magic', expected one of: resident"),
        ("replay t.csv --memory much", "'--memory': got 'much', expected a size"),
        ("replay t.csv --async-ratio 2", "'--async-ratio': got 2.0, expected 0 to 1"),
        ("replay t.csv --kernel-scale 0", "'--kernel-scale': got 0.0, expected a number above 0"),
        ("replay t.csv --device-model abacus", "'--device-model': "),
        ("replay t.csv --device-model none.json", "'--device-model': "),
        ("plan t.csv --memory -5%", "'--memory': got '-5%'"),
        ("decide t.csv -o d --pool x", "'--pool': got 'x'"),
        ("plot t.csv -o t.png --capacity x", "'--capacity': got 'x'"),
        ("plot t.csv -o t.png --budget 25% --budget x", "'--budget': got 'x'"),
        ("plot t.csv -o t.png --plot faces", "'--plot': got 'faces', expected one of: live"),
    ],
)
def test_values_of_trace_commands_are_checked_before_a_trace_is_read(call, line, message):
    """There is no trace."""
    assert message in words(call("trace", *line.split(), status=2).stderr)


def test_paths_of_trace_commands_are_looked_at_first(call):
    for line in ("replay t.csv --perfetto none/x.json", "plot t.csv --html none/x.html"):
        assert "there is no folder 'none'" in call("trace", *line.split(), status=1).stderr
    assert "expected .png, .svg or .pdf" in call("trace", "plot", "t.csv", "-o", "x.txt", status=1).stderr


def test_devices_and_pipes_are_no_files_to_write(call, begun, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ("pipe", "/dev/full"):
        said = call("bench", "wide-rotations", "--json", path, status=1).stderr
        assert f"cannot write '{path}': it is not a regular file" in words(said)
    assert not begun


def every_command():
    """Arguments of the help text of each command."""
    top = ("info", "params", "keygen", "encrypt", "eval", "decrypt", "run", "bench", "trace")
    yield ()
    yield from ((name,) for name in top)
    yield from COMMANDS
    yield from (("plan",), ("plan", "advise"))
    for name in ("record", "stats", "convert", "plot", "plan", "replay", "decide"):
        yield ("trace", name)


@pytest.mark.parametrize("columns", [80, 120])
def test_help_texts_fit_and_speak_of_files_and_sizes(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    for command in every_command():
        result = CliRunner().invoke(app, [*command, "--help"])
        assert result.exit_code == 0
        assert not re.search(r"<[a-z]+|\bPath\b|\bbool\b|list\[", result.stdout), (command, result.stdout)
        assert max(map(len, result.stdout.splitlines())) <= columns


def test_help_loads_no_workload():
    code = (
        "import sys\nfrom halocline.cli import main\nsys.argv = ['halocline', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print([each for each in sys.modules if each.startswith(('matplotlib', 'sklearn', 'safetensors', "
        "'PIL', 'halocline.workloads.', 'halocline.papers', 'halocline.bench.budgets', "
        "'halocline.bench.peers'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_options_are_checked_in_python_too():
    with pytest.raises(hc.InvalidArgument, match="digits: images: got 0, expected an integer of at least 1"):
        DigitsOptions(images=0)
    with pytest.raises(hc.InvalidArgument, match="digits: policy profiled needs decisions"):
        DigitsOptions(policy="profiled")
    with pytest.raises(hc.InvalidArgument, match="memory: got True"):
        DigitsOptions(memory=True)
    assert DigitsOptions(memory=1 << 20).memory == 1 << 20
    assert issubclass(DigitsOptions, Options)


def test_errors_name_options_as_they_are_called():
    error = OptionError("{key_memory} of 3 {unclosed, {not a name}, {seed}", "run")
    assert str(error) == "run: key_memory of 3 {unclosed, {not a name}, seed"
    assert error.worded(lambda field: "--" + field.replace("_", "-")).startswith("run: --key-memory of 3 ")


def test_workloads_run_from_python_with_the_same_options():
    report = run_bootstrap(BootstrapRunOptions(**SMALL, policy="planned", memory="50%"))
    assert report["workload"] == "bootstrap" and report["params"] == "test-n11-boot"
    assert report["bootstrap"]["slots"] == 8
    assert report["peak_bytes"] <= report["budget_bytes"]


def test_settings_cover_every_field():
    found = parse_settings(
        ["slots=8", "real=no", "compact=TRUE", "memory=2GiB", "range=12", "order=stc_first", "iterations=2"]
    )
    assert found == {
        "slots": 8,
        "real": False,
        "compact": True,
        "memory": "2GiB",
        "range": 12.0,
        "order": "stc_first",
        "iterations": 2,
    }


# Pages

ROOT = Path(__file__).resolve().parents[2]


def commands_in_pages():
    """Every `halocline run` and `halocline bench` in code of pages, as words."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "Makefile"]
    pages += sorted((ROOT / "cpp").rglob("README.md"))
    for page in pages:
        text = page.read_text()
        inline = re.findall(r"`(halocline (?:run|bench) [^`]+)`", text.replace("\n", " "))
        lines = re.findall(r"^\s*(?:\S+/)?(halocline (?:run|bench) .*)$", text, re.M)
        for line in [*inline, *lines]:
            yield pytest.param(line, id=f"{page.name}: {line[:60]}")


@pytest.mark.parametrize("line", list(commands_in_pages()))
def test_commands_of_pages_are_valid(call, begun, line):
    """They begin, or miss only files and folders that they name: there is no checkout here."""
    arguments = shlex.split(line.partition(" #")[0].partition("...")[0])[1:]
    if len(arguments) < 2 or arguments[1].isupper() or arguments[-1] == "--memory":
        return
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1 or "--help" in arguments, result.output
    missing = re.search("cannot (read|write) '[^']+': (there is no|No such)", words(result.stderr))
    assert begun or missing or "--help" in arguments


def test_the_reference_lists_the_options_of_now():
    script = ROOT / "tools" / "command_line_reference.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
