// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/buffer.hpp"

#include <utility>

#include "halocline/memory/runtime.hpp"
#include "memory/buffer_state.hpp"

namespace halocline::memory {

buffer::buffer(std::unique_ptr<buffer_state> state) noexcept : state_(state.release()) {}

void buffer::ending::operator()(buffer_state* state) const noexcept {
  if (is_borrowed) return;
  const std::shared_ptr<runtime> owner = std::move(state->owner);  // may be the last to hold it
  const std::unique_ptr<buffer_state> gone(state);
  owner->free(*gone);
}

std::size_t buffer::size() const noexcept { return state_ ? state_->bytes : 0; }
std::uint64_t buffer::id() const noexcept { return state_ ? state_->id : 0; }
object_class buffer::cls() const noexcept { return state_ ? state_->cls : object_class::scratch; }
std::string_view buffer::tag() const noexcept { return state_ ? state_->tag : ""; }
const runtime* buffer::owner() const noexcept { return state_ ? state_->owner.get() : nullptr; }

}  // namespace halocline::memory
