// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/keyword_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "halocline/core/error.hpp"
#include "halocline/pir/geometry.hpp"
#include "halocline/pir/keyword_builder.hpp"
#include "support/keyword_samples.hpp"

namespace halocline::pir {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(KeywordChoice, ThresholdsAreThePublishedOnes) {
  // Two hash functions: Cain, Sanders and Wormald (SODA 2007); three with one slot: Dietzfelbinger et al.
  // (ICALP 2010), with two: Fountoulakis, Khosla and Panagiotou (SODA 2011).
  EXPECT_DOUBLE_EQ(cuckoo_threshold(2, 1), 0.5);
  EXPECT_NEAR(cuckoo_threshold(2, 2), 0.8970, 5e-5);
  EXPECT_NEAR(cuckoo_threshold(2, 3), 0.9592, 5e-5);
  EXPECT_NEAR(cuckoo_threshold(2, 4), 0.9804, 5e-5);
  EXPECT_NEAR(cuckoo_threshold(3, 1), 0.9179, 5e-5);
  EXPECT_NEAR(cuckoo_threshold(3, 2), 0.9882, 5e-5);
  EXPECT_NEAR(cuckoo_threshold(2, 31), 1, 1e-6);
  EXPECT_EQ(cuckoo_threshold(2, 1000), 1);
  EXPECT_THROW((void)cuckoo_threshold(1, 4), invalid_argument);
  EXPECT_THROW((void)cuckoo_threshold(2, 0), invalid_argument);
}

TEST(KeywordChoice, OneHashFunctionFitsInAFewAttempts) {
  // About 6 of 10 attempts succeed, so 12 in a row fail with probability 2e-5.
  for (const std::uint32_t slots : {4U, 30U, 200U, 1000U}) {
    constexpr std::uint64_t keys = 20000;
    const std::uint64_t buckets = buckets_for(keys, 1, slots);
    keyword_builder builder(test::layout_of(1, slots, buckets, 0), {.attempts = 12, .growths = 0});
    for (std::uint64_t i = 0; i < keys; ++i) builder.add(key_bytes(std::to_string(i)), {});
    EXPECT_EQ(builder.place().buckets, buckets) << slots;
  }
  EXPECT_EQ(buckets_for(100, 1, 100), 1U);
  EXPECT_GE(buckets_for(101, 1, 100), 2U);
}

TEST(KeywordChoice, SmallValuesGetOneHashFunctionAndFullPlaintexts) {
  const parameters of = preset("pir-n4096");
  const keyword_choice made = choose_keyword_layout(of, {.keys = 1000000, .max_value_bytes = 16});
  EXPECT_EQ(made.table.hashes, 1U);
  EXPECT_EQ(made.table.tag_bytes, required_tag_bytes(1, made.table.slots));
  EXPECT_LE(made.table.bucket_bytes() % of.plaintext_bytes() == 0
                ? 0
                : of.plaintext_bytes() - made.table.bucket_bytes() % of.plaintext_bytes(),
            made.table.entry_bytes());
  // Half of what two hash functions cost, which fill nearly all slots.
  const keyword_choice two = choose_keyword_layout(of, {.keys = 1000000, .max_value_bytes = 16, .hashes = 2});
  EXPECT_EQ(two.table.hashes, 2U);
  EXPECT_LT(two.table.buckets * two.table.slots, made.table.buckets * made.table.slots);
  EXPECT_LT(made.server_seconds, two.server_seconds);
  EXPECT_EQ(2 * made.query_bytes, two.query_bytes);
}

TEST(KeywordChoice, GivenNumbersAreKept) {
  const arith::seed_bytes seed = test::fixed_seed(3);
  const keyword_choice made = choose_keyword_layout(preset("pir-n2048"), {.keys = 1000,
                                                                          .max_value_bytes = 40,
                                                                          .movable = true,
                                                                          .seed = seed,
                                                                          .hashes = 3,
                                                                          .slots = 2,
                                                                          .buckets = 700});
  EXPECT_EQ(
      made.table,
      (keyword_layout{
          .seed = seed, .hashes = 3, .slots = 2, .tag_bytes = 16, .max_value_bytes = 40, .buckets = 700}));
}

TEST(KeywordChoice, SeedsAreRandomAndSpareMakesRoom) {
  const parameters of = preset("pir-n4096");
  const keyword_request request{.keys = 100000, .max_value_bytes = 64, .hashes = 2, .slots = 4};
  keyword_request roomy = request;
  roomy.spare = 1;
  const keyword_layout one = choose_keyword_layout(of, request).table;
  const keyword_layout other = choose_keyword_layout(of, roomy).table;
  EXPECT_NE(one.seed, other.seed);
  EXPECT_NEAR(static_cast<double>(other.buckets), 2.0 * static_cast<double>(one.buckets), 4);
}

TEST(KeywordChoice, ValuesLargerThanAPlaintextAreSplit) {
  const parameters of = preset("pir-n4096");
  const keyword_choice made = choose_keyword_layout(of, {.keys = 2000, .max_value_bytes = 30000});
  EXPECT_GE(made.table.bucket_bytes(), 30000U);
  // Every hash function costs one answer, with a part for each plaintext of a bucket.
  EXPECT_GE(made.shape.planes(), 3U);
  EXPECT_EQ(made.shape.records, made.table.buckets);
  EXPECT_EQ(made.shape.record_bytes, made.table.bucket_bytes());
  EXPECT_GE(made.answer_bytes,
            made.table.hashes * made.shape.planes() * made.shape.scheme.n() * made.shape.at.answer_bits0 / 8);
}

TEST(KeywordChoice, RefusesWhatIsOutOfRange) {
  const parameters of = preset("pir-n4096");
  const auto refused = [&](const keyword_request& request, const char* part) {
    EXPECT_THAT([&] { (void)choose_keyword_layout(of, request); },
                ThrowsMessage<invalid_argument>(HasSubstr(part)));
  };
  refused({.keys = 0}, "0 keys; expected 1 to");
  refused({.keys = 1, .spare = -1}, "spare is -1");
  refused({.keys = 1, .wire_bytes_per_second = 0}, "0 bytes a second");
  refused({.keys = 1, .hashes = 4}, "4 hash functions; expected 1 to 3");
  refused({.keys = 1, .slots = 0}, "0 slots");
  refused({.keys = 1, .hashes = 2, .buckets = 1}, "buckets is 1; expected 2");
  refused({.keys = max_records, .max_value_bytes = 1000}, "bytes together");
}

}  // namespace
}  // namespace halocline::pir
