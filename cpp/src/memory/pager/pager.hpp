// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "halocline/memory/budget.hpp"
#include "halocline/memory/remote_contents.hpp"
#include "halocline/memory/stats.hpp"
#include "halocline/memory/tier/store.hpp"
#include "memory/buffer_state.hpp"
#include "memory/pager/frames.hpp"
#include "memory/pager/transport.hpp"
#include "memory/pager/turn_list.hpp"
#include "memory/plan/loose_part.hpp"
#include "memory/step_use.hpp"

namespace halocline::memory {

/// Assigns frames of the fast tier to buffers and evicts them, for policies that move bytes. All calls are
/// made under the runtime's mutex. Errors leave every buffer with its contents, but for those that the slow
/// tier has lost.
class pager final : public budget_member, public frame_holder {
 public:
  /// @param mutex the runtime's; held by its thread during calls, tried by `reclaim`
  pager(std::unique_ptr<transport> copies, std::shared_ptr<memory_budget> budget, eviction order,
        movement& counters, std::recursive_mutex& mutex);
  ~pager() override;
  pager(const pager&) = delete;
  pager& operator=(const pager&) = delete;

  /// Makes the part of a pinned buffer resident that a step needs. Waits for transfers, evicts others.
  /// @param whole whether to load all of a buffer where a prefix would do
  /// @throws out_of_memory when everything else is in use; io_error when a transfer failed; corrupt_data when
  ///   the buffer is lost
  void touch(const step_use& use, bool whole);
  /// Starts the reads of a step's operands that come from far away, so that they come together.
  void begin_reads(std::span<const step_use> uses, bool whole);
  /// Gives a buffer without contents remote ones.
  void adopt(buffer_state& state, std::shared_ptr<const remote_contents> contents);
  /// Leaves the contents of a buffer without contents to its recipe.
  void leave_to_recipe(buffer_state& state) noexcept;
  /// Removes a buffer that is being freed.
  void forget(buffer_state& state) noexcept;

  // Directives of plans. Starts loading the first `bytes` bytes. False: there is no room now.
  [[nodiscard]] bool start_load(buffer_state& state, std::size_t bytes);
  /// Regenerates the first `bytes` bytes with the buffer's recipe. False: there is no room now.
  [[nodiscard]] bool regenerate(buffer_state& state, std::size_t bytes);
  /// Evicts the frame if its contents are elsewhere; otherwise it becomes the next victim.
  void drop(buffer_state& state);
  /// Takes the frame of a buffer that no step uses; its contents go to the slow tier first where they are
  /// nowhere else. With `copies`, copies of remote contents on the slow tier go too.
  void leave_fast(buffer_state& state, bool copies);
  /// Brings a buffer nearer before anything asks for it: to the next tier, and into a frame where that takes
  /// room from spare frames only and the link has nothing to do, now or later in the order of these calls.
  /// What became of the first that is left.
  [[nodiscard]] fetched bring_ahead(buffer_state& state);
  /// Goes on with them as far as the link and spare room allow; what became of the first that is left.
  fetched go_on_ahead();
  [[nodiscard]] bool brings_ahead() const noexcept { return !ahead_.empty(); }
  void stop_ahead(buffer_state& state) noexcept;
  /// Sets whether nothing that runs uses a buffer: such frames are evicted before all others.
  void set_spare(buffer_state& state, bool spare);
  /// Makes a frame the next victim.
  void release(buffer_state& state);
  /// Evicts the frame as soon as its contents are elsewhere: now, or when a write-back has ended.
  void write_back(buffer_state& state);
  /// Ends write-backs, and transfers of freed buffers, that are done; with `wait`, the oldest one even if it
  /// is not. Returns whether any ended.
  bool reap(bool wait);
  /// Ends all transfers of freed buffers.
  void end_orphans() noexcept;
  /// Frees the frame of a buffer beyond its first `bytes` bytes, where the tier can shrink frames.
  void shrink(buffer_state& state, std::size_t bytes);
  /// Sets whether the plan needs the frame of a buffer; other frames are evicted first.
  void set_planned(buffer_state& state, bool planned);

  /// From then on frames that no plan needs are evicted for new ones before the last `bytes` bytes are used.
  /// Where frames can be moved together that is decided when they would have to move.
  void keep_loose(std::size_t bytes) noexcept {
    loose_ = frames_->moves_together() ? 0 : bytes;
    for (turn_list& each : order_lists_) each.look_again();
  }

