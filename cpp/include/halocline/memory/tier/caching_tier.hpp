// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "halocline/memory/tier.hpp"

namespace halocline::memory {

/// The memory cache of XeHE (Zhai et al., "Accelerating Encrypted Computing on Intel GPUs",
/// section III-E) in front of any tier: a request takes the smallest free block whose capacity suffices,
/// whatever that capacity is, and only without one a fresh block; freed blocks are kept without limit. When
/// the source has no fresh block, all free blocks are given back to it and it is asked once more.
///
/// What counts as live is the capacity of the block that a request got, which may be far larger than the
/// request: `live_bytes` plus `cached_bytes` is what the source has handed out.
class caching_tier final : public tier {
 public:
  /// `source` must give every live block an address of its own, which the ghost tier does not.
  explicit caching_tier(std::unique_ptr<tier> source) : source_(std::move(source)) {}
  ~caching_tier() override { trim(); }
  caching_tier(const caching_tier&) = delete;
  caching_tier& operator=(const caching_tier&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return "caching"; }
  [[nodiscard]] void* allocate(std::size_t bytes) override;
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

  std::unique_ptr<tier> source_;
  free_list free_;
  // A block in use keeps its node of the free list, so that freeing needs no memory.
  std::unordered_map<void*, free_list::node_type> used_;
  std::size_t cached_ = 0;
  std::size_t live_ = 0;
  std::size_t requested_ = 0;
};

}  // namespace halocline::memory
