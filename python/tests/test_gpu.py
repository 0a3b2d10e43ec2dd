# SPDX-License-Identifier: Apache-2.0
"""The same programs on a GPU and on the CPU: equal bytes, for every operation, level, word and policy.

HALOCLINE_GPU_TEST_DEVICE names another device than cuda:0; with "cpu" the file tests itself.
"""

import dataclasses
import os
import subprocess
import sys

import halocline as hc
import numpy as np
import pytest
from halocline.bench.operations import ALL
from halocline.engine.planned_run import name_inputs, shape_arguments

DEVICE = os.environ.get("HALOCLINE_GPU_TEST_DEVICE", "cuda:0")
SEED = bytes(range(1, 33))
STEPS = (1, 2, 3, 4, 8, -1, -3)
PRESETS = ("test-n10-d3", "test-n10-d3-w64", "test-n11-d8", "n13-d3", "n14-d7")
MOVING = ("static", "profiled", "dynamic", "cached", "lru", "planned")
POLICIES = ("resident", "async", "managed", *MOVING)

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(DEVICE not in hc._core.available_devices(), reason=f"no device '{DEVICE}' here"),
]


@dataclasses.dataclass
class Pair:
    """One client's keys in an engine on each device."""

    client: hc.Client
    keys: hc.EvaluationKeys
    cpu: hc.Engine
    gpu: hc.Engine

    def same(self, program, *inputs):
        """Runs a program on both and compares bytes; returns what the GPU has."""
        expected, found = (engine.run(program, *inputs) for engine in (self.cpu, self.gpu))
        if not isinstance(expected, list):
            expected, found = [expected], [found]
        assert len(expected) == len(found)
        for a, b in zip(expected, found, strict=True):
            assert (a.level, a.scale, a.components) == (b.level, b.scale, b.components)
            assert a.to_bytes() == b.to_bytes()
        return found


def make_pair(name, **options):
    params = hc.Params.preset(name, allow_insecure=True)
    client = hc.Client(params, seed=SEED)
    keys = client.evaluation_keys(STEPS, conjugation=True)
    return Pair(client, keys, hc.Engine(params, keys), hc.Engine(params, keys, DEVICE, **options))


@pytest.fixture(scope="module", params=PRESETS)
def pair(request):
    return make_pair(request.param)


def inputs(client, level, count=2):
    rng = np.random.default_rng(level)
    slots = client.params.slots
    values = (rng.uniform(-1, 1, slots) + 1j * rng.uniform(-1, 1, slots) for _ in range(count))
    return [client.encrypt(each, level=level) for each in values]


def vector(x):
    return np.linspace(-1, 1, x.slots)


FREE = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "negate": lambda x, y: -x,
    "add_constant": lambda x, y: x + (0.25 - 1.5j),
    "add_values": lambda x, y: x + vector(x),
    "multiply_by_i": lambda x, y: x.mul_i(),
    "multiply_by_integer": lambda x, y: x * 3,
    "rotate": lambda x, y: x.rotate(1),
    "rotate_back": lambda x, y: x.rotate(-3),
    "conjugate": lambda x, y: x.conj(),
    "rotate_many": lambda x, y: x.engine.rotate_many(x, [1, 2, 4, -1]),
    "inner_sum": lambda x, y: x.engine.inner_sum(x, 8),
    "sum_rotations": lambda x, y: x.engine.sum_rotations(x, [0, 1, 2, -1]),
    "sum_of_others": lambda x, y: x.engine.sum_rotations(x, [4, -3]),
    "inner_sum_in_fours": lambda x, y: x.engine.inner_sum(x, 8, radix=4),
}
"""Operations that no level is needed for."""

LEVELLED = {
    "multiply": lambda x, y: x * y,
    "square": lambda x, y: x * x,
    "multiply_constant": lambda x, y: x * (0.5 + 0.125j),
    "multiply_values": lambda x, y: x * vector(x),
    "dot": lambda x, y: x.engine.dot([x, y, x], [y, y, x]),
    "rescale": lambda x, y: x.rescale(),
    "drop_level": lambda x, y: x.drop_level(x.level - 1),
    "adjust": lambda x, y: x.adjust(x.level - 1, x.params.level(x.level - 1).scale * 1.0625),
    "mixed_levels": lambda x, y: (x * y) + x,
}


