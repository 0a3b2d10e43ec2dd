// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "halocline/memory/policy/policy.hpp"
#include "halocline/memory/sim/device_model.hpp"

namespace halocline::memory::sim {

/// Work of the driver for a kernel, or for evictions.
struct fault_work {
  std::uint64_t faults = 0;
  std::uint64_t batches = 0;
  std::uint64_t migrated_bytes = 0;   ///< host to device
  std::uint64_t populated_bytes = 0;  ///< first touch: pages that were nowhere
  std::uint64_t evicted_bytes = 0;    ///< device to host
  std::uint64_t dropped_bytes = 0;    ///< evicted without a copy: the host had one
  std::uint64_t remote_bytes = 0;     ///< read or written in place on the host

  fault_work& operator+=(const fault_work& other) noexcept;
  bool operator==(const fault_work&) const = default;
};

/// Microseconds that the device stands still for it: faults are serviced one batch after the other, and
/// neither copies nor kernels overlap with that.
[[nodiscard]] double service_us(const fault_work& work, const device_model& device) noexcept;

/// Bytes [begin, end) of an object that a kernel touches.
struct managed_range {
  std::uint64_t object = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool writes = false;
};

/// Managed memory of one device by the rules of its driver: an object consists of blocks; a block that a
/// kernel touches and that is not on the device faults and comes in as a whole; when there is no room, the
/// block whose last migration is the oldest goes, because the driver sees faults and not hits. Blocks move to
/// the host when they go; those advised `read_mostly` leave a copy there when they come in, so that they can
/// be dropped until they are written again. Those advised `preferred_device` go last.
class unified_memory {
 public:
  /// @param block_bytes size of a block; the last one of an object is as small as `page_bytes` allow
  unified_memory(std::uint64_t capacity_bytes, std::uint64_t block_bytes, std::uint64_t page_bytes,
                 std::uint64_t fault_batch);

  /// Adds an object; its contents are on the host, or nowhere until it is touched.
  /// @throws invalid_argument when the object is there already, or more than 2^20 blocks would live.
  void add(std::uint64_t object, std::uint64_t bytes, advice hint, bool on_host);
  /// Removes an object; what it holds is lost.
  /// @throws invalid_argument when there is no such object.
  void remove(std::uint64_t object);
  /// A kernel touches some ranges, all at the same pace from begin to end. Ranges of an object that overlap
  /// are one when the kernel reads all of them or writes all of them.
  /// @throws invalid_argument when an object is not there.
  [[nodiscard]] fault_work touch(std::span<const managed_range> ranges);
  /// Brings the blocks of an object in, as far as there is room without evicting; returns the bytes.
  [[nodiscard]] std::uint64_t prefetch(std::uint64_t object);
  /// Changes the room that blocks may take; evicts what no longer fits.
  [[nodiscard]] fault_work set_capacity(std::uint64_t capacity_bytes);

  /// Bytes of blocks on the device, and of all objects.
  [[nodiscard]] std::uint64_t resident_bytes() const noexcept { return resident_; }
  [[nodiscard]] std::uint64_t live_bytes() const noexcept { return live_; }

 private:
  enum class place : std::uint8_t { nowhere, host, device, both };
  struct block;
  struct entry;
  struct position {
    entry* owner = nullptr;
    std::size_t index = 0;
  };
  struct block {
    std::uint64_t bytes = 0;
    place where = place::nowhere;
    std::list<position>::iterator turn;  ///< in the order of its owner; valid on the device
  };
  struct entry {
    std::vector<block> blocks;
    advice hint = advice::none;
    std::uint64_t bytes = 0;
    std::size_t absent = 0;  ///< blocks that are not on the device
  };
  struct joined_range {
    managed_range range;
    std::size_t turn = 0;  ///< of the first one in it
  };
  struct visit {
    double when = 0;
    position at;
    bool writes = false;
  };

  /// Joins ranges that overlap, so that visits are bounded by the blocks and the ranges, not by their
  /// product.
  void join(std::span<const managed_range> ranges);
  entry& find(std::uint64_t object);
  std::list<position>& order(const entry& of) noexcept;
  [[nodiscard]] static bool on_device(const block& of) noexcept;
  [[nodiscard]] bool needs_service(const managed_range& range);
  void visit_block(const position& at, bool writes, fault_work& work);
  void bring_in(const position& at, bool writes, fault_work& work);
  bool make_room(std::uint64_t bytes, fault_work& work);
  void evict(const position& at, fault_work& work);
  void leave(block& from);

  std::uint64_t capacity_;
  std::uint64_t block_bytes_;
  std::uint64_t page_bytes_;
  std::uint64_t fault_batch_;
  std::uint64_t resident_ = 0;
  std::uint64_t live_ = 0;
  std::uint64_t live_blocks_ = 0;
  std::unordered_map<std::uint64_t, entry> objects_;
  std::list<position> migrated_;   ///< oldest migration first
  std::list<position> preferred_;  ///< likewise, of objects advised to stay
  std::vector<joined_range> joined_;
  std::vector<visit> visits_;
};

}  // namespace halocline::memory::sim
