# SPDX-License-Identifier: Apache-2.0
"""Import of PyTorch modules: results equal those of PyTorch, or the error names the module."""

import operator

import halocline as hc
import halocline.nn as hnn
import numpy as np
import pytest

torch = pytest.importorskip("torch")
nn, functional = torch.nn, torch.nn.functional


def trained(module):
    """`module` in double precision with batch norms that do something."""
    torch.manual_seed(3)
    for each in module.modules():
        if isinstance(each, nn.BatchNorm2d | nn.BatchNorm1d) and each.track_running_stats:
            nn.init.uniform_(each.running_mean, -1, 1)
            nn.init.uniform_(each.running_var, 0.5, 2)
            if each.affine:
                nn.init.uniform_(each.weight, 0.5, 2)
                nn.init.uniform_(each.bias, -1, 1)
    return module.double()


def same(module, shape, **options):
    """The imported model, after its results on random inputs were compared."""
    module = trained(module)
    model = hnn.from_torch(module, shape, **options)
    batch = np.random.default_rng(1).normal(size=(3, *shape))
    with torch.no_grad():
        expected = module.eval()(torch.from_numpy(batch.copy())).numpy()
    assert model.output_shape == expected.shape[1:]
    assert np.allclose(model.forward(batch), expected)
    return model


class Block(nn.Module):
    """A residual block as most implementations of CIFAR-10 ResNets write it."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.added = (after - before) // 2
        self.stride = stride

    def forward(self, x):
        out = functional.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        x = functional.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.added, self.added))
        out += x
        return functional.relu(out)


class SmallResnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(4)
        self.layer1 = nn.Sequential(Block(4, 4, 1), Block(4, 8, 2))
        self.linear = nn.Linear(8, 5)

    def forward(self, x):
        out = self.layer1(functional.relu(self.bn1(self.conv1(x))))
        out = functional.avg_pool2d(out, out.size()[3])
        out = out.view(out.size(0), -1)
        return self.linear(out)


def test_residual_network():
    model = same(SmallResnet(), (3, 8, 8), metadata={"source": "test"}, alpha=11)
    kinds = [type(node.layer).__name__ for node in model.nodes]
    assert (kinds.count("Conv2d"), kinds.count("Shortcut"), kinds.count("Add")) == (5, 1, 2)
    assert model.node("layer1.1.conv1").layer.stride == 2
    assert all(node.layer.alpha == 11 for node in model.activation_nodes)
    assert model.metadata == {"source": "test"}
    description, tensors = hnn.to_description(model)
    batch = np.ones((1, 3, 8, 8))
    assert np.allclose(hnn.from_description(description, tensors).forward(batch), model.forward(batch))


class Square(nn.Module):
    def forward(self, x):
        return x * x


class Cubic(nn.Module):
    """An activation of the user's own, with control flow that tracing could not follow."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return self.factor * x**3 if x.sum() < float("inf") else x


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize(
    "layers",
    [
        [nn.Conv2d(2, 3, 5, stride=2, padding=1), nn.ReLU(), nn.Flatten()],
        [nn.Conv2d(2, 3, 3, padding="same"), nn.Conv2d(3, 2, 3, padding="valid")],
        [nn.Conv2d(2, 3, (3, 3), (2, 2), (1, 1)), nn.Dropout2d(), nn.BatchNorm2d(3, affine=False), Square()],
        [nn.BatchNorm2d(2), nn.ReLU(), nn.Conv2d(2, 3, 1), nn.Identity(), nn.AvgPool2d(2)],
        [nn.AvgPool2d(3, stride=1), nn.AdaptiveAvgPool2d(2), nn.AdaptiveAvgPool2d((1, 1))],
        [
            nn.Flatten(),
            nn.Linear(72, 4),
            nn.BatchNorm1d(4),
            Square(),
            nn.BatchNorm1d(4),
            nn.Linear(4, 2, bias=False),
        ],
        [Call(lambda x: torch.square(torch.relu(x)).mean((2, 3)))],
        [Call(lambda x: x.mean([-1, -2], keepdim=True).flatten(1) ** 2)],
        [Call(lambda x: x.pow(3).reshape(x.shape[0], x.shape[1] * 36))],
        [Call(lambda x: x.add(x[:, :, ::1, ::1]).contiguous().relu())],
        [Call(lambda x: functional.dropout(torch.flatten(x, start_dim=1), training=False) ** 2)],
        [Call(lambda x: functional.pad(functional.relu(x), (0, 0, 0, 0, 1, 2)))],
        [Call(lambda x: functional.avg_pool2d(functional.adaptive_avg_pool2d(x, 6), 3, stride=2))],
    ],
)
def test_layers(layers):
    same(nn.Sequential(*layers), (2, 6, 6))


