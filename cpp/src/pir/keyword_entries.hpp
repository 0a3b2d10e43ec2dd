// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "halocline/pir/keyword_layout.hpp"

/// The bytes of entries. Private to `pir`.
namespace halocline::pir {

/// Slot number `slot` of a bucket.
[[nodiscard]] inline std::span<std::byte> slot_of(const keyword_layout& at, std::span<std::byte> bucket,
                                                  std::uint32_t slot) noexcept {
  return bucket.subspan(slot * at.entry_bytes(), at.entry_bytes());
}
/// Slot number `slot` of a bucket that is only read.
[[nodiscard]] inline std::span<const std::byte> slot_of(const keyword_layout& at,
                                                        std::span<const std::byte> bucket,
                                                        std::uint32_t slot) noexcept {
  return bucket.subspan(slot * at.entry_bytes(), at.entry_bytes());
}

/// Length field of an entry: the length plus 1, 0 where the slot is empty.
[[nodiscard]] std::uint64_t length_field(const keyword_layout& at, std::span<const std::byte> entry) noexcept;
/// Writes an entry into a slot.
void write_entry(const keyword_layout& at, std::span<std::byte> entry, const key_digest& digest,
                 std::span<const std::byte> value) noexcept;
/// @throws corrupt_data for bytes that are no bucket of this layout
void check_bucket(const keyword_layout& at, std::span<const std::byte> bucket);
/// @throws invalid_argument for a value that is too long
void check_value(const keyword_layout& at, std::span<const std::byte> key, std::size_t value_bytes);
/// The slot with the tag of a digest, and the first empty one, of a bucket that has been checked.
[[nodiscard]] std::optional<std::uint32_t> slot_with_tag(const keyword_layout& at,
                                                         std::span<const std::byte> bucket,
                                                         const key_digest& digest) noexcept;
[[nodiscard]] std::optional<std::uint32_t> empty_slot(const keyword_layout& at,
                                                      std::span<const std::byte> bucket) noexcept;

}  // namespace halocline::pir
