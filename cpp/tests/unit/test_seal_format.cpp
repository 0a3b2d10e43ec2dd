// SPDX-License-Identifier: Apache-2.0
// Files of SEAL: what is written is read again, and nothing else is.
#include "halocline/seal_format/read.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "support/message_of.hpp"
#include "support/seal_samples.hpp"

namespace halocline::seal_format {
namespace {

using test::small_chain;
using test::small_limits;
using bytes_t = std::vector<std::byte>;

std::filesystem::path corpus() {
  return std::filesystem::path(__FILE__).parent_path().parent_path() / "fuzz" / "corpus" / "seal_format";
}

/// One object of each kind and form, as bytes.
std::vector<std::pair<std::string, bytes_t>> samples() {
  const modulus_chain& of = small_chain();
  std::vector<std::pair<std::string, bytes_t>> made{
      {"parameters", write(of.top())},
      {"ciphertext", write(test::sample_seal_ciphertext(of, 2, 2))},
      {"product", write(test::sample_seal_ciphertext(of, 3, 1), {compression::none, 0})},
      {"seeded", write(test::sample_seeded(of, 2, seed_kind::blake2xb), {compression::none, 3})},
      {"plaintext", write(test::sample_seal_plaintext(of, 2))},
      {"secret_key", write(test::sample_seal_plaintext(of, 3))},
      {"public_key", write(test::sample_seal_ciphertext(of, 2, 3))},
      {"relin_keys", write(test::sample_switch_keys(of, 1, false))},
      {"galois_keys_seeded", write(test::sample_switch_keys(of, 8, true))}};
  for (const compression how : {compression::zlib, compression::zstd}) {
    if (!is_supported(how)) continue;
    const std::string ending = how == compression::zlib ? ".zlib" : ".zstd";
    made.emplace_back("ciphertext" + ending, write(test::sample_seal_ciphertext(of, 2, 2), {how, 4}));
    made.emplace_back("galois_keys" + ending, write(test::sample_switch_keys(of, 8, true), {how, 1}));
  }
  return made;
}

void put_word(bytes_t& bytes, std::size_t at, std::uint64_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

TEST(SealFormat, ACiphertextMayHaveNoPolynomialsYet) {
  const modulus_chain& of = small_chain();
  ciphertext empty = test::sample_seal_ciphertext(of, 2, 2);
  empty.size = 0;
  empty.data.clear();
  const ciphertext read = read_ciphertext(write(empty));
  EXPECT_EQ(read, empty);
  EXPECT_THROW(of.check(read), corrupt_data) << "nothing can be computed with it";
  empty.size = 1;
  EXPECT_THROW(static_cast<void>(write(empty)), invalid_argument);
}

TEST(SealFormat, WhatIsWrittenIsReadAgain) {
  const modulus_chain& of = small_chain();
  for (const compression how : {compression::none, compression::zlib, compression::zstd}) {
    if (!is_supported(how)) continue;
    for (unsigned minor = 0; minor <= 4; ++minor) {
      const write_options options{how, minor};
      EXPECT_EQ(read_parameters(write(of.top(), options)), of.top());
      const ciphertext full = test::sample_seal_ciphertext(of, 3, 2);
      EXPECT_EQ(read_ciphertext(write(full, options)), full);
      const ciphertext seeded = test::sample_seeded(of, 2, seed_kind::blake2xb);
      EXPECT_EQ(read_ciphertext(write(seeded, options)), seeded);
      const plaintext plain = test::sample_seal_plaintext(of, 2);
      EXPECT_EQ(read_plaintext(write(plain, options)), plain);
      EXPECT_EQ(read_secret_key(write(plain, options)), plain);
      for (const bool with_seeds : {false, true}) {
        const switch_keys keys = test::sample_switch_keys(of, 5, with_seeds);
        EXPECT_EQ(read_switch_keys(write(keys, options)), keys);
      }
      const object_header head = peek(write(full, options));
      EXPECT_EQ(head.minor, minor);
      EXPECT_EQ(head.compression, static_cast<unsigned>(how));
    }
  }
}

TEST(SealFormat, SizesAreThoseOfSeal) {
  // N = 8192 and primes of 60, 40, 40 and 60 bits: measured with files of SEAL 4.4.
  EXPECT_EQ(write(parameters{scheme::ckks, 8192, {1, 2, 3, 4}, 0}).size(), 153U);
  ciphertext fresh;
  fresh.size = 2;
  fresh.n = 8192;
  fresh.primes = 3;
  fresh.data.resize(2 * 3 * 8192);
  EXPECT_EQ(write(fresh).size(), 393329U);
  fresh.primes = 4;
  fresh.data.resize(2 * 4 * 8192);
  EXPECT_EQ(write(fresh).size(), 524401U);
  EXPECT_EQ(write(switch_keys{{}, {{fresh, fresh, fresh}}}).size(), 1573267U);
}

TEST(SealFormat, EveryPrefixIsRefused) {
  for (const auto& [name, whole] : samples()) {
    EXPECT_GE(test::check_any_seal_object(whole), 1) << name;
    for (std::size_t count = 0; count < whole.size(); ++count) {
      bytes_t part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(count));
      EXPECT_EQ(test::check_any_seal_object(part), 0) << name << ", " << count << " bytes";
      if (count < 16) continue;
      put_word(part, 8, count);  // a header that agrees
      EXPECT_EQ(test::check_any_seal_object(part), 0) << name << ", " << count << " bytes as the header says";
    }
    bytes_t longer = whole;
    longer.push_back(std::byte{0});
    put_word(longer, 8, longer.size());
    EXPECT_EQ(test::check_any_seal_object(longer), 0) << name;
  }
}

TEST(SealFormat, ChangedBytesAreRefusedOrComeBack) {
  // check_any_seal_object aborts where accepted bytes do not come back.
  for (const auto& [name, whole] : samples()) {
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (const int change : {1, 0x80, 0xff}) {
        bytes_t changed = whole;
        changed[at] ^= static_cast<std::byte>(change);
        (void)test::check_any_seal_object(changed);
      }
    }
    for (const std::uint64_t extreme : {std::uint64_t{0}, std::uint64_t{1} << 32, std::uint64_t{1} << 61,
                                        std::numeric_limits<std::uint64_t>::max()}) {
      for (std::size_t at = 16; at + 8 <= std::min<std::size_t>(whole.size(), 256); ++at) {
        bytes_t changed = whole;
        put_word(changed, at, extreme);
        (void)test::check_any_seal_object(changed);
      }
    }
  }
}

TEST(SealFormat, MessagesSayWhatWasFound) {
  const bytes_t whole = write(test::sample_seal_ciphertext(small_chain(), 2, 2));
  const auto message = [](const bytes_t& bytes) {
    return test::message_of<corrupt_data>([&] { (void)read_ciphertext(bytes); });
  };
  bytes_t changed = whole;
  changed[0] = std::byte{0};
  EXPECT_THAT(message(changed), testing::HasSubstr("does not begin with the header"));
  changed = whole;
  changed[4] = std::byte{5};
  EXPECT_THAT(message(changed), testing::HasSubstr("version 4.5; expected 4.0 to 4.4"));
  changed = whole;
  changed[5] = std::byte{3};
  EXPECT_THAT(message(changed), testing::HasSubstr("compression 3"));
  changed = whole;
  put_word(changed, 16 + 32 + 1, 17);
  EXPECT_THAT(message(changed), testing::HasSubstr("17 polynomials of 8 coefficients"));
  changed = whole;
  changed[113 - 16 + 4 - 8] = std::byte{3};  // minor version of the array within
  EXPECT_THAT(message(changed), testing::HasSubstr("a part has version 4.3"));
  EXPECT_THAT(test::message_of<invalid_argument>([&] {
                (void)write(small_chain().top(), {{}, 5});
              }),
              testing::HasSubstr("version 4.5; expected 4.0 to 4.4"));
}

TEST(SealFormat, PackedObjectsDoNotExceedTheirLimit) {
  ciphertext zeros = test::sample_seal_ciphertext(small_chain(), 2, 2);
  zeros.n = 1 << 16;
  zeros.data.assign(2 * 2 * zeros.n, 0);
  for (const compression how : {compression::zlib, compression::zstd}) {
    if (!is_supported(how)) GTEST_SKIP() << "this build lacks a compression";
    const bytes_t packed = write(zeros, {how, 4});
    ASSERT_LT(packed.size(), 20000U);
    EXPECT_EQ(read_ciphertext(packed), zeros);
    const read_limits small{std::uint64_t{1} << 32, 1 << 16, 4};
    EXPECT_THAT(test::message_of<corrupt_data>([&] { (void)read_ciphertext(packed, small); }),
                testing::HasSubstr("unpacks to more than"));
    EXPECT_THROW((void)read_ciphertext(packed, {1 << 20, 1 << 30, 32}), corrupt_data);
  }
  EXPECT_THAT(test::message_of<corrupt_data>([&] {
                (void)read_ciphertext(write(zeros), {1 << 20, 0, 0});
              }),
              testing::HasSubstr("expected at most 1048576"));
}

TEST(SealFormat, ObjectsOfOtherParametersAreRefused) {
  const modulus_chain& of = small_chain();
  const modulus_chain other({scheme::ckks, 8, {17, 97, 193}, 0});
  EXPECT_NO_THROW(of.check(test::sample_seal_ciphertext(of, 2, 2)));
  EXPECT_NO_THROW(other.check(test::sample_seal_ciphertext(of, 2, 2))) << "the same two primes";
  EXPECT_THROW(other.check_public_key(test::sample_seal_ciphertext(of, 2, 3)), invalid_argument);
  EXPECT_THROW(of.check(test::sample_seal_ciphertext(of, 2, 3)), corrupt_data) << "level of keys";
  ciphertext wrong = test::sample_seal_ciphertext(of, 2, 2);
  wrong.data[8] = 97;  // first residue modulo the second prime
  EXPECT_THAT(test::message_of<corrupt_data>([&] { of.check(wrong); }),
              testing::HasSubstr("residue 97 at word 8; expected less than its prime 97"));
  wrong = test::sample_seal_ciphertext(of, 2, 2);
  wrong.id = of.id(1);
  EXPECT_THROW(of.check(wrong), corrupt_data);
  wrong = test::sample_seal_ciphertext(of, 2, 2);
  wrong.scale = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(of.check(wrong), corrupt_data);
  wrong = test::sample_seal_ciphertext(of, 2, 2);
  wrong.is_ntt = false;
  EXPECT_THROW(of.check(wrong), corrupt_data);
  switch_keys keys = test::sample_switch_keys(of, 8, false);
  EXPECT_NO_THROW(of.check(keys, true));
  keys.keys[4].pop_back();
  EXPECT_THROW(of.check(keys, true), corrupt_data) << "a digit is missing";
  EXPECT_THROW(of.check(test::sample_switch_keys(of, 9, false), true), corrupt_data) << "more than N";
  EXPECT_THROW(of.check(test::sample_switch_keys(of, 15, false), false), corrupt_data);
}

TEST(SealFormat, ParametersThatAreNoneOfCkksAreRefused) {
  const auto refused = [](const parameters& p) {
    return test::message_of<invalid_argument>([&] { (void)modulus_chain(p); });
  };
  EXPECT_THAT(refused({scheme::bfv, 8, {17}, 0}), testing::HasSubstr("scheme 1; expected 2, CKKS"));
  EXPECT_THAT(refused({scheme::ckks, 12, {17}, 0}), testing::HasSubstr("ring degree 12"));
  EXPECT_THAT(refused({scheme::ckks, 8, {17, 17}, 0}), testing::HasSubstr("occurs twice"));
  EXPECT_THAT(refused({scheme::ckks, 8, {19}, 0}), testing::HasSubstr("modulus 19"));
  EXPECT_THAT(refused({scheme::ckks, 8, {17}, 3}), testing::HasSubstr("plain modulus 3"));
  EXPECT_THAT(refused({scheme::ckks, 8, {}, 0}), testing::HasSubstr("0 primes"));
}

TEST(SealFormat, SeedsAreExpandedInPlace) {
  const modulus_chain& of = small_chain();
  switch_keys keys = test::sample_switch_keys(of, 3, true);
  const std::size_t half = keys.keys[1][0].data.size();
  of.expand(keys);
  EXPECT_FALSE(keys.keys[1][0].second.has_value());
  EXPECT_EQ(keys.keys[1][0].data.size(), 2 * half);
  EXPECT_NO_THROW(of.check(keys, true));
  ciphertext blake = test::sample_seeded(of, 2, seed_kind::blake2xb);
  ciphertext shake = test::sample_seeded(of, 2, seed_kind::shake256);
  of.expand(blake);
  of.expand(shake);
  EXPECT_NE(blake.data, shake.data);
}

TEST(SealFormat, TheCorpusHasEachKind) {
  if (std::getenv("HALOCLINE_WRITE_CORPUS") != nullptr) {
    std::filesystem::create_directories(corpus());
    for (const auto& [name, content] : samples()) {
      std::ofstream out(corpus() / name, std::ios::binary);
      out.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
    }
  }
  for (const auto& [name, content] : samples()) {
    std::ifstream in(corpus() / name, std::ios::binary);
    const std::string there{std::istreambuf_iterator<char>(in), {}};
    EXPECT_GE(test::check_any_seal_object(std::as_bytes(std::span(there))), 1) << name;
  }
}

// A digit without words would take more memory than its bytes in a file, many times over.
TEST(SealFormat, DigitsOfKeysHaveTwoPolynomials) {
  const modulus_chain& of = small_chain();
  for (const std::uint32_t size : {0U, 3U}) {
    switch_keys keys = test::sample_switch_keys(of, 1, false);
    keys.keys.front().front() = test::sample_seal_ciphertext(of, size, 3);
    const bytes_t bytes = write(keys);
    EXPECT_THAT(test::message_of<corrupt_data>([&] { (void)read_switch_keys(bytes); }),
                testing::HasSubstr("a digit of " + std::to_string(size) + " polynomials; expected 2"));
  }
}

// Many tiny digits would take several times the memory of the file.
TEST(SealFormat, KeysHaveNoMoreDigitsThanTheirRingAllows) {
  const switch_keys keys = test::sample_switch_keys(small_chain(), 1, false);
  switch_keys many = keys;
  many.keys.resize(16);
  EXPECT_EQ(read_switch_keys(write(many)), many);
  many.keys.resize(17);
  const auto message = [](const switch_keys& of) {
    const bytes_t bytes = write(of);
    return test::message_of<corrupt_data>([&] { (void)read_switch_keys(bytes); });
  };
  EXPECT_THAT(message(many),
              testing::HasSubstr("17 entries and one of 2 digits of ring degree 8 with 3 primes"));
  many = keys;
  many.keys.front().resize(4, keys.keys.front().front());
  EXPECT_THAT(message(many), testing::HasSubstr("expected at most 16 and 3"));
}

TEST(SealFormat, EmptyObjectsAreReadOnRequest) {
  read_limits limits;
  limits.allow_empty = true;
  const parameters bare{scheme::ckks, 0, {}, 0};
  EXPECT_THROW((void)read_parameters(write(bare)), corrupt_data);
  EXPECT_EQ(read_parameters(write(bare), limits), bare);
  const ciphertext fresh;
  EXPECT_THROW((void)read_ciphertext(write(fresh)), corrupt_data);
  EXPECT_EQ(read_ciphertext(write(fresh), limits), fresh);
  switch_keys keys;
  keys.keys.push_back({fresh});
  EXPECT_THROW((void)read_switch_keys(write(keys), limits), corrupt_data);
  ciphertext half = fresh;
  half.n = 8;
  EXPECT_THROW((void)read_ciphertext(write(half), limits), corrupt_data);
}

}  // namespace
}  // namespace halocline::seal_format
