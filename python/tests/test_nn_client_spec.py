# SPDX-License-Identifier: Apache-2.0
"""Specifications for clients without weights: what they hold and refuse, and both parties over files."""

import copy
import dataclasses
import json
import math
import pickle
import random
import types

import halocline as hc
import halocline.nn as nn
import numpy as np
import pytest
from attacks.seals import mutate, seal_client_spec
from halocline.base import limits
from halocline.nn.client_spec import ClientSpec
from halocline.nn.places import Places

ERROR = 2.0**-20
"""Of results near 1 at a scale of 2^40: noise of encryption is 2^-28, and five operations follow."""


def small_model(seed=0, classes="ape,bee,cat"):
    """A convolution with a stride, a polynomial, a dense layer: four levels."""
    rng = np.random.default_rng(seed)
    half = nn.Polynomial(hc.Polynomial([0, 0.5, 0.5]))
    return nn.Model(
        (1, 8, 8),
        (
            nn.Node("conv", nn.Conv2d(rng.normal(size=(4, 1, 3, 3)) / 3, stride=2), ("input",)),
            nn.Node("bend", half, ("conv",)),
            nn.Node("flat", nn.Flatten(), ("bend",)),
            nn.Node("out", nn.Linear(rng.normal(size=(3, 64)) / 8, rng.normal(size=3)), ("flat",)),
        ),
        metadata={"normalize_mean": "0.5", "normalize_std": "0.25", "classes": classes},
    )


@pytest.fixture(scope="module")
def rig():
    """model, images, compiled, spec, client, keys, server."""
    params = hc.Params.preset("test-n11-d8", allow_insecure=True)
    model = small_model()
    images = np.random.default_rng(1).random((50, 1, 8, 8))
    compiled = nn.compile(model, params, nn.calibrate(model, model.prepare(images)))
    spec = compiled.client_spec(name="animals")
    client = nn.Client(spec, threads=1)
    server = nn.Server(compiled, client.evaluation_keys(), threads=1)
    return types.SimpleNamespace(
        model=model, images=images, compiled=compiled, spec=spec, client=client, server=server, params=params
    )


def changed(spec, change):
    """The bytes of a specification whose content a function changed, with the right identifier."""
    content = json.loads(spec.to_bytes())
    change(content)
    return seal_client_spec(json.dumps(content).encode())


# What it holds


def test_it_is_read_as_it_was_written(rig, tmp_path):
    rig.spec.save(tmp_path / "m.hlspec")
    read = ClientSpec.load(tmp_path / "m.hlspec", allow_insecure=True)
    assert read == rig.spec and read.id == rig.spec.id and read.to_bytes() == rig.spec.to_bytes()
    assert read.params == rig.params and read.key_plan == rig.compiled.key_plan
    assert read.input.level == rig.compiled.program.schedule.fresh_level
    assert read.output.classes == ("ape", "bee", "cat")
    assert (read.input.mean, read.input.std) == ((0.5,), (0.25,))


def test_identifiers_do_not_depend_on_how_numbers_are_written(rig):
    whole = dataclasses.replace(
        rig.spec,
        input=dataclasses.replace(rig.spec.input, mean=(1,), std=(2,), range=(-3, 3)),
        output=dataclasses.replace(rig.spec.output, scale=4, limit=16),
    )
    read = ClientSpec.from_bytes(whole.to_bytes(), allow_insecure=True)
    assert read == whole and read.id == whole.id


def test_it_holds_the_documented_fields_and_no_weights(rig):
    """Another network of the same shapes has the same file, but for the range of its samples."""
    content = json.loads(rig.spec.to_bytes())
    assert set(content) == {
        "format", "version", "id", "made_by", "name", "parameters", "keys", "input", "output",
    }  # fmt: skip
    assert set(content["input"]) == {"shape", "layout", "level", "mean", "std", "range"}
    assert set(content["output"]) == {"shape", "layout", "scale", "limit", "classes", "decision"}
    other = small_model(seed=5)
    ranges = nn.calibrate(other, other.prepare(rig.images))
    twin = nn.compile(other, rig.params, ranges).client_spec(name="animals")
    assert twin.to_bytes() == rig.spec.to_bytes()
    assert twin.id == rig.spec.id  # so it is no hash of weights


