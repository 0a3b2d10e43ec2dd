// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string_view>
#include <unordered_map>

#include "halocline/memory/adaptor/tier_adaptor.hpp"

namespace halocline::memory {

/// The memory cache of XeHE (Zhai et al., "Accelerating Encrypted Computing on Intel GPUs",
/// section III-E) in front of any tier: a request takes the smallest free block whose capacity suffices,
/// whatever that capacity is, and only without one a fresh block; freed blocks are kept without limit. When
/// the source has no fresh block, all free blocks are given back to it and it is asked once more.
///
/// What counts as live is the capacity of the block that a request got, which may be far larger than the
/// request: `live_bytes` plus `cached_bytes` is what the source has handed out.
class caching_tier final : public tier_adaptor {
 public:
  using tier_adaptor::tier_adaptor;
  ~caching_tier() override { trim(); }
  caching_tier(const caching_tier&) = delete;
  caching_tier& operator=(const caching_tier&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return "caching"; }
  [[nodiscard]] void* allocate(std::size_t bytes) override;
  [[nodiscard]] void* allocate_for(object_class, std::size_t bytes) override { return allocate(bytes); }
  [[nodiscard]] void* resize(void*, std::size_t, std::size_t) noexcept override { return nullptr; }
  [[nodiscard]] bool joins() const noexcept override { return false; }
  void free(void* data, std::size_t bytes) noexcept override;
  [[nodiscard]] std::size_t cached_bytes() const noexcept override { return cached_; }
  void trim() noexcept override { trim_to(0); }
  /// The largest blocks go first.
  void trim_to(std::size_t bytes) noexcept override;
  [[nodiscard]] std::size_t slack_bytes() const noexcept override { return live_ - requested_; }
  /// Capacities of all blocks handed out.
  [[nodiscard]] std::size_t live_bytes() const noexcept { return live_; }

 private:
  using free_list = std::multimap<std::size_t, void*>;  // capacity -> block

  free_list free_;
  // A block in use keeps its node of the free list, so that freeing needs no memory.
  std::unordered_map<void*, free_list::node_type> used_;
  std::size_t cached_ = 0;
  std::size_t live_ = 0;
  std::size_t requested_ = 0;
};

}  // namespace halocline::memory
