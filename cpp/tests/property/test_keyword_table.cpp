// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/keyword_table.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "halocline/core/error.hpp"
#include "halocline/pir/keyword_choice.hpp"
#include "support/keyword_samples.hpp"

namespace halocline::pir {
namespace {

using test::byte_string;
using test::dictionary;
using test::memory_table;

std::uint64_t fresh_seed() {
  const std::uint64_t seed = std::random_device{}();
  ::testing::Test::RecordProperty("seed", std::to_string(seed));
  return seed;
}

byte_string random_bytes(std::size_t length, std::mt19937_64& random) {
  byte_string made(length);
  for (std::byte& each : made) each = static_cast<std::byte>(random());
  return made;
}

TEST(KeywordTableProperty, ShortTagsGiveFalsePositivesAsTheFormulaSays) {
  const std::uint64_t seed = fresh_seed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (const unsigned hashes : {1U, 2U, 3U}) {
    keyword_layout at = test::layout_of(hashes, 4, buckets_for(2000, hashes, 4), 4);
    at.tag_bytes = 2;
    for (std::uint8_t& each : at.seed) each = static_cast<std::uint8_t>(random());
    const auto table = memory_table::build(at, test::random_dictionary(2000, 4, random),
                                           {.attempts = 200, .tags = tag_rule::any});
    // Only used slots can match: h * slots * load * 2^-16 for each lookup.
    const double load = 2000.0 / (4.0 * static_cast<double>(table.at.buckets));
    constexpr int lookups = 400000;
    const double expected = lookups * std::exp2(table.at.log2_false_positive()) * load;
    int found = 0;
    for (int i = 0; i < lookups; ++i) {
      try {
        found += table.find("absent " + std::to_string(i)) ? 1 : 0;
      } catch (const corrupt_data&) {
        ++found;  // two buckets have entries with its tag
      }
    }
    EXPECT_NEAR(found, expected, 6 * std::sqrt(expected)) << hashes;
  }
}

TEST(KeywordTableProperty, ForgedBucketsAreRefusedOrSearchable) {
  const std::uint64_t seed = fresh_seed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  unsigned refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const keyword_layout at = test::layout_of(1 + random() % 3, 1 + random() % 6, 10, random() % 300);
    byte_string bucket = random_bytes(at.bucket_bytes(), random);
    if (i % 2 == 0) {  // sparse damage of an empty bucket
      std::fill(bucket.begin(), bucket.end(), std::byte{0});
      bucket[random() % bucket.size()] = static_cast<std::byte>(random());
    }
    try {
      const auto value = find_entry(at, bucket, key_bytes("key"));
      EXPECT_LE(value ? value->size() : 0, at.max_value_bytes);
    } catch (const corrupt_data&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 15000U);
}

TEST(KeywordTableProperty, UpdatesAgreeWithADictionary) {
  const std::uint64_t seed = fresh_seed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (const unsigned hashes : {1U, 2U, 3U}) {
    dictionary expected = test::random_dictionary(200, 10, random);
    auto table = memory_table::build(test::layout_of(hashes, 3, 120, 10), expected, {.attempts = 1000});
    int full = 0;
    for (int i = 0; i < 3000; ++i) {
      const std::string key = "key " + std::to_string(random() % 320);
      const byte_string value = random_bytes(random() % 11, random);
      const bool there = expected.contains(key);
      switch (random() % 4) {
        case 0:
          ASSERT_EQ(erase(table.at, table.access(), key_bytes(key)), there);
          expected.erase(key);
          break;
        case 1:
          ASSERT_EQ(replace(table.at, table.access(), key_bytes(key), value), there);
          if (there) expected[key] = value;
          break;
        default:
          try {
            insert(table.at, table.access(), key_bytes(key), value);
            ASSERT_FALSE(there);
            expected[key] = value;
          } catch (const invalid_argument&) {
            full += there ? 0 : 1;
          }
      }
    }
    for (int i = 0; i < 320; ++i) {
      const std::string key = "key " + std::to_string(i);
      const auto at = expected.find(key);
      ASSERT_EQ(table.find(key), at == expected.end() ? std::nullopt : std::optional(at->second)) << key;
    }
    EXPECT_EQ(table.entries(), expected.size());
    EXPECT_LT(full, 500) << hashes;
  }
}

TEST(KeywordTableProperty, MovableEntriesFillATableByInsertions) {
  const std::uint64_t seed = fresh_seed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  keyword_layout at = test::layout_of(2, 4, 500, 6);
  for (std::uint8_t& each : at.seed) each = static_cast<std::uint8_t>(random());
  // Tags of 6 bytes: the first key without a free slot ends it. Tags of 16: entries move.
  std::vector<std::uint64_t> reached;
  for (const unsigned tag_bytes : {6U, 16U}) {
    at.tag_bytes = tag_bytes;
    memory_table table{at, std::vector<byte_string>(at.buckets, byte_string(at.bucket_bytes()))};
    dictionary expected;
    bool found_all = true;
    bucket_access access = table.access();
    access.write = [&, write = access.write](std::uint64_t b, std::span<const std::byte> bytes) {
      write(b, bytes);  // a reader between two writes finds every key
      if (expected.size() < 1500) return;
      for (int i = 0; i < 5; ++i) {
        const auto any = std::next(expected.begin(), static_cast<long>(random() % expected.size()));
        found_all = found_all && table.find(any->first) == any->second;
      }
    };
    try {
      for (int i = 0; i < 2001; ++i) {
        const std::string key = "key " + std::to_string(i);
        const byte_string value = random_bytes(random() % 7, random);
        insert(at, access, key_bytes(key), value);
        expected[key] = value;
      }
    } catch (const invalid_argument&) {
    }
    EXPECT_TRUE(found_all);
    for (const auto& [key, value] : expected) ASSERT_EQ(table.find(key), value) << key;
    EXPECT_EQ(table.entries(), expected.size());
    reached.push_back(expected.size());
  }
  // Of 2000 slots; the threshold of cuckoo hashing is 0.98.
  EXPECT_GT(reached[1], 1860U);
  EXPECT_LT(reached[0], 1800U);
}

}  // namespace
}  // namespace halocline::pir