def test_ranges_of_inputs_come_from_the_samples(rig):
    low, high = rig.spec.input.range
    prepared = rig.model.prepare(rig.images)
    assert low < prepared.min() and prepared.max() < high
    assert (high - low) / np.ptp(prepared) == pytest.approx(1.5)
    assert rig.compiled.client_spec(input_range=(-2, 2)).input.range == (-2.0, 2.0)
    ranges = rig.compiled.ranges
    assert nn.Ranges.from_json(ranges.to_json()).input_range == ranges.input_range
    assert pickle.loads(pickle.dumps(ranges)).input_range == ranges.input_range
    without = nn.Ranges(ranges.bounds, ranges.margin)
    assert "input_range" not in without.to_json()
    unknown = nn.compile(rig.model, rig.params, without).client_spec()
    assert unknown.input.range is None
    with pytest.raises(hc.InvalidArgument, match="smallest and the largest"):
        nn.Ranges(ranges.bounds, input_range=(1, 0))


def test_the_same_slots_as_the_compiled_network(rig):
    packed = rig.spec.input.places.pack(rig.client.prepare(rig.images[0]))
    assert len(packed) == 1
    np.testing.assert_array_equal(packed[0], rig.compiled.prepare(rig.images[0]))


@pytest.mark.parametrize("gap, channels", [(1, 3), (2, 4), (2, 10), (4, 5)])
def test_layouts_become_places(gap, channels):
    layout = nn.Layout(channels, 4, 4, gap, 4 * gap + 3, (4 * gap + 3) * 4 * gap + 1)
    places = Places.of(layout.index().reshape(1, channels, 4, 4), layout.slots)
    np.testing.assert_array_equal(places.index, layout.index())
    values = np.arange(channels * 16.0).reshape(1, channels, 4, 4)
    np.testing.assert_array_equal(places.unpack(places.pack(values)), values)


def test_places_over_several_ciphertexts_and_of_several_images():
    # Two images in three ciphertexts of 8 slots: value (i, c, x) at 12 i + 4 c + x.
    places = Places((2, 3, 4), (((2, 12),), ((3, 4),), ((4, 1),)), 8, 3)
    images = np.arange(24.0).reshape(2, 3, 4)
    vectors = places.pack(images)
    np.testing.assert_array_equal(np.concatenate(vectors), np.arange(24.0))
    np.testing.assert_array_equal(places.unpack(vectors), images)
    one = places.pack(images[:1])  # the second one is missing
    np.testing.assert_array_equal(np.concatenate(one)[12:], np.arange(12.0))
    assert Places.of(places.index.reshape(2, 3, 4), 8, 3) == places


# Both parties


def test_client_and_server_over_files(rig, tmp_path):
    rig.spec.save(tmp_path / "m.hlspec")
    client = nn.Client.load(tmp_path / "m.hlspec", threads=1, allow_insecure=True)
    client.save_secret_key(tmp_path / "client.key")
    client.evaluation_keys().save(tmp_path / "keys.hlc")
    client.encrypt(rig.images[0]).save(tmp_path / "x.hlc")

    keys = hc.EvaluationKeys.load(tmp_path / "keys.hlc", rig.params)
    nn.Server(rig.compiled, keys, threads=1).answer_file(tmp_path / "x.hlc", tmp_path / "y.hlc")

    again = nn.Client.load(
        tmp_path / "m.hlspec", secret_key=tmp_path / "client.key", threads=1, allow_insecure=True
    )
    assert again.key_id == client.key_id
    result = hc.Ciphertext.load(tmp_path / "y.hlc", rig.params)
    expected = rig.model.forward(rig.model.prepare(rig.images[:1]))[0]
    values = again.decrypt(result)
    assert values.shape == (3,)
    assert np.abs(values - expected).max() < ERROR
    assert again.classify(result) == [("ape", "bee", "cat")[expected.argmax()]]


