// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/keyword_layout.hpp"

#include <sodium.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "halocline/core/expects.hpp"
#include "halocline/pir/geometry.hpp"
#include "pir/keyword_hash.hpp"

namespace halocline::pir {
namespace {

std::string hexadecimal(std::span<const std::byte> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const std::byte each : bytes) {
    out += digits[static_cast<unsigned>(each) >> 4];
    out += digits[static_cast<unsigned>(each) & 15];
  }
  return out;
}

void within(std::uint64_t value, std::uint64_t low, std::uint64_t high, const char* field) {
  HALOCLINE_EXPECTS(value >= low && value <= high, invalid_argument, "keyword layout: ", field, " is ", value,
                    "; expected ", low, " to ", high);
}

/// libsodium chooses its fastest code when it is initialised.
void prepare_sodium() {
  static const bool ready = sodium_init() >= 0;
  HALOCLINE_EXPECTS(ready, device_error,
                    "libsodium cannot be initialised: no source of random bytes; expected the system's");
}

}  // namespace

unsigned keyword_layout::length_bytes() const noexcept {
  return (static_cast<unsigned>(std::bit_width(max_value_bytes + 1)) + 7) / 8;
}

double keyword_layout::log2_false_positive() const noexcept {
  return std::log2(double{1} * hashes * slots) - 8.0 * tag_bytes;
}

unsigned required_tag_bytes(unsigned hashes, std::uint32_t slots) noexcept {
  const std::uint64_t entries = std::uint64_t{hashes} * slots;
  const auto log2_entries = entries <= 1 ? 0U : static_cast<unsigned>(std::bit_width(entries - 1));
  return (false_positive_bits + false_positive_margin + log2_entries + 7) / 8;
}

void check(const keyword_layout& at, tag_rule tags) {
  within(at.hashes, 1, max_keyword_hashes, "hashes");
  within(at.slots, 1, max_keyword_slots, "slots");
  within(at.tag_bytes, 1, key_digest{}.size(), "tag_bytes");
  within(at.max_value_bytes, 0, max_record_bytes, "max_value_bytes");
  within(at.buckets, at.hashes, max_records, "buckets");
  within(at.bucket_bytes(), 1, max_record_bytes, "the number of bytes of a bucket");
  HALOCLINE_EXPECTS(at.buckets <= max_database_bytes / at.bucket_bytes(), invalid_argument,
                    "keyword layout: ", at.buckets, " buckets of ", at.bucket_bytes(),
                    " bytes; expected at most ", max_database_bytes, " bytes together");
  const double probability = at.log2_false_positive();
  HALOCLINE_EXPECTS(tags == tag_rule::any || probability <= -double{1} * false_positive_bits,
                    invalid_argument,
                    "keyword layout: lookups of absent keys find a value with probability 2^", probability,
                    "; expected at most 2^-", false_positive_bits, ". Take ",
                    required_tag_bytes(at.hashes, at.slots), " tag_bytes instead of ", at.tag_bytes);
}

key_digest digest_of(const keyword_layout& at, std::span<const std::byte> key) {
  // The key itself is not shown: clients that look it up keep it private.
  HALOCLINE_EXPECTS(key.size() <= max_keyword_bytes, invalid_argument, "a key of ", key.size(),
                    " bytes; expected at most ", max_keyword_bytes, ". Take a hash of it as the key instead");
  prepare_sodium();
  key_digest digest{};
  crypto_generichash_blake2b(digest.data(), digest.size(), reinterpret_cast<const unsigned char*>(key.data()),
                             key.size(), at.seed.data(), at.seed.size());
  return digest;
}

std::uint64_t placement_word(const keyword_layout& at, const key_digest& digest, std::uint32_t which) {
  std::array<unsigned char, crypto_shorthash_KEYBYTES> key{'b', 'u', 'c', 'k', 'e', 't', 's', '1'};
  for (unsigned i = 0; i < 4; ++i) {
    key[8 + i] = static_cast<unsigned char>(at.attempt >> 8 * i);
    key[12 + i] = static_cast<unsigned char>(which >> 8 * i);
  }
  std::array<unsigned char, crypto_shorthash_BYTES> out{};
  crypto_shorthash(out.data(), digest.data(), digest.size(), key.data());
  std::uint64_t word = 0;
  for (unsigned i = 0; i < out.size(); ++i) word |= std::uint64_t{out[i]} << 8 * i;
  return word;
}

candidate_list candidates_of(const keyword_layout& at, const key_digest& digest) {
  candidate_list chosen{};
  candidate_list sorted{};
  for (unsigned i = 0; i < at.hashes; ++i) {
    // The w-th bucket of those that are not chosen yet.
    std::uint64_t bucket = scaled(placement_word(at, digest, i), at.buckets - i);
    unsigned place = 0;
    for (; place < i && bucket >= sorted[place]; ++place) ++bucket;
    for (unsigned k = i; k > place; --k) sorted[k] = sorted[k - 1];
    sorted[place] = chosen[i] = bucket;
  }
  return chosen;
}

std::vector<std::uint64_t> candidate_buckets(const keyword_layout& at, std::span<const std::byte> key) {
  check(at, tag_rule::any);
  const candidate_list found = candidates_of(at, digest_of(at, key));
  return {found.begin(), found.begin() + at.hashes};
}

std::string printable_key(std::span<const std::byte> key) {
  constexpr std::size_t shown = 32;
  const auto part = key.first(std::min(key.size(), shown));
  const bool plain = std::all_of(part.begin(), part.end(), [](std::byte each) {
    const auto c = std::to_integer<unsigned>(each);
    return c >= 0x20 && c < 0x7f && c != '\'' && c != '\\';
  });
  std::string out;
  if (plain) {
    out = "'" + std::string(reinterpret_cast<const char*>(part.data()), part.size()) + "'";
  } else {
    out = "0x" + hexadecimal(part);
  }
  return key.size() > shown ? text(out, "... (", key.size(), " bytes)") : out;
}

}  // namespace halocline::pir