  /// Evicts, then releases free frames, until at most `bytes` are held.
  /// @throws out_of_memory when frames in use prevent it
  void shrink_to(std::size_t bytes);
  std::size_t reclaim(std::size_t bytes) noexcept override;
  void expect_reclaim() noexcept override;
  /// Others that share the budget will need its bytes soon: the slow tier gets ready for those that are
  /// nowhere else.
  void prepare_to_leave() noexcept;
  [[nodiscard]] bool is_resting() const noexcept override { return resting_; }
  /// A plan has ended, or begins. Ends by itself where room is needed.
  void set_resting(bool resting) noexcept { resting_ = resting; }
  /// Bytes of frames in use and kept for re-use, and their peak.
  [[nodiscard]] const frames& held() const noexcept { return *frames_; }
  [[nodiscard]] std::size_t peak_bytes() const noexcept { return peak_; }
  void reset_peak() noexcept { peak_ = frames_->held_bytes(); }
  void trim() noexcept;
  [[nodiscard]] transport& copies() noexcept { return *transport_; }
  /// A frame for a measurement, which `take_back` ends; nullptr: there is no room.
  [[nodiscard]] std::byte* lend_frame(std::size_t bytes) {
    return take_frame(bytes, lane::compute, object_class::scratch, false);
  }
  void take_back(std::byte* frame, std::size_t bytes) noexcept { frames_->give(frame, bytes, {}); }
  /// Notes that pointers of a step are in use, or no longer.
  void begin_access() noexcept {
    ++accesses_;
    transport_->compute_went_on();
  }
  void end_access() noexcept {
    --accesses_;
    transport_->compute_went_on();
  }
  [[nodiscard]] bool may_move(std::byte* frame) noexcept override;
  void moved(std::byte* from, std::byte* to) noexcept override;

 private:
  /// State of a freed buffer whose transfer is still under way.
  struct orphan {
    std::byte* frame;
    std::size_t frame_bytes;
    slot_id slot;
    transfer_id transfer;
  };

  [[nodiscard]] std::byte* take_frame(std::size_t bytes, lane user, object_class cls, bool may_evict_planned);
  [[nodiscard]] std::byte* take_shared_frame(std::size_t bytes, lane user, object_class cls);
  [[nodiscard]] std::byte* find_frame(std::size_t bytes, lane user, object_class cls);
  [[nodiscard]] bool is_crammed(std::size_t bytes) const noexcept;
  void end_arrived_loads();
  bool settle_loads();
  void make_loose(std::size_t bytes);
  bool evict_one(bool may_evict_planned);
  /// Drops the first spare frame without a copy of its contents being made.
  bool evict_spare();
  /// Cancels a load that no step waits for.
  bool evict_loading(std::size_t ranks);
  /// Whether it could be loaded ahead of its use.
  [[nodiscard]] static bool may_come(const buffer_state& state) noexcept;
  [[nodiscard]] fetched fetch(buffer_state& state);
  [[nodiscard]] bool grow(buffer_state& state, std::size_t bytes, bool may_evict_planned);
  void attach(buffer_state& state, std::byte* frame, std::size_t bytes);
  void release_frame(buffer_state& state, const fence& behind = {}) noexcept;
  bool reap_orphans(bool wait) noexcept;
  void enlist(buffer_state& state);
  void unlist(buffer_state& state) noexcept;
  void used_now(buffer_state& state);
  [[nodiscard]] static std::size_t bytes_needed(const step_use& use, bool whole) noexcept;
  void bring(const step_use& use, bool whole);
  void start_read(buffer_state& state);
  void fill(buffer_state& state);
  void read_home(buffer_state& state);
  void give_up_home(buffer_state& state, const char* why);
  void run_recipe(buffer_state& state);
  [[nodiscard]] fence save(buffer_state& state);
  [[nodiscard]] bool leave(buffer_state& state);
  void start_save(buffer_state& state);
  void finish_load(buffer_state& state);
  void finish_save(buffer_state& state);
  void wait(transfer_id transfer);
  void saved(buffer_state& state);
  [[nodiscard]] turn_list& list_of(const buffer_state& state) noexcept;

  std::unique_ptr<frames> frames_;
  std::unique_ptr<transport> transport_;
  store& slow_;  ///< the transport's
  eviction order_;
  movement& counters_;
  std::recursive_mutex& mutex_;
  /// Buffers with a frame that they may lose, next victim first: spare ones, then those that no plan counts
  /// on, then the others.
  std::array<turn_list, 3> order_lists_;
  std::deque<buffer_state*> leaving_;  ///< being written back, oldest first
  std::vector<orphan> orphans_;
  std::unordered_map<std::byte*, buffer_state*> users_;  ///< of frames that can be moved together
  std::size_t peak_ = 0;
  std::size_t loose_ = 0;            ///< bytes that new frames should leave free
  std::deque<buffer_state*> ahead_;  ///< what `bring_ahead` has not brought yet
  std::size_t ahead_bytes_ = 0;      ///< that `fetch` has loaded since the link was idle
  std::size_t accesses_ = 0;         ///< under way
  std::atomic<bool> resting_ = false;
};

}  // namespace halocline::memory
