// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "halocline/pir/keyword_layout.hpp"

/// Entries of buckets: lookups and updates. Every function checks the bucket's bytes, which may be forged or
/// wrongly decoded, before it uses them: its length, every length field, that what is unused is zero, and
/// that no tag is there twice.
namespace halocline::pir {

/// Looks for a key in one bucket.
/// @return its value; nothing where the bucket has no entry with the key's tag
/// @throws corrupt_data for bytes that are no bucket of this layout; invalid_argument for a key that is too
/// long
[[nodiscard]] std::optional<std::vector<std::byte>> find_entry(const keyword_layout& at,
                                                               std::span<const std::byte> bucket,
                                                               std::span<const std::byte> key);
/// Looks for a key in all its candidate buckets, in the order of `candidate_buckets`.
/// @throws as above; invalid_argument for another number of buckets; corrupt_data where two of them have
/// different values for the key
[[nodiscard]] std::optional<std::vector<std::byte>> find_entry(
    const keyword_layout& at, std::span<const std::vector<std::byte>> buckets,
    std::span<const std::byte> key);

/// Entries of a bucket.
/// @throws corrupt_data for bytes that are no bucket of this layout
[[nodiscard]] std::uint32_t count_entries(const keyword_layout& at, std::span<const std::byte> bucket);

/// Puts an entry into a free slot of one of the key's candidate buckets.
/// @return false when there is none
/// @throws corrupt_data; invalid_argument when the value is too long or the bucket has an entry with the
/// key's tag
[[nodiscard]] bool insert_entry(const keyword_layout& at, std::span<std::byte> bucket,
                                std::span<const std::byte> key, std::span<const std::byte> value);
/// Replaces the value of a key, or removes its entry.
/// @return false when the key is not in this bucket
/// @throws corrupt_data; invalid_argument when the value is too long
[[nodiscard]] bool replace_entry(const keyword_layout& at, std::span<std::byte> bucket,
                                 std::span<const std::byte> key, std::span<const std::byte> value);
[[nodiscard]] bool erase_entry(const keyword_layout& at, std::span<std::byte> bucket,
                               std::span<const std::byte> key);

/// Access to the records of a table: `record_store`, `database::replace`, or memory.
struct bucket_access {
  /// From the number of a bucket to its bytes.
  using reader = std::function<std::vector<std::byte>(std::uint64_t)>;
  /// Replaces the bytes of the bucket with this number.
  using writer = std::function<void(std::uint64_t, std::span<const std::byte>)>;

  reader read{};
  writer write{};
};

/// Adds a key to a table. Where all candidate buckets are full and tags have 16 bytes, up to `max_reads`
/// buckets are searched for an entry that can move to another of its candidates (breadth first; the search of
/// cuckoo hashing): a tag of 16 bytes is the whole digest, from which the candidates follow. Each bucket is
/// written after the one that receives an entry from it, so that a reader finds every key at any time.
/// @throws invalid_argument when the key is there already, the value is too long, or there is no room: the
/// message says what helps; nothing has been written then; and what `access` throws
void insert(const keyword_layout& at, const bucket_access& access, std::span<const std::byte> key,
            std::span<const std::byte> value, std::size_t max_reads = 256);
/// Replaces the value of a key, or removes the key, by writing one bucket.
/// @return false when the key is not there
/// @throws invalid_argument when the value is too long; what `access` throws
[[nodiscard]] bool replace(const keyword_layout& at, const bucket_access& access,
                           std::span<const std::byte> key, std::span<const std::byte> value);
[[nodiscard]] bool erase(const keyword_layout& at, const bucket_access& access,
                         std::span<const std::byte> key);

}  // namespace halocline::pir
