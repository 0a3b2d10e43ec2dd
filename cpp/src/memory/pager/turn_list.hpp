// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>

namespace halocline::memory {

struct buffer_state;

/// Buffers in the order in which they lose their frames, and a mark behind those that were looked at and
/// could not be used: the next search begins there, and not with all of them.
class turn_list {
 public:
  using position = std::list<buffer_state*>::iterator;

  turn_list() = default;
  turn_list(const turn_list&) = delete;
  turn_list& operator=(const turn_list&) = delete;

  [[nodiscard]] position begin() noexcept { return turns_.begin(); }
  [[nodiscard]] position end() noexcept { return turns_.end(); }
  /// Puts a buffer behind all others.
  position append(buffer_state& state) { return keep_unseen(turns_.insert(turns_.end(), &state)); }
  /// Moves a buffer behind all others.
  void to_end(position at) noexcept {
    if (at == unseen_) ++unseen_;
    turns_.splice(turns_.end(), turns_, at);
    (void)keep_unseen(at);
  }
  void erase(position at) noexcept {
    if (at == unseen_) ++unseen_;
    turns_.erase(at);
  }
  /// The next buffer since `look_again` that was not returned before; nullptr: there is none. Buffers that
  /// are moved to the end are returned again.
  [[nodiscard]] buffer_state* next_unseen() noexcept {
    return unseen_ == turns_.end() ? nullptr : *unseen_++;
  }
  void look_again() noexcept { unseen_ = turns_.begin(); }

 private:
  /// Marks the last buffer as not examined.
  position keep_unseen(position last) noexcept {
    if (unseen_ == turns_.end()) unseen_ = last;
    return last;
  }

  std::list<buffer_state*> turns_;
  position unseen_ = turns_.begin();
};

}  // namespace halocline::memory