class Projection(nn.Module):
    """Matrices as parameters."""

    def __init__(self):
        super().__init__()
        self.first = nn.Parameter(torch.linspace(-1, 1, 360).view(5, 72))
        self.bias = nn.Parameter(torch.linspace(0, 1, 5))
        self.second = nn.Parameter(torch.linspace(-1, 2, 20).view(5, 4))

    def forward(self, x):
        return functional.linear(x, self.first, self.bias) @ self.second


@pytest.mark.parametrize(
    "layers",
    [
        [
            nn.Sigmoid(),
            nn.Tanh(),
            nn.GELU(),
            nn.GELU("tanh"),
            nn.SiLU(),
            nn.Mish(),
            nn.Softplus(2.0),
            nn.Softsign(),
        ],
        [nn.ReLU6(), nn.LeakyReLU(0.2), nn.Hardtanh(-0.3, 0.4), nn.PReLU()],
        [nn.Hardsigmoid()],
        [nn.Hardswish(), nn.ELU(0.5), nn.CELU(0.5), nn.SELU(inplace=True)],
        [nn.MaxPool2d(2), nn.MaxPool2d((3, 2), 1, padding=(1, 0))],
        [nn.MaxPool2d(3, 2, ceil_mode=True), nn.AdaptiveMaxPool2d(1)],
        [nn.AvgPool2d(3, 2, padding=1), nn.AvgPool2d(2, ceil_mode=True)],
        [nn.AvgPool2d((3, 2), 1, padding=1, count_include_pad=False), nn.AdaptiveAvgPool2d((4, 3))],
        [nn.Conv2d(2, 4, 3, groups=2), nn.BatchNorm2d(4), nn.Conv2d(4, 4, 2, dilation=2, groups=4)],
        [nn.Conv2d(2, 2, (2, 3), (1, 2), (0, 1)), nn.Conv2d(2, 2, 4, padding="same")],
        [nn.Conv2d(2, 2, 3, padding=1, padding_mode="reflect"), nn.Conv2d(2, 1, 1, padding_mode="replicate")],
        [nn.Conv2d(2, 3, 1, stride=2, padding=2), nn.BatchNorm2d(3), nn.Conv2d(3, 2, (3, 2), padding=(1, 4))],
        [nn.Upsample(scale_factor=2), nn.Upsample(size=(9, 16), mode="bilinear")],
        [nn.UpsamplingBilinear2d(scale_factor=(2, 1)), nn.Upsample(size=(5, 7))],
        [nn.ZeroPad2d((1, 2, 0, 1)), nn.ReflectionPad2d(1), nn.ReplicationPad2d((0, 1, 2, 0)), nn.ReLU()],
        [nn.Flatten(), nn.Unflatten(1, (8, 3, 3))],
        [Call(lambda x: x * 2 + 1 - x / 4), Call(lambda x: 1 - x), Call(lambda x: -x)],
        [Call(lambda x: x * x.mean((2, 3), keepdim=True))],
        [Call(lambda x: x * torch.sigmoid(x.mean((2, 3)))[:, :, None, None] + x)],
        [Call(lambda x: torch.add(x, x.sigmoid(), alpha=2))],
        [Call(lambda x: torch.cat([x, x.relu(), x[:, 1:]], dim=1))],
        [Call(lambda x: torch.cat(x.chunk(3, 2), 3))],
        [Call(lambda x: torch.cat(x.split(4, 2)[::-1], 2)), Call(lambda x: torch.split(x, [1, 5], -1)[1])],
        [nn.Flatten(), Projection()],
        [Call(lambda x: torch.maximum(x, torch.minimum(x * 2, x + 1)))],
        [Call(lambda x: x.clamp(-0.5, 0.5).clamp(min=-0.2).abs())],
        [Call(lambda x: x.permute(0, 2, 3, 1).transpose(1, 3))],
        [Call(lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True))],
        [Call(lambda x: functional.gelu(functional.max_pool2d(x, 2)).view(-1, 18))],
        [Call(lambda x: functional.pad(x, (1, -1, 2, 0)) - 0.5)],
        [Call(lambda x: x[:, :, 1:4, ::2].flatten(1).unsqueeze(-1).unsqueeze(-1) * 3)],
    ],
)
def test_more_layers(layers):
    same(nn.Sequential(*layers), (2, 6, 6))


