// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/keyword_table.hpp"

#include <algorithm>
#include <cstring>

#include "halocline/core/expects.hpp"
#include "pir/keyword_entries.hpp"

namespace halocline::pir {
namespace {

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte each) { return each == std::byte{0}; });
}

std::span<const std::byte> value_of(const keyword_layout& at, std::span<const std::byte> entry) {
  return entry.subspan(at.tag_bytes + at.length_bytes(), length_field(at, entry) - 1);
}

/// Tags of all entries, sorted, must differ.
void check_tags(const keyword_layout& at, std::span<const std::byte> bucket) {
  std::vector<key_digest> tags;
  for (std::uint32_t s = 0; s < at.slots; ++s) {
    const auto entry = slot_of(at, bucket, s);
    if (length_field(at, entry) == 0) continue;
    std::memcpy(tags.emplace_back().data(), entry.data(), at.tag_bytes);
  }
  std::sort(tags.begin(), tags.end());
  HALOCLINE_EXPECTS(std::adjacent_find(tags.begin(), tags.end()) == tags.end(), corrupt_data,
                    "keyword bucket: two entries have the same tag; expected different ones. The record is "
                    "damaged, or was decoded wrongly");
}

}  // namespace

std::uint64_t length_field(const keyword_layout& at, std::span<const std::byte> entry) noexcept {
  std::uint64_t length = 0;
  for (unsigned i = 0; i < at.length_bytes(); ++i) {
    length |= std::to_integer<std::uint64_t>(entry[at.tag_bytes + i]) << 8 * i;
  }
  return length;
}

void write_entry(const keyword_layout& at, std::span<std::byte> entry, const key_digest& digest,
                 std::span<const std::byte> value) noexcept {
  std::memcpy(entry.data(), digest.data(), at.tag_bytes);
  for (unsigned i = 0; i < at.length_bytes(); ++i) {
    entry[at.tag_bytes + i] = static_cast<std::byte>((value.size() + 1) >> 8 * i);
  }
  const auto rest = entry.subspan(at.tag_bytes + at.length_bytes());
  std::fill(std::copy(value.begin(), value.end(), rest.begin()), rest.end(), std::byte{0});
}

void check_bucket(const keyword_layout& at, std::span<const std::byte> bucket) {
  check(at, tag_rule::any);
  HALOCLINE_EXPECTS(bucket.size() == at.bucket_bytes(), corrupt_data, "keyword bucket: ", bucket.size(),
                    " bytes; expected the ", at.bucket_bytes(), " bytes of a record of this database");
  for (std::uint32_t s = 0; s < at.slots; ++s) {
    const auto entry = slot_of(at, bucket, s);
    const std::uint64_t length = length_field(at, entry);
    HALOCLINE_EXPECTS(length <= at.max_value_bytes + 1, corrupt_data, "keyword bucket: entry ", s,
                      " has the length field ", length, "; expected at most ", at.max_value_bytes + 1,
                      ". The record is damaged, or was decoded wrongly");
    const std::size_t used = length == 0 ? 0 : at.tag_bytes + at.length_bytes() + length - 1;
    HALOCLINE_EXPECTS(all_zero(entry.subspan(used)), corrupt_data, "keyword bucket: entry ", s,
                      " has bytes other than 0 behind its end; expected zeros. The record is damaged, or was "
                      "decoded wrongly");
  }
  check_tags(at, bucket);
}

void check_value(const keyword_layout& at, std::span<const std::byte> key, std::size_t value_bytes) {
  HALOCLINE_EXPECTS(value_bytes <= at.max_value_bytes, invalid_argument, "value of key ", printable_key(key),
                    ": ", value_bytes, " bytes; expected at most ", at.max_value_bytes,
                    ". Build a table with longer values (max_value_bytes)");
}

std::optional<std::uint32_t> slot_with_tag(const keyword_layout& at, std::span<const std::byte> bucket,
                                           const key_digest& digest) noexcept {
  for (std::uint32_t s = 0; s < at.slots; ++s) {
    const auto entry = slot_of(at, bucket, s);
    if (length_field(at, entry) != 0 && std::memcmp(entry.data(), digest.data(), at.tag_bytes) == 0) return s;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> empty_slot(const keyword_layout& at,
                                        std::span<const std::byte> bucket) noexcept {
  for (std::uint32_t s = 0; s < at.slots; ++s) {
    if (length_field(at, slot_of(at, bucket, s)) == 0) return s;
  }
  return std::nullopt;
}

std::optional<std::vector<std::byte>> find_entry(const keyword_layout& at, std::span<const std::byte> bucket,
                                                 std::span<const std::byte> key) {
  check_bucket(at, bucket);
  const auto slot = slot_with_tag(at, bucket, digest_of(at, key));
  if (!slot) return std::nullopt;
  const auto value = value_of(at, slot_of(at, bucket, *slot));
  return std::vector<std::byte>(value.begin(), value.end());
}

std::optional<std::vector<std::byte>> find_entry(const keyword_layout& at,
                                                 std::span<const std::vector<std::byte>> buckets,
                                                 std::span<const std::byte> key) {
  HALOCLINE_EXPECTS(buckets.size() == at.hashes, invalid_argument, "lookup of a key: ", buckets.size(),
                    " buckets; expected the ", at.hashes, " of candidate_buckets");
  std::optional<std::vector<std::byte>> found;
  for (const auto& bucket : buckets) {
    auto here = find_entry(at, bucket, key);
    HALOCLINE_EXPECTS(
        !here || !found || *here == *found, corrupt_data,
        "lookup of a key: two buckets have different values for it; expected one. Build the table "
        "again");
    if (here) found = std::move(here);
  }
  return found;
}

std::uint32_t count_entries(const keyword_layout& at, std::span<const std::byte> bucket) {
  check_bucket(at, bucket);
  std::uint32_t used = 0;
  for (std::uint32_t s = 0; s < at.slots; ++s) used += length_field(at, slot_of(at, bucket, s)) != 0 ? 1 : 0;
  return used;
}

bool insert_entry(const keyword_layout& at, std::span<std::byte> bucket, std::span<const std::byte> key,
                  std::span<const std::byte> value) {
  check_value(at, key, value.size());
  check_bucket(at, bucket);
  const key_digest digest = digest_of(at, key);
  HALOCLINE_EXPECTS(!slot_with_tag(at, bucket, digest), invalid_argument, "key ", printable_key(key),
                    " is in the table already; replace its value instead");
  const auto slot = empty_slot(at, bucket);
  if (slot) write_entry(at, slot_of(at, bucket, *slot), digest, value);
  return slot.has_value();
}

bool replace_entry(const keyword_layout& at, std::span<std::byte> bucket, std::span<const std::byte> key,
                   std::span<const std::byte> value) {
  check_value(at, key, value.size());
  check_bucket(at, bucket);
  const key_digest digest = digest_of(at, key);
  const auto slot = slot_with_tag(at, bucket, digest);
  if (slot) write_entry(at, slot_of(at, bucket, *slot), digest, value);
  return slot.has_value();
}

bool erase_entry(const keyword_layout& at, std::span<std::byte> bucket, std::span<const std::byte> key) {
  check_bucket(at, bucket);
  const auto slot = slot_with_tag(at, bucket, digest_of(at, key));
  if (slot) std::ranges::fill(slot_of(at, bucket, *slot), std::byte{0});
  return slot.has_value();
}

}  // namespace halocline::pir
