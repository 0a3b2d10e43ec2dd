// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "halocline/pir/keyword_layout.hpp"
#include "pir/keyword_hash.hpp"

/// Which key lies in which slot while a table is built. Private to `pir`.
namespace halocline::pir {

/// A key that waits for its place.
struct stored_key {
  key_digest digest{};
  const std::byte* value = nullptr;
  std::uint32_t value_bytes = 0;
};

/// Slots of all buckets, filled with numbers of keys.
class placement {
 public:
  /// @param keys sorted by digest
  placement(const keyword_layout& at, std::span<const stored_key> keys);

  /// Puts every key into one of its candidates.
  /// @return false when a key found no slot, or when two keys with equal tags could be taken for each other
  [[nodiscard]] bool fill(std::uint64_t kicks, const std::function<void(std::uint64_t, std::uint64_t)>& done);
  /// Keys of a bucket, in the order of its slots.
  [[nodiscard]] std::span<const std::uint32_t> bucket(std::uint64_t number) const noexcept {
    return std::span(slots_).subspan(number * at_.slots, used_[number]);
  }

 private:
  [[nodiscard]] bool put(std::uint32_t key, std::uint64_t kicks);
  [[nodiscard]] bool put_if_free(std::uint32_t key, const candidate_list& candidates);
  [[nodiscard]] bool tags_are_distinct() const;
  [[nodiscard]] bool may_be_taken_for(std::uint32_t looked_up, std::uint32_t other) const;
  [[nodiscard]] std::uint64_t draw(std::uint64_t bound);

  const keyword_layout& at_;
  std::span<const stored_key> keys_;
  std::vector<std::uint32_t> slots_;
  std::vector<std::uint32_t> used_;  ///< slots of each bucket
  std::uint64_t random_ = 0;
};

}  // namespace halocline::pir
