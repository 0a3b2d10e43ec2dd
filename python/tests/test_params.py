# SPDX-License-Identifier: Apache-2.0
import copy
import json
import pickle

import halocline as hc
import pytest


def test_named_presets_are_secure_enough():
    names = hc.preset_names()
    assert {"n13-d3", "n14-d7", "n15-d14", "n16-d25"} <= set(names)
    assert {"FVa", "FVb", "FVc", "FGa", "FGb", "FTa", "FTb"} <= set(names)
    for name in names:
        assert hc.preset_description(name)
        if not name.startswith("test-"):
            assert hc.Params.preset(name).security_bits >= 128


def test_contract_fields():
    params = hc.Params.preset("n14-d7")
    assert (params.name, params.log_n, params.n, params.slots, params.max_level) == (
        "n14-d7",
        14,
        16384,
        8192,
        7,
    )
    assert params.word_bits == 32
    assert params.log2_pq == pytest.approx(params.log2_p + params.log2_q)
    assert params.log2_pq <= params.max_log2_pq
    assert params.security_source
    assert "131 bits" in repr(params) or "bits of security" in repr(params)


def test_level_table():
    params = hc.Params.preset("n13-d3")
    assert [row.level for row in params.levels] == [0, 1, 2, 3]
    sizes = [row.log2_modulus for row in params.levels]
    assert sizes == sorted(sizes)
    top = params.level(3)
    assert top.primes == top.terminals + top.mains
    assert params.ciphertext_bytes(3) == top.ciphertext_bytes == 2 * top.primes * params.n * 4
    assert params.ciphertext_bytes() == params.ciphertext_bytes(3)
    assert params.ciphertext_bytes(3, components=3) == 3 * params.plaintext_bytes(3)
    assert params.key_bytes(seeded=True) < params.key_bytes()
    with pytest.raises(hc.InvalidArgument, match="0 to 3"):
        params.level(4)


def test_insecure_parameters_are_refused_unless_asked_for():
    for make in (
        lambda **extra: hc.Params.preset("test-n10-d3", **extra),
        lambda **extra: hc.Params.from_json(
            hc.Params.preset("test-n10-d3", allow_insecure=True).to_json(), **extra
        ),
        lambda **extra: hc.Params(log_n=10, depth=3, **extra),
    ):
        with pytest.raises(hc.InsecureParameters, match="allow_insecure"):
            make()
        assert make(allow_insecure=True).security_bits < 128


def test_sets_of_older_tables_are_read_with_permission_only(tmp_path):
    """n15-d16 as it was under the standard of 2018: log2 PQ 879.4, insecurity not asked for."""
    old = json.loads(hc.Params.preset("n15-d16").to_json()) | {"special_primes": 6, "digit_size": 6}
    assert not old["allow_insecure"]
    with pytest.raises(hc.InsecureParameters, match=r"868.*2024/463"):
        hc.Params.from_json(json.dumps(old))
    params = hc.Params.from_json(json.dumps(old), allow_insecure=True)
    assert params.log2_pq == pytest.approx(879.4, abs=0.1)
    assert params.security_bits < 128
    assert params != hc.Params.preset("n15-d16")
    data = params.to_bytes()
    params.save(tmp_path / "old.hlc")
    for read in (
        lambda **o: hc.Params.from_bytes(data, **o),
        lambda **o: hc.Params.load(tmp_path / "old.hlc", **o),
    ):
        with pytest.raises(hc.InsecureParameters, match="older table"):
            read()
    assert hc.Params.from_bytes(data, allow_insecure=True) == params
    secure = hc.Params.preset("n14-d7").to_json()
    assert hc.Params.from_json(secure, allow_insecure=True).to_json() == secure


def test_fields_make_parameters():
    source = json.loads(hc.Params.preset("n13-d3").to_json())
    fields = {key: value for key, value in source.items() if key not in ("schema", "allow_insecure")}
    made = hc.Params(**fields)
    assert made == hc.Params.preset("n13-d3")


@pytest.mark.parametrize(
    "fields",
    [{"log_n": 5}, {"log_n": 14, "no_such_field": 1}, {"word_bits": 16}, {"depth": -1}, {"log_n": "x"}],
)
def test_bad_fields_are_named(fields):
    with pytest.raises(hc.InvalidArgument):
        hc.Params(**fields)


def test_json_round_trip_and_errors():
    params = hc.Params.preset("n14-d7")
    again = hc.Params.from_json(params.to_json())
    assert again == params
    assert hash(again) == hash(params)
    assert again.fingerprint == params.fingerprint
    assert hc.Params.from_json(params.to_json(0).encode()) == params
    for text in (
        "",
        "{",
        "[]",
        "nonsense",
        b"\xff\xfe",
        '{"schema": 99, "log_n": 14}',
        params.to_json()[:-3],
    ):
        with pytest.raises(hc.Error):
            hc.Params.from_json(text)
    with pytest.raises(hc.WrongType):
        hc.Params.from_json(17)


