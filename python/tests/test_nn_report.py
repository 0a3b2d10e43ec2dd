# SPDX-License-Identifier: Apache-2.0
"""Networks as tables, HTML and pictures: what they show agrees with the program and the forecast."""

import html.parser
import json
import re
import types

import halocline as hc
import halocline.nn as nn
import numpy as np
import pytest
from halocline.base.tables import Table, short_seconds
from halocline.cli.app import app
from halocline.nn.layer_table import layer_rows
from typer.testing import CliRunner

SCRIPT = "<script>alert(1)</script>"
"""A name of a layer that a page must show as text."""


def relu_model():
    """Two ReLUs, a sum that goes around the second one, and a dense layer: bootstraps are needed."""
    rng = np.random.default_rng(0)
    return nn.Model(
        (1, 8, 8),
        (
            nn.Node("conv", nn.Conv2d(rng.normal(size=(2, 1, 3, 3)) / 3), ("input",)),
            nn.Node("relu", nn.ReLU(), ("conv",)),
            nn.Node("conv2", nn.Conv2d(rng.normal(size=(2, 2, 3, 3)) / 4), ("relu",)),
            nn.Node("add", nn.Add(), ("conv2", "relu")),
            nn.Node(SCRIPT, nn.ReLU(), ("add",)),
            nn.Node("flat", nn.Flatten(), (SCRIPT,)),
            nn.Node("out", nn.Linear(rng.normal(size=(3, 128)) / 11), ("flat",)),
        ),
    )


@pytest.fixture(scope="module")
def rig():
    """model, compiled, report."""
    model = relu_model()
    ranges = nn.calibrate(model, np.random.default_rng(1).random((8, 1, 8, 8)))
    params = hc.Params.preset("test-n12-boot", allow_insecure=True)
    compiled = nn.compile(model, params, ranges)
    return types.SimpleNamespace(model=model, ranges=ranges, compiled=compiled, report=compiled.report())


# Tables


def test_text_is_aligned():
    table = Table("Title", ("name", ">size"), [("a", "10"), ("longer", "7")], ("note",))
    assert str(table).splitlines() == [
        "Title",
        "name    size",
        "------------",
        "a         10",
        "longer     7",
        "note",
    ]


class Tags(html.parser.HTMLParser):
    """Counts elements and keeps the text."""

    def __init__(self, text):
        super().__init__()
        self.found, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append(tag)

    def handle_data(self, data):
        self.text += data


