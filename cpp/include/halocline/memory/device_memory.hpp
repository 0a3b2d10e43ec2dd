// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "halocline/memory/policy/policy.hpp"
#include "halocline/memory/tier.hpp"

namespace halocline::memory {

/// Queues of an accelerator: each runs its work in order, beside the others.
enum class lane : std::uint8_t {
  compute,  ///< operations
  load,     ///< copies to the device
  save,     ///< copies from the device
};
inline constexpr std::size_t lane_count = 3;

/// A moment in the work of a lane: later ones are larger. 0 is before all work.
using ticket = std::uint64_t;
/// Moments in the copies to and from the device that the next user of bytes is ordered behind. 0: nothing to
/// wait for, as everywhere in host memory.
struct fence {
  ticket load = 0;
  ticket save = 0;
};
/// A moment whose time is taken; 0: none.
using stamp = std::uint64_t;

/// Where a block of the device goes.
struct block_move {
  std::byte* to;
  const std::byte* from;
  std::size_t bytes;
};

/// Addresses on the device, of which a front part has memory behind it.
class device_range {
 public:
  virtual ~device_range() = default;
  /// The first of the addresses; aligned to 2 MiB.
  [[nodiscard]] virtual std::byte* base() const noexcept = 0;
  /// Gives the first `bytes` bytes memory; false, and nothing has changed, when the device has no more.
  [[nodiscard]] virtual bool grow(std::size_t bytes) = 0;
  /// Takes memory away beyond the first `bytes` bytes, as far as the device can; returns for how many it
  /// stays. Waits for the lanes: not for steady state.
  virtual std::size_t shrink(std::size_t bytes) noexcept = 0;
};

/// Memory of an accelerator, as a runtime needs it. Nothing waits on the host unless it says so.
class device_memory {
 public:
  virtual ~device_memory() = default;
  /// Readable: "HBM of NVIDIA H200 (cuda:0)".
  [[nodiscard]] virtual std::string describe() const = 0;
  [[nodiscard]] virtual std::size_t total_bytes() const = 0;
  [[nodiscard]] virtual std::size_t free_bytes() const = 0;

  // Places. Frees are ordered on the compute lane.
  /// Stream-ordered pool, for buffers that do not move.
  [[nodiscard]] virtual std::unique_ptr<tier> make_pool_tier() = 0;
  /// Up to `bytes` bytes in one piece, without memory at first.
  [[nodiscard]] virtual std::unique_ptr<device_range> make_range(std::size_t bytes) = 0;
  /// Unified memory, one allocation per block; `stream_ordered`: from a pool.
  [[nodiscard]] virtual std::unique_ptr<tier> make_managed_tier(bool stream_ordered) = 0;
  /// Host memory that the lanes copy from and to at full speed; nullptr when there is none. Slow.
  [[nodiscard]] virtual std::byte* allocate_pinned(std::size_t bytes) = 0;
  virtual void free_pinned(std::byte* data) noexcept = 0;

  // Work.
  /// Copies on a lane, between device and pinned memory or within the device.
  virtual void copy(lane on, std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  /// Moves blocks of the device to lower addresses, one after the other, on the compute lane. They ascend:
  /// each goes to the end of the one before or higher. Old and new places may overlap. Addresses and sizes
  /// are multiples of 16.
  virtual void move_down(std::span<const block_move> blocks) = 0;
  /// Keeps the compute lane busy for about so long.
  virtual void occupy(std::uint64_t nanoseconds) = 0;
  /// Overwrites bytes with zeros on the compute lane.
  virtual void wipe(std::byte* data, std::size_t bytes) noexcept = 0;
  /// Sets or takes back (`set` false) a hint for unified memory. Not ordered on a lane.
  virtual void advise(std::byte* data, std::size_t bytes, advice hint, bool set) = 0;
  /// Moves unified memory on the compute lane.
  virtual void prefetch(std::byte* data, std::size_t bytes, bool to_device) = 0;

  // Order.
  /// The present end of a lane.
  [[nodiscard]] virtual ticket mark(lane of) = 0;
  /// Whether a lane is past a moment.
  [[nodiscard]] virtual bool passed(lane of, ticket moment) = 0;
  /// Lets later work of `waiting` begin only when `of` is past a moment.
  virtual void order(lane waiting, lane of, ticket moment) = 0;
  /// Blocks until a lane is past a moment.
  virtual void wait(lane of, ticket moment) = 0;

  // Time.
  /// Takes the time when a lane reaches this point; 0 when that would disturb work that is being queued.
  [[nodiscard]] virtual stamp take_time(lane of) = 0;
  /// Nanoseconds between two stamps of one lane (0 when one is 0), which are released then; nothing while the
  /// lane has not reached `end`.
  [[nodiscard]] virtual std::optional<std::uint64_t> nanoseconds(stamp begin, stamp end) = 0;
};

}  // namespace halocline::memory
