# SPDX-License-Identifier: Apache-2.0
"""Parameters chosen for programs: secure, precise, and forecast honestly."""

import json
import math

import halocline as hc
import numpy as np
import pytest
from halocline.choosing import choose as choose_module
from halocline.choosing.candidates import Wanted, narrow_primes, secure_params
from halocline.cli.app import app
from random_programs import RandomProgram
from typer.testing import CliRunner

X = np.random.default_rng(3).uniform(-1, 1, 256)


@pytest.fixture
def few_presets(monkeypatch):
    """Only n16-boot among those with bootstraps: the others take seconds."""
    presets = {False: (hc.Params.preset("n14-d7"),), True: (hc.Params.preset("n16-boot"),)}
    monkeypatch.setattr(choose_module, "secure_presets", presets.__getitem__)


def product(x, y):
    return x * y + x.rotate(1)


def run(params, program, *values):
    """The decrypted result of an encrypted run."""
    client = hc.Client(params)
    engine = hc.Engine(params, client.evaluation_keys(plan=hc.key_plan(params, program, *values)))
    encrypted = [client.encrypt_array(v) if v.ndim > 1 else client.encrypt(v) for v in values]
    made = engine.run(program, *encrypted)
    return [client.decrypt(each) for each in (made if isinstance(made, list) else [made])]


@pytest.mark.parametrize("seed", range(1000, 1016))
def test_random_programs_are_as_precise_as_forecast_under_secure_parameters(seed):
    """tools/check_choices.py does the same with deeper programs: docs/guides/choosing.md has its result."""
    program = RandomProgram.drawn(seed, most_depth=3, most_log_slots=9)
    values = program.values()
    wanted = 12 + seed % 11
    choice = hc.choose(program, values, precision=wanted)
    params = hc.Params.from_json(choice.params.to_json())  # refuses what is below 128 bits
    exact = hc.simulate(program, values, params, noise=False)
    for output, found, right in zip(choice.outputs, run(params, program, *values), exact, strict=True):
        assert output.precision >= wanted
        # Exceeded with probability 2^-40 as far as errors are Gaussian.
        assert float(np.abs(found - right).max()) <= output.error


def test_forecasts_are_not_far_below_what_is_reached():
    choice = hc.choose(product, [X, X])
    exact = hc.simulate(product, [X, X], choice.params, noise=False)
    error = float(np.abs(run(choice.params, product, X, X)[0] - exact).max())
    # The bound for 2^-40 is 2.2 bits above the largest of 256 Gaussian errors on average; 0.3 bits of margin.
    assert -math.log2(error) - choice.outputs[0].precision < 4


def test_every_alternative_is_secure_and_the_best_is_the_first_of_the_smallest_rings():
    choice = hc.choose(product, [X, X], precision=25)
    assert len(choice.alternatives) > 3
    for each in choice.alternatives:
        assert hc.Params.from_json(each.params.to_json()).security_bits >= 128
        assert bool(each.problem) == (each.precision < 25)
    good = [each for each in choice.alternatives if not each.problem]
    assert choice.best is good[0]
    assert choice.params.log_n == min(each.params.log_n for each in good)


def test_more_precision_and_more_levels_take_larger_parameters():
    least, most = (hc.choose(product, [X, X], precision=bits).params for bits in (12, 34))
    assert most.level(0).scale > least.level(0).scale * 2.0**10
    assert most.log2_q > least.log2_q
    deep = hc.choose(lambda x: x**64, X)
    assert deep.params.max_level >= 6
    assert deep.params.log_n > hc.choose(lambda x: x**2, X).params.log_n


def test_a_preset_is_taken_where_it_is_as_good():
    choice = hc.choose(lambda x: x.engine.sign(x, alpha=9), X, precision=20)
    presets = [each.params.name for each in choice.alternatives if each.params.name in hc.preset_names()]
    assert "n15-d14" in presets


def test_large_values_get_a_modulus_that_holds_them():
    values = 1000.0 * X
    choice = hc.choose(product, [values, values], precision=8)
    assert choice.outputs[0].largest > 5e5
    exact = hc.simulate(product, [values, values], choice.params, noise=False)
    assert np.abs(run(choice.params, product, values, values)[0] - exact).max() <= choice.outputs[0].error
    with pytest.raises(hc.InvalidArgument, match="no secure parameters"):
        hc.choose(product, [values * 2.0**30, values], precision=30)


