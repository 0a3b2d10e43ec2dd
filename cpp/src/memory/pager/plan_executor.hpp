// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "halocline/memory/plan/plan.hpp"
#include "memory/pager/pager.hpp"

namespace halocline::memory {

/// Follows one plan in the thread that made the executor: maps buffers to the plan's objects, checks every
/// step against the plan's fingerprint and executes its directives. All calls under the runtime's mutex.
class plan_executor {
 public:
  /// @param live all live buffers; those with an identity are bound to the plan's objects
  plan_executor(std::shared_ptr<const plan::plan> source, pager& pages, std::span<buffer_state* const> live);

  /// Whether this thread runs the program. What others do is no part of the plan.
  [[nodiscard]] bool is_here() const noexcept { return thread_ == std::this_thread::get_id(); }
  /// A buffer that the program has allocated. False: the plan expects another one.
  [[nodiscard]] bool allocated(buffer_state& state);
  /// A buffer that is being freed.
  void freed(const buffer_state& state) noexcept;
  /// What tells a buffer from others of its class and size in fingerprints of steps: `plan::which_object`.
  [[nodiscard]] std::uint64_t which(const buffer_state& state) const noexcept;
  /// Begins the next step. False: the plan has another step here.
  [[nodiscard]] bool begin_step(std::uint32_t hash, std::span<const step_use> uses);
  [[nodiscard]] std::size_t steps_done() const noexcept { return step_; }
  [[nodiscard]] const plan::plan& source() const noexcept { return *plan_; }
  /// Clears its marks in buffers.
  void release(std::span<buffer_state* const> live) noexcept;

 private:
  using shape = std::pair<object_class, std::uint64_t>;
  /// Objects of one identity, class and size in the order of their ids.
  struct twins {
    std::vector<plan::object_index> objects;
    std::size_t first_free = 0;  ///< those before are bound
  };

  void bind(buffer_state& state, plan::object_index index);
  void keep_first_frames();
  void bind_all(std::span<buffer_state* const> live);
  /// Whether the plan has the identity; binds the buffer to the first object of it that is free.
  bool bind_named(buffer_state& state);
  void bind_late(buffer_state& state);
  void free_frames(plan::step_index until);
  [[nodiscard]] bool bring_frames(plan::step_index until);
  [[nodiscard]] bool carry_out(const plan::directive& each);
  void make_ready(plan::step_index step, std::span<const step_use> uses);

  const std::thread::id thread_ = std::this_thread::get_id();
  std::shared_ptr<const plan::plan> plan_;
  pager& pager_;
  std::vector<buffer_state*> bound_;             ///< per object; nullptr: not seen yet, or dead
  std::vector<std::size_t> last_;                ///< per object: its last directive
  std::vector<plan::object_index> allocations_;  ///< objects that the program allocates, in order
  std::size_t next_allocation_ = 0;
  std::unordered_map<std::uint64_t, std::map<shape, twins>> named_;  ///< there before, by identity
  std::map<shape, std::deque<plan::object_index>> anonymous_;  ///< found by class and size at first touch
  std::size_t next_free_ = 0;                                  ///< first directive that frees and is not done
  std::size_t next_bring_ = 0;  ///< first directive that brings bytes and is not done
  plan::step_index step_ = 0;
};

}  // namespace halocline::memory
