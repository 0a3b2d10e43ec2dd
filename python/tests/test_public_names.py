# SPDX-License-Identifier: Apache-2.0
"""What users import by name."""

import inspect

import halocline as hc
import halocline.errors
from halocline.base import errors


def test_every_error_is_public() -> None:
    defined = {name: each for name, each in vars(errors).items() if inspect.isclass(each)}
    assert len(defined) > 10
    assert set(halocline.errors.__all__) == set(defined)
    for name, each in defined.items():
        assert getattr(hc.errors, name) is each
        assert getattr(hc, name) is each, f"halocline.{name}"


def test_the_module_raises_the_same_errors() -> None:
    try:
        hc._core.Params.preset("no such preset")
    except halocline.errors.InvalidArgument as error:
        assert type(error) is hc.InvalidArgument
    else:
        raise AssertionError("an unknown preset was accepted")