def test_encrypted_arrays_are_forecast_by_element():
    a = np.random.default_rng(4).normal(size=(10, 60))
    program = lambda a: (a * a).sum(axis=1)  # noqa: E731
    choice = hc.choose(program, a, precision=16)
    (output,) = choice.outputs
    assert output.size == 10
    client = hc.Client(choice.params)
    encrypted = client.encrypt_array(a)
    engine = hc.Engine(
        choice.params, client.evaluation_keys(plan=hc.key_plan(choice.params, program, encrypted))
    )
    found = client.decrypt(engine.run(program, encrypted))
    assert np.abs(found - (a * a).sum(axis=1)).max() <= output.error


def test_keys_bytes_and_memory_are_those_of_a_traced_program():
    choice = hc.choose(product, [X, X])
    best, params = choice.best, choice.params
    traced = hc.trace_program(params, product, X, X)
    assert best.keys == len(traced.key_plan)
    assert best.key_bytes == traced.key_plan.nbytes()
    assert best.sent_key_bytes == traced.key_plan.nbytes(seeded=True)
    assert best.memory_bytes >= traced.peak_bytes
    sent = 2 * len(hc.Client(params).encrypt(X).to_bytes())
    assert abs(best.sent_bytes - sent) < 0.05 * sent + 16384  # headers of containers
    assert best.received_bytes == traced.result.nbytes


def test_times_depend_on_the_device():
    seconds = {
        device: hc.choose(product, [X, X], device=device).best.seconds for device in ("cpu", "a40", "h200")
    }
    assert all(0 < each < 1 for each in seconds.values())
    assert seconds["cpu"] != seconds["a40"] != seconds["h200"]
    model = hc.device_models()["a40"]
    assert hc.choose(product, [X, X], device=model).best.seconds == seconds["a40"]


@pytest.mark.usefixtures("few_presets")
def test_programs_that_bootstrap_get_parameters_for_it():
    def program(x):
        if x.params.bootstrapping is None:
            return x.engine.bootstrap(x)
        return x.engine.bootstrap(x.drop_level(0), log2_failure=-42.0)

    choice = hc.choose(program, X[:8], precision=12)
    assert choice.params.bootstrapping is not None
    assert choice.best.bootstraps == 1
    assert choice.best.log2_failure <= -40
    with pytest.raises(hc.InvalidArgument, match="lower log2_failure"):
        hc.choose(program, X[:8], precision=12, failure=2.0**-60)


def test_the_choice_is_shown_as_a_table_and_as_json():
    choice = hc.choose(product, [X, X])
    text = str(choice)
    assert text.startswith(f"{choice.params.name}: log N {choice.params.log_n}")
    assert all(each.params.name in text for each in choice.alternatives)
    content = json.loads(json.dumps(choice.to_dict(), allow_nan=False))
    assert hc.Params.from_json(content["params_json"]) == choice.params
    assert content["alternatives"][0]["precision"] == choice.best.precision
    assert choice.to_dict() == hc.choose(product, [X, X]).to_dict()


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"precision": 0}, "number of bits"),
        ({"precision": "20"}, "number of bits"),
        ({"precision": X}, "got ndarray, .* one list"),
        ({"failure": "low"}, "probability"),
        ({"failure": 1.5}, "probability"),
        ({"failure": 0}, "probability"),
        ({"precision": 60}, "no secure parameters"),
        ({"device": "tpu"}, "tpu"),
    ],
)
def test_bad_arguments_are_refused(arguments, match):
    with pytest.raises(hc.Error, match=match):
        hc.choose(product, [X, X], **arguments)


def test_a_text_is_no_program():
    with pytest.raises(hc.WrongType, match="choose: got str"):
        hc.choose("x * x", X)


@pytest.mark.usefixtures("few_presets")
def test_programs_deeper_than_any_parameters_are_refused():
    with pytest.raises(hc.InvalidArgument, match=r"no secure parameters.*bits, expected 35.*levels"):
        hc.choose(lambda x: x ** (1 << 130), X[:8], precision=35)  # no preset bootstraps so exactly


@pytest.mark.usefixtures("few_presets")
def test_deep_programs_get_bootstraps():
    def program(x):
        y = x
        for _ in range(70):
            y = 0.5 * (y * y) - 0.4 * x
        return y

    choice = hc.choose(program, X[:8], precision=14)
    best = choice.best
    assert best.bootstraps > 0
    assert choice.params.bootstrapping is not None
    assert choice.bootstrap is not None
    assert best.log2_failure <= -40
    plan = hc.key_plan(choice.params, program, X[:8], bootstrap=choice.bootstrap)
    assert len(plan) == best.keys
    assert f"{best.bootstraps} bootstraps" in str(choice)
    times = [each.seconds for each in choice.alternatives if not each.problem]
    assert best.seconds == min(times)


