# SPDX-License-Identifier: Apache-2.0
"""`halocline run resnet20`: options and files; whole runs of a small network; interruption; one full run."""

import json
import re
import stat
import warnings
from pathlib import Path

import halocline as hc
import halocline.nn as nn
import numpy as np
import pytest
from halocline.cli.app import app
from halocline.cli.run.report import resnet20_rows
from halocline.nn import INPUT, Add, AvgPool, Conv2d, Flatten, Linear, Model, Node, ReLU, Shortcut
from halocline.nn.images import Images
from halocline.workloads.images import run as images_run
from halocline.workloads.resnet20 import run as resnet20_run
from halocline.workloads.resnet20.run import Resnet20Options, Resnet20Run
from PIL import Image
from safetensors.numpy import load_file, save_file
from typer.testing import CliRunner

DIGITS = Path(hc.__file__).parent / "data/resnet20_digits.safetensors"
SIDE = 8
BOOTSTRAPS = 3


@pytest.fixture(scope="module")
def boot_params():
    return hc.Params.preset("test-n12-boot", allow_insecure=True)


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Runs `halocline run resnet20` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*args, status=0):
        arguments = ["run", "resnet20", "--params", "test-n12-boot", "--allow-insecure", *map(str, args)]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == status, result.output + repr(result.exception)
        return result

    return run


