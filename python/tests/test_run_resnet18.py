# SPDX-License-Identifier: Apache-2.0
"""`halocline run resnet18`: random images, options, and a whole run of small images within a budget."""

from __future__ import annotations

import halocline as hc
import numpy as np
import pytest
from halocline.cli.run.report import resnet18_rows
from halocline.workloads.resnet18.options import Resnet18Options
from halocline.workloads.resnet18.run import Resnet18Run, random_images


def test_random_images_follow_from_their_seed():
    images = random_images(3, 64, 7)
    assert images.shape == (3, 3, 64, 64)
    assert images.min() >= 0 and images.max() <= 1 and images.std() > 0.1
    np.testing.assert_array_equal(images, random_images(3, 64, 7))
    assert (images != random_images(3, 64, 8)).any()
    # Neighbours differ by at most an eighth of the points between which they are interpolated.
    assert np.abs(np.diff(images, axis=3)).max() <= 1 / 8 + 1e-12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"side": 4}, "expected 8 to 128"),
        ({"classes": 0}, "expected 1 to 4096"),
        ({"encode": "never"}, "keep"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(hc.InvalidArgument, match=message):
        Resnet18Options(**options)


def test_a_run_within_a_budget_beside_its_forecast():
    """Encryption adds little to what the polynomials of ReLUs err by, which alpha=6 makes large: the class
    of the random network is still the same. The first image loads about what is forecast of a first one, with
    all keys and weights; how much exactly depends on the speeds that its plan was made with, which are those
    of this machine now: 1.00 times the forecast when it is quiet, 1.10 was seen when it was not."""
    params = hc.Params.preset("test-n12-boot", allow_insecure=True)
    options = Resnet18Options(
        side=8, classes=5, alpha=6, policy="planned", memory="60%", threads=2, allow_insecure=True
    )
    report = Resnet18Run(params, options).run()
    assert report["workload"] == "resnet18" and report["agreement"] == 1.0
    assert abs(report["logit_error"] - report["logit_error_simulated"]) < 1e-3
    assert report["peak_bytes"] <= report["budget_bytes"] < 0.61 * report["footprint_bytes"]
    forecast, measured = report["forecast"], report["measured"]
    assert forecast["policy"] == "planned" and forecast["seconds"] > 0
    assert 0.7 < measured[0]["loaded_bytes"] / forecast["first_loaded_bytes"] < 1.3
    assert 0 < forecast["loaded_bytes"] < forecast["first_loaded_bytes"]
    rows = dict(resnet18_rows(report))
    assert "policy planned on h200" in rows["forecast"] and "loaded" in rows["measured"]
