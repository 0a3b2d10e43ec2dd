// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halocline/arith/uniform_source.hpp"

/// A database that is looked up by key instead of by index: each record is a bucket of entries, and a key may
/// be in a few buckets that a keyed hash names (docs/concepts/keyword_retrieval.md).
namespace halocline::pir {

/// Longest key in bytes; the empty key is allowed. Most hash functions, and slots of a bucket.
inline constexpr std::size_t max_keyword_bytes = 65536;
inline constexpr unsigned max_keyword_hashes = 3;
inline constexpr std::uint32_t max_keyword_slots = 65536;
/// A lookup of an absent key finds a value with a probability of at most 2^-`false_positive_bits`; the tags
/// of `required_tag_bytes` are chosen for 2^`false_positive_margin` less.
inline constexpr unsigned false_positive_bits = 40;
inline constexpr unsigned false_positive_margin = 4;

/// BLAKE2b-128 of a key under the seed of a table. Its first bytes are the key's tag.
using key_digest = std::array<std::uint8_t, 16>;

/// How keys and values lie in the records of a database. Public: part of what a client receives. All fields
/// are needed; JSON text of it is what a record file keeps (`to_json`).
///
/// Record b is bucket b: `slots` entries one after the other, each of them a tag, the length of the value
/// plus 1 (little endian; 0: the slot is empty) and the value, padded with zeros to `max_value_bytes`. Empty
/// slots are all zeros.
struct keyword_layout {
  arith::seed_bytes seed{};           ///< key of the hash; random unless a reproducible table is asked for
  std::uint32_t attempt = 0;          ///< which placement under that seed succeeded
  unsigned hashes = 1;                ///< h, candidate buckets of a key: 1 to 3
  std::uint32_t slots = 1;            ///< entries of a bucket
  unsigned tag_bytes = 16;            ///< of each entry, at most 16
  std::uint64_t max_value_bytes = 0;  ///< longest value
  std::uint64_t buckets = 1;          ///< records of the database; at least `hashes`

  /// Bytes of the length field: the fewest that hold max_value_bytes + 1.
  [[nodiscard]] unsigned length_bytes() const noexcept;
  [[nodiscard]] std::uint64_t entry_bytes() const noexcept {
    return tag_bytes + length_bytes() + max_value_bytes;
  }
  /// Bytes of a record of the database.
  [[nodiscard]] std::uint64_t bucket_bytes() const noexcept { return slots * entry_bytes(); }
  /// log2 of the probability with which the lookup of an absent key finds a value: hashes * slots entries at
  /// most, each with the wanted tag with probability 2^(-8 tag_bytes).
  [[nodiscard]] double log2_false_positive() const noexcept;

  bool operator==(const keyword_layout&) const = default;
};

/// Fewest bytes of a tag: 8 bytes >= 40 + 4 + log2(hashes * slots).
[[nodiscard]] unsigned required_tag_bytes(unsigned hashes, std::uint32_t slots) noexcept;

/// Whether lookups may fail more often than `false_positive_bits` says: for measurements of just that.
enum class tag_rule : std::uint8_t { safe, any };

/// Checks every field: ranges, the limits of `geometry`, and the probability of false positives.
/// @throws invalid_argument
void check(const keyword_layout& at, tag_rule tags = tag_rule::safe);

/// Canonical JSON text: the same layout gives the same bytes. At most 1 KiB.
[[nodiscard]] std::string to_json(const keyword_layout& at);
/// Reads such a text, which may come from an untrusted party, and checks it.
/// @throws corrupt_data for what is no JSON text; invalid_argument for fields that are missing, unknown or
/// out of their ranges
[[nodiscard]] keyword_layout keyword_layout_from_json(std::string_view text);

/// @throws invalid_argument for a key that is too long
[[nodiscard]] key_digest digest_of(const keyword_layout& at, std::span<const std::byte> key);
/// The buckets in which a key may be: `hashes` of them, all different. A client queries all of them, in this
/// order and whatever it finds, so that the number of queries says nothing about the key.
/// @throws invalid_argument for a key that is too long
[[nodiscard]] std::vector<std::uint64_t> candidate_buckets(const keyword_layout& at,
                                                           std::span<const std::byte> key);

/// A key for messages: quoted where it is printable ASCII, else hexadecimal; long ones are shortened.
[[nodiscard]] std::string printable_key(std::span<const std::byte> key);

/// The bytes of a text: UTF-8 as it is, not normalised.
[[nodiscard]] inline std::span<const std::byte> key_bytes(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace halocline::pir
