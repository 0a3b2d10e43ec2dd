# SPDX-License-Identifier: Apache-2.0
"""Import of ONNX files: results equal those of ONNX's reference evaluator, and bad files are refused."""

import contextlib

import halocline as hc
import halocline.nn as nn
import numpy as np
import pytest
from halocline.nn import onnx_wire
from hypothesis import given, settings
from hypothesis import strategies as st

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

RNG = np.random.default_rng(5)


def w(*shape):
    """Weights as ONNX has them."""
    return RNG.normal(size=shape).astype(np.float32)


def graph(shape, nodes, constants=(), batch="N", opset=21):
    """A model of nodes from "x" to "y"."""
    stored = [numpy_helper.from_array(np.asarray(each), name) for name, each in dict(constants).items()]
    sizes = [batch, *shape]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, sizes)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    made = helper.make_graph(nodes, "test", inputs, outputs, stored)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def one(kind, *inputs, **attributes):
    """The only node of a graph."""
    return helper.make_node(kind, ["x", *inputs], ["y"], name=f"the_{kind.lower()}", **attributes)


def same(model, shape, **options):
    """The imported model, after its results were compared."""
    imported = nn.from_onnx(model.SerializeToString(), **options)
    batch = RNG.normal(size=(2, *shape)).astype(np.float32)
    expected = ReferenceEvaluator(model).run(None, {"x": batch})[0]
    assert imported.output_shape == expected.shape[1:]
    assert np.allclose(imported.forward(batch), expected, atol=1e-5)
    return imported


SINGLE = [
    (one("Conv", "w", "b", pads=[1, 0, 2, 1], strides=[2, 1], group=2), {"w": w(4, 1, 3, 2), "b": w(4)}),
    (one("Conv", "w", "b", pads=[0, 1, 3, 2], strides=[2, 1]), {"w": w(3, 2, 1, 2), "b": w(3)}),
    (one("Conv", "w", auto_pad="SAME_UPPER", dilations=[2, 2]), {"w": w(3, 2, 2, 2)}),
    (one("Conv", "w", auto_pad="SAME_LOWER", strides=[2, 2]), {"w": w(3, 2, 2, 2)}),
    (
        one("BatchNormalization", "s", "b", "m", "v", epsilon=1e-3),
        {"s": w(2), "b": w(2), "m": w(2), "v": np.abs(w(2))},
    ),
    (one("MaxPool", kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 0]), {}),
    (one("MaxPool", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1), {}),
    (one("AveragePool", kernel_shape=[2, 3], pads=[0, 1, 0, 1]), {}),
    (one("AveragePool", kernel_shape=[2, 2], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1), {}),
    (one("GlobalAveragePool"), {}),
    (one("GlobalMaxPool"), {}),
    (one("ReduceMean", "a", keepdims=0), {"a": np.array([-1, 2])}),
    (one("LeakyRelu", alpha=0.2), {}),
    (one("PRelu", "s"), {"s": w(1, 1, 1)}),
    (one("Clip", "l", "h"), {"l": np.float32(-0.5), "h": np.float32(0.25)}),
    (one("Clip", "", "h"), {"h": np.float32(0.25)}),
    (one("HardSigmoid", alpha=0.3, beta=0.4), {}),
    (one("Celu", alpha=0.7), {}),
    (one("Selu"), {}),
    (one("Gelu", approximate="tanh"), {}),
    (one("Add", "c"), {"c": w(2, 1, 1)}),
    (one("Mul", "c"), {"c": w(1, 2, 5, 6)}),
    (one("Sub", "x"), {}),
    (one("Div", "c"), {"c": np.float32(4)}),
    (one("Pow", "c"), {"c": np.float32(3)}),
    (one("Max", "c"), {"c": np.float32(0.5)}),
    (one("Reshape", "s"), {"s": np.array([0, 5, -1, 2])}),
    (one("Transpose", perm=[0, 3, 1, 2]), {}),
    (one("Slice", "a", "b", "i", "s"), {"a": [1, 0], "b": [2**31, 5], "i": [2, 3], "s": [1, 2]}),
    (one("Pad", "p"), {"p": np.array([0, 0, 1, 2, 0, 1, 0, 1])}),
    (one("Pad", "p", mode="reflect"), {"p": np.array([0, 0, 1, 2, 0, 0, 0, 1])}),
    (one("Resize", "", "s"), {"s": np.array([1, 1, 2, 3], np.float32)}),
    (
        one("Resize", "", "s", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
        {"s": np.array([1, 1, 2, 1.5], np.float32)},
    ),
    (one("Resize", "", "s", mode="linear"), {"s": np.array([1, 1, 2, 2], np.float32)}),
    (one("Resize", "", "s", axes=[2, 3]), {"s": np.array([2, 0.5], np.float32)}),
    (
        one("Resize", "", "", "z", mode="linear", coordinate_transformation_mode="align_corners"),
        {"z": [2, 2, 7, 9]},
    ),
    *((one(kind), {}) for kind in ("Relu", "Abs", "HardSwish", "Elu", "Sigmoid", "Tanh", "Erf", "Neg")),
    *((one(kind), {}) for kind in ("Mish", "Softplus", "Softsign", "Gelu", "Flatten")),
]