def test_html_is_escaped():
    made = Table(SCRIPT, ("<i>",), [('"><b onclick=x>&amp;',)], (SCRIPT,)).to_html()
    page = Tags(made)
    assert set(page.found) == {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert page.found.count("b") == 1  # the title's own
    assert page.text.count(SCRIPT) == 2 and '"><b onclick=x>&amp;' in page.text


@pytest.mark.parametrize(
    "seconds, text", [(12.345, "12.3 s"), (0.0123, "12.3 ms"), (4.5e-5, "45 us"), (0, "0 us")]
)
def test_times_have_units(seconds, text):
    assert short_seconds(seconds) == text


# Models in the clear


def test_models_print_their_layers(rig):
    lines = str(rig.model).splitlines()
    assert lines[0] == "7 layers: 1 x 8 x 8 to 3"
    assert len(lines) == 7 + 4
    assert re.split(r"\s{2,}", lines[3].strip()) == [
        "conv",
        "Conv2d",
        "padding=1",
        "input",
        "2 x 8 x 8",
        "20",
    ]
    assert lines[-1] == "445 weights; the result is 'out'"
    assert "script" not in Tags(rig.model._repr_html_()).found


# Compiled networks


def test_rows_are_those_of_the_schedule(rig):
    rows = rig.report.to_dict()["layers"]
    schedule = rig.compiled.program.schedule
    assert [row["name"] for row in rows] == ["relu", SCRIPT, "out"] == list(schedule.steps)
    for row in rows:
        placement = schedule.steps[row["name"]]
        assert (row["level_in"], row["level_out"]) == (placement.linear_level, placement.output_level)
        assert row["bootstraps"] == placement.refreshed
        assert row["level_bootstrapped"] == (placement.activation_level if placement.refreshed else None)
        assert row["shape"] == rig.model.shapes[row["name"]]
        assert (row["bootstrap_seconds"] > 0) == placement.refreshed
        assert (row["activation_seconds"] > 0) == bool(row["kind"])
        assert row["linear_seconds"] > 0
    assert rows[1]["sources"] == ("relu",)
    assert schedule.bootstraps > 0
    json.dumps(rig.report.to_dict())


def test_costs_of_layers_add_up_to_those_of_the_network(rig):
    found, rows = rig.report, rig.report.to_dict()["layers"]
    assert sum(row["key_switches"] for row in rows) == sum(found.key_uses.values()) > 100
    assert sum(row["weight_bytes"] for row in rows) == found.weight_bytes > 0
    assert max(row["peak_bytes"] for row in rows) == found.peak_bytes
    assert all(row["peak_bytes"] > found.key_plan.nbytes() for row in rows)
    assert sum(row["seconds"] for row in rows) == pytest.approx(found.seconds, rel=1e-12)
    assert max(row["keys"] for row in rows) <= len(found.key_plan)
    # The uses are those of one run: every use by a step is of a key of the plan.
    used = {element for cost in found.costs.values() for element in cost.key_uses}
    assert used == set(found.key_plan.levels)


def test_memory_is_what_an_engine_takes(rig):
    """The peak was measured step by step; a real engine, whose tables come on top, has the same."""
    client = hc.Client(rig.compiled.params, threads=1)
    keys = client.evaluation_keys(plan=rig.report.key_plan)
    engine = hc.Engine(rig.compiled.params, keys, threads=1)
    rig.compiled.run(engine, rig.compiled.encrypt(client, np.full((1, 8, 8), 0.5)))
    peak = engine.stats()["peak_bytes"]
    # Weights are encoded in the first run, which takes scratch that later runs do not: 3 % here.
    assert 0.95 * rig.report.peak_bytes < peak <= 1.05 * sum(rig.report.footprint.values())


def test_times_depend_on_the_device(rig):
    compiled = nn.compile(rig.model, rig.compiled.params, rig.ranges)
    slow = compiled.report(device="gtx1050")
    assert slow.device == "gtx1050" and slow.seconds > 2 * rig.report.seconds
    assert compiled.report(device="gtx1050") is slow  # made once
    assert compiled.key_plan == rig.report.key_plan
    with pytest.raises(hc.InvalidArgument, match="no-such"):
        compiled.report(device="no-such")


def test_reports_within_a_budget(rig):
    everything = rig.report.within(None, "resident")
    assert everything.total_seconds == pytest.approx(rig.report.seconds, rel=0.05)
    first, later = rig.report.within("60%", first=True), rig.report.within("60%")
    assert 0 < later.loaded_bytes < first.loaded_bytes
    assert later.peak_resident_bytes <= later.budget_bytes
    assert rig.report.within("200%").loaded_bytes < later.loaded_bytes
    with pytest.raises(hc.OutOfMemory):
        rig.report.within(4096)


def test_reports_of_several_inputs(rig):
    twice = rig.compiled.report(images=2)
    rows = twice.to_dict()["layers"]
    assert [row["ciphertexts"] for row in rows] == [2, 2, 2]
    assert [row["bootstraps"] for row in rows] == [
        2 * row["bootstraps"] for row in rig.report.to_dict()["layers"]
    ]
    assert rig.report.seconds < twice.seconds < 2.1 * rig.report.seconds
    assert "2 x 128" in str(twice) and "for 2 inputs" in str(twice)


def test_reports_print_a_table(rig):
    text = str(rig.report)
    lines = text.splitlines()
    assert lines[0] == "7 layers on test-n12-boot"
    assert len(lines) == 3 + 3 + 2
    assert re.match(r"conv, relu +ReLU +2 x 8 x 8 +128 +17 > 2 +0 +\d+ +\d+ .*ms$", lines[3])
    assert re.search(r" ReLU +2 x 8 x 8 +128 +\d+ > boot \d+ > \d+ +1 +\d+ +\d+ .*ms$", lines[4])
    assert f"{rig.compiled.program.schedule.bootstraps} bootstraps; {len(rig.report.key_plan)} keys" in text
    assert "forecast for h200" in lines[-1]


def test_notebooks_show_html(rig):
    for page in (rig.report._repr_html_(), rig.compiled._repr_html_()):
        tags = Tags(page)
        assert "script" not in tags.found and SCRIPT in tags.text
        assert tags.found.count("tr") == 1 + 3
    fresh = nn.compile(rig.model, rig.compiled.params, rig.ranges)
    assert "key switches" not in fresh._repr_html_()  # a cell must not start a ghost run
    assert not fresh._forecasts
    assert [row.seconds for row in layer_rows(fresh, {})] == [0, 0, 0]


def test_pictures(rig, tmp_path):
    from matplotlib.image import imread

    rig.compiled.plot(tmp_path / "network.png")
    picture = imread(tmp_path / "network.png")
    assert picture.shape[0] > 400 and picture.shape[1] > 400
    assert len(np.unique(picture.reshape(-1, picture.shape[2]), axis=0)) > 20


def test_pictures_show_every_stage_and_connection(rig):
    from halocline.plots.networks import network_figure

    rows = [row.to_dict() for row in layer_rows(rig.compiled, rig.report.costs)]
    figure = network_figure(rows, rig.compiled.program.schedule.fresh_level, "title")
    levels, times = figure.axes
    assert len(levels.texts) == sum(len(row["sources"]) for row in rows)  # arrows
    heights = [patch.get_height() for patch in times.patches]
    assert sum(heights) == pytest.approx(1e3 * rig.report.seconds)  # in ms
    assert [each.get_text() for each in times.get_xticklabels()][:2] == ["input", "relu"]
    # Names may hold signs that matplotlib reads as formulas.
    renamed = [dict(row, name="$x$ ^" + row["name"], sources=["input"]) for row in rows]
    network_figure(renamed, 3, "$").canvas.draw()


# Commands


@pytest.fixture
def files(tmp_path, monkeypatch, rig):
    """A model with its weights and ranges as files, in the current folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    bend = nn.Polynomial(hc.Polynomial([0, 0.5, 0.5]))
    nodes = (
        nn.Node("dense", nn.Linear(rng.normal(size=(4, 6)) / 2), ("input",)),
        nn.Node("bend", bend, ("dense",)),
        nn.Node("out", nn.Linear(rng.normal(size=(2, 4))), ("bend",)),
    )
    model = nn.Model((6,), nodes)
    nn.save(model, "m.json")
    nn.calibrate(model, rng.random((8, 6))).save("ranges.json")

    def call(*args, status=0):
        result = CliRunner().invoke(app, ["nn", *map(str, args)])
        assert result.exit_code == status, result.output
        return result

    return call


SETTINGS = ("--ranges", "ranges.json", "--params", "test-n11-d8", "--allow-insecure")


def test_command_report(files, tmp_path):
    done = files("report", "m.json", *SETTINGS, "--plot", "m.png", "--json", "m.report")
    assert done.stdout.startswith("3 layers on test-n11-d8\n") and "dense, bend" in done.stdout
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")
    assert len(json.loads((tmp_path / "m.report").read_text())["layers"]) == 2
    alone = files("report", "m.json", *SETTINGS, "--json", "-")
    assert json.loads(alone.stdout)["device"] == "h200"


def test_command_spec(files, tmp_path):
    done = files("spec", "m.json", *SETTINGS, "--out", "m.hlspec", "--name", "two", "--classes", "no,yes")
    spec = nn.ClientSpec.load("m.hlspec", allow_insecure=True)
    assert spec.output.classes == ("no", "yes") and spec.name == "two"
    assert spec.id in done.stdout
    assert spec.id in files("show", "m.hlspec", "--allow-insecure").stdout
    assert files("show", "m.hlspec", status=1).stderr.count("InsecureParameters") == 0
    assert "128" in files("show", "m.hlspec", status=1).stderr


def test_commands_refuse(files, tmp_path):
    for arguments, message in (
        (("report", "m.json", "--params", "test-n11-d8", "--allow-insecure"), "give --ranges"),
        (("report", "m.json", *SETTINGS, "--plot", "m.json"), "also an input"),
        (("spec", "m.json", *SETTINGS, "--out", "ranges.json"), "also an input"),
        (("spec", "m.json", *SETTINGS, "--out", "x", "--classes", "one"), "1 classes for results"),
        (("show", "m.json"), "no specification"),
    ):
        assert message in " ".join(files(*arguments, status=1).stderr.split())
    assert not (tmp_path / "x").exists()
