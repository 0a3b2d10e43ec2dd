# SPDX-License-Identifier: Apache-2.0
import textwrap

import cpp_scan


def scan(text: str) -> dict[str, cpp_scan.Declaration]:
    return {found.name: found for found in cpp_scan.declarations(textwrap.dedent(text))}


def test_blanking_keeps_offsets_and_separates_literals_from_comments() -> None:
    text = 'int a = 1\'000; // {\nauto s = "/* } */"; char c = \'{\';\nauto r = R"x(")})x";\n'
    clean = cpp_scan.blank(text)
    assert len(clean) == len(text)
    assert "{" not in clean and "}" not in clean
    assert "1'000" in clean
    assert cpp_scan.blank('// x\n"y"', strings=False) == '    \n"y"'


def test_functions_and_their_lines() -> None:
    found = scan(
        """\
        #define BROKEN {
        namespace a::b {
        /// doc
        template <typename T>
        [[nodiscard]] constexpr T twice(T x) {
          if (x > 0) { x += 1; }
          return x * 2;
        }
        int declared(int x = {}, int y = 3);
        }  // namespace a::b
        """
    )
    assert found["twice"].kind == "function"
    assert (found["twice"].first_line, found["twice"].last_line) == (4, 8)
    assert found["twice"].scope == ("namespace a::b",)
    assert found["declared"].kind == "statement"


def test_constructor_with_braced_initializers_is_one_function() -> None:
    found = scan(
        """\
        widget::widget(int n) noexcept(true) : base{n},
            size_{n}, name_("x") {
          use();
        }
        widget::~widget() = default;
        """
    )
    assert found["widget"].kind == "function"
    assert (found["widget"].first_line, found["widget"].last_line) == (1, 4)
    assert found["~widget"].kind == "statement"


def test_access_sections() -> None:
    found = scan(
        """\
        class outer {
          int hidden_;
         public:
          void shown();
          struct inner { int field = 0; };
         private:
          void secret();
        };
        """
    )
    assert [found[name].public for name in ("hidden_", "shown", "field", "secret")] == [
        False,
        True,
        True,
        False,
    ]


def test_variables_with_braces_are_not_functions() -> None:
    found = scan(
        """\
        constexpr int primes[] = {2, 3, 5};
        std::atomic<int> counter{0};
        auto callback = [](int x) { return x; };
        bool operator==(const a& x, const a& y) { return true; }
        enum class color { red, green };
        """
    )
    kinds = [d.kind for d in found.values()]
    assert kinds == ["statement", "statement", "statement", "function", "enum"]


def test_test_macros_get_the_name_of_their_case() -> None:
    assert "ntt.round_trip" in scan("TEST(ntt, round_trip) {\n}\n")