def test_several_inputs(rig):
    cts = rig.client.encrypt(rig.images[:2])
    assert len(cts) == 2
    results = [hc.Ciphertext.from_bytes(rig.server.answer(ct.to_bytes()), rig.params) for ct in cts]
    expected = rig.model.forward(rig.model.prepare(rig.images[:2]))
    assert np.abs(rig.client.decrypt(results) - expected).max() < ERROR
    assert rig.client.decrypt(results, count=1).shape == (1, 3)
    for count in (0, -1, 1.5):
        with pytest.raises(hc.Error, match="count"):
            rig.client.decrypt(results, count=count)
    assert isinstance(rig.client.encrypt(rig.images[:1]), list)


def test_batches_share_ciphertexts(rig, tmp_path):
    """Twenty inputs in two ciphertexts, as the compiled network packs them."""
    ranges = rig.compiled.ranges
    compiled = nn.compile(rig.model, rig.params, ranges, batch=64)
    spec = ClientSpec.from_bytes(compiled.client_spec().to_bytes(), allow_insecure=True)
    layouts = (compiled.program.input_layout, compiled.program.output_layout)
    assert [spec.input.places.images, spec.output.places.images] == [each.batch for each in layouts]
    assert spec.input.places.images == 16  # 1024 slots, 64 values
    client = nn.Client(spec, threads=1)
    server = nn.Server(compiled, client.evaluation_keys(), threads=1)
    inputs = client.encrypt(rig.images[:20])
    assert len(inputs) == 2
    for own, theirs in zip(inputs, compiled.encrypt(client.owner, rig.images[:20]), strict=True):
        found = client.owner.decrypt(own, real=True) - client.owner.decrypt(theirs, real=True)
        assert np.abs(found).max() < ERROR
    answers = server.answer([each.to_bytes() for each in inputs])
    results = [hc.Ciphertext.from_bytes(each, rig.params) for each in answers]
    values = client.decrypt(results, count=20)
    expected = rig.model.forward(rig.model.prepare(rig.images[:20]))
    assert values.shape == (20, 3)
    assert np.abs(values - expected).max() < ERROR
    found = client.classify(results)
    assert len(found) > 20 and set(found[20:]) == {found[19]}  # the last input is repeated
    assert isinstance(client.encrypt(rig.images[0]), list)


def test_inputs_of_several_ciphertexts(rig):
    """2048 values in ciphertexts of 1024 slots: two for each input, one for each result."""
    rng = np.random.default_rng(7)
    nodes = (
        nn.Node("conv", nn.Conv2d(rng.normal(size=(2, 8, 3, 3)) / 8, stride=4), ("input",)),
        nn.Node("flat", nn.Flatten(), ("conv",)),
        nn.Node("out", nn.Linear(rng.normal(size=(3, 32)) / 6), ("flat",)),
    )
    model = nn.Model((8, 16, 16), nodes)
    images = rng.random((4, 8, 16, 16))
    compiled = nn.compile(model, rig.params, nn.calibrate(model, images))
    spec = ClientSpec.from_bytes(compiled.client_spec().to_bytes(), allow_insecure=True)
    assert spec.input.places.ciphertexts == 2 and spec.output.places.ciphertexts == 1
    client = nn.Client(spec, threads=1)
    server = nn.Server(compiled, client.evaluation_keys(), threads=1)
    inputs = client.encrypt(images[:2])
    assert len(inputs) == 4
    values = client.decrypt(server.run(inputs))
    assert np.abs(values - model.forward(images[:2])).max() < ERROR
    one = server.run(client.encrypt(images[0]))
    assert np.abs(client.decrypt(one)[0] - values[0]).max() < ERROR
    with pytest.raises(hc.InvalidArgument, match="3 ciphertexts, expected 2 for each input"):
        server.run(inputs[:3])


