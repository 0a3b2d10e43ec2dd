# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import check_language
import comment_text
import pytest

LONG = "word " * 19 + "words"  # 100 characters


@pytest.mark.parametrize(
    ("path", "text", "word"),
    [
        ("cpp/src/core/a.cpp", "int a;  // whoever calls\n", "whoever"),
        ("cpp/src/core/a.cpp", "/// Nobody waits.\n", "Nobody"),
        ("cpp/src/core/a.cpp", 'throw error("somebody else holds it");\n', "somebody"),
        ("python/halocline/a.py", '"""The buffer wants room."""\n', "wants"),
        ("python/halocline/a.py", "x = 1  # the plan knows it\n", "knows"),
        ("python/halocline/a.py", 'raise Error(f"{n} bytes were given away")\n', "given away"),
        ("docs/a.md", "First line.\nThe runtime is told of it.\n", "is told"),
        ("tools/a.sh", "run  # everybody\n", "everybody"),
    ],
)
def test_banned_words_in_prose(path: str, text: str, word: str) -> None:
    found = check_language.check(path, text)
    line = 2 if path.endswith(".md") else 1
    assert len(found) == 1
    assert found[0].startswith(f"{path}:{line}: '{word}': ")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("cpp/src/core/a.cpp", "auto knows = wants(nobody);\n"),
        ("cpp/src/core/a.cpp", "/// The caller passes its buffer. See `https://example.org/whoever.html`\n"),
        ("python/halocline/a.py", "his = wants(knows)\n"),
        ("docs/a.md", "ResNet-20 of He et al.; the user who wanted it; theirs; this.\n"),
        ("data.csv", "nobody\n"),
        ("tools/check_language.py", "# whoever\n"),
    ],
)
def test_identifiers_and_plain_words_pass(path: str, text: str) -> None:
    assert check_language.check(path, text) == []


def test_every_pattern_compiles_to_its_own_words() -> None:
    for pattern, better in check_language.PATTERNS:
        assert better
        assert not pattern.search(
            "The runtime evicts the least recently used frame before it loads the next one."
        )


def test_short_line_inside_a_comment_is_found_and_wrapped() -> None:
    broken = f"  /// {LONG}\n  /// a\n  /// key for each step.\n  int x;\n"
    assert check_language.check("a.hpp", broken) == [
        "a.hpp:1: comment with a short line inside; run tools/check_language.py --fix"
    ]
    fixed = comment_text.rewrap(broken)
    assert fixed == f"  /// {LONG} a\n  /// key for each step.\n  int x;\n"
    assert check_language.check("a.hpp", fixed) == []


def test_hanging_indentation_of_commands_is_kept() -> None:
    first = "/// @throws " + "word " * 19 + "w"
    broken = f"{first}\n/// the\n///   rest of it, which goes on.\n"
    assert comment_text.rewrap(broken) == f"{first}\n///   the rest of it, which goes on.\n"


@pytest.mark.parametrize(
    "text",
    [
        f"// Short.\n// {LONG}\n",  # a sentence may end early
        f"/// {LONG}\n///\n///   y = a x\n///\n/// Text.\n",  # formulas and paragraphs
        "/// first,\n/// - one\n/// - two\n",  # lists
        "// SPDX-License-Identifier: Apache-2.0\n// What the file does.\n",
        "int a;  ///< one\nint b;  ///< two\n",
        "/// @param a one\n/// @param b two\n",
    ],
)
def test_layout_that_is_meant_stays(text: str) -> None:
    assert check_language.check("a.hpp", text) == []
    assert comment_text.rewrap(text) == text


def test_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.hpp"
    file.write_text(f"/// {LONG}\n/// a\n/// key. Nobody waits.\n")
    monkeypatch.setattr(check_language, "ROOT", tmp_path)
    monkeypatch.setattr(check_language, "source_files", lambda *_: [file])
    assert check_language.main([]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert check_language.main(["--fix"]) == 1  # words are for a person to replace
    assert capsys.readouterr().out.splitlines() == [
        "a.hpp:2: 'Nobody': name the party: no caller, another process, any user"
    ]
    file.write_text("/// No caller waits.\n")
    assert check_language.main([]) == 0
