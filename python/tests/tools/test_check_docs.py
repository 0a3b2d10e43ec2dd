# SPDX-License-Identifier: Apache-2.0
import subprocess
import textwrap
from pathlib import Path

import check_docs


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
