// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

/// Memory of the ratio experiment: blocks from a stream-ordered pool and managed blocks side by side, within
/// a budget that imitates a small card.
namespace halocline::bench {

/// Unit of allocation, and of what is pushed out: the size of the driver's large pages.
inline constexpr std::size_t block_bytes = std::size_t{2} << 20;
/// Unit that kernels address.
inline constexpr std::size_t chunk_bytes = 4096;

/// Managed bytes of this process may never exceed this, whatever is asked for: a card that runs out of memory
/// for managed pages can hang, and others with it.
inline constexpr std::size_t managed_limit = std::size_t{4} << 30;

/// Allocates managed memory.
/// @throws out_of_memory beyond `managed_limit`, or when the card has less free; the latter is allowed where
///   `oversubscribe`
[[nodiscard]] void* allocate_managed(std::size_t bytes, bool oversubscribe);
/// Frees it. Waits for the device.
void free_managed(void* data, std::size_t bytes) noexcept;

/// Blocks of one configuration: `async_bytes` from the pool, the rest managed.
class block_set {
 public:
  struct request {
    std::size_t bytes = 0;        ///< in all; rounded up to blocks
    std::size_t async_bytes = 0;  ///< from the pool
    std::size_t budget = 0;       ///< memory of the card that is imitated
    bool oversubscribe = false;   ///< the card is as small as the budget: push nothing out
  };
  block_set(const request& wanted, cudaMemPool_t pool, cudaStream_t stream);
  ~block_set();
  block_set(const block_set&) = delete;
  block_set& operator=(const block_set&) = delete;

  /// All blocks: pool ones first, then managed ones in the order of their allocation.
  [[nodiscard]] const std::vector<std::byte*>& blocks() const noexcept { return blocks_; }
  [[nodiscard]] std::size_t managed_blocks() const noexcept { return blocks_.size() - async_blocks_; }

  /// Notes that block `i` has come to the device, and pushes managed ones out, the oldest first, until what
  /// is there is within the budget. Pool blocks do not move.
  void came(std::size_t i);
  /// The same for all blocks at once: a kernel has touched all of them.
  void all_came();
  /// Pages pushed out so far.
  [[nodiscard]] std::size_t pushed_bytes() const noexcept { return pushed_; }

 private:
  void push_out();

  request wanted_;
  cudaStream_t stream_;
  std::vector<std::byte*> blocks_;
  std::size_t async_blocks_ = 0;
  std::vector<bool> here_;
  std::deque<std::size_t> order_;  ///< managed blocks on the device, the oldest first
  std::size_t pushed_ = 0;
};

}  // namespace halocline::bench