def test_the_client_checks_inputs(rig):
    with pytest.warns(hc.ActivationRange, match=r"from -2 to 1018.*made for inputs from"):
        rig.client.encrypt(255 * np.ones((1, 8, 8)) * np.linspace(0, 1, 8))
    for bad, message in (
        (np.zeros((8, 8)), r"shape \(8, 8\), expected \(1, 8, 8\)"),
        (np.zeros((0, 1, 8, 8)), r"shape \(0, 1, 8, 8\)"),
        (np.full((1, 8, 8), np.nan), "NaN"),
        (np.array("text"), "expected real numbers"),
    ):
        with pytest.raises(hc.InvalidArgument, match=message):
            rig.client.encrypt(bad)


def test_the_server_notices_inputs_of_other_kinds(rig):
    owner = rig.client.owner
    level = rig.spec.input.level
    with pytest.raises(hc.InvalidArgument, match=r"32 slots at level 4, expected 64 slots at level 4"):
        rig.server.run(owner.encrypt(np.ones(32), level=level))
    with pytest.raises(hc.InvalidArgument, match=r"64 slots at level 3, expected 64 slots at level 4"):
        rig.server.run(owner.encrypt(np.ones(64), level=level - 1))
    stranger = nn.Client(rig.spec, threads=1)
    with pytest.raises(hc.KeyMismatch, match=stranger.key_id):
        rig.server.run(stranger.encrypt(rig.images[0]))
    other = hc.Params.preset("test-n10-d3", allow_insecure=True)
    foreign = hc.Client(other, threads=1).encrypt(np.ones(64))
    with pytest.raises(hc.InvalidArgument, match="belongs to parameters 'test-n10-d3'"):
        rig.server.run(foreign)
    with pytest.raises(hc.InvalidArgument, match="test-n10-d3"):
        rig.server.answer(foreign.to_bytes())
    plain = hc.Engine(other, threads=1)  # without nn.Server too
    with pytest.raises(hc.InvalidArgument, match="network: the input belongs to parameters 'test-n10-d3'"):
        plain.run(rig.compiled, foreign)
    with pytest.raises(hc.CorruptData):
        rig.server.answer(rig.client.encrypt(rig.images[0]).to_bytes()[:-1])
    with pytest.raises(hc.MissingKey, match="11 of 12 evaluation keys are missing"):
        nn.Server(rig.compiled, owner.evaluation_keys(), threads=1)


def test_the_client_notices_results_of_other_kinds(rig):
    owner, stranger = rig.client.owner, hc.Client(rig.params, threads=1)
    with pytest.raises(hc.KeyMismatch):
        rig.client.decrypt(stranger.encrypt(np.ones(4)))
    with pytest.raises(hc.InvalidArgument, match="64 slots, results of this network have 4"):
        rig.client.decrypt(owner.encrypt(np.ones(64)))
    with pytest.raises(hc.InvalidArgument, match="0 ciphertexts"):
        rig.client.decrypt([])
    with pytest.raises(hc.WrongType, match=r"Ciphertext\.load"):
        rig.client.decrypt([b"bytes"])
    for wrong in (None, 3):
        with pytest.raises(hc.WrongType, match="expected a Ciphertext or a list"):
            rig.client.decrypt(wrong)
    limited = dataclasses.replace(rig.spec, output=dataclasses.replace(rig.spec.output, limit=2.0))
    with pytest.warns(hc.ActivationRange, match="hold 2 at most"):
        nn.Client(limited, owner).decrypt(owner.encrypt(np.ones(4)))


def test_clients_stay_in_their_process(rig):
    with pytest.raises(hc.NotPicklable, match="secret key"):
        pickle.dumps(rig.client)
    with pytest.raises(hc.NotPicklable, match="secret key"):
        copy.copy(rig.client)


# What comes from strangers


def test_insecure_parameters_need_permission(rig, tmp_path):
    rig.spec.save(tmp_path / "m.hlspec")
    with pytest.raises(hc.InsecureParameters):
        nn.Client.load(tmp_path / "m.hlspec")
    literal = json.loads(hc.Params.preset("n13-d3").to_json())

    def weaker(content):
        content["parameters"] = literal | {"depth": 5, "allow_insecure": True}

    with pytest.raises(hc.InsecureParameters):
        ClientSpec.from_bytes(changed(rig.spec, weaker))


