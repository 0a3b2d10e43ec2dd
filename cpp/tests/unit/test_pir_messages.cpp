// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "halocline/core/error.hpp"
#include "pir/bit_packing.hpp"
#include "support/message_of.hpp"
#include "support/pir_messages.hpp"
#include "support/pir_samples.hpp"

namespace halocline::pir {
namespace {

using test::message_of;
using test::reseal_message;
using test::sample_answer;
using test::sample_keys;
using test::sample_query;
using test::small_geometry;
using test::small_literal;
using ::testing::HasSubstr;

/// Offsets of docs/reference/retrieval_messages.md.
constexpr std::size_t version_at = 8, levels_at = 12, fingerprint_at = 16, content_at = 48;

const geometry& few_records() {
  static const auto& made = *new geometry(small_geometry(64, 2000));
  return made;
}

std::vector<std::vector<std::byte>> all_messages(const geometry& of) {
  return {write_server_keys(of, sample_keys(of)), write_query(of, sample_query(of)),
          write_answer(of, sample_answer(of))};
}

TEST(PirBitPacking, EqualsPackingBitByBit) {
  std::mt19937_64 random(20261123);
  for (unsigned bits = 1; bits <= 63; ++bits) {
    std::vector<std::uint64_t> values(128), again(128);
    for (std::uint64_t& each : values) each = random() >> (64 - bits);
    std::vector<std::byte> expected(packed_bytes(values.size(), bits)), packed(expected.size());
    for (std::size_t i = 0; i < values.size() * bits; ++i) {
      expected[i / 8] |= static_cast<std::byte>((values[i / bits] >> (i % bits) & 1) << (i % 8));
    }
    pack_bits(std::span<const std::uint64_t>(values), bits, packed.data());
    EXPECT_EQ(packed, expected) << bits;
    unpack_bits(packed, bits, std::span(again));
    EXPECT_EQ(again, values) << bits;
  }
}

TEST(PirMessages, ComeBackAsTheyWere) {
  literal wide = small_literal();
  wide.prime_count = 4;
  wide.prime_bits = 29.7;
  wide.answer_bits = 63;
  for (const geometry& of : {few_records(), small_geometry(5, 10), small_geometry(9, 900, wide)}) {
    const server_keys_message keys = sample_keys(of),
                              keys_again = read_server_keys(of, write_server_keys(of, keys));
    EXPECT_EQ(keys_again.client, keys.client);
    EXPECT_EQ(keys_again.levels, keys.levels);
    EXPECT_EQ(keys_again.seed, keys.seed);
    EXPECT_EQ(keys_again.b, keys.b);
    EXPECT_EQ(keys_again.stamp.seal, keys.stamp.seal);
    EXPECT_EQ(keys_again.stamp.hash, hash_of_keys(write_server_keys(of, keys)));
    const query_message query = sample_query(of), query_again = read_query(of, write_query(of, query));
    EXPECT_EQ(query_again.client, query.client);
    EXPECT_EQ(query_again.seed, query.seed);
    EXPECT_EQ(query_again.c0, query.c0);
    const answer_message answer = sample_answer(of), answer_again = read_answer(of, write_answer(of, answer));
    EXPECT_EQ(answer_again.client, answer.client);
    EXPECT_EQ(answer_again.query, answer.query);
    EXPECT_EQ(answer_again.keys.hash, answer.keys.hash);
    EXPECT_EQ(answer_again.keys.seal, answer.keys.seal);
    EXPECT_EQ(answer_again.words, answer.words);
  }
}

TEST(PirMessages, HaveTheStatedSizes) {
  for (const geometry& of :
       {few_records(), small_geometry(3000, 10), make_geometry(preset("pir-n4096"), 9, 100000)}) {
    const message_sizes sizes = message_sizes_of(of);
    const auto messages = all_messages(of);
    EXPECT_EQ(messages[0].size(), sizes.server_keys);
    EXPECT_EQ(messages[1].size(), sizes.query);
    EXPECT_EQ(messages[2].size(), sizes.answer);
  }
}

TEST(PirMessages, MeetTheLimitsOfTheWire) {
  const auto check = [](const char* name, std::size_t query, double keys_mebibytes, double answer) {
    for (const double gibibytes : {1.0, 8.0}) {
      const parameters scheme = preset(name);
      const auto records =
          static_cast<std::uint64_t>(gibibytes * 0x1p30 / static_cast<double>(scheme.plaintext_bytes()));
      const geometry of = make_geometry(scheme, records, scheme.plaintext_bytes());
      const message_sizes sizes = message_sizes_of(of);
      EXPECT_LE(sizes.query, query) << name << ' ' << gibibytes;
      EXPECT_LE(static_cast<double>(sizes.server_keys), keys_mebibytes * 0x1p20) << name << ' ' << gibibytes;
      EXPECT_LE(static_cast<double>(sizes.answer), answer * static_cast<double>(of.record_bytes)) << name;
    }
  };
  check("pir-n2048", 16 * 1024, 1.6, 5);
  check("pir-n4096", 56 * 1024, 3.2, 2.6);
}

TEST(PirMessages, EveryTruncationIsRefused) {
  const geometry of = small_geometry(2, 10);
  for (const std::vector<std::byte>& message : all_messages(of)) {
    for (std::size_t size = 0; size < message.size(); ++size) {
      std::vector<std::byte> shorter(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(size));
      ASSERT_EQ(test::check_message_bytes(of, shorter), 0) << size;
      if (size % 64 != 0) continue;  // a checksum takes a while
      reseal_message(shorter);
      ASSERT_EQ(test::check_message_bytes(of, shorter), 0) << size;
    }
    std::vector<std::byte> longer = message;
    longer.insert(longer.begin() + content_at, std::byte{});
    reseal_message(longer);
    EXPECT_EQ(test::check_message_bytes(of, longer), 0);
  }
}

TEST(PirMessages, EveryBitCounts) {
  const geometry of = small_geometry(2, 10);
  for (const std::vector<std::byte>& message : all_messages(of)) {
    EXPECT_EQ(test::check_message_bytes(of, message), 1);
    for (std::size_t bit = 0; bit < 8 * message.size(); bit += bit < 1024 ? 1 : 61) {
      std::vector<std::byte> damaged = message;
      damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      EXPECT_EQ(test::check_message_bytes(of, damaged), 0) << bit;
    }
  }
}

/// A query with another byte and a right checksum.
std::vector<std::byte> forged(std::vector<std::byte> message, std::size_t at, std::byte value) {
  message[at] = value;
  reseal_message(message);
  return message;
}

TEST(PirMessages, SayWhatIsWrong) {
  const std::vector<std::byte> query = write_query(few_records(), sample_query(few_records()));
  const auto corrupt = [](const std::vector<std::byte>& bytes) {
    return message_of<corrupt_data>([&] { (void)read_query(few_records(), bytes); });
  };
  EXPECT_THAT(corrupt({}), HasSubstr("only 0 bytes"));
  EXPECT_THAT(corrupt(forged(query, 0, std::byte{0})), HasSubstr("must begin with HALOPIRQ"));
  EXPECT_THAT(corrupt(write_answer(few_records(), sample_answer(few_records()))), HasSubstr("HALOPIRQ"));
  EXPECT_THAT(corrupt(forged(query, version_at, std::byte{1})), HasSubstr("format version 1"));
  EXPECT_THAT(corrupt(forged(query, levels_at, std::byte{1})), HasSubstr("bytes 12 to 15"));
  std::vector<std::byte> longer = query;
  longer.push_back(std::byte{});
  reseal_message(longer);
  EXPECT_THAT(corrupt(longer), HasSubstr(text("expected ", query.size())));
  longer = query;
  longer[content_at] ^= std::byte{1};
  EXPECT_THAT(corrupt(longer), HasSubstr("checksum"));
  EXPECT_THAT(message_of<invalid_argument>([&] {
                (void)read_query(few_records(),
                                 forged(query, fingerprint_at, query[fingerprint_at] ^ std::byte{1}));
              }),
              HasSubstr("belongs to the database"));
}

TEST(PirMessages, ResiduesAreBelowTheirPrimes) {
  const geometry& of = few_records();
  const std::size_t n = of.scheme.n();
  for (std::size_t limb = 0; limb < 2; ++limb) {
    query_message query = sample_query(of);
    for (const std::uint64_t value : {of.scheme.primes()[limb], (std::uint64_t{1} << 27) - 1}) {
      query.c0[limb * n] = static_cast<std::uint32_t>(value);
      EXPECT_THAT(message_of<invalid_argument>([&] { (void)write_query(of, query); }),
                  HasSubstr("its prime"));
      query.c0[limb * n] = 0;
      std::vector<std::byte> bytes = write_query(of, query);
      const auto low = static_cast<std::uint32_t>(value);
      std::memcpy(bytes.data() + content_at + 32 + limb * n * 27 / 8, &low, 3);
      bytes[content_at + 32 + limb * n * 27 / 8 + 3] |= static_cast<std::byte>(value >> 24);
      reseal_message(bytes);
      EXPECT_THAT(message_of<corrupt_data>([&] { (void)read_query(of, bytes); }),
                  HasSubstr(text("its prime ", of.scheme.primes()[limb])));
    }
    query.c0[limb * n] = static_cast<std::uint32_t>(of.scheme.primes()[limb] - 1);
    EXPECT_EQ(read_query(of, write_query(of, query)).c0, query.c0);
  }
}

TEST(PirMessages, KeysServeDatabasesOfTheSameShape) {
  const geometry large = small_geometry(3000, 1024);
  geometry shallow = large;
  shallow.records = 1;
  shallow.at.rows = 1;
  shallow.at.columns = 1;
  EXPECT_EQ(key_shape_of(shallow), key_shape_of(large));
  const std::vector<std::byte> keys = write_server_keys(large, sample_keys(large));
  EXPECT_EQ(read_server_keys(shallow, keys).levels, large.at.expansion_depth(large.scheme));
  const std::vector<std::byte> few = write_server_keys(shallow, sample_keys(shallow));
  EXPECT_THAT(message_of<invalid_argument>([&] { (void)read_server_keys(large, few); }),
              HasSubstr("they expand 0 levels; this database needs"));
  EXPECT_THAT(message_of<invalid_argument>([&] { (void)read_server_keys(small_geometry(9, 9), keys); }),
              HasSubstr("key shape"));
  EXPECT_THAT(message_of<invalid_argument>(
                  [&] { (void)read_server_keys(large, forged(keys, levels_at, std::byte{11})); }),
              HasSubstr("they expand 11 levels"));
}

TEST(PirMessages, WritersRefuseWhatReadersWould) {
  const geometry& of = few_records();
  query_message query = sample_query(of);
  query.c0.pop_back();
  EXPECT_THAT(message_of<invalid_argument>([&] { (void)write_query(of, query); }), HasSubstr("2047 numbers"));
  query = sample_query(small_geometry(3, 3));
  EXPECT_THAT(message_of<invalid_argument>([&] { (void)write_query(of, query); }),
              HasSubstr("the geometry is"));
  answer_message answer = sample_answer(of);
  answer.words.back() = std::uint64_t{1} << of.at.answer_bits1;
  EXPECT_THAT(message_of<invalid_argument>([&] { (void)write_answer(of, answer); }), HasSubstr("bits"));
  answer.words.clear();
  EXPECT_THROW((void)write_answer(of, answer), invalid_argument);
  server_keys_message keys = sample_keys(of);
  keys.levels += 1;
  EXPECT_THROW((void)write_server_keys(of, keys), invalid_argument);
}

TEST(PirMessages, TagsTellQueriesApart) {
  const auto query = write_query(few_records(), sample_query(few_records()));
  EXPECT_EQ(tag_of(query), tag_of(query));
  EXPECT_NE(tag_of(query), tag_of(write_query(few_records(), sample_query(few_records(), 9))));
  EXPECT_EQ(to_string(client_id{0x01, 0xAB}), "01ab0000000000000000000000000000");
}

}  // namespace
}  // namespace halocline::pir
