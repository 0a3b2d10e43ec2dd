// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "halocline/pir/keyword_builder.hpp"
#include "halocline/pir/keyword_table.hpp"

/// Tables of keywords in host memory.
namespace halocline::test {

using byte_string = std::vector<std::byte>;

inline byte_string bytes_of(std::string_view text) {
  const auto bytes = pir::key_bytes(text);
  return {bytes.begin(), bytes.end()};
}

/// What a table should contain.
using dictionary = std::map<std::string, byte_string>;

/// Keys "key 0", "key 1", ... with random values of lengths 0 to `longest`, both included among them.
inline dictionary random_dictionary(std::size_t keys, std::size_t longest, std::mt19937_64& random) {
  dictionary made;
  for (std::size_t i = 0; i < keys; ++i) {
    std::size_t length = random() % (longest + 1);
    if (i == 0) length = 0;
    if (i == 1) length = longest;
    byte_string value(length);
    for (std::byte& each : value) each = static_cast<std::byte>(random());
    made.emplace("key " + std::to_string(i), std::move(value));
  }
  return made;
}

/// Seed whose bytes all have one value.
inline arith::seed_bytes fixed_seed(std::uint8_t value) {
  arith::seed_bytes seed{};
  seed.fill(value);
  return seed;
}

/// A layout with the tags that it needs.
inline pir::keyword_layout layout_of(unsigned hashes, std::uint32_t slots, std::uint64_t buckets,
                                     std::uint64_t longest, std::uint8_t seed = 1) {
  return {.seed = fixed_seed(seed),
          .hashes = hashes,
          .slots = slots,
          .tag_bytes = pir::required_tag_bytes(hashes, slots),
          .max_value_bytes = longest,
          .buckets = buckets};
}

/// A table as its records.
struct memory_table {
  pir::keyword_layout at;
  std::vector<byte_string> buckets;

  static memory_table build(const pir::keyword_layout& wanted, const dictionary& contents,
                            pir::keyword_build_options options = {}) {
    pir::keyword_builder builder(wanted, std::move(options));
    for (const auto& [key, value] : contents) builder.add(pir::key_bytes(key), value);
    return from(builder);
  }
  static memory_table from(pir::keyword_builder& builder) {
    memory_table made{builder.place(), {}};
    builder.write([&](std::uint64_t first, std::span<const std::byte> bytes) {
      if (first != made.buckets.size()) throw std::runtime_error("buckets out of order");
      const std::size_t size = made.at.bucket_bytes();
      for (std::size_t i = 0; i < bytes.size(); i += size) {
        const auto bucket = bytes.subspan(i, size);
        made.buckets.emplace_back(bucket.begin(), bucket.end());
      }
    });
    return made;
  }

  /// As a client does it.
  [[nodiscard]] std::optional<byte_string> find(std::string_view key) const {
    std::vector<byte_string> queried;
    for (const std::uint64_t b : pir::candidate_buckets(at, pir::key_bytes(key))) {
      queried.push_back(buckets.at(b));
    }
    return pir::find_entry(at, queried, pir::key_bytes(key));
  }
  [[nodiscard]] std::uint64_t entries() const {
    std::uint64_t sum = 0;
    for (const byte_string& bucket : buckets) sum += pir::count_entries(at, bucket);
    return sum;
  }
  [[nodiscard]] pir::bucket_access access() {
    return {[this](std::uint64_t b) { return buckets.at(b); },
            [this](std::uint64_t b, std::span<const std::byte> bytes) {
              buckets.at(b).assign(bytes.begin(), bytes.end());
            }};
  }
};

}  // namespace halocline::test
