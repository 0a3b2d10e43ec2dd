// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "memory/device/lane_clock.hpp"
#include "memory/device/pinned_slabs.hpp"
#include "memory/device/queued_store.hpp"
#include "memory/tier/transfer_threads.hpp"

namespace halocline::memory {

inline constexpr std::size_t page_bytes = 4096;  ///< sizes of slots are multiples of it

/// How a device store is set up.
struct device_store_options {
  std::size_t pinned_bytes = 0;  ///< host memory that may be pinned
  std::size_t slab_bytes = std::size_t{256} << 20;
  std::shared_ptr<store> overflow;  ///< takes slots that exceed the limit; none: they are refused
  bool blocking = false;      ///< the host waits for the compute lane before each copy, and for the copy
  unsigned requests = 8;      ///< remote reads in flight at once, 1 to 64
  bool sinks_remote = false;  ///< copies of remote contents go to the other store when they leave, too
};

/// Slow tier of an accelerator: slots in pinned host memory, those written longest ago in another store.
/// Copies are queued on the lanes of the device. Bytes on their way to the other store stay pinned until they
/// are there, so that an error of it loses nothing.
///
/// Remote contents arrive in pinned memory first, on threads, and stay there as far as there is room; those
/// used longest ago leave for others. Copies to the device are queued when a later call finds them arrived.
class device_store final : public queued_store {
 public:
  device_store(std::shared_ptr<device_memory> device, device_store_options options);
  ~device_store() override;
  device_store(const device_store&) = delete;
  device_store& operator=(const device_store&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return "pinned"; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] slot_id allocate(std::size_t bytes) override;
  void free(slot_id slot) noexcept override;
  [[nodiscard]] transfer_id read_from(slot_id slot, std::size_t offset, std::byte* frame,
                                      std::size_t bytes) override;
  [[nodiscard]] transfer_id write(slot_id slot, const std::byte* frame, std::size_t bytes) override;
  [[nodiscard]] bool poll(transfer_id transfer) override;
  void wait(transfer_id transfer) override;
  fence detach(transfer_id transfer) noexcept override;
  void begin_reads() noexcept override { grouping_ = true; }
  void end_reads() noexcept override;
  void compute_went_on() noexcept override { compute_end_ = 0; }
  [[nodiscard]] store_stats statistics() const override;
  /// Unpins what holds nothing.
  void trim() noexcept override;
  void prepare(std::size_t bytes) override { pinned_.prepare(bytes); }
  [[nodiscard]] bool adopts() const noexcept override { return true; }
  [[nodiscard]] slot_id adopt(std::shared_ptr<const remote_contents> contents, std::size_t bytes) override;
  void fetch(slot_id slot, std::size_t bytes) override;
  void forget_copies(slot_id slot) override;
  [[nodiscard]] bool is_renewable(slot_id slot) const noexcept override;
  [[nodiscard]] std::vector<std::uint64_t> copies_of(slot_id slot) const override;
  [[nodiscard]] std::vector<link_stats> links() const override;
  /// Whether the load lane has done all copies that were queued.
  [[nodiscard]] bool is_idle() override;

 private:
  /// Remote contents on their way to pinned memory.
  struct arrival {
    bool is_remote = true;  ///< `reading` is of `remote_`; otherwise of the other store
    transfer_id reading = 0;
    pinned_slabs::block into{};
    std::size_t bytes = 0;               ///< counted from the begin of the slot
    std::vector<transfer_id> waiting{};  ///< reads to frames
  };
  struct slot {
    std::size_t bytes = 0;
    std::optional<pinned_slabs::block> pinned;
    slot_id below = no_slot;                              ///< in the other store
    std::optional<transfer_id> sinking;                   ///< being copied there
    ticket written = 0;                                   ///< by the save lane
    ticket read = 0;                                      ///< by the load lane
    std::optional<std::list<slot_id>::iterator> order{};  ///< pinned and with contents: may sink
    // Of remote contents.
    std::shared_ptr<const remote_contents> remote{};
    std::size_t held = 0;         ///< first bytes that `pinned` has
    std::size_t below_bytes = 0;  ///< first bytes that `below` has
    std::optional<arrival> arriving{};
  };
  struct transfer {
    bool write = false;
    ticket end = 0;                     ///< on its lane, once it is queued and no longer in `unmarked_`
    std::optional<transfer_id> rising;  ///< the other store reads into `stage`
    std::optional<pinned_slabs::block> stage{};
    std::byte* frame = nullptr;
    std::size_t bytes = 0;
    ticket after = 0;                 ///< of the compute lane: when the frame is free
    slot_id below = no_slot;          ///< what `rising` reads
    std::exception_ptr failure;       ///< of `rising`, for `wait`
    std::optional<slot_id> awaits{};  ///< the slot whose remote contents have not arrived
    std::size_t offset = 0;           ///< in that slot
  };
  /// Transfers that a cancelled read, or a freed slot, still waits for.
  struct leftover {
    transfer_id under_way = 0;
    std::optional<pinned_slabs::block> stage;
    slot_id below = no_slot;  ///< what it reads or writes
    fence behind{};
    bool is_remote = false;  ///< `under_way` is of `remote_`
  };