def picture(path, size=(32, 32), mode="RGB", seed=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    shape = (size[1], size[0]) if mode == "L" else (size[1], size[0], 3)
    pixels = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    Image.fromarray(pixels, mode).save(path)


# What it runs on


def made(params, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return Resnet20Run(params, Resnet20Options(**options))


def test_defaults_are_a_digit_and_the_shipped_network(boot_params):
    run = made(boot_params)
    assert run.images.images.shape == (1, 3, 32, 32)
    assert run.images.names[0].startswith("digit ")
    assert run.model.output_shape == (10,)
    assert run.ranges.provenance["source"] == "metadata of the weights"
    assert len(made(boot_params, images=3, alpha=9).images.names) == 3


@pytest.mark.parametrize("count", [0, -1, 361, 10**9])
def test_more_images_than_there_are(boot_params, count):
    with pytest.raises(hc.InvalidArgument, match=rf"images: got {count}, expected"):
        made(boot_params, images=count)


def test_weights_need_images(boot_params, call):
    with pytest.raises(hc.InvalidArgument, match="weights of your own need images: give image"):
        made(boot_params, weights=DIGITS)
    assert "need images: give --image" in call("--weights", DIGITS, status=2).stderr


def test_weights_that_do_not_fit(boot_params, tmp_path, call):
    picture(tmp_path / "a.png")
    tensors = load_file(DIGITS)
    save_file(
        {k: v for k, v in tensors.items() if k != "layer2.1.bn2.bias"}, tmp_path / "missing.safetensors"
    )
    save_file(tensors | {"layer4.conv1.weight": np.zeros(3)}, tmp_path / "extra.safetensors")
    save_file(tensors | {"conv1.weight": np.zeros((16, 3, 5, 5))}, tmp_path / "shape.safetensors")
    (tmp_path / "text.safetensors").write_text("no tensors")
    for name, text in {
        "missing": "layer2.1.bn2.bias",
        "extra": "layer4.conv1.weight",
        "shape": r"'conv1.weight' has shape \(16, 3, 5, 5\)",
        "text": "text.safetensors",
    }.items():
        with pytest.raises(hc.CorruptData, match=text):
            made(boot_params, image=tmp_path / "a.png", weights=tmp_path / f"{name}.safetensors")
    message = call("--image", "a.png", "--weights", "missing.safetensors", status=1).stderr
    assert "layer2.1.bn2.bias" in message and "missing" in message
    assert "none.safetensors" in call("--image", "a.png", "--weights", "none.safetensors", status=1).stderr


def test_images_are_resized_with_a_notice(boot_params, tmp_path):
    picture(tmp_path / "3/wide.png", (64, 40))
    picture(tmp_path / "5/gray.png", mode="L")
    picture(tmp_path / "5/fits.png")
    (tmp_path / "5/notes.txt").write_text("no image")
    run = made(boot_params, image=tmp_path, weights=DIGITS)
    assert run.images.names == ("3/wide.png", "5/fits.png", "5/gray.png")
    assert run.images.labels is None  # the classes of weights are those of CIFAR-10
    notices = "; ".join(run.images.notices)
    for text in (
        "3/wide.png: resized from 64 x 40 to 32 x 32",
        "5/gray.png: converted from mode L",
        "notes.txt",
    ):
        assert text in notices
    assert "fits" not in notices
    assert list(made(boot_params, image=tmp_path).images.labels) == [3, 5, 5]
    assert made(boot_params, image=tmp_path, images=2).images.names == ("3/wide.png", "5/fits.png")
    with pytest.raises(hc.CorruptData, match=r"notes\.txt: no image that can be read"):
        made(boot_params, image=tmp_path / "5/notes.txt")
    with pytest.raises(hc.IoError, match="nowhere"):
        made(boot_params, image=tmp_path / "nowhere")


def test_where_ranges_come_from(boot_params, tmp_path):
    picture(tmp_path / "in/a.png", seed=1)
    for index in range(3):
        picture(tmp_path / f"calibration/{index}.png", seed=index + 2)
    bare = tmp_path / "bare.safetensors"
    save_file(load_file(DIGITS), bare)  # without metadata
    inputs = dict(image=tmp_path / "in", weights=bare)

    own = made(boot_params, **inputs)
    assert own.ranges.provenance["source"] == "the images to classify"
    assert own.ranges.margin == 1.5
    wider = made(boot_params, **inputs, margin=3.0)
    assert wider.ranges["relu"] == pytest.approx(2 * own.ranges["relu"])
    with pytest.raises(hc.InvalidArgument, match="margin"):
        made(boot_params, **inputs, margin=0.5)
    with pytest.raises(hc.InvalidArgument, match="margin 3, but ranges come from metadata of the weights"):
        made(boot_params, margin=3.0)

    folder = made(boot_params, **inputs, calibration=tmp_path / "calibration")
    assert folder.ranges.provenance["source"].endswith("calibration")
    assert folder.ranges.provenance["samples"] == "3"

    file = tmp_path / "ranges.json"
    folder.ranges.save(file)
    assert dict(made(boot_params, **inputs, calibration=file).ranges) == dict(folder.ranges)
    nn.Ranges({"relu": 1.0}).save(file)
    with pytest.raises(hc.InvalidArgument, match="no bound for"):
        made(boot_params, **inputs, calibration=file)
    file.write_text("{}")
    with pytest.raises(hc.CorruptData, match=r"ranges\.json"):
        made(boot_params, **inputs, calibration=file)

    shipped = made(boot_params, image=tmp_path / "in", weights=DIGITS)
    assert shipped.ranges.provenance["source"] == "metadata of the weights"


def test_other_bad_options(boot_params, call):
    with pytest.raises(hc.InvalidArgument, match="computes nothing"):
        made(boot_params, device="ghost")
    with pytest.raises(hc.InvalidArgument, match="alpha"):
        made(boot_params, alpha=30)
    assert "'--encode': got 'never'" in call("--encode", "never", status=2).stderr
    assert "resnet20 has no option --iterations" in call("--iterations", 3, status=2).stderr
    assert "fastest" in call("--set", "fastest=true", status=2).stderr
    assert "secret key" in " ".join(call("--help").stdout.replace("│", " ").split())


# Whole runs of a small network


def small_model(alpha=13, seed=1):
    """A residual block of 8 x 8 images, ten classes."""
    rng = np.random.default_rng(seed)

    def weights(*shape):
        return rng.normal(size=shape) * np.sqrt(2 / np.prod(shape[1:]))

    return Model(
        (1, SIDE, SIDE),
        (
            Node("conv1", Conv2d(weights(2, 1, 3, 3)), (INPUT,)),
            Node("relu1", ReLU(alpha), ("conv1",)),
            Node("conv2", Conv2d(weights(4, 2, 3, 3), stride=2), ("relu1",)),
            Node("relu2", ReLU(alpha), ("conv2",)),
            Node("conv3", Conv2d(weights(4, 4, 3, 3)), ("relu2",)),
            Node("short", Shortcut(2, 4), ("relu1",)),
            Node("add", Add(), ("conv3", "short")),
            Node("relu3", ReLU(alpha), ("add",)),
            Node("pool", AvgPool(), ("relu3",)),
            Node("flatten", Flatten(), ("pool",)),
            Node("linear", Linear(weights(10, 4), rng.normal(size=10)), ("flatten",)),
        ),
        metadata={"normalize_mean": "0.5", "normalize_std": "0.25"},
    )


def small_pictures(model):
    """Three inputs with labels."""
    pixels = np.random.default_rng(3).uniform(0, 1, (3, *model.input_shape))
    return Images(pixels, np.arange(3), ("digit 0", "digit 1", "digit 2"), resnet20_run.DIGITS, ())


@pytest.fixture
def small(monkeypatch):
    """The command runs the small network."""
    monkeypatch.setattr(resnet20_run, "digits_model", small_model)
    monkeypatch.setattr(resnet20_run, "resnet20", lambda path, alpha: small_model(alpha, seed=2))
    monkeypatch.setattr(resnet20_run, "held_out_pictures", small_pictures)


def seen(report):
    return np.array([each["logits"] for each in report["predictions"]])


def expect_good(report, images=1):
    assert report["workload"] == "resnet20"
    assert report["images"] == len(report["predictions"]) == images
    assert report["agreement"] == 1.0
    assert 0 < report["logit_error"] < 2.0**-9
    assert report["logit_error_mean"] <= report["logit_error"]
    assert report["operations"]["bootstraps"] == BOOTSTRAPS


def test_seeded_keys_half_of_the_memory_and_a_trace(small, call, tmp_path):
    call(
        *("--policy", "planned", "--memory", "50%", "--seeded", "--encode", "fly", "--threads", 1),
        *("--trace", "t.csv", "--json", "r.json"),
    )
    report = json.loads((tmp_path / "r.json").read_text())
    expect_good(report)
    assert report["followed_plan"]
    assert 0 < report["peak_bytes"] <= report["budget_bytes"]
    assert report["bytes_moved"]["loaded"] > 0
    assert report["key_bytes"] < 0.6 * report["footprint"]["evaluation_key"]
    assert {"load", "plain", "compile", "keygen", "encrypt", "evaluate", "decrypt"} <= set(report["seconds"])
    assert {"conv1", "relu1: bootstrap", "relu1", "linear"} <= set(report["layer_seconds"])
    assert report["ranges"]["bounds"].keys() == {"relu1", "relu2", "relu3"}
    assert report["commit"] == hc._core.commit
    assert len(hc.Trace.load(tmp_path / "t.csv")) > 1000
    assert (report["accuracy"], report["resumed_images"]) == (report["accuracy_plain"], 0)


def test_images_in_batches(small, call, tmp_path):
    """Three images, two at once: the second batch has room for one more."""
    call("--images", 3, "--batch", 2, "--threads", 1, "--json", "r.json")
    report = json.loads((tmp_path / "r.json").read_text())
    expect_good(report, images=3)  # as many bootstraps as for one image
    assert (report["batch"], report["resumed_images"], len(report["program_seconds"])) == (2, 0, 2)
    call("--batch", 2, "--checkpoint", "kept", status=2)
    call("--batch", 0, status=2)


@pytest.mark.parametrize("options", [(), ("--seeded",), ("--policy", "planned"), ("--policy", "lru")])
def test_budget_that_is_too_small_is_refused_before_keys(small, call, options, monkeypatch):
    policy = options[1] if len(options) == 2 else "resident"
    with monkeypatch.context() as patched:
        patched.setattr(images_run, "send_keys", None)  # is not called
        said = " ".join(call("--memory", "10MiB", *options, "--threads", 1, status=1).stderr.split())
    assert "the whole program needs" in said and "trace_program" not in said
    needed = re.search(rf"\((\d+) bytes\) under '?(?:--policy )?{policy}", said)[1]
    call("--memory", needed, *options, "--threads", 1)


def test_images_of_a_folder_with_some_keys_seeded(small, call, tmp_path):
    for index, name in enumerate(("cat", "dog")):
        picture(tmp_path / "in" / name / "x.png", (SIDE, SIDE), "L", index)
    picture(tmp_path / "in/cat/y.png", (9, 20), "L", 5)
    (tmp_path / "w.safetensors").write_text("the network is replaced")
    options = ("--images", 2, "--key-memory", "70%", "--set", "compact=true", "--json", "r.json")
    output = call("--image", "in", "--weights", "w.safetensors", *options).stdout
    report = json.loads((tmp_path / "r.json").read_text())
    expect_good(report, 2)
    assert [each["image"] for each in report["predictions"]] == ["cat/x.png", "cat/y.png"]
    assert {each["class"] for each in report["predictions"]} <= set(
        nn.resnet20.__globals__["CIFAR10_CLASSES"]
    )
    assert report["accuracy"] is not None
    assert len(report["program_seconds"]) == 2
    assert report["notices"] == ["cat/y.png: resized from 9 x 20 to 8 x 8"]
    for text in ("cat/x.png", "resized from 9 x 20", "bounds from the images to classify", "3 bootstraps"):
        assert text in output


def test_inputs_outside_of_ranges_are_told(small, boot_params):
    run = Resnet20Run(boot_params, Resnet20Options(threads=2))
    run.ranges = nn.Ranges({"relu1": 0.25, "relu2": 0.25, "relu3": 0.25})
    report = run.run()
    json.dumps(report, allow_nan=False)
    assert report["logit_error_simulated"] is None
    assert "infinitely" in dict(resnet20_rows(report))["logits"]
    assert len(report["notices"]) == 1
    assert "outside their calibrated range" in report["notices"][0] and "relu1" in report["notices"][0]


CANNED = {
    "predictions": [
        {"image": f"i{k}", "class": "cat", "plain": "cat" if k else "dog", "logits": []} for k in range(7)
    ],
    "images": 7,
    "agreement": 6 / 7,
    "accuracy": 0.5,
    "accuracy_plain": 0.75,
    "logit_error": 0.01,
    "logit_error_simulated": 0.002,
    "seconds_per_image": 1.5,
    "resumed_images": 0,
    "operations": {
        "bootstraps": 19, "activations": 19, "linear_maps": 22, "diagonals": 7860, "key_switches": 2962,
    },
    "levels": {"fresh": 3},
    "distinct_keys": 135,
    "key_bytes": 3 << 30,
    "footprint": {"evaluation_key": 3 << 30, "table": 1 << 20},
    "footprint_bytes": (3 << 30) + (1 << 20),
    "ranges": {"bounds": {}, "source": "a folder"},
    "notices": [f"notice {k}" for k in range(7)],
}  # fmt: skip


def test_rows_of_the_report():
    found = list(resnet20_rows(CANNED))
    text = dict(found)
    assert text["i0"] == "cat (in the clear: dog)"
    assert text["i1"] == "cat (in the clear: the same)"
    assert sum(name.startswith("i") and name[1:].isdigit() for name, _ in found) == 5
    assert text["images"].startswith("7; 85.71 %")
    assert text["accuracy"] == "50.00 % encrypted, 75.00 % plain"
    assert text["time per image"].startswith("1.500 s")
    assert text["operations"].startswith("19 bootstraps, 19 ReLUs, 22 linear maps of 7860 diagonals")
    assert text["evaluation keys"] == "135, 3.0 GiB"
    assert text["ranges"] == "bounds from a folder"
    assert sum(name == "notice" for name, _ in found) == 5
    assert "interrupted before" not in text
    bare = dict(resnet20_rows(CANNED | {"accuracy": None, "seconds_per_image": None, "resumed_images": 7}))
    assert "accuracy" not in bare and "time per image" not in bare
    assert bare["interrupted before"].startswith("7 images")


# Interruption


@pytest.fixture
def interrupted(small, call, monkeypatch):
    """Runs the command with Ctrl-C after so many segments of the images; returns what was evaluated."""

    def run(*args, after=None, status=None):
        done = []

        def update(steps, what, now, total):
            if what == "evaluating":
                done.append(now)
                if now == after:
                    raise KeyboardInterrupt

        monkeypatch.setattr("halocline.cli.run.commands._Steps.update", update)
        status = (0 if after is None else 130) if status is None else status
        return call("--checkpoint", "kept", "--images", 2, *args, status=status), done

    return run


def test_an_interrupted_run_goes_on(interrupted, call, tmp_path):
    call("--images", 2, "--json", "whole.json")
    segments = BOOTSTRAPS + 1
    folder = tmp_path / "kept"
    interrupted(after=2)
    names = {each.name: stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()}
    assert names.keys() == {"run.json", "client.key", "input_0.checkpoint"}
    assert names["client.key"] == names["input_0.checkpoint"] == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    _, done = interrupted(after=segments + 1)  # within the second image
    assert done == [2, 3, 4, 4, 5]
    assert {each.name for each in folder.iterdir()} == {
        "run.json", "client.key", "input_0.hlc", "input_1.checkpoint",
    }  # fmt: skip
    result, done = interrupted("--json", "rest.json")
    assert done == [5, 6, 7, 8]
    assert not folder.exists()
    whole, rest = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("whole", "rest"))
    expect_good(rest, 2)
    assert np.abs(seen(whole) - seen(rest)).max() < 2.0**-13  # noise of other keys
    assert (whole["resumed_images"], rest["resumed_images"]) == (0, 2)
    assert rest["seconds_per_image"] is None and len(rest["program_seconds"]) == 1
    assert "interrupted before" in result.stdout


def test_what_does_not_belong_to_a_kept_run_is_refused(interrupted, tmp_path):
    interrupted(after=1)
    folder = tmp_path / "kept"
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    picture(tmp_path / "in/a.png", (SIDE, SIDE), "L")
    picture(tmp_path / "in/b.png", (SIDE, SIDE), "L")
    (tmp_path / "w").write_text("the network is replaced")
    nn.Ranges({f"relu{k}": 9.0 for k in (1, 2, 3)}).save(tmp_path / "ranges.json")
    for options, text in {
        ("--images", 1): "other images",
        ("--calibration", "ranges.json"): "another network (weights, ranges",
        ("--alpha", 9): "another network",
        ("--set", "compact=true"): "another network",
        ("--image", "in", "--weights", "w"): "another network and other images",
    }.items():
        message = interrupted(*options, status=1)[0].stderr
        assert text in message.replace("\n", " ")
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == before

    (folder / "client.key").unlink()
    assert "has input_0.checkpoint, but not the key" in interrupted(status=1)[0].stderr
    (folder / "client.key").write_bytes(before["client.key"][:-9])
    interrupted(status=1)
    (folder / "client.key").write_bytes(before["client.key"])
    (folder / "run.json").write_text("[]")
    assert "run.json describes no run" in interrupted(status=1)[0].stderr
    (folder / "run.json").unlink()
    assert "but no run.json" in interrupted(status=1)[0].stderr
    (tmp_path / "file").write_text("")
    assert "no folder" in interrupted("--checkpoint", "file", status=1)[0].stderr


def test_a_run_leaves_other_files_alone(interrupted, tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/notes.txt").write_text("mine")
    interrupted()
    assert [each.name for each in (tmp_path / "kept").iterdir()] == ["notes.txt"]


# At full size


def available_gib():
    """Memory that programs can still take, what caches hold included."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return float("inf")
    return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) / 2**20


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_full_size():
    """One digit on n16-boot with the options that take least memory: some 3 minutes of CPU time, 4 GiB."""
    if available_gib() < 8:
        pytest.skip("needs 8 GiB of available memory")
    params = hc.Params.preset("n16-boot")
    small_keys = {"compact": True, "cts_mode": "small_key", "stc_mode": "small_key"}
    report = Resnet20Run(params, Resnet20Options(seeded=True, bootstrap=small_keys)).run()
    assert report["agreement"] == 1.0
    assert report["logit_error"] < 2.0**-8
    assert report["operations"]["bootstraps"] == 19
    assert report["peak_bytes"] < 3.2 * 2**30
    assert report["distinct_keys"] < 140
