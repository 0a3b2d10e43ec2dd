// SPDX-License-Identifier: Apache-2.0
// Answers made by hand from known phases, and secrets as bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "halocline/core/error.hpp"
#include "halocline/io/checksum.hpp"
#include "support/message_of.hpp"
#include "support/pir_probe.hpp"
#include "support/pir_samples.hpp"

namespace halocline::pir {
namespace {

using test::make_answer_words;
using test::message_of;
using test::pir_probe;
using test::small_geometry;
using test::small_literal;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::uint64_t test_seed = 20261123;

/// A client, one of its queries, and random plaintexts of all planes.
struct exchange {
  explicit exchange(const geometry& of) : alice(of), query(alice.query(of.records - 1)) {
    std::mt19937_64 random(test_seed);
    bytes.resize(of.planes() * of.scheme.plaintext_bytes());
    for (std::byte& each : bytes) each = static_cast<std::byte>(random());
  }

  /// Coefficient j of plane p: its bits of the bytes (`backend::unpack_job`), one by one.
  [[nodiscard]] std::vector<std::uint64_t> coefficients(std::size_t plane) const {
    const parameters& scheme = alice.shape().scheme;
    const unsigned bits = scheme.source().plain_bits;
    std::vector<std::uint64_t> out(scheme.n());
    for (std::size_t i = 0; i < scheme.n() * bits; ++i) {
      const auto byte = static_cast<std::uint64_t>(bytes[plane * scheme.plaintext_bytes() + i / 8]);
      out[i / bits] |= (byte >> (i % 8) & 1) << (i % bits);
    }
    return out;
  }
  /// @param second of all planes; random unless given
  [[nodiscard]] answer_message answer(std::int64_t noise, std::span<const std::uint64_t> second = {}) {
    const geometry& of = alice.shape();
    answer_message made{fingerprint_of(of), alice.id(), tag_of(query), stamp, {}};
    for (std::size_t plane = 0; plane < of.planes(); ++plane) {
      std::vector<std::int64_t> all(of.scheme.n());
      for (std::size_t j = 0; j < all.size(); ++j) all[j] = j % 2 == 0 ? noise : -noise;
      const auto drawn = test::random_words(of, test_seed + plane);
      const auto words = make_answer_words(of, pir_probe(alice).secret(), coefficients(plane), all,
                                           second.empty() ? std::span(drawn) : second);
      made.words.insert(made.words.end(), words.begin(), words.end());
    }
    return made;
  }
  [[nodiscard]] std::vector<std::byte> decoded(std::uint64_t record, std::int64_t noise = 0,
                                               std::span<const std::uint64_t> second = {}) {
    return alice.decode(record, query, write_answer(alice.shape(), answer(noise, second)));
  }
  [[nodiscard]] std::vector<std::byte> expected(std::uint64_t record) const {
    const geometry& of = alice.shape();
    const auto first = bytes.begin() + of.locate(record).offset;
    return {first, first + static_cast<std::ptrdiff_t>(of.record_bytes)};
  }