def put(*path_and_value):
    """A change that sets one value in the content."""
    *path, last, value = path_and_value

    def change(content):
        for step in path:
            content = content[step]
        content[last] = value

    return change


LAYOUT = ("input", "layout")

HOSTILE = [
    (put("format", "other"), "no specification"),
    (put("version", True), "version True"),
    (put("extra", 1), "expected an object with the fields"),
    (put("name", "\x1b[2J"), "printable"),
    (put("name", "x" * 201), "200 printable"),
    (put("made_by", 3), "expected str"),
    (put("parameters", []), "."),
    (put("keys", {}), "expected a list"),
    (put("keys", [[5, 1]] * (limits.CLIENT_SPEC_KEYS + 1)), "8193 keys"),
    (put("keys", [[5, 1], [5, 2]]), "each once"),
    (put("keys", [[4, 1]]), "element 4, which"),
    (put("keys", [[2, 1]]), "element 2, which"),  # no encapsulation key without bootstrapping
    (put("keys", [[4097, 1]]), "expected odd ones up to 4095"),
    (put("keys", [[5, 99]]), "level of a key"),
    (put("keys", [[5, True]]), "expected an integer"),
    (put("keys", [[5]]), "element and a level"),
    (put("input", "shape", [1, 8, 9]), "72 values of shape"),
    (put("output", "shape", [4]), "digits of .3. values for an axis of 4"),
    (put("input", "shape", []), "0 dimensions"),
    (put("input", "shape", [1 << 20, 1 << 20]), "values of shape|expected a list|axes"),
    (put("input", "level", 9), "expected 0 to 8"),
    (put("input", "level", 1.5), "expected an integer"),
    (put("input", "mean", [0.5, 0.5]), "2 means and 1 deviations"),
    (put("input", "mean", ["0"]), "mean is str"),
    (put("input", "std", [0.0]), "positive"),
    (put("input", "std", [-1.0]), "positive"),
    (put("input", "range", [1.0, 0.0]), "low before high"),
    (put("input", "range", [1.0]), "smallest and the largest"),
    (put(*LAYOUT, "version", 2), "layout of version 2"),
    (put(*LAYOUT, "slots", 48), "power of two"),
    (put(*LAYOUT, "slots", 1 << 17), "slots: got 131072"),
    (put(*LAYOUT, "slots", 4096), "4096 slots, the parameters have 1024"),
    (put(*LAYOUT, "slots", 32), "64 values of shape"),
    (put(*LAYOUT, "ciphertexts", 1 << 20), "ciphertexts: got"),
    (put(*LAYOUT, "ciphertexts", 0), "ciphertexts: got 0"),
    (put(*LAYOUT, "images", 2), "128 values of shape"),
    (put(*LAYOUT, "axes", [[], [], [[8, 4]], [[8, 1]]]), "two values in one slot"),
    (put(*LAYOUT, "axes", [[], [], [[8, 10]], [[8, 1]]]), "place 77, expected places below 64"),
    (put(*LAYOUT, "axes", [[], [], [[8, -8]], [[8, 1]]]), "expected 1 to 64"),
    (put(*LAYOUT, "axes", [[], [], [[8, 8]], [[64, 1]]]), "as many as it takes"),
    (put(*LAYOUT, "axes", [[[64, 1]] * 9, [], [], []]), "at most 8"),
    (put(*LAYOUT, "axes", [[]]), "digits of 1 axes"),
    (put("output", "scale", 0), "positive"),
    (put("output", "scale", "1"), "scale is str"),
    (put("output", "limit", -1), "positive"),
    (put("output", "classes", ["a"]), "1 classes for results of shape"),
    (put("output", "classes", ["a", "b", "\u202e"]), "printable"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_every_field_is_checked(rig, number):
    change, message = HOSTILE[number]
    with pytest.raises(hc.CorruptData, match=message):
        ClientSpec.from_bytes(changed(rig.spec, change), allow_insecure=True)


def test_versions_and_accidents(rig, tmp_path):
    with pytest.raises(hc.InvalidArgument, match="version 3, this package reads up to 2"):
        ClientSpec.from_bytes(changed(rig.spec, put("version", 3)), allow_insecure=True)
    with pytest.raises(hc.InvalidArgument, match=r"version <an integer of 139.. bits>"):
        ClientSpec.from_bytes(changed(rig.spec, put("version", 10**4200)), allow_insecure=True)

    def first(content):
        content["version"] = 1
        del content["output"]["decision"]

    assert ClientSpec.from_bytes(changed(rig.spec, first), allow_insecure=True).output == rig.spec.output
    damaged = rig.spec.to_bytes().replace(b'"scale": 1.0', b'"scale": 2.0')
    with pytest.raises(hc.CorruptData, match="changed on the way"):
        ClientSpec.from_bytes(damaged, allow_insecure=True)
    deep = b'{"format": "halocline-client-spec", "version": 1, "x": ' + b"[" * 900 + b"]" * 900 + b"}"
    with pytest.raises(hc.CorruptData):
        ClientSpec.from_bytes(deep)
    (tmp_path / "large").write_bytes(b" " * (limits.CLIENT_SPEC + 1))
    with pytest.raises(hc.CorruptData, match="most"):
        ClientSpec.load(tmp_path / "large")
    with pytest.raises(hc.CorruptData, match="at most"):
        ClientSpec.from_bytes(b" " * (limits.CLIENT_SPEC + 1))
    with pytest.raises(hc.IoError):
        ClientSpec.load(tmp_path / "missing")


@pytest.mark.parametrize(
    "value",
    ["1" * 100_000, 10**4200, [[7] * 1000] * 100, {"a" * 9999: 1}],
    ids=["text", "integer", "list", "object"],
)
@pytest.mark.parametrize(
    "path", [("input", "shape", 0), ("input", "level"), ("output", "scale"), ("version",)]
)
def test_messages_do_not_grow_with_values(rig, path, value):
    with pytest.raises(hc.Error) as raised:
        ClientSpec.from_bytes(changed(rig.spec, put(*path, value)), allow_insecure=True)
    assert len(str(raised.value)) < 300


def test_keys_are_limited(rig):
    """A specification cannot make a client fill the machine with keys."""
    with pytest.raises(hc.InvalidArgument, match=r"asks for 12 keys of .* more than 1.0 MiB; if you trust"):
        rig.client.evaluation_keys(limit="1MiB")
    params = hc.Params.preset("n16-boot")
    plan = hc.KeyPlan(params, [(2 * each + 1, params.top_level) for each in range(limits.CLIENT_SPEC_KEYS)])
    assert plan.nbytes(seeded=True) > limits.CLIENT_KEYS
    huge = dataclasses.replace(rig.spec, params=params, key_plan=plan)
    with pytest.raises(hc.InvalidArgument, match="asks for 8192 keys"):
        nn.Client(huge, threads=1).evaluation_keys()


def test_mutants(rig):
    """1500 damaged files, most with the right identifier: refused with our errors, or harmless."""
    rng = random.Random(12)
    good, taken = rig.spec.to_bytes(), 0
    for number in range(1500):
        data = mutate(rng, good, text=True)
        if rng.random() < 0.8:
            data = seal_client_spec(data)
        try:
            spec = ClientSpec.from_bytes(data, allow_insecure=True)
        except hc.Error as refused:
            assert str(refused), number
            continue
        taken += 1
        packed = spec.input.places.pack(np.ones((1, *spec.input.shape)))
        assert sum(each.sum() for each in packed) == math.prod(spec.input.places.shape)
        assert len(packed) == spec.input.places.ciphertexts
        assert all(len(each) == spec.input.places.slots <= spec.params.slots for each in packed)
        assert ClientSpec.from_bytes(spec.to_bytes(), allow_insecure=True) == spec
    assert 10 < taken < 1000, taken
