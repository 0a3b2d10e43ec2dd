// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/buffer.hpp"

#include <utility>

#include "halocline/memory/runtime.hpp"
#include "memory/buffer_state.hpp"

namespace halocline::memory {

buffer::buffer(std::unique_ptr<buffer_state> state) noexcept : state_(std::move(state)) {}

buffer::buffer() noexcept = default;

buffer::buffer(buffer&&) noexcept = default;

buffer& buffer::operator=(buffer&& other) noexcept {
  if (this != &other) {
    release();
    state_ = std::move(other.state_);
  }
  return *this;
}

buffer::~buffer() { release(); }

void buffer::release() noexcept {
  if (!state_) return;
  const std::shared_ptr<runtime> owner = std::move(state_->owner);
  owner->free(*state_);
  state_.reset();
}

std::size_t buffer::size() const noexcept { return state_ ? state_->bytes : 0; }
std::uint64_t buffer::id() const noexcept { return state_ ? state_->id : 0; }
object_class buffer::cls() const noexcept { return state_ ? state_->cls : object_class::scratch; }
std::string_view buffer::tag() const noexcept { return state_ ? state_->tag : ""; }
const runtime* buffer::owner() const noexcept { return state_ ? state_->owner.get() : nullptr; }

}  // namespace halocline::memory
