# SPDX-License-Identifier: Apache-2.0
"""The API reference as far as it needs no Sphinx: pages with all public names, docstrings as markup."""

import ast
from pathlib import Path

import field_docs
import halocline as hc
import halocline.nn
import halocline.pir
import halocline.seal
import pytest
from api_reference.docstrings import inline, to_rst
from api_reference.options_page import option_classes, options_page
from api_reference.pages import TITLES, page, pages, write
from halocline.base.options import described

ROOT = Path(__file__).resolve().parents[3]


def rst(text: str) -> str:
    return "\n".join(to_rst(text.splitlines())).strip()


@pytest.fixture(scope="module")
def found():
    return pages()


# Pages


def test_every_public_name_is_on_one_page(found) -> None:
    paths = [entry.path for entries in found.values() for entry in entries]
    assert len(paths) == len(set(paths))
    for module in (hc, halocline.nn, halocline.pir, halocline.seal):
        for name in module.__all__:
            path = f"{module.__name__}.{name}"
            top = getattr(hc, name, None) is getattr(module, name) and name in hc.__all__
            assert (f"halocline.{name}" if top else path) in paths


def test_names_are_on_the_page_of_their_room(found) -> None:
    of = {entry.path: room for room, entries in found.items() for entry in entries}
    assert of["halocline.EvaluationKeys"] == "ckks" and of["halocline.nn.Client"] == "nn"
    assert of["halocline.KeyMismatch"] == of["halocline.Policy"] == "base"
    assert of["halocline.LINKS"] == "tracing"
    assert list(found)[: len(TITLES)] == [room for room in TITLES if room in found]


def test_constants_bring_their_text(found) -> None:
    """They have no docstring of their own: the text below them in their module is taken."""
    constants = [entry for entries in found.values() for entry in entries if entry.kind == "data"]
    assert {"halocline.LINKS", "halocline.Policy", "halocline.nn.INPUT"} <= {each.path for each in constants}
    assert [each.path for each in constants if not each.doc] == []


def test_pages_name_what_is_documented(found, tmp_path) -> None:
    text = page("nn", found["nn"])
    assert text.startswith("Neural networks\n===============\n")
    assert ".. autoclass:: halocline.nn.Client\n   :members:" in text
    assert ".. autofunction:: halocline.nn.compile\n" in text
    assert "   Name by which layers refer to the input of the network." in text
    assert ".. autoexception:: halocline.KeyMismatch" in page("base", found["base"])
    made = write(tmp_path)
    assert {each.stem for each in made} == {*found, "index", "options"}
    assert all(f"\n   {room}\n" in (tmp_path / "index.rst").read_text() for room in found)


def test_options_are_described() -> None:
    """Each option of a dataclass that a command takes: name, default, help, kind of value."""
    text = options_page()
    classes = option_classes()
    assert {"DigitsOptions"} <= {each.__name__ for each in classes} and len(classes) > 10
    for kind in classes:
        options = list(described(kind))
        assert options, kind
        head = f".. py:class:: {kind.__module__}.{kind.__qualname__}\n"
        rest = text[text.index(head) :].split("\n.. py:class::", 2)[0]
        assert rest.count("   .. py:attribute:: ") == len(options)
        assert all(each.help.endswith(".") and inline(each.help) in rest for each in options)


# Docstrings


def test_code_and_special_characters() -> None:
    assert inline("a * b_ `x_*` |c|") == r"a \* b\_ \ ``x_*``\  \|c\|"
    assert inline("`a` and ``b``") == r"\ ``a``\  and \ ``b``\ "
    assert inline("no `end") == r"no \`end"


def test_items() -> None:
    text = """One sentence
over two lines.

rotations: steps, positive to the left,
    each below `params.slots`.
plan: instead of the above.
@throws KeyMismatch for keys of
    another client
"""
    assert rst(text).splitlines() == [
        "One sentence over two lines.",
        "",
        r"* \ ``rotations``\ : steps, positive to the left, each below \ ``params.slots``\ .",
        r"* \ ``plan``\ : instead of the above.",
        "* Raises KeyMismatch for keys of another client",
    ]


def test_lists_and_raises() -> None:
    text = "Begins:\n* one,\n  goes on\n* two.\nRaises IoError."
    assert rst(text).splitlines() == ["Begins:", "", "* one, goes on", "* two.", "* Raises IoError."]
    assert rst("Raises IoError when\nit fails.") == "Raises IoError when it fails."


def test_examples_stay_as_they_are() -> None:
    text = "Decorator.\n\n@engine.program\ndef score(x):\n    return x * x\n\nMore."
    assert rst(text).split("\n\n") == [
        "Decorator.",
        "::",
        "    @engine.program\n    def score(x):\n        return x * x",
        "More.",
    ]


# Fields


def test_fields_that_nothing_describes() -> None:
    text = '''
@dataclasses.dataclass(frozen=True)
class Good:
    """Has first."""

    first: int
    second: int
    """Described."""
    third: int = option("What it does.")
    fourth: ClassVar[int] = 3
    _fifth: int = 0


@dataclass
class Bad:
    """Has first_one."""

    first: int
    second: int = field(default=3)
    third: int
    """Described."""


class Tuple(NamedTuple):
    """A tuple."""

    field: int


class Plain:
    value: int
'''
    assert list(field_docs.undescribed(text, "Good")) == []
    assert [name for _, name in field_docs.undescribed(text, "Bad")] == ["first", "second"]
    assert [name for _, name in field_docs.undescribed(text, "Tuple")] == ["field"]
    assert list(field_docs.undescribed(text, "Plain")) == []


def test_public_classes_are_found() -> None:
    found = {name: path for path, name in field_docs.public_classes(ROOT / field_docs.FOLDER)}
    for name in ("PlanSummary", "ImageLayout", "ClientSpec", "ServerStats", "CompileOptions"):
        classes = [
            node.name for node in ast.parse(found[name].read_text()).body if isinstance(node, ast.ClassDef)
        ]
        assert name in classes
    assert list(field_docs.check_fields(ROOT)) == []