  [[nodiscard]] slot& at(slot_id id);
  void check_part(const slot& of, std::size_t offset, const std::byte* frame, std::size_t bytes) const;
  [[nodiscard]] pinned_slabs::block take_block(std::size_t bytes);
  [[noreturn]] void throw_full(std::size_t bytes) const;
  [[nodiscard]] bool sink_some(std::size_t bytes);
  void start_sinking(slot_id id);
  void finish_sinking(slot_id id);
  void forget_below(slot_id& below) noexcept;
  [[nodiscard]] bool finish_rising();
  [[nodiscard]] bool has_ended(const leftover& each);
  void end(const leftover& each) noexcept;
  [[nodiscard]] slot_id take_below(std::size_t bytes);
  [[nodiscard]] bool drop_pinned(slot_id id);
  [[nodiscard]] transfer_id read_adopted(slot_id id, std::size_t offset, transfer started);
  void start_arrival(slot_id id, std::size_t bytes);
  void finish_arrival(slot_id id);
  [[nodiscard]] bool finish_oldest_arrival();
  void keep_arrived(slot_id id, const arrival& came);
  void deliver(slot_id id, const arrival& came, const std::exception_ptr& failure);
  [[nodiscard]] bool has_arrived(const slot& of);
  void look_for_arrivals();
  void cancel_arrival(slot& gone) noexcept;
  void renounce(slot_id id);
  [[nodiscard]] ticket compute_end();
  void queue_load(std::byte* frame, const std::byte* from, std::size_t bytes, ticket after);
  [[nodiscard]] transfer_id read_pinned(slot_id id, std::size_t offset, const transfer& started);
  void queue_staged(transfer& of);
  void queue_copy(lane on, std::byte* to, const std::byte* from, std::size_t bytes);
  void mark_reads();
  void clear_leftovers(bool wait) noexcept;
  void enlist(slot_id id, slot& of);
  void unlist(slot& of) noexcept;

  std::shared_ptr<device_memory> device_;
  device_store_options options_;
  pinned_slabs pinned_;
  std::unordered_map<slot_id, slot> slots_;
  std::list<slot_id> order_;  ///< oldest write first
  std::deque<slot_id> sinking_;
  std::unordered_map<transfer_id, transfer> transfers_;
  std::vector<leftover> leftovers_;
  std::vector<slot_id> doomed_;  ///< slots of the other store that only leftovers still use
  slot_id next_slot_ = 0;
  transfer_id next_transfer_ = 0;
  store_stats stats_;
  mutable lane_clock reads_;   ///< copies on the load lane
  mutable lane_clock writes_;  ///< copies on the save lane
  mutable lane_clock stalls_;  ///< of the compute lane
  // Order that is there already needs no calls.
  ticket load_follows_ = 0;     ///< moment of the compute lane that the load lane is behind
  ticket compute_follows_ = 0;  ///< moment of the load lane that the compute lane is behind
  bool grouping_ = false;
  ticket compute_end_ = 0;  ///< end of the compute lane for the reads of a group; 0: not known
  /// Reads of a group whose end is not marked yet, with their slots.
  std::vector<std::pair<transfer_id, slot_id>> unmarked_;
  std::size_t unmarked_bytes_ = 0;
  std::uint64_t blocked_ns_ = 0;  ///< the host waited for copies while the compute lane was idle
  std::deque<slot_id> arrivals_;  ///< oldest first
  transfer_id next_arrival_ = 0;
  ticket last_load_ = 0;             ///< end of the load lane when it was last asked for
  std::uint64_t arrived_reads_ = 0;  ///< copies to the device of contents that had to arrive first
  std::uint64_t arrived_bytes_ = 0;
  transfer_threads remote_;  ///< last: its threads write to pinned memory
};

}  // namespace halocline::memory