@pytest.mark.parametrize(("node", "constants"), SINGLE, ids=[node.op_type for node, _ in SINGLE])
def test_operators(node, constants):
    imported = same(graph((2, 5, 6), [node], constants), (2, 5, 6))
    assert imported.nodes[-1].name.startswith(node.name)


def network():
    """Branches, shapes that are computed, constants in nodes, an exported GELU, products of tensors."""
    make = helper.make_node
    nodes = [
        make("Conv", ["x", "w1", "b1"], ["c"], name="/conv/Conv", pads=[1, 1, 1, 1]),
        make("Constant", [], ["root"], value_float=float(np.sqrt(2))),
        make("Div", ["c", "root"], ["d"]),
        make("Erf", ["d"], ["e"]),
        make("Constant", [], ["one"], value=numpy_helper.from_array(np.float32(1))),
        make("Add", ["e", "one"], ["f"]),
        make("Mul", ["c", "f"], ["g"]),
        make("Constant", [], ["half"], value_float=0.5),
        make("Mul", ["g", "half"], ["gelu"], name="gelu"),
        make("Split", ["gelu"], ["s1", "s2"], axis=1, num_outputs=2),
        make("Concat", ["s2", "s1", "x"], ["joined"], axis=1),
        make("MaxPool", ["joined"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
        make("Shape", ["m"], ["shape"]),
        make("Gather", ["shape", "zero"], ["batch"], axis=0),
        make("Unsqueeze", ["batch", "axis"], ["batch1"]),
        make("Concat", ["batch1", "rest"], ["target"], axis=0),
        make("Reshape", ["m", "target"], ["flat"]),
        make("Gemm", ["flat", "w2", "b2"], ["logits"], transB=1, alpha=0.5),
        make("MatMul", ["logits", "w3"], ["y"]),
    ]
    constants = {"w1": w(4, 1, 3, 3), "b1": w(4), "w2": w(3, 45), "b2": w(3), "w3": w(3, 2)}
    constants |= {"zero": np.array(0), "axis": np.array([0]), "rest": np.array([-1])}
    return graph((1, 6, 6), nodes, constants)


def test_a_network(tmp_path):
    imported = same(network(), (1, 6, 6), metadata={"source": "test"}, alpha=9, precision=14)
    assert imported.metadata == {"source": "test"}
    assert imported.node("/conv/Conv").layer.kernel == (3, 3)
    pool = next(node.layer for node in imported.nodes if isinstance(node.layer, nn.MaxPool))
    assert pool.alpha == 9
    onnx.save(network(), tmp_path / "model.onnx")
    assert nn.from_onnx(tmp_path / "model.onnx").output_shape == (2,)
    inner = nn.from_onnx(tmp_path / "model.onnx", output="gelu")
    assert inner.output_shape == (4, 6, 6)


def test_numbers_beside_the_file(tmp_path):
    model = network()
    expected = nn.from_onnx(model.SerializeToString()).forward(np.ones((1, 1, 6, 6)))
    options = {"save_as_external_data": True, "size_threshold": 0, "location": "weights.bin"}
    onnx.save(model, tmp_path / "model.onnx", **options)
    assert np.array_equal(nn.from_onnx(tmp_path / "model.onnx").forward(np.ones((1, 1, 6, 6))), expected)
    with pytest.raises(hc.CorruptData, match="pass the path"):
        nn.from_onnx((tmp_path / "model.onnx").read_bytes())


@pytest.mark.parametrize(
    ("entries", "match"),
    [
        ({"location": "../secret.bin"}, "outside the folder"),
        ({"location": "/etc/passwd"}, "outside the folder"),
        ({"location": "link.bin"}, "outside the folder"),
        ({"location": ""}, "outside the folder"),
        ({"location": "weights.bin", "offset": "-8"}, "bytes at -8"),
        ({"location": "weights.bin", "offset": "100"}, "expected 16 bytes"),
        ({"location": "weights.bin", "length": "400"}, "400 bytes at 0"),
        ({"location": "weights.bin", "offset": "many"}, "no number"),
    ],
)
def test_numbers_elsewhere_are_refused(tmp_path, entries, match):
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(64))
    (folder / "weights.bin").write_bytes(bytes(64))
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    model = graph((4,), [one("Mul", "c")], {"c": w(4)})
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(hc.CorruptData, match=match):
        nn.from_onnx(folder / "model.onnx")


@pytest.mark.parametrize(
    ("node", "constants", "match"),
    [
        (
            one("ConvTranspose", "w"),
            {"w": w(2, 2, 2, 2)},
            r"node 'the_convtranspose' \(ConvTranspose\): .*nearest is Up",
        ),
        (one("Softmax"), {}, "leave it out"),
        (one("LSTM", "w"), {"w": w(1)}, r"\(LSTM\): operator is not supported.*Supported are Abs, Add"),
        (one("Conv", "x"), {}, "input 1 depends on the input"),
        (one("Conv", "w"), {"w": w(2, 3, 3, 3)}, "input of 2 channels"),
        (one("MatMul", "w"), {"w": w(6, 2)}, "vector times matrix"),
        (one("Transpose", perm=[1, 0, 2, 3]), {}, "batch"),
        (one("Reshape", "s"), {"s": np.array([4, 15])}, "batch must stay first"),
        (one("Pow", "c"), {"c": np.float32(0.5)}, "exponent"),
        (one("Resize", "", "s", mode="cubic"), {"s": np.ones(4, np.float32)}, "cubic"),
        (one("Resize", "", "s", mode="linear", antialias=1), {"s": np.ones(4, np.float32)}, "antialias"),
        (one("Resize", "", "s"), {"s": np.array([1, 2, 1, 1], np.float32)}, "rows and columns"),
        (one("Resize", "", "s", axes=[1, 2]), {"s": np.ones(2, np.float32)}, r"axes \[1, 2\]"),
        (one("Resize", "", "", "s"), {"s": np.array([2, 4, 5, 6])}, "number of channels"),
        (one("Resize", "", "s", mode="linear"), {"s": np.array([1, 1, 1, 1.7], np.float32)}, "whole pixels"),
        (one("Softmax"), {}, r"leave it out.*: output='x' stops before it"),
        (one("MatMul", "w"), {"w": np.ones((6, 2))}, "nearest is Linear"),
        (one("Identity"), {}, "made by no node"),
        (
            helper.make_node("Relu", ["x"], ["y"], domain="custom"),
            {},
            "operator of 'custom' is not supported",
        ),
    ],
)
def test_unsupported(node, constants, match):
    with pytest.raises(hc.InvalidArgument, match=match):
        nn.from_onnx(graph((2, 5, 6), [node], constants).SerializeToString())


def test_files_that_are_no_models(tmp_path):
    with pytest.raises(hc.CorruptData, match="no ONNX model"):
        nn.from_onnx(b"\xff\xff\xff")
    with pytest.raises(hc.CorruptData, match="0 operators"):
        nn.from_onnx(b"")
    with pytest.raises(hc.IoError):
        nn.from_onnx(tmp_path / "none.onnx")
    unknown = graph((2, 5, 6), [one("Relu")])
    unknown.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "rows"
    with pytest.raises(hc.CorruptData, match="pass input_shape="):
        nn.from_onnx(unknown.SerializeToString())
    assert nn.from_onnx(unknown.SerializeToString(), input_shape=(2, 4, 4)).output_shape == (2, 4, 4)
    large = graph((4,), [one("Mul", "c")], {"c": w(4)})
    large.graph.initializer[0].dims[0] = 1 << 40
    for model, match in (
        (large, "more than 268435456 numbers"),
        (graph((4,), [helper.make_node("Add", ["x", "ghost"], ["y"])]), "'ghost', which nothing before"),
        (graph((4,), [one("Mul", "c")], {"c": np.array(["a"])}), "real numbers|no array"),
        (graph((2, 5, 6), [one("MaxPool")]), "KeyError"),
    ):
        with pytest.raises(hc.CorruptData, match=match):
            nn.from_onnx(model.SerializeToString())


def test_small_files_that_would_become_large():
    """Refused before memory is taken: gigabytes by broadcasting, and by many empty messages."""
    tall, wide = np.zeros((1 << 16, 1), np.int8), np.zeros((1, 1 << 16), np.int8)
    constants = {"t": tall, "w": wide, "i": np.zeros(1 << 16, np.int64)}
    for made in (
        helper.make_node("Add", ["t", "w"], ["c"]),
        helper.make_node("Gather", ["w", "i"], ["c"], axis=0),
        helper.make_node("Concat", ["t"] * 4000, ["c"], axis=0),
    ):
        model = graph((4,), [made, one("Mul", "c")], constants)
        with pytest.raises(hc.CorruptData, match="a constant of"):
            nn.from_onnx(model.SerializeToString())
    empty = b"\x0a\x00" * onnx_wire.MAX_FIELDS  # nodes
    with pytest.raises(hc.CorruptData, match="more than 1048576 fields"):
        nn.from_onnx(b"\x3a\x80\x80\x80\x01" + empty)
    for group in (b"\x0b\x0c", b"\x3a\x7f", b"\x80\x80\x80\x80\x80\x01\x00"):
        with pytest.raises(hc.CorruptData, match="no ONNX model"):
            nn.from_onnx(group)


def test_lists_and_dimensions_are_counted_before_they_are_used():
    """Work that grows with the square of a list's length is refused, and shapes that constants become."""
    large = TensorProto(name="c", data_type=TensorProto.FLOAT)
    large.dims.extend([2**62] * 100_000)
    model = graph((4,), [one("MatMul", "c")])
    model.graph.initializer.append(large)
    with pytest.raises(hc.CorruptData, match="100000 dimensions, expected at most 32"):
        nn.from_onnx(model.SerializeToString())
    doubled = [helper.make_node("Constant", [], ["c0"], value_ints=[2**62])]
    doubled += [helper.make_node("Concat", [f"c{i}"] * 2, [f"c{i + 1}"], axis=0) for i in range(22)]
    many = helper.make_node("Constant", [], ["a"], value_ints=list(range(2000)))
    for nodes, match in (
        ([*doubled, one("Reshape", "c22")], "a list of 4194304 numbers; supported are at most 4096"),
        ([*doubled, one("Reshape", "c8")], "a tensor of 256 dimensions"),
        ([*doubled, helper.make_node("Reshape", ["c0", "c8"], ["z"]), one("Mul", "z")], "256 dimensions"),
        ([*doubled, many, helper.make_node("Unsqueeze", ["c0", "a"], ["z"]), one("Mul", "z")], "2001 dim"),
        ([*doubled, one("Unsqueeze", "c22")], "a list of 4194304"),
    ):
        with pytest.raises(hc.InvalidArgument, match=match) as raised:
            nn.from_onnx(graph((4,), nodes).SerializeToString())
        assert len(str(raised.value)) < 2000


@pytest.mark.parametrize("kind", ["AveragePool", "MaxPool"])
@pytest.mark.parametrize("pads", [[2**27, 0, 2**27, 0], [2**62] * 4, [-1, 0, 0, 0]])
def test_padding_of_pools_is_limited(kind, pads):
    model = graph((1, 8, 8), [one(kind, kernel_shape=[2, 2], pads=pads)])
    with pytest.raises(hc.InvalidArgument, match="65536"):
        nn.from_onnx(model.SerializeToString())


def test_matrices_of_pools_are_limited():
    pads = [2**16, 0, 2**16, 0]
    model = graph((1, 4096, 8), [one("AveragePool", kernel_shape=[2, 2], pads=pads)])
    with pytest.raises(hc.InvalidArgument, match="supported are at most 67108864 values"):
        nn.from_onnx(model.SerializeToString())


def test_names_in_messages_are_short_and_safe_to_print():
    node = one("Relu")
    node.op_type = "\x1b[2J" + "a" * 100000
    model = graph((4,), [node])
    with pytest.raises(hc.InvalidArgument) as raised:
        nn.from_onnx(model.SerializeToString())
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 2000
    with pytest.raises(hc.InvalidArgument, match="exponent") as raised:
        nn.from_onnx(graph((4,), [one("Pow", "c")], {"c": w(60, 4)}).SerializeToString())
    assert len(str(raised.value)) < 2000


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damaged_files_raise_errors_of_ours(data):
    """Bytes that are changed, cut and repeated: a model or an error, never another exception."""
    damaged = bytearray(network().SerializeToString())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at] = data.draw(st.integers(0, 255))
    damaged = damaged[: data.draw(st.integers(len(damaged) // 2, len(damaged)))]
    with contextlib.suppress(hc.Error):
        nn.from_onnx(bytes(damaged))
