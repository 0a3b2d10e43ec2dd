# SPDX-License-Identifier: Apache-2.0
import subprocess
import textwrap
from pathlib import Path

import check_docs
import doc_code


def undocumented(text: str) -> list[str]:
    return [found.name for found in check_docs.undocumented(textwrap.dedent(text))]


def test_functions_and_classes_need_comments() -> None:
    text = """\
        namespace halocline {
        /// Documented.
        class shown {
         public:
          shown(int a);
          shown(const shown&) = delete;
          ~shown();
          int bare() const;
          /// Documented.
          int told() const;
          int member = 0;

          int accessor() const noexcept { return secret_; }
          int computed() const { return secret_ + 1; }
         private:
          int secret();
        };
        struct plain {};
        enum class color { red };
        void loose();
        using alias = int;
        class forward;
        inline constexpr int limit = 3;  ///< Documented behind.
        }
        """
    assert undocumented(text) == ["bare", "computed", "plain", "color", "loose", "alias"]


def test_a_comment_serves_consecutive_lines() -> None:
    text = """\
        /// Both directions.
        void forward(int a);
        void backward(int a);

        void unrelated(int a);
        """
    assert undocumented(text) == ["unrelated"]


def test_block_comments_and_templates() -> None:
    text = """\
        /**
         * Documented.
         */
        template <typename T>
        [[nodiscard]] T twice(T x);
        // Not a doc comment.
        int thrice(int x);
        """
    assert undocumented(text) == ["thrice"]


def test_details_and_overrides_are_left_out() -> None:
    text = """\
        namespace halocline::detail {
        void hidden();
        }
        /// Documented.
        class derived : public base {
         public:
          using base::base;
          void run() override;
        };
        """
    assert undocumented(text) == []


def test_tree_misses_readmes_and_broken_links(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for name in ("cpp/src/a.cpp", "cpp/tests/fuzz/corpus/x/seed", "cpp/README.md", "cpp/tests/README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "cpp/tests/fuzz/README.md").write_text("")
    (tmp_path / "README.md").write_text(
        "[ok](cpp/README.md#part) [web](https://example.org)\n[bad](gone.md)\n"
    )
    found = check_docs.check_tree(tmp_path)
    assert [line.split(": ")[0] for line in found] == ["cpp/src/README.md:1", "README.md:2"]


def page_faults(tmp_path: Path, code: str) -> list[str]:
    """Messages for a page with some code, beside a package of two modules."""
    package = tmp_path / "python/halocline"
    (package / "nn").mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text("from .engine import Engine\n\n\ndef run():\n    inner = 1\n")
    (package / "engine.py").write_text("class Engine:\n    pass\n")
    (package / "nn/__init__.py").write_text("")
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\n```python\n{textwrap.dedent(code)}```\n")
    return list(doc_code.check_page(tmp_path, page))


def test_code_in_pages_imports_what_is_there(tmp_path: Path) -> None:
    good = """\
        import halocline as hc
        import halocline.nn as nn
        from halocline.engine import Engine
        def f(x, *, k=1):
            return [hc.run(y) for y in x] + [k, nn]
        try:
            print(f([Engine, hc.Engine]), halocline.run)
        except ValueError as error:
            print(error)
        import halocline
        """
    assert page_faults(tmp_path, good) == []
    faults = {
        "import halocline.files\n": "page.md:4: there is no module halocline.files",
        "from halocline.engine import Motor\n": "page.md:4: halocline.engine has no 'Motor'",
        "from halocline.motor import Motor\n": "page.md:4: there is no module halocline.motor",
        "\nimport halocline as hc\nhc.inner\n": "page.md:6: halocline has no 'inner'",
        "x = hc.run()\n": "page.md:4: 'hc' is used, but nothing on the page imports or makes it",
        "x = (\n": "page.md:4: code does not parse: '(' was never closed",
    }
    for code, message in faults.items():
        assert page_faults(tmp_path, code) == [message]


def test_pages_are_linked(tmp_path: Path) -> None:
    for name, text in {
        "README.md": "[one](one.md) and [more](more/README.md)",
        "one.md": "[lost](lost.md): links of pages are no index",
        "lost.md": "",
        "more/README.md": "[two](two.md)",
        "more/two.md": "",
    }.items():
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    found = list(check_docs.check_index(tmp_path))
    assert found == ["docs/lost.md:1: docs/README.md does not lead to this page; link it there"]
