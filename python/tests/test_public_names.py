# SPDX-License-Identifier: Apache-2.0
"""What users import by name."""

import inspect
import subprocess
import sys

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


def test_errors_need_no_import_of_their_own() -> None:
    code = "import halocline; print(halocline.errors.InvalidArgument.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "InvalidArgument\n"


def test_rooms_are_loaded_at_first_use() -> None:
    code = """
import sys, halocline as hc
rooms = [f"halocline.{name}" for name in ("nn", "pir", "seal")]
print([each for each in rooms if each in sys.modules])
print(hc.nn.Client.__name__, hc.pir.Client.__name__, hasattr(hc, "no_such_room"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\nClient Client False\n"


def test_the_module_raises_the_same_errors() -> None:
    try:
        hc._core.Params.preset("no such preset")
    except halocline.errors.InvalidArgument as error:
        assert type(error) is hc.InvalidArgument
    else:
        raise AssertionError("an unknown preset was accepted")