@pytest.mark.parametrize("operation", [*FREE, *LEVELLED])
def test_operations_equal_the_cpu(pair, operation):
    top = pair.client.params.max_level
    for level in range(1 if operation in LEVELLED else 0, top + 1):
        pair.same((FREE | LEVELLED)[operation], *inputs(pair.client, level))


def test_manual_mode_equals_the_cpu(pair):
    def program(x, y):
        with x.engine.manual():
            product = x * y
            return [product, product.relinearize(), product.relinearize().rescale()]

    pair.same(program, *inputs(pair.client, pair.client.params.max_level))


def test_circuits_equal_the_cpu():
    params = hc.Params.preset("test-n11-d8", allow_insecure=True)
    client = hc.Client(params, seed=SEED)
    size = 16
    rng = np.random.default_rng(3)
    matrix = rng.uniform(-1, 1, (size, size))
    x = client.encrypt(rng.uniform(-1, 1, size), slots=size)

    def program(x):
        engine = x.engine
        return [engine.matvec(matrix, x), engine.polynomial(x, [0.25, 0.5, 0.0, -0.125, 0.0625])]

    keys = client.evaluation_keys(plan=hc.key_plan(params, program, x))
    pair = Pair(client, keys, hc.Engine(params, keys), hc.Engine(params, keys, DEVICE))
    found = pair.same(program, x)
    np.testing.assert_allclose(
        client.decrypt(found[0])[:size].real, matrix @ client.decrypt(x)[:size].real, atol=1e-4
    )


def chain(x, y):
    """Touches every key, and more than fits in a small budget."""
    total = x * y
    for step in STEPS:
        total = total + (x * y).rotate(step)
    return [total, total.conj(), total * total]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", ["test-n11-d8", "test-n10-d3-w64"])
def test_policies_change_nothing(policy, name, tmp_path):
    options = None
    if policy == "profiled":  # every other allocation from the pool
        decisions = tmp_path / "decisions"
        decisions.write_text(hc._core.decisions_to_text(bytes([0, 1] * 5000)))
        options = hc.MemoryOptions(decisions=decisions)
    pair = make_pair(name, policy=policy, memory_options=options)
    for _ in range(3):  # plans, graphs and histories come into play when a program comes again
        pair.same(chain, *inputs(pair.client, pair.client.params.max_level))