class Gated(nn.Module):
    """Buffers and parameters of the module's own."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.1, 0.2]).view(1, 2, 1, 1))
        self.gate = nn.Parameter(torch.full((6, 6), 0.5))

    def forward(self, x):
        x = (x - self.mean) / 0.25
        return x * self.gate


def test_tensors_of_the_module_are_constants():
    model = same(Gated(), (2, 6, 6))
    assert all(isinstance(node.layer, hnn.Affine) for node in model.nodes)


def test_gelu_and_maximum_pooling_encrypted():
    """A small convolutional network, bootstrapped, within what its approximations and the noise add."""
    torch.manual_seed(1)
    module = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.GELU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64, 3),
    )
    model = hnn.from_torch(trained(module), (1, 8, 8), alpha=8, precision=10)
    images = np.random.default_rng(2).random((40, 1, 8, 8))
    params = hc.Params.preset("test-n12-boot", allow_insecure=True)
    compiled = hnn.compile(model, params, hnn.calibrate(model, images, 1.2))
    client = hc.Client(params)
    engine = hc.Engine(params, client.evaluation_keys(plan=compiled.key_plan))
    found = compiled.decrypt(client, compiled.run(engine, compiled.encrypt(client, images[0])))
    with torch.no_grad():
        expected = module.eval()(torch.from_numpy(images[:1]))[0].numpy()
    assert np.abs(found - compiled.simulate(images[:1])[0]).max() < 2.0**-6  # noise of bootstraps, 64 weights
    # Errors of a GELU (2^-10 of values up to 4) and of two comparisons (2^-8 of them) meet 64 weights of
    # 1/16.
    assert np.abs(found - expected).max() < 64 / 16 * 4 * (2.0**-10 + 2 * 2.0**-8)


def test_batch_norm_is_folded_only_where_nothing_else_sees_the_convolution():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.bn, self.drop = nn.Conv2d(2, 2, 3, padding=1), nn.BatchNorm2d(2), nn.Dropout()

        def forward(self, x):
            z = self.drop(self.conv(x))
            return self.bn(z) + z

    assert len(same(Twice(), (2, 4, 4)).nodes) == 3
    folded = same(
        nn.Sequential(nn.Conv2d(2, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.BatchNorm2d(2)), (2, 4, 4)
    )
    assert [node.name for node in folded.nodes] == ["0", "2", "3"]


def test_a_module_called_twice_and_results_that_nobody_needs():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.relu, self.unused = nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)

        def forward(self, x):
            self.unused(x)
            return self.relu(self.linear(self.relu(self.linear(x))))

    model = same(Shared(), (4,))
    assert [node.name for node in model.nodes] == ["linear", "relu", "linear.1", "relu.1"]


def test_operations_in_place_change_what_later_users_see():
    class InPlace(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.relu = nn.Conv2d(2, 2, 3, padding=1), nn.ReLU(inplace=True)

        def forward(self, x):
            z = self.conv(x)
            identity = z
            out = self.conv(self.relu(z))
            out += identity
            functional.relu(out, inplace=True)
            torch.relu_(identity)
            return out.add_(identity) + out

    same(InPlace(), (2, 4, 4))
    assert [node.name for node in same(nn.Linear(3, 2), (3,)).nodes] == ["0"]


def test_custom_activations():
    module = nn.Sequential(nn.Linear(3, 3), Cubic(0.5))
    custom = {Cubic: lambda m: hnn.Polynomial(hc.Polynomial([0, 0, 0, m.factor]))}
    model = same(module, (3,), custom=custom)
    assert isinstance(model.node("1").layer, hnn.Polynomial)
    with pytest.raises(hc.InvalidArgument, match="cannot be traced"):
        hnn.from_torch(module, (3,))
    with pytest.raises(hc.InvalidArgument, match=r"module '1' .*custom gave int"):
        hnn.from_torch(module, (3,), custom={Cubic: lambda m: 3})


def test_the_module_stays_as_it_is():
    module = SmallResnet().train()
    hnn.from_torch(module, (3, 8, 8))
    assert module.training
    assert module.bn1.training


@pytest.mark.parametrize(
    ("layers", "match"),
    [
        (
            [nn.ConvTranspose2d(2, 2, 2)],
            r"module '0' \(ConvTranspose2d\): not supported; nearest is Upsample",
        ),
        ([nn.ReLU(), nn.LayerNorm(6)], r"module '1' \(LayerNorm\): not supported; nearest is BatchNorm"),
        ([nn.Softmax(1)], "leave it out.*Supported are Conv2d"),
        ([nn.Conv2d(2, 2, 3, padding=1, padding_mode="circular")], "padding_mode='circular'"),
        ([nn.Conv2d(3, 2, 3)], "input of 2 channels"),
        ([nn.Linear(6, 2)], "expected a vector; put Flatten before it"),
        ([nn.BatchNorm2d(2, track_running_stats=False)], "no running statistics"),
        ([nn.AvgPool2d(2, divisor_override=3)], "divisor_override"),
        ([nn.MaxPool2d(2, dilation=2)], "dilation"),
        ([nn.AdaptiveMaxPool2d(4)], "output_size"),
        ([nn.PReLU(2)], "2 slopes"),
        ([nn.Upsample(scale_factor=2, mode="bicubic")], "bicubic"),
        ([nn.Flatten(0)], "flatten"),
        ([nn.Conv2d(2, 2, 9)], "a window of 9"),
        ([Call(torch.exp)], r"exp \(exp\): not supported; nearest is a polynomial"),
        ([Call(lambda x: x / x.relu())], "division by values"),
        ([Call(lambda x: x // 2)], "rounded down; supported is a division without rounding"),
        ([Call(lambda x: x @ x)], "constant matrix"),
        ([Call(lambda x: x.split([1, 2], 2)[0])], "add up to 6"),
        ([Call(lambda x: x.split(1)[0])], "batch"),
        ([nn.utils.parametrizations.weight_norm(nn.Conv2d(2, 2, 3))], "remove_parametrizations"),
        ([nn.Softshrink()], "nearest is sums of ReLUs"),
        ([nn.Conv2d(6, 2, 3)], r"expects 6; shapes are \(channels, rows, columns\)$"),
        ([Call(lambda x: x + torch.ones(5))], r"shape \(5,\)|not supported"),
        ([Call(lambda x: x[:, 0])], "no slice"),
        ([Call(lambda x: x[:1])], "batch"),
        ([Call(lambda x: functional.pad(x, (1, 1, 1, 1), value=3.0))], "padding with 3"),
        ([Call(lambda x: x.view(2, -1))], "size is that of the batch"),
        ([Call(lambda x: x.permute(1, 0, 2, 3))], "axes"),
        ([Call(lambda x: x.mean())], "mean"),
        ([Call(lambda x: x.relu(3, 4))], "not supported with these arguments"),
        ([Call(lambda x: (x, x))], "one tensor"),
        ([nn.Identity()], "one tensor"),
        ([Call(lambda x: operator.pow(x, 0.5))], "exponent"),
    ],
)
def test_unsupported(layers, match):
    with pytest.raises(hc.InvalidArgument, match=match):
        hnn.from_torch(nn.Sequential(*layers), (2, 6, 6))


def test_bad_arguments():
    with pytest.raises(hc.WrongType, match="Module"):
        hnn.from_torch("resnet20", (3, 32, 32))
    with pytest.raises(hc.InvalidArgument, match="input shape"):
        hnn.from_torch(nn.ReLU(), (3, 32))
    with pytest.raises(hc.InvalidArgument, match="finite"):
        module = nn.Linear(2, 2)
        nn.init.constant_(module.weight, float("nan"))
        hnn.from_torch(module, (2,))

    for custom in ([3], {"ReLU": lambda m: m}, {nn.ReLU: 3}):
        with pytest.raises(hc.WrongType, match="functions that make a layer"):
            hnn.from_torch(nn.ReLU(), (2,), custom=custom)
    with pytest.raises(hc.InvalidArgument, match=r"'0' \(ReLU\): custom raised AttributeError"):
        hnn.from_torch(nn.Sequential(nn.ReLU()), (2,), custom={nn.ReLU: lambda m: m.coefficients})

    class Uncopied(nn.Linear):
        def __deepcopy__(self, memo):
            raise RuntimeError("no copies")

    with pytest.raises(hc.InvalidArgument, match=r"Uncopied cannot be copied .*remove_weight_norm"):
        hnn.from_torch(Uncopied(2, 2), (2,))

    class Two(nn.Module):
        def forward(self, x, y):
            return x + y

    with pytest.raises(hc.InvalidArgument, match="second input"):
        hnn.from_torch(Two(), (2,))


def test_tensors_as_inputs():
    model = hnn.from_torch(nn.Linear(3, 2), (3,))
    batch = torch.ones(2, 3)
    assert np.array_equal(model.forward(batch), model.forward(np.ones((2, 3))))
    with pytest.raises(hc.WrongType, match="requires grad"):
        model.forward(batch.requires_grad_())
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(2, 3)))
    with pytest.raises(hc.WrongType, match="got DataLoader, expected an array"):
        hnn.calibrate(model, loader)
