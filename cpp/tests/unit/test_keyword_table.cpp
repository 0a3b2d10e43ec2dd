// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/keyword_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halocline/core/error.hpp"
#include "support/keyword_samples.hpp"

namespace halocline::pir {
namespace {

using test::byte_string;
using test::bytes_of;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

/// One bucket with 3 slots: tags of 6 bytes, length fields of 1, values up to 5.
keyword_layout small() { return test::layout_of(1, 3, 1, 5); }

byte_string filled_bucket() {
  byte_string bucket(small().bucket_bytes());
  EXPECT_TRUE(insert_entry(small(), bucket, key_bytes("a"), bytes_of("12345")));
  EXPECT_TRUE(insert_entry(small(), bucket, key_bytes("b"), {}));
  return bucket;
}

void expect_corrupt(const byte_string& bucket, const char* part) {
  for (const char* key : {"a", "absent"}) {
    EXPECT_THAT([&] { (void)find_entry(small(), bucket, key_bytes(key)); },
                ThrowsMessage<corrupt_data>(HasSubstr(part)));
  }
}

TEST(KeywordTable, EntriesAreTagLengthAndPaddedValue) {
  byte_string bucket(small().bucket_bytes());
  ASSERT_TRUE(insert_entry(small(), bucket, key_bytes("a"), bytes_of("xyz")));
  const key_digest digest = digest_of(small(), key_bytes("a"));
  byte_string expected;
  for (unsigned i = 0; i < 6; ++i) expected.push_back(static_cast<std::byte>(digest[i]));
  expected.push_back(std::byte{4});
  for (const char c : {'x', 'y', 'z'}) expected.push_back(static_cast<std::byte>(c));
  expected.resize(small().bucket_bytes());
  EXPECT_EQ(bucket, expected);
}

TEST(KeywordTable, FindsWhatWasInsertedReplacedAndErased) {
  byte_string bucket = filled_bucket();
  EXPECT_EQ(find_entry(small(), bucket, key_bytes("a")), bytes_of("12345"));
  EXPECT_EQ(find_entry(small(), bucket, key_bytes("b")), byte_string{});
  EXPECT_EQ(find_entry(small(), bucket, key_bytes("c")), std::nullopt);
  EXPECT_EQ(count_entries(small(), bucket), 2U);
  EXPECT_TRUE(replace_entry(small(), bucket, key_bytes("a"), bytes_of("6")));
  EXPECT_FALSE(replace_entry(small(), bucket, key_bytes("c"), bytes_of("6")));
  EXPECT_EQ(find_entry(small(), bucket, key_bytes("a")), bytes_of("6"));
  EXPECT_TRUE(insert_entry(small(), bucket, key_bytes("c"), bytes_of("7")));
  EXPECT_FALSE(insert_entry(small(), bucket, key_bytes("d"), bytes_of("8")));
  EXPECT_TRUE(erase_entry(small(), bucket, key_bytes("b")));
  EXPECT_FALSE(erase_entry(small(), bucket, key_bytes("b")));
  EXPECT_EQ(find_entry(small(), bucket, key_bytes("b")), std::nullopt);
  EXPECT_TRUE(insert_entry(small(), bucket, key_bytes("d"), bytes_of("8")));
  EXPECT_EQ(find_entry(small(), bucket, key_bytes("d")), bytes_of("8"));
}

TEST(KeywordTable, AnEmptyBucketHasNoKeyWhateverItsTag) {
  // A key whose tag is all zeros exists, but the length field decides.
  keyword_layout at = small();
  at.tag_bytes = 1;
  const byte_string bucket(at.bucket_bytes());
  int with_zero_tag = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string key = std::to_string(i);
    with_zero_tag += digest_of(at, key_bytes(key))[0] == 0 ? 1 : 0;
    EXPECT_EQ(find_entry(at, bucket, key_bytes(key)), std::nullopt);
  }
  EXPECT_GT(with_zero_tag, 0);
}

TEST(KeywordTable, RefusesForgedBuckets) {
  byte_string bucket = filled_bucket();
  bucket.pop_back();
  expect_corrupt(bucket, "35 bytes; expected the 36");
  bucket = filled_bucket();
  bucket[6] = std::byte{7};
  expect_corrupt(bucket, "entry 0 has the length field 7; expected at most 6");
  bucket = filled_bucket();
  bucket[6] = std::byte{5};
  expect_corrupt(bucket, "entry 0 has bytes other than 0 behind its end");
  bucket = filled_bucket();
  bucket[2 * 12] = std::byte{1};
  expect_corrupt(bucket, "entry 2 has bytes other than 0 behind its end");
  bucket = filled_bucket();
  std::copy_n(bucket.begin(), 12, bucket.begin() + 24);
  expect_corrupt(bucket, "two entries have the same tag");
}

TEST(KeywordTable, RefusesTwoValuesForOneKey) {
  const keyword_layout at = test::layout_of(2, 1, 2, 5);
  std::vector<byte_string> buckets(2, byte_string(at.bucket_bytes()));
  ASSERT_TRUE(insert_entry(at, buckets[0], key_bytes("a"), bytes_of("1")));
  ASSERT_TRUE(insert_entry(at, buckets[1], key_bytes("a"), bytes_of("1")));
  EXPECT_EQ(find_entry(at, buckets, key_bytes("a")), bytes_of("1"));
  ASSERT_TRUE(replace_entry(at, buckets[1], key_bytes("a"), bytes_of("2")));
  EXPECT_THAT([&] { (void)find_entry(at, buckets, key_bytes("a")); },
              ThrowsMessage<corrupt_data>(HasSubstr("two buckets have different values")));
  EXPECT_THAT([&] { (void)find_entry(at, std::span(buckets).first(1), key_bytes("a")); },
              ThrowsMessage<invalid_argument>(HasSubstr("1 buckets; expected the 2")));
  // Who looks a key up keeps it private: errors do not show it.
  const auto secret = key_bytes("secret");
  byte_string large(secret.begin(), secret.end());
  large.resize(max_keyword_bytes + 1);
  const auto find = [&](std::span<const std::byte> key, std::size_t count) {
    return [&, key, count] { (void)find_entry(at, std::span(buckets).first(count), key); };
  };
  EXPECT_THAT(find(secret, 1), ThrowsMessage<invalid_argument>(Not(HasSubstr("secret"))));
  EXPECT_THAT(find(large, 2), ThrowsMessage<invalid_argument>(Not(HasSubstr("secret"))));
  buckets.assign(2, byte_string(at.bucket_bytes()));
  ASSERT_TRUE(insert_entry(at, buckets[0], secret, bytes_of("1")));
  ASSERT_TRUE(insert_entry(at, buckets[1], secret, bytes_of("2")));
  EXPECT_THAT(find(secret, 2), ThrowsMessage<corrupt_data>(Not(HasSubstr("secret"))));
}

TEST(KeywordTable, RefusesLongValuesAndKeysThatAreThere) {
  byte_string bucket = filled_bucket();
  EXPECT_THAT([&] { (void)insert_entry(small(), bucket, key_bytes("c"), bytes_of("123456")); },
              ThrowsMessage<invalid_argument>(HasSubstr("key 'c': 6 bytes; expected at most 5")));
  EXPECT_THAT([&] { (void)replace_entry(small(), bucket, key_bytes("a"), bytes_of("123456")); },
              ThrowsMessage<invalid_argument>(HasSubstr("key 'a': 6 bytes; expected at most 5")));
  EXPECT_THAT([&] { (void)insert_entry(small(), bucket, key_bytes("a"), {}); },
              ThrowsMessage<invalid_argument>(HasSubstr("key 'a' is in the table already")));
  EXPECT_EQ(bucket, filled_bucket());
}

TEST(KeywordTable, UpdatesOfATableWriteOneBucket) {
  std::mt19937_64 random(3);
  auto table =
      test::memory_table::build(test::layout_of(2, 4, 40, 8), test::random_dictionary(100, 8, random));
  int writes = 0;
  bucket_access access = table.access();
  access.write = [&, write = access.write](std::uint64_t b, std::span<const std::byte> bytes) {
    ++writes;
    write(b, bytes);
  };
  EXPECT_TRUE(replace(table.at, access, key_bytes("key 7"), bytes_of("new")));
  EXPECT_EQ(writes, 1);
  EXPECT_EQ(table.find("key 7"), bytes_of("new"));
  insert(table.at, access, key_bytes("another"), bytes_of("value"));
  EXPECT_EQ(writes, 2);
  EXPECT_EQ(table.find("another"), bytes_of("value"));
  EXPECT_THAT([&] { insert(table.at, access, key_bytes("another"), {}); },
              ThrowsMessage<invalid_argument>(HasSubstr("'another' is in the table already")));
  EXPECT_TRUE(erase(table.at, access, key_bytes("another")));
  EXPECT_EQ(writes, 3);
  EXPECT_EQ(table.find("another"), std::nullopt);
  EXPECT_FALSE(erase(table.at, access, key_bytes("another")));
  EXPECT_FALSE(replace(table.at, access, key_bytes("another"), {}));
  EXPECT_EQ(writes, 3);
}

TEST(KeywordTable, InsertSaysWhenTheBucketsAreFull) {
  keyword_layout at = test::layout_of(2, 2, 2, 8);
  test::memory_table table{at, std::vector<byte_string>(2, byte_string(at.bucket_bytes()))};
  for (const char* key : {"a", "b", "c", "d"}) insert(at, table.access(), key_bytes(key), bytes_of(key));
  const auto before = table.buckets;
  EXPECT_THAT([&] { insert(at, table.access(), key_bytes("e"), {}); },
              ThrowsMessage<invalid_argument>(HasSubstr("key 'e': its 2 buckets of 2 entries are full")));
  EXPECT_EQ(table.buckets, before);
}

}  // namespace
}  // namespace halocline::pir
