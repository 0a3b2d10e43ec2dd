// SPDX-License-Identifier: Apache-2.0
#include "halocline/core/json.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "halocline/core/error.hpp"

namespace halocline::json {
namespace {

class tree_source {
 public:
  explicit tree_source(std::uint32_t seed) : random_(seed) {}

  value draw(unsigned depth) {
    switch (below(depth == 0 ? 4 : 6)) {
      case 0:
        return nullptr;
      case 1:
        return below(2) == 0;
      case 2:
        return number();
      case 3:
        return word();
      case 4: {
        array items(below(5));
        for (value& item : items) item = draw(depth - 1);
        return items;
      }
      default: {
        object members;
        for (unsigned i = below(5); i > 0; --i)
          members.emplace_back(word() + std::to_string(i), draw(depth - 1));
        return members;
      }
    }
  }

  unsigned below(unsigned bound) { return std::uniform_int_distribution<unsigned>(0, bound - 1)(random_); }

 private:
  double number() {
    const double any = std::bit_cast<double>(std::uniform_int_distribution<std::uint64_t>()(random_));
    return std::isfinite(any) ? any : 0;
  }

  std::string word() {
    static constexpr std::string_view pieces[] = {"a",    "\"", "\\",       "\n",
                                                  "\x01", " ",  "\xC3\xA9", "\xF0\x9F\x98\x80"};
    std::string result;
    for (unsigned i = below(6); i > 0; --i) result += pieces[below(8)];
    return result;
  }

  std::mt19937 random_;
};

TEST(JsonProperty, WhatIsWrittenIsReadBack) {
  tree_source random(7);
  for (int i = 0; i < 2000; ++i) {
    const value v = random.draw(4);
    EXPECT_EQ(parse(write(v)), v) << write(v);
    EXPECT_EQ(parse(write(v, 3)), v) << write(v);
  }
}

TEST(JsonProperty, DamagedTextIsRefusedOrReadConsistently) {
  tree_source random(8);
  unsigned refused = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text = write(random.draw(3), i % 2);
    for (unsigned k = 1 + random.below(3); k > 0; --k) {
      text[random.below(static_cast<unsigned>(text.size()))] = static_cast<char>(random.below(256));
    }
    try {
      const value v = parse(text);
      EXPECT_EQ(parse(write(v)), v) << text;
    } catch (const corrupt_data& e) {
      EXPECT_EQ(std::string(e.what()).rfind("JSON line ", 0), 0U) << e.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 2500U);
}

}  // namespace
}  // namespace halocline::json
