// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "halocline/memory/policy/policy.hpp"
#include "memory/sim/machine.hpp"

namespace halocline::memory::sim {

/// The pool of a simulated device: what it costs to take blocks from it and how much of the device it holds.
/// Stream-ordered, as `cudaMallocAsync` with an unlimited release threshold: blocks are cheap, never cause a
/// synchronization, and the pool never shrinks. Smallest fit: freed blocks of cudaMalloc wait in a list for a
/// request that fits; before the budget would be exceeded, the list is freed, which waits for the device.
class sim_pool {
 public:
  sim_pool(const device_model& device, machine& clocks, block_reuse reuse, std::uint64_t budget_bytes);

  /// Takes a block; returns its size. `timed`: not for buffers that were there before the program.
  [[nodiscard]] std::uint64_t allocate(std::uint64_t bytes, bool timed);
  /// Gives back a block of the size that `allocate` returned.
  void free(std::uint64_t block_bytes);

  /// Bytes of blocks in use, and of the device that the pool holds.
  [[nodiscard]] std::uint64_t live_bytes() const noexcept { return live_; }
  [[nodiscard]] std::uint64_t held_bytes() const noexcept { return held_; }

 private:
  void allocate_plain(std::uint64_t bytes, bool timed);
  void flush();

  const device_model& device_;
  machine& clocks_;
  block_reuse reuse_;
  std::uint64_t budget_;
  std::uint64_t live_ = 0;
  std::uint64_t held_ = 0;
  std::map<std::uint64_t, std::uint64_t> free_;  ///< size -> blocks
};

}  // namespace halocline::memory::sim
