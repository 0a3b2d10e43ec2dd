// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/keyword_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "halocline/core/error.hpp"
#include "halocline/pir/keyword_choice.hpp"
#include "support/keyword_samples.hpp"

namespace halocline::pir {
namespace {

using test::byte_string;
using test::bytes_of;
using test::dictionary;
using test::memory_table;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct shape {
  unsigned hashes;
  std::uint32_t slots;
};

class KeywordBuilderShapes : public ::testing::TestWithParam<shape> {};

TEST_P(KeywordBuilderShapes, EveryKeyIsFoundAndAbsentOnesAreNot) {
  const auto [hashes, slots] = GetParam();
  std::mt19937_64 random(hashes * 100 + slots);
  const dictionary contents = test::random_dictionary(3000, 20, random);
  const auto table = memory_table::build(
      test::layout_of(hashes, slots, buckets_for(contents.size(), hashes, slots), 20), contents);
  EXPECT_EQ(table.buckets.size(), table.at.buckets);
  EXPECT_EQ(table.entries(), contents.size());
  for (const auto& [key, value] : contents) ASSERT_EQ(table.find(key), value) << key;
  // 10^5 lookups with at most 2^-44 each: a false positive has probability 2^-27.
  for (int i = 0; i < 100000; ++i) ASSERT_EQ(table.find("absent " + std::to_string(i)), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(All, KeywordBuilderShapes,
                         ::testing::Values(shape{1, 8}, shape{1, 64}, shape{2, 1}, shape{2, 2}, shape{2, 4},
                                           shape{3, 1}, shape{3, 2}),
                         [](const auto& each) {
                           return std::to_string(each.param.hashes) + "Hashes" +
                                  std::to_string(each.param.slots) + "Slots";
                         });

TEST(KeywordBuilder, LoadsReachTheThresholds) {
  // Without growth, with the share of the threshold that the choice of a layout uses.
  for (const auto& [hashes, slots] : {shape{2, 2}, shape{2, 4}, shape{3, 1}, shape{3, 2}}) {
    constexpr std::uint64_t keys = 50000;
    const double load = 0.98 * cuckoo_threshold(hashes, slots);
    const auto buckets = static_cast<std::uint64_t>(std::ceil(keys / (load * slots)));
    keyword_builder builder(test::layout_of(hashes, slots, buckets, 0), {.attempts = 2, .growths = 0});
    for (std::uint64_t i = 0; i < keys; ++i) builder.add(key_bytes(std::to_string(i)), {});
    EXPECT_EQ(builder.place().buckets, buckets) << hashes << " " << slots;
    EXPECT_NEAR(builder.load(), load, 1e-4);
  }
}

TEST(KeywordBuilder, LoadsAboveTheThresholdsFail) {
  // Not (2, 1): there the transition of 20000 keys is several percent wide.
  for (const auto& [hashes, slots] : {shape{2, 2}, shape{2, 4}, shape{3, 1}}) {
    constexpr std::uint64_t keys = 20000;
    const double load = 1.015 * cuckoo_threshold(hashes, slots);
    const auto buckets = static_cast<std::uint64_t>(keys / (load * slots));
    keyword_builder builder(test::layout_of(hashes, slots, buckets, 0),
                            {.attempts = 1, .growths = 0, .kicks = 1000});
    for (std::uint64_t i = 0; i < keys; ++i) builder.add(key_bytes(std::to_string(i)), {});
    EXPECT_THAT([&] { builder.place(); }, ThrowsMessage<invalid_argument>(HasSubstr("the load is too high")));
  }
}

TEST(KeywordBuilder, GrowsWhereAttemptsFail) {
  std::mt19937_64 random(5);
  const dictionary contents = test::random_dictionary(500, 4, random);
  const auto table =
      memory_table::build(test::layout_of(2, 1, 600, 4), contents, {.attempts = 2, .kicks = 200});
  EXPECT_GT(table.at.buckets, 700U);  // the threshold is 0.5; 600 are far from it
  for (const auto& [key, value] : contents) ASSERT_EQ(table.find(key), value) << key;
}

TEST(KeywordBuilder, SameSeedGivesTheSameBytesInAnyOrder) {
  std::mt19937_64 random(6);
  const dictionary contents = test::random_dictionary(1000, 12, random);
  for (const unsigned hashes : {1U, 2U, 3U}) {
    const keyword_layout at = test::layout_of(hashes, 8, 200, 12);
    const auto once = memory_table::build(at, contents);
    keyword_builder backwards(at);
    for (auto each = contents.rbegin(); each != contents.rend(); ++each) {
      backwards.add(key_bytes(each->first), each->second);
    }
    const auto again = memory_table::from(backwards);
    EXPECT_EQ(again.at, once.at);
    EXPECT_EQ(again.buckets, once.buckets);
    keyword_layout other = at;
    other.seed = test::fixed_seed(9);
    EXPECT_NE(memory_table::build(other, contents).buckets, once.buckets);
  }
}

TEST(KeywordBuilder, DuplicatesAreRefusedByName) {
  keyword_builder builder(test::layout_of(1, 8, 1, 4));
  builder.add(key_bytes("alice"), bytes_of("1"));
  builder.add(key_bytes("\xC3\xA9t\xC3\xA9"), bytes_of("2"));
  EXPECT_THAT([&] { builder.add(key_bytes("alice"), bytes_of("3")); },
              ThrowsMessage<invalid_argument>(HasSubstr("key 'alice' is there twice")));
  EXPECT_THAT([&] { builder.add(key_bytes("\xC3\xA9t\xC3\xA9"), {}); },
              ThrowsMessage<invalid_argument>(HasSubstr("key 0xc3a974c3a9 is there twice")));
  EXPECT_EQ(builder.keys(), 2U);
  const auto table = memory_table::from(builder);
  EXPECT_EQ(table.find("alice"), bytes_of("1"));
  EXPECT_EQ(table.find("\xC3\xA9t\xC3\xA9"), bytes_of("2"));
  EXPECT_EQ(table.find("e\xCC\x81t"), std::nullopt);
}

TEST(KeywordBuilder, TakesKeysAndValuesOfAllLengths) {
  const keyword_layout at = test::layout_of(1, 4, 2, 70000);
  keyword_builder builder(at);
  const std::string longest(max_keyword_bytes, 'k');
  builder.add({}, bytes_of("empty key"));
  builder.add(key_bytes(longest), byte_string(70000, std::byte{7}));
  builder.add(key_bytes("x"), {});
  EXPECT_THAT([&] { builder.add(key_bytes(longest + "k"), {}); },
              ThrowsMessage<invalid_argument>(HasSubstr("65537 bytes")));
  EXPECT_THAT([&] { builder.add(key_bytes("y"), byte_string(70001)); },
              ThrowsMessage<invalid_argument>(HasSubstr("key 'y': 70001 bytes; expected at most 70000")));
  const auto table = memory_table::from(builder);
  EXPECT_EQ(table.find(""), bytes_of("empty key"));
  EXPECT_EQ(table.find(longest), byte_string(70000, std::byte{7}));
  EXPECT_EQ(table.find("x"), byte_string{});
  EXPECT_EQ(table.find("y"), std::nullopt);
}

TEST(KeywordBuilder, ATableWithoutKeysIsEmpty) {
  keyword_builder builder(test::layout_of(3, 2, 5, 4));
  const auto table = memory_table::from(builder);
  EXPECT_EQ(table.entries(), 0U);
  EXPECT_EQ(table.buckets.size(), 5U);
  EXPECT_EQ(table.find("x"), std::nullopt);
}

TEST(KeywordBuilder, ExceptionsOfProgressAndSinkEndTheBuild) {
  struct stopped {};
  keyword_build_options options;
  bool stop = true;
  options.progress = [&](std::uint64_t done, std::uint64_t of) {
    EXPECT_LE(done, of);
    if (stop) throw stopped{};
  };
  keyword_builder builder(test::layout_of(2, 4, 20, 4), options);
  for (int i = 0; i < 50; ++i) builder.add(key_bytes(std::to_string(i)), {});
  EXPECT_THROW(builder.place(), stopped);
  EXPECT_THAT([&] { builder.add(key_bytes("late"), {}); },
              ThrowsMessage<invalid_argument>(HasSubstr("'late' comes after `place`")));
  stop = false;
  EXPECT_THROW(builder.write([](std::uint64_t, std::span<const std::byte>) { throw stopped{}; }), stopped);
  const auto table = memory_table::from(builder);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(table.find(std::to_string(i)), byte_string{});
}

TEST(KeywordBuilder, NoKeyIsTakenForAnotherWithTheSameTag) {
  // Tags of one byte: about 700 pairs of 600 keys have equal ones, and 2 of them clash in an attempt, which
  // therefore passes with probability exp(-2). 200 in a row fail with 2^-41.
  std::mt19937_64 random(7);
  const dictionary contents = test::random_dictionary(600, 8, random);
  std::uint32_t attempts = 0;
  for (const unsigned hashes : {1U, 2U, 3U}) {
    for (const std::uint8_t seed : {1, 2, 3}) {
      keyword_layout at = test::layout_of(hashes, 8, 700 * hashes, 8, seed);
      at.tag_bytes = 1;
      const auto table =
          memory_table::build(at, contents, {.attempts = 200, .growths = 0, .tags = tag_rule::any});
      for (const auto& [key, value] : contents) ASSERT_EQ(table.find(key), value) << key;
      attempts += table.at.attempt;
    }
  }
  EXPECT_GT(attempts, 9U);
}

TEST(KeywordBuilder, TagsThatCannotBeKeptApartFailTheBuild) {
  // 100 keys in one bucket have about 19 pairs of equal tags of one byte.
  keyword_layout at = test::layout_of(1, 128, 1, 8);
  at.tag_bytes = 1;
  std::mt19937_64 random(8);
  const dictionary contents = test::random_dictionary(100, 8, random);
  EXPECT_THAT([&] { (void)memory_table::build(at, contents, {.growths = 0, .tags = tag_rule::any}); },
              ThrowsMessage<invalid_argument>(HasSubstr("or longer tags")));
  EXPECT_THAT([&] { keyword_builder refused(at); }, ThrowsMessage<invalid_argument>(HasSubstr("tag_bytes")));
}

}  // namespace
}  // namespace halocline::pir
