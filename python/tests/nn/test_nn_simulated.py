# SPDX-License-Identifier: Apache-2.0
"""Compiled networks on numbers with the noise of encryption."""

import halocline as hc
import numpy as np
from halocline import nn


def test_a_compiled_network_runs_on_numbers(residual, boot_params, images):
    model, inputs = residual(), images(20)
    ranges = nn.calibrate(model, model.prepare(inputs))
    compiled = nn.compile(model, boot_params, ranges)
    slots = compiled.program.input_layout.slots
    image = compiled.prepare(inputs[0])
    values = np.zeros(slots)
    values[: len(image)] = image
    exact, noisy = (hc.simulate(compiled, values, boot_params, noise=noise) for noise in (False, True))
    layout = compiled.program.placed[-1].stage.layout
    scale = compiled.program.output_scale
    expected = np.ravel(compiled.simulate(inputs[:1])[0])
    np.testing.assert_allclose(np.ravel(layout.unpack([exact])) * scale, expected, atol=1e-6)
    assert 0 < np.abs(noisy - exact).max() < 2.0**-8