@pytest.mark.parametrize("scale", [24.0, 30.0, 33.0, 37.0, 40.0, 44.5, 47.0, 55.0])
def test_forms_of_narrow_primes_have_the_scale(scale):
    found = narrow_primes(scale)
    assert found[0] >= scale
    assert found[1] <= 30
    assert found[2] >= 19.5
    made = [each for each in secure_params(15, Wanted(2, scale, 5.0)) if each.word_bits == 32]
    assert made
    assert made[0].max_level == 2
    assert abs(math.log2(made[0].level(0).scale) - max(scale, 24.0)) < 16  # a larger form where primes lack


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.txt").write_text("0.5 1.5 -2 3")
    runner = CliRunner()
    arguments = ["choose", "--expr", "x*x + 1", "--precision", "18"]
    done = runner.invoke(app, [*arguments, "-i", "x=x.txt", "--out", "p.hlc", "--json", "c.json"])
    assert done.exit_code == 0, done.output
    content = json.loads((tmp_path / "c.json").read_text())
    assert hc.Params.load(tmp_path / "p.hlc").to_json(0) == content["params_json"]
    assert content["alternatives"][0]["outputs"][0]["largest"] == pytest.approx(10)
    (tmp_path / "program.py").write_text("def score(x, y):\n    return x * y\n")
    done = runner.invoke(app, ["choose", "--script", "program.py", "--function", "score", "--slots", "64"])
    assert done.exit_code == 0
    assert "log N 1" in done.output
    for extra in (["--log2-failure", "1"], ["-i", "x=x.txt", "--magnitude", "2"], ["--precision", "500"]):
        assert runner.invoke(app, [*arguments, *extra]).exit_code == 1


def test_the_command_takes_arrays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.full((4, 5), 0.5))
    np.save("w.npy", np.full(5, 0.5))
    (tmp_path / "program.py").write_text(
        "import numpy as np\ndef program(x, w):\n    return np.sum(x * w, axis=1)\n"
    )
    script = ["choose", "--script", "program.py", "-i", "x=x.npy", "-i", "w=w.npy"]
    done = CliRunner().invoke(app, [*script, "--arrays", "--json", "c.json"])
    assert done.exit_code == 0, done.output
    (output,) = json.loads((tmp_path / "c.json").read_text())["alternatives"][0]["outputs"]
    assert output["largest"] == pytest.approx(1.25)
    done = CliRunner().invoke(app, script)  # w is a ciphertext
    assert done.exit_code == 1
    assert "EncryptedArray" in done.output
    row = ["choose", "--expr", "x.rotate(1) + x", "-i", "x=x.npy"]
    assert CliRunner().invoke(app, row).exit_code == 0  # an expression is one on ciphertexts
    assert CliRunner().invoke(app, [*row, "--arrays"]).exit_code == 1


@pytest.mark.parametrize("program", [lambda x: None, lambda x: 1.0, lambda x: [], lambda x: np.ones(3)])
def test_programs_without_encrypted_results(program):
    with pytest.raises(hc.InvalidArgument, match="nothing encrypted"):
        hc.choose(program, [np.arange(8.0)])


@pytest.mark.parametrize("function", [np.mean, np.sort, np.cumsum, np.argmax, lambda x: np.roll(x, 1)])
def test_numpy_functions_want_arrays(function):
    """Without `arrays` vectors become ciphertexts, which numpy must not take for single objects."""
    for call in (hc.choose, hc.simulate):
        with pytest.raises(hc.WrongType, match="arrays=True"):
            call(function, [np.arange(8.0)])
    assert hc.choose(np.mean, [np.arange(8.0)], 12, arrays=True).outputs


def test_programs_take_as_many_inputs_as_are_given():
    x = np.arange(8.0)
    params = hc.Params.preset("n13-d3")
    client = hc.Client(params, threads=1)
    for call in (
        lambda f: hc.choose(f, [x]),
        lambda f: hc.simulate(f, [x], params),
        lambda f: hc.calibrate(f, [x]),
        lambda f: hc.key_plan(params, f, x),
        lambda f: client.keys_for(f, client.encrypt_array(x)),
    ):
        with pytest.raises(hc.InvalidArgument, match="the program takes other inputs than the 1 given"):
            call(lambda a, b: a + b)