@pytest.mark.parametrize("policy", ["lru", "planned"])
def test_budgets_change_nothing(policy):
    whole = make_pair("test-n11-d8")
    arguments = inputs(whole.client, whole.client.params.max_level)
    expected = [each.to_bytes() for each in whole.cpu.run(chain, *arguments)]
    peak = hc.trace_program(whole.client.params, chain, *arguments).peak_bytes
    engine = hc.Engine(whole.client.params, whole.keys, DEVICE, memory=peak // 2, policy=policy)
    for _ in range(2):
        assert [each.to_bytes() for each in engine.run(chain, *arguments)] == expected
    assert engine.last_run.peak_fast_bytes <= peak // 2


def test_plans_expand_seeds_on_the_card():
    params = hc.Params.preset("n14-d7")
    client = hc.Client(params, seed=SEED)
    keys = client.evaluation_keys(STEPS, conjugation=True)
    arguments = inputs(client, params.max_level)
    expected = [each.to_bytes() for each in hc.Engine(params, keys, DEVICE).run(chain, *arguments)]
    peak = hc.trace_program(params, chain, *arguments).peak_bytes
    engine = hc.Engine(params, keys, DEVICE, memory=peak // 2, policy="planned")
    # The device's own link decides what the engine's plans do; on an H200 this one has to expand.
    twin = engine._ghost_twin(engine._plan_keys())
    twin._core.joining_budget = engine.budget_bytes  # the steps of the engine
    shaped = shape_arguments((arguments, {}), twin)
    name_inputs(twin, shaped)
    with twin.record() as trace:
        chain(*shaped[0])
    plan = hc.plan_trace(trace, engine.budget_bytes, "h200", parameters=engine._plan_context())
    assert plan.summary.expanded_bytes > 0
    for _ in range(3):
        assert [each.to_bytes() for each in engine.run(chain, *arguments, plan=plan)] == expected
        assert engine.last_run.followed_plan
        assert engine.last_run.bytes_moved["expanded"] > 0


def test_seeded_keys_change_nothing():
    pair = make_pair("test-n11-d8", keep_seeds=True)
    pair.same(chain, *inputs(pair.client, pair.client.params.max_level))


def test_two_engines_on_one_card():
    first, second = make_pair("test-n10-d3"), make_pair("test-n11-d8")
    for _ in range(2):
        for pair in (first, second):
            pair.same(lambda x, y: (x * y).rotate(1), *inputs(pair.client, 2))


def test_a_lack_of_memory_loses_nothing():
    pair = make_pair("test-n11-d8", memory="1GiB")
    x, y = (each.to(pair.gpu) for each in inputs(pair.client, 8))
    before = x.to_bytes()
    pair.gpu.set_budget(pair.gpu.stats()["live_bytes"] + 1)
    with pytest.raises(hc.OutOfMemory, match="budget"):
        x * y
    pair.gpu.set_budget("1GiB")
    assert x.to_bytes() == before
    assert (x * y).to_bytes() == (x.to(pair.cpu) * y.to(pair.cpu)).to_bytes()


@pytest.mark.parametrize("policy", ["resident", "planned"])
def test_digits_workload(policy):
    from halocline.workloads.digits.run import DigitsOptions, DigitsRun

    params = hc.Params.preset("n14-d7")
    memory = "50%" if policy == "planned" else None
    report = DigitsRun(params, DigitsOptions(DEVICE, memory, policy, images=32)).run()
    assert report["device"] == DEVICE and report["images"] == 32
    assert report["agreement"] == 1.0  # the plain model's digits; the noise is far below its margins
    assert report["precision_worst_bits"] > 15  # 23 on the CPU


def test_timed_operations_use_the_device_clock():
    pair = make_pair("n13-d3")
    for operation in (*ALL, "intt"):
        for graph in (False, True):
            taken = hc._core.time_operation(pair.gpu._core, operation, 3, 3, 8, 2, graph, 0.0)
            assert len(taken["seconds"]) == 3
            # A kernel takes more than a tenth of a microsecond, and these less than a second.
            assert all(1e-7 < each < 1 for each in taken["seconds"])


@pytest.mark.skipif(not DEVICE.startswith("cuda"), reason="about NVIDIA GPUs")
def test_reports_and_errors_of_devices():
    report = hc._core.report_device(DEVICE, True)
    assert report["architecture"] >= 80 and 0 < report["free_bytes"] <= report["total_bytes"]
    for way in ("to", "from", "within"):
        assert report[f"{way}_device_per_second"] > 1e9  # slower than any PCIe link
    with pytest.raises(hc.DeviceError, match="there is no device 'cuda:99'"):
        hc.Engine(hc.Params.preset("n13-d3"), device="cuda:99")


@pytest.mark.skipif(DEVICE == "cpu", reason="about GPUs")
def test_a_forked_process_is_refused():
    script = f"""
import os, sys, halocline as hc
params = hc.Params.preset("test-n10-d3", allow_insecure=True)
client = hc.Client(params)
engine = hc.Engine(params, device={DEVICE!r})
x = client.encrypt([1.0]).to(engine)
child = os.fork()
if child == 0:
    try:
        x + x
    except hc.DeviceError as error:
        if "fork" not in str(error):
            os._exit(8)
    try:
        hc.Engine(params, device={DEVICE!r})
    except hc.DeviceError as error:
        os._exit(7 if "spawn" in str(error) else 10)
    os._exit(9)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert status == 7, status
(x + x).to_bytes()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