def test_bytes_files_and_pickle(tmp_path, params):
    secure = hc.Params.preset("n13-d3")
    assert hc.Params.from_bytes(secure.to_bytes()) == secure
    secure.save(tmp_path / "p.hlc")
    assert hc.Params.load(tmp_path / "p.hlc") == secure
    assert pickle.loads(pickle.dumps(secure)) == secure
    assert pickle.loads(pickle.dumps(secure)).max_level == secure.max_level
    assert copy.copy(params) is params and copy.deepcopy([params])[0] is params
    with pytest.raises(hc.InsecureParameters):
        hc.Params.from_bytes(params.to_bytes())
    assert hc.Params.from_bytes(params.to_bytes(), allow_insecure=True) == params


def test_unknown_preset_lists_the_known_ones():
    with pytest.raises(hc.InvalidArgument, match="n14-d7"):
        hc.Params.preset("n99")
    with pytest.raises(hc.WrongType):
        hc.Params.preset(14)


def test_equality_ignores_the_name():
    source = json.loads(hc.Params.preset("n13-d3").to_json())
    renamed = hc.Params.from_json(json.dumps(source | {"name": "mine"}))
    assert renamed == hc.Params.preset("n13-d3")
    assert renamed != hc.Params.preset("n14-d7")
    assert renamed != "n13-d3"


def test_levels_for_bootstrapping():
    params = hc.Params.preset("n16-boot")
    chosen = params.bootstrapping
    assert (params.max_level, params.top_level, len(params.levels)) == (17, 28, 29)
    assert (chosen.eval_mod_levels, chosen.coeff_to_slot_levels, chosen.slot_to_coeff_levels) == (8, 3, 3)
    assert [row.use for row in params.levels] == ["message"] * 18 + ["eval_mod"] * 8 + ["coeff_to_slot"] * 3
    assert params.level(17).arrival_scale == 2.0**60
    assert params.level(16).arrival_scale == params.level(16).scale
    assert params.base_modulus == pytest.approx(2.0 ** params.level(0).log2_modulus, rel=1e-9)
    assert params.key_bytes() == params.key_bytes(17) < params.key_bytes(28)
    assert 0 < params.encapsulation_key_bytes(seeded=True) < params.encapsulation_key_bytes()
    assert chosen.encapsulated and chosen.raise_weight == 32
    assert chosen.ephemeral_log2_pq <= chosen.ephemeral_max_log2_pq == 121
    assert params.security_bits == chosen.ephemeral_security_bits == 128
    assert "SparseLWEkit" in chosen.ephemeral_security_source
    with pytest.raises(hc.InvalidArgument, match="0 to 28"):
        params.level(29)


def test_range_of_eval_mod():
    chosen = hc.Params.preset("n16-boot").bootstrapping
    assert chosen.overflow_range(-32, 32768) == 12
    assert chosen.overflow_range(-128, 32768) == 16
    assert chosen.log2_overflow_probability(16, 32768) == pytest.approx(-138.7, abs=0.1)
    assert chosen.log2_overflow_probability(16.5, 32768) == -float("inf")
    with pytest.raises(hc.InvalidArgument, match="range"):
        chosen.log2_overflow_probability(0, 32768)
    with pytest.raises(hc.InvalidArgument, match="slots"):
        chosen.overflow_range(-32, 0)
    with pytest.raises(hc.InvalidArgument, match="below 1"):
        chosen.overflow_range(1, 1)
    with pytest.raises(hc.WrongType, match="log2_probability"):
        chosen.overflow_range("1", 1)


def test_sets_without_bootstrapping():
    params = hc.Params.preset("n14-d7")
    assert params.bootstrapping is None
    assert (params.top_level, params.encapsulation_key_bytes()) == (params.max_level, 0)
    assert "bootstrapping" not in params.to_json()


def test_bootstrapping_from_fields():
    extra = {
        "eval_mod": {"bits": 60, "levels": 7},
        "coeff_to_slot": {"bits": 60, "levels": 2},
        "slot_to_coeff_levels": 2,
        "ephemeral_weight": 0,
        "ephemeral_special_primes": 0,
    }
    fields = {"log_n": 11, "depth": 4, "special_primes": 3, "digit_size": 3, "bootstrapping": extra}
    params = hc.Params(**fields, allow_insecure=True)
    assert (params.top_level, params.bootstrapping.encapsulated) == (13, False)
    assert params.bootstrapping.raise_weight == 1365
    assert json.loads(params.to_json())["bootstrapping"] == extra
    assert hc.Params.from_bytes(params.to_bytes(), allow_insecure=True) == params
    with hc.allow_insecure_unpickling():
        assert pickle.loads(pickle.dumps(params)) == params
    extra["eval_mod"]["levels"] = 0
    with pytest.raises(hc.InvalidArgument, match="eval_mod levels is 0"):
        hc.Params(**fields, allow_insecure=True)


@pytest.mark.parametrize("value", [object(), {1}, lambda: 1])
def test_fields_that_are_no_json_are_refused(value):
    with pytest.raises(hc.InvalidArgument, match="no value of JSON"):
        hc.Params(depth=value)
