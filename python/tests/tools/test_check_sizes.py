# SPDX-License-Identifier: Apache-2.0
import subprocess
from pathlib import Path

import check_sizes


def test_limits_by_kind_of_file() -> None:
    def limit(path: str) -> int:
        return next(check_sizes.sizes(path, "")).limit

    assert limit("cpp/include/halocline/core/a.hpp") == 200
    assert limit("cpp/src/core/a.cpp") == 500
    assert limit("cpp/src/core/README.md") == 30
    assert limit("README.md") == 80
    assert limit("examples/01_first.py") == 120
    assert limit("python/halocline/cli.py") == 500
    assert list(check_sizes.sizes("docs/concepts.md", "")) == []


def test_cpp_function_over_the_limit() -> None:
    text = "void f() {\n" + "  g();\n" * 39 + "}\n"
    found = check_sizes.check(list(check_sizes.sizes("cpp/src/core/a.cpp", text)), {})
    assert found == ["cpp/src/core/a.cpp:1: cpp/src/core/a.cpp:f has 41 lines, at most 40"]
    assert check_sizes.check(list(check_sizes.sizes("cpp/tests/unit/test_a.cpp", text)), {}) == []


def test_python_docstring_does_not_count() -> None:
    text = 'def f():\n    """A.\n\n    B.\n    """\n' + "    g()\n" * 39
    assert list(check_sizes.python_functions(text)) == [("f", 1, 40)]


def test_exceptions_need_a_reason_and_a_use() -> None:
    page = "| `a.cpp` | 600 | generated |\n| `b.cpp:f` | 50 |  |\n| `c.cpp` | 700 | gone |\n"
    exceptions = check_sizes.read_exceptions(page)
    assert exceptions["a.cpp"] == (600, "generated")
    measured = [
        check_sizes.Size("a.cpp", "a.cpp:1", 550, 500),
        check_sizes.Size("b.cpp:f", "b.cpp:7", 45, 40),
        check_sizes.Size("c.cpp", "c.cpp:1", 100, 500),
    ]
    found = check_sizes.check(measured, exceptions)
    assert len(found) == 2
    assert "`b.cpp:f` needs a reason" in found[0]
    assert "`c.cpp` is within its limit or gone" in found[1]


def test_exception_limit_holds() -> None:
    measured = [check_sizes.Size("a.cpp", "a.cpp:1", 601, 500)]
    assert check_sizes.check(measured, {"a.cpp": (600, "table")}) == [
        "a.cpp:1: a.cpp has 601 lines, at most 600"
    ]


def test_tree(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "cpp").mkdir()
    (tmp_path / "cpp/README.md").write_text("x\n" * 31)
    assert check_sizes.check_tree(tmp_path) == ["cpp/README.md:1: cpp/README.md has 31 lines, at most 30"]
