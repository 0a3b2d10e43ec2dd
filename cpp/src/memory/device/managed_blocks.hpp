// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "halocline/memory/budget.hpp"
#include "halocline/memory/device_memory.hpp"
#include "halocline/memory/runtime_options.hpp"
#include "halocline/memory/stats.hpp"

namespace halocline::memory {

struct buffer_state;
struct step_use;

/// Unified memory of an accelerator within a budget and a cap. What a step touches is prefetched to the
/// device; when the budget is full, blocks are evicted to the host in the order of their allocation. Freed
/// blocks of plain unified memory are kept for re-use by size, because a driver waits for the device to free
/// one. Other runtimes that share the budget may reclaim blocks that the last step did not touch. All calls
/// but `reclaim` under the runtime's mutex.
class managed_blocks final : public budget_member {
 public:
  /// @param mutex the runtime's; tried by `reclaim`
  /// @throws invalid_argument when HALOCLINE_MANAGED_CAP is no size
  managed_blocks(const runtime_options& options, std::shared_ptr<memory_budget> budget, movement& counters,
                 std::recursive_mutex& mutex);
  ~managed_blocks() override;
  managed_blocks(const managed_blocks&) = delete;
  managed_blocks& operator=(const managed_blocks&) = delete;

  /// Gives a buffer a block, on the host at first.
  /// @throws out_of_memory beyond the cap, or when the driver has none
  void allocate(buffer_state& state);
  void free(buffer_state& state) noexcept;
  /// Brings what a step touches to the device.
  /// @throws out_of_memory when the budget cannot hold it
  void touch(std::span<const step_use> uses);
  /// Between steps: evicts blocks until `bytes` of the budget are free, as far as that is possible.
  void make_room(std::size_t bytes);
  /// Evicts blocks until at most `bytes` of the budget are used, as far as that is possible.
  void shrink_to(std::size_t bytes);
  /// Evicts blocks for another runtime, and waits until they have been moved.
  std::size_t reclaim(std::size_t bytes) noexcept override;
  /// Frees blocks that are kept for re-use. Waits for the device.
  void trim() noexcept;

  [[nodiscard]] std::size_t resident_bytes() const noexcept { return resident_bytes_; }
  [[nodiscard]] std::size_t allocated_bytes() const noexcept { return allocated_; }
  /// Bytes kept for re-use that are on the device.
  [[nodiscard]] std::size_t spare_bytes() const noexcept;

 private:
  struct block {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::uint64_t number = 0;  ///< rises with allocation
    std::uint64_t step = 0;    ///< the last one that touched it
    advice hint = advice::none;
    bool resident = false;
    bool in_use = false;
    bool has_contents = false;
    bool changed = false;  ///< since it came to the device
  };

  [[nodiscard]] std::byte* take_fresh(std::size_t bytes);
  [[noreturn]] void throw_beyond_cap(const buffer_state& state, std::size_t bytes) const;
  void bring(block& each);
  void push_out(block& each);
  bool push_out_first();
  [[nodiscard]] bool room_for(std::size_t bytes);
  void release(block& each) noexcept;

  std::shared_ptr<device_memory> device_;
  std::shared_ptr<memory_budget> budget_;
  movement& counters_;
  std::recursive_mutex& mutex_;
  bool keeps_;           ///< freed blocks, for re-use
  std::size_t cap_ = 0;  ///< 0: none
  std::unique_ptr<tier> place_;
  std::unordered_map<std::byte*, std::unique_ptr<block>> blocks_;
  std::multimap<std::size_t, block*> spare_;
  std::map<std::uint64_t, block*> resident_;  ///< by number
  std::size_t allocated_ = 0;
  std::size_t resident_bytes_ = 0;
  std::uint64_t next_number_ = 1;
  std::uint64_t step_ = 0;
};

}  // namespace halocline::memory
