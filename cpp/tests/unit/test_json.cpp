// SPDX-License-Identifier: Apache-2.0
#include "halocline/core/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "halocline/core/error.hpp"

namespace halocline::json {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

void expect_corrupt(std::string_view text, const std::string& position, const std::string& fragment,
                    const limits& limit = {}) {
  EXPECT_THAT([&] { (void)parse(text, limit); },
              ThrowsMessage<corrupt_data>(AllOf(HasSubstr(position), HasSubstr(fragment))))
      << text;
}

TEST(Json, ParsesEveryKind) {
  const value v = parse(R"( {"a": [1, -2.5e3, true, false, null], "b": {"c": "x"}, "e": {}, "f": []} )");
  const object& members = v.as_object("all");
  const array& a = find(members, "a")->as_array("a");
  EXPECT_EQ(a, (array{1, -2500.0, true, false, nullptr}));
  EXPECT_EQ(find(find(members, "b")->as_object("b"), "c")->as_string("c"), "x");
  EXPECT_EQ(find(members, "e")->as_object("e").size(), 0U);
  EXPECT_EQ(find(members, "f")->as_array("f").size(), 0U);
  EXPECT_EQ(find(members, "g"), nullptr);
}

TEST(Json, WritesCompactAndIndented) {
  const value v = object{{"a", array{1, "x\n\"\\\x01"}}, {"b", object{}}, {"c", nullptr}};
  EXPECT_EQ(write(v), R"({"a":[1,"x\u000a\"\\\u0001"],"b":{},"c":null})");
  EXPECT_EQ(write(v, 2),
            "{\n  \"a\": [\n    1,\n    \"x\\u000a\\\"\\\\\\u0001\"\n  ],\n  \"b\": {},\n  \"c\": null\n}");
  EXPECT_EQ(parse(write(v)), v);
  EXPECT_EQ(parse(write(v, 2)), v);
}

TEST(Json, NumbersRoundTripExactly) {
  for (const double d : {0.0, 0.1, 39.5, 1.0 / 3, 1e300, 5e-324, -std::exp2(60), 51.53846153846154,
                         std::numeric_limits<double>::max()}) {
    EXPECT_EQ(parse(write(d)).as_number("d"), d);
  }
  EXPECT_EQ(write(16U), "16");
  EXPECT_THROW((void)write(std::nan("")), invalid_argument);
  EXPECT_THROW((void)write(std::numeric_limits<double>::infinity()), invalid_argument);
  EXPECT_THROW((void)value((std::uint64_t{1} << 53U) + 1), invalid_argument);
  EXPECT_THROW((void)value(-(std::int64_t{1} << 53U) - 1), invalid_argument);
}

TEST(Json, DecodesEscapes) {
  EXPECT_EQ(parse(R"("\"\\\/\b\f\n\r\t")").as_string("s"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(parse(R"("\u0041\u00e9\u20AC\ud83d\ude00")").as_string("s"),
            "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(parse("\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"").as_string("s"),
            "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
}

TEST(Json, RefusesWithPosition) {
  expect_corrupt("", "line 1, column 1", "end of text");
  expect_corrupt("{\n  \"a\": 1,\n  \"b\" 2}", "line 3, column 7", "found '2'; expected ':'");
  expect_corrupt("[1,]", "column 4", "expected a value");
  expect_corrupt("{\"a\":1,}", "column 8", "member name");
  expect_corrupt("[1 2]", "column 4", "expected ']' or ','");
  expect_corrupt("1 2", "column 3", "after the end");
  expect_corrupt("nul", "column 1", "expected a value");
  expect_corrupt("\x01", "column 1", "byte 0x01");
  expect_corrupt(R"({"a":1,"b":2,"a":3})", "column 1", "\"a\" twice");
  expect_corrupt(R"({"\u001b[2J":1,"\u001b[2J":3})", "column 1", "\"\\x1b[2J\" twice");
  EXPECT_EQ(json::printable(std::string(61, 'a')), std::string(60, 'a') + "...");
}

TEST(Json, RefusesMalformedNumbers) {
  expect_corrupt("01", "column 2", "leading zero");
  expect_corrupt("-", "column 2", "expected a digit");
  expect_corrupt("1.", "column 3", "after the decimal point");
  expect_corrupt("1e+", "column 4", "in the exponent");
  expect_corrupt("1e999", "column 1", "does not fit");
  expect_corrupt("+1", "column 1", "expected a value");
  expect_corrupt("NaN", "column 1", "expected a value");
  expect_corrupt("0x10", "column 2", "after the end");
}

TEST(Json, RefusesMalformedStrings) {
  expect_corrupt("\"a", "column 3", "ends inside a string");
  expect_corrupt("\"a\nb\"", "column 3", "expected an escape");
  expect_corrupt(R"("\x")", "column 3", "after a backslash");
  expect_corrupt(R"("\u12g4")", "column 6", "four hexadecimal digits");
  expect_corrupt(R"("\ud83d")", "", "lone surrogate");
  expect_corrupt(R"("\ude00")", "", "lone surrogate");
  expect_corrupt(R"("\ud83d\u0041")", "", "lone surrogate");
  for (const char* bad : {"\"\x80\"", "\"\xC0\xAF\"", "\"\xE0\x80\x80\"", "\"\xED\xA0\x80\"",
                          "\"\xF4\x90\x80\x80\"", "\"\xF5\"", "\"\xE2\x82\""}) {
    expect_corrupt(bad, "column 2", "not valid UTF-8");
  }
}

TEST(Json, EnforcesLimits) {
  const std::string deep(100'000, '[');
  expect_corrupt(deep, "column 33", "nested deeper than 32");
  EXPECT_NO_THROW((void)parse(std::string(32, '[') + std::string(32, ']')));
  expect_corrupt("[1,2,3]", "", "more than 3 values", {.bytes = 100, .depth = 4, .values = 3});
  expect_corrupt("[1,2,3]", "", "7 bytes; expected at most 6", {.bytes = 6});
  std::string wide = "{";  // many members must not take quadratic time
  for (int i = 0; i < 60'000; ++i) wide += "\"" + std::to_string(i) + "\":0,";
  wide += "\"x\":0}";
  EXPECT_EQ(parse(wide).as_object("wide").size(), 60'001U);
}

TEST(Json, TypedAccessNamesTheValue) {
  const auto refuses = [](const auto& access, const std::string& fragment) {
    EXPECT_THAT(access, ThrowsMessage<invalid_argument>(HasSubstr(fragment)));
  };
  const value text_value = "x";
  refuses([&] { (void)text_value.as_number("log_n"); }, "\"log_n\" is of kind string; expected a number");
  refuses([&] { (void)text_value.as_bool("b"); }, "expected a bool");
  refuses([&] { (void)value(1).as_string("s"); }, "is of kind number; expected a string");
  refuses([&] { (void)value().as_array("a"); }, "is of kind null; expected an array");
  refuses([&] { (void)value(1.5).as_integer("depth", 0, 9); },
          "\"depth\" is 1.5; expected an integer in 0..9");
  refuses([&] { (void)value(-1).as_integer("depth", 0, 9); }, "expected an integer in 0..9");
  refuses([&] { (void)value(10).as_integer("depth", 0, 9); }, "\"depth\" is 10");
  EXPECT_EQ(value(9).as_integer("depth", 0, 9), 9U);
}

}  // namespace
}  // namespace halocline::json