  client alice;
  std::vector<std::byte> query;
  key_stamp stamp = read_server_keys(alice.shape(), alice.server_keys()).stamp;
  std::vector<std::byte> bytes;
};

/// Most noise that still rounds to the message: half a step of 2^(64 - plain_bits), less the rounding of c0.
std::int64_t largest_noise(const geometry& of) {
  return (std::int64_t{1} << (63 - of.scheme.source().plain_bits)) -
         (std::int64_t{1} << (63 - of.at.answer_bits0)) - 1;
}

TEST(PirDecode, RecordsOfASharedPlaintext) {
  const geometry of = small_geometry(100, 300);  // three in 1024 bytes
  ASSERT_EQ(of.records_per_plaintext(), 3U);
  exchange with(of);
  for (const std::uint64_t record : {0U, 1U, 2U, 3U, 50U, 99U}) {
    EXPECT_EQ(with.decoded(record), with.expected(record)) << record;
  }
}

TEST(PirDecode, RecordsOfSeveralPlanes) {
  const geometry of = small_geometry(8, 2500);
  ASSERT_EQ(of.planes(), 3U);
  exchange with(of);
  EXPECT_EQ(with.decoded(4), with.expected(4));
}

TEST(PirDecode, ToleratesNoiseUpToHalfAStepAndNoMore) {
  const geometry of = small_geometry();
  exchange with(of);
  const std::int64_t most = largest_noise(of);
  EXPECT_EQ(with.decoded(7, most), with.expected(7));
  EXPECT_EQ(with.decoded(7, -most), with.expected(7));
  const std::int64_t rounding = std::int64_t{1} << (64 - of.at.answer_bits0);
  const std::vector<std::byte> wrong = with.decoded(7, most + 2 * rounding);
  std::size_t equal = 0;
  for (std::size_t i = 0; i < wrong.size(); ++i) equal += wrong[i] == with.expected(7)[i] ? 1 : 0;
  EXPECT_EQ(equal, 0U);  // t = 2^8: every byte is a coefficient that is off by one
}

TEST(PirDecode, AnswersOfAllWidths) {
  // Words of up to 63 bits exceed q, so that they are multiplied with the secret piece by piece.
  for (const unsigned bits : {20U, 30U, 39U}) {
    literal narrow = small_literal();
    narrow.prime_bits = 20;  // q below 2^40, products of up to 2^49
    narrow.plain_bits = 4;
    narrow.log2_failure = 0;
    narrow.answer_bits = bits;
    exchange with(small_geometry(8, 512, narrow));
    EXPECT_EQ(with.decoded(5), with.expected(5)) << bits;
  }
  for (const auto& [count, bits] : {std::pair{3U, 63U}, std::pair{4U, 63U}, std::pair{4U, 45U}}) {
    literal wide = small_literal();
    wide.prime_count = count;
    wide.plain_bits = 27;
    wide.answer_bits = bits;
    exchange with(small_geometry(16, 3456, wide));
    EXPECT_EQ(with.decoded(9), with.expected(9)) << count << " primes, " << bits << " bits";
    EXPECT_EQ(with.decoded(9, largest_noise(with.alice.shape())), with.expected(9)) << bits;
  }
}

TEST(PirDecode, LargestProductsWithTheSecret) {
  literal narrow = small_literal();
  narrow.prime_bits = 20;
  narrow.plain_bits = 4;
  narrow.log2_failure = 0;
  narrow.answer_bits = 39;
  exchange with(small_geometry(8, 512, narrow));
  const std::vector<std::int64_t> secret = pir_probe(with.alice).secret();
  for (const std::int64_t sign : {1, -1}) {
    // Coefficient 0 of the product is the sum of all words with coefficients of one sign: about N / 3 times
    // the largest word, where random words give sqrt(N) times it.
    std::vector<std::uint64_t> second(secret.size());
    for (std::size_t i = 1; i < secret.size(); ++i) {
      if (secret[i] == sign) second[secret.size() - i] = (std::uint64_t{1} << 39) - 1;
    }
    EXPECT_EQ(with.decoded(5, 0, second), with.expected(5)) << sign;
  }
}

TEST(PirDecode, LargestRing) {
  literal large{.name = "test-n8192", .log_n = 13, .plain_bits = 24};
  exchange with(small_geometry(2, 20000, large));
  EXPECT_EQ(with.decoded(1), with.expected(1));
}

TEST(PirDecode, RefusesAnswersToOthers) {
  const geometry of = small_geometry();
  exchange with(of);
  client bob(of);
  const auto answer = write_answer(of, with.answer(0));
  EXPECT_THAT([&] { (void)bob.decode(1, with.query, answer); },
              ThrowsMessage<key_mismatch>(HasSubstr(to_string(bob.id()))));
  const auto bobs = bob.query(1);
  EXPECT_THAT([&] { (void)bob.decode(1, bobs, answer); },
              ThrowsMessage<key_mismatch>(HasSubstr(to_string(with.alice.id()))));
  EXPECT_THAT([&] { (void)with.alice.decode(1, with.alice.query(1), answer); },
              ThrowsMessage<key_mismatch>(HasSubstr("another query")));
  EXPECT_THAT([&] { (void)with.alice.decode(of.records, with.query, answer); },
              ThrowsMessage<invalid_argument>(HasSubstr("does not exist")));
}

TEST(PirDecode, RefusesAnswersComputedWithKeysOfOthers) {
  const geometry of = small_geometry();
  exchange with(of);
  answer_message answer = with.answer(0);
  const auto refused = [&] {
    return message_of<key_mismatch>(
        [&] { (void)with.alice.decode(7, with.query, write_answer(of, answer)); });
  };
  answer.keys.hash[3] ^= 1;  // other keys under a seal that was seen
  EXPECT_THAT(refused(), HasSubstr(text("keys that this client, ", to_string(with.alice.id()), ", did not")));
  answer.keys = {};
  EXPECT_THAT(refused(), HasSubstr("replace them"));
  answer.keys = with.stamp;
  answer.keys.seal[15] ^= 0x80;
  EXPECT_THAT(refused(), HasSubstr("did not make"));
  // All keys that the client made are its own, also those that another process made of its secret.
  client again = client::from_secret(of, with.alice.secret_bytes());
  for (const auto& keys : {with.alice.server_keys(), again.server_keys()}) {
    answer.keys = read_server_keys(of, keys).stamp;
    EXPECT_EQ(with.alice.decode(7, with.query, write_answer(of, answer)), with.expected(7));
  }
}

TEST(PirSecret, ClientsOfTheSameSecretAreTheSame) {
  const geometry of = small_geometry();
  exchange with(of);
  const std::vector<std::byte> secret = with.alice.secret_bytes();
  EXPECT_EQ(secret.size(), 48 + of.scheme.n() / 4 + 32 + 8);
  client again = client::from_secret(of, secret);
  EXPECT_EQ(again.id(), with.alice.id());
  EXPECT_EQ(again.secret_bytes(), secret);
  EXPECT_EQ(pir_probe(again).secret(), pir_probe(with.alice).secret());
  EXPECT_EQ(again.decode(7, with.query, write_answer(of, with.answer(0))), with.expected(7));
  // Another database of the same ring.
  EXPECT_EQ(client::from_secret(small_geometry(500, 64), secret).id(), with.alice.id());
}

TEST(PirSecret, IsInNoMessage) {
  const geometry of = small_geometry();
  client alice(of);
  const std::vector<std::byte> secret = alice.secret_bytes();
  std::vector<std::int8_t> narrow;
  for (const std::int64_t each : pir_probe(alice).secret()) narrow.push_back(static_cast<std::int8_t>(each));
  const auto part = [](const auto& values, std::size_t first) {
    const auto bytes = std::as_bytes(std::span(values)).subspan(first, 16);
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  // std::search, because std::ranges::search of libstdc++ 12 does not compile with clang 14.
  const auto contains = [](const auto& message, const std::vector<std::byte>& wanted) {
    return std::search(message.begin(), message.end(), wanted.begin(), wanted.end()) != message.end();
  };
  for (const auto& message : {alice.server_keys(), alice.query(1)}) {
    for (std::size_t first = 48; first + 24 < secret.size(); first += 16) {
      EXPECT_FALSE(contains(message, part(secret, first)));
    }
    EXPECT_FALSE(contains(message, part(narrow, 0)));
  }
}

TEST(PirSecret, DamageIsRefused) {
  const geometry of = small_geometry();
  client alice(of);
  const std::vector<std::byte> secret = alice.secret_bytes();
  const auto read = [&of](const std::vector<std::byte>& bytes) { (void)client::from_secret(of, bytes); };
  for (std::size_t size = 0; size < secret.size(); ++size) {
    EXPECT_THROW(read({secret.begin(), secret.begin() + static_cast<std::ptrdiff_t>(size)}), corrupt_data);
  }
  for (std::size_t i = 0; i < secret.size(); ++i) {
    std::vector<std::byte> damaged = secret;
    damaged[i] ^= std::byte{4};
    EXPECT_THROW(read(damaged), corrupt_data) << i;
  }
  std::vector<std::byte> wrong = secret;
  wrong[48] |= std::byte{3};  // coefficient 2
  const std::uint64_t checksum = io::checksum64(std::span(wrong).first(wrong.size() - 8));
  std::memcpy(wrong.data() + wrong.size() - 8, &checksum, 8);
  EXPECT_THAT([&] { read(wrong); }, ThrowsMessage<corrupt_data>(HasSubstr("not -1, 0 or 1")));
  literal other = small_literal();
  other.error_stddev = 3;
  EXPECT_THAT([&] { (void)client::from_secret(small_geometry(64, 1024, other), secret); },
              ThrowsMessage<invalid_argument>(HasSubstr("scheme")));
}

}  // namespace
}  // namespace halocline::pir
