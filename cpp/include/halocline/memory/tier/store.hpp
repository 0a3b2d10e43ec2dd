// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "halocline/memory/remote_contents.hpp"

namespace halocline::memory {

/// Names one transfer of a store until it has been waited for.
using transfer_id = std::uint64_t;
/// Names bytes on a store.
using slot_id = std::uint64_t;
inline constexpr slot_id no_slot = ~slot_id{0};

/// Counters of a store since it was made.
struct store_stats {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t read_busy_ns = 0;     ///< time during which at least one read was under way
  std::uint64_t written_busy_ns = 0;  ///< likewise for writes
  std::uint64_t slots = 0;            ///< allocated now
  std::uint64_t slot_bytes = 0;       ///< their bytes
  std::uint64_t device_stall_ns = 0;  ///< an accelerator's compute lane waited for reads
};

/// What went over the link from one tier to the fast one, or to a tier in between, since a store was made.
struct link_stats {
  std::string name;                  ///< of the tier that the bytes come from: "memory", "file", "remote"
  std::uint64_t capacity_bytes = 0;  ///< of that tier; 0: no limit
  std::uint64_t held_bytes = 0;      ///< there now; 0 for "remote", which belongs to others
  unsigned requests = 0;             ///< in flight at most; 0: as many as there are
  std::uint64_t reads = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t writes = 0;  ///< copies to that tier
  std::uint64_t written_bytes = 0;
  std::uint64_t read_busy_ns = 0;     ///< time during which at least one read was under way
  std::uint64_t largest_read_ns = 0;  ///< longest time of one read
};

/// A slow tier: slots of bytes, and asynchronous copies between them and frames of the fast tier: a file, or
/// host memory. That of an accelerator queues its copies (`src/memory/device/queued_store.hpp`).
/// Frames are aligned to 4096 bytes, and so are all sizes. Transfers of one direction finish in any order.
/// Not thread-safe: one runtime drives one store.
class store {
 public:
  virtual ~store() = default;
  /// For messages: "file".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Readable: where the bytes go and how.
  [[nodiscard]] virtual std::string describe() const { return std::string(name()); }
  /// Room for `bytes` bytes (a multiple of 4096), uninitialised.
  /// @throws io_error when the place is full; nothing has changed then.
  [[nodiscard]] virtual slot_id allocate(std::size_t bytes) = 0;
  /// Takes the room back. No transfer of the slot may be under way.
  virtual void free(slot_id slot) noexcept = 0;
  /// Starts copying the first `bytes` bytes of a slot to `frame`, which must stay until `wait`.
  [[nodiscard]] transfer_id read(slot_id slot, std::byte* frame, std::size_t bytes) {
    return read_from(slot, 0, frame, bytes);
  }
  /// Starts copying the `bytes` bytes from `offset` on (a multiple of 4096) of a slot to `frame`.
  [[nodiscard]] virtual transfer_id read_from(slot_id slot, std::size_t offset, std::byte* frame,
                                              std::size_t bytes) = 0;
  /// Starts copying `bytes` bytes of `frame` to the begin of a slot.
  [[nodiscard]] virtual transfer_id write(slot_id slot, const std::byte* frame, std::size_t bytes) = 0;
  /// Whether the transfer has ended, well or not. Never blocks. `wait` must still be called.
  [[nodiscard]] virtual bool poll(transfer_id transfer) = 0;
  /// Blocks until the transfer has ended and releases its number.
  /// @throws io_error when it failed (read or write error, disk full); the contents of the frame (read) or
  ///   slot (write) are then undefined.
  /// @throws corrupt_data when the place no longer has the bytes that were written there; reading them again
  ///   does not help.
  virtual void wait(transfer_id transfer) = 0;
  /// Gives back memory that holds nothing.
  virtual void trim() noexcept {}
  /// Slots of about `bytes` bytes together will be written soon: gets ready for them beside the program,
  /// where that takes long.
  virtual void prepare(std::size_t /*bytes*/) {}

  /// Whether `adopt` works.
  [[nodiscard]] virtual bool adopts() const noexcept { return false; }
  /// A slot of `bytes` bytes (a multiple of 4096) whose contents are remote, with zeros behind their end.
  /// Writing to it ends that.
  /// @throws invalid_argument where the store cannot read remote contents
  [[nodiscard]] virtual slot_id adopt(std::shared_ptr<const remote_contents> contents, std::size_t bytes);
  /// Starts bringing the first `bytes` bytes of a slot with remote contents to the nearest tier, for a later
  /// read. Nothing where they are there, or where that tier cannot have them before a frame does.
  /// @throws io_error when there is no room
  virtual void fetch(slot_id slot, std::size_t bytes);
  /// Drops what tiers have of remote contents, so that the next read begins where they came from. Nothing
  /// for other slots, and for copies in use.
  virtual void forget_copies(slot_id slot);
  /// Whether the contents of a slot can be read again when this attempt finds them damaged.
  [[nodiscard]] virtual bool is_renewable(slot_id slot) const noexcept {
    (void)slot;
    return false;
  }
  /// Bytes, counted from the begin of a slot with remote contents, that each tier of `links` but the last
  /// one has a copy of.
  [[nodiscard]] virtual std::vector<std::uint64_t> copies_of(slot_id slot) const {
    (void)slot;
    return {};
  }
  /// Counters of each link, nearest tier first.
  [[nodiscard]] virtual std::vector<link_stats> links() const;
  [[nodiscard]] virtual store_stats statistics() const = 0;
};

}  // namespace halocline::memory
