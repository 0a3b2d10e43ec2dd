// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "halocline/memory/object_class.hpp"

namespace halocline::memory {

class pager;
class runtime;
struct buffer_state;

/// Handle to bytes that a runtime keeps on some tier. The handle says what the bytes are (size, class, tag),
/// never where they are: pointers come only from `runtime::acquire`.
/// Move-only; destruction hands the bytes back to the runtime in stream order and never synchronizes.
/// A default-constructed buffer is empty and owns nothing.
class buffer {
 public:
  buffer() noexcept = default;

  /// Bytes; 0 for an empty buffer.
  [[nodiscard]] std::size_t size() const noexcept;
  /// Number that names the buffer in traces; unique within its runtime, never re-used.
  [[nodiscard]] std::uint64_t id() const noexcept;
  [[nodiscard]] object_class cls() const noexcept;
  /// Who asked for the bytes: a short static description such as "ciphertext" or "key_switch.digits".
  [[nodiscard]] std::string_view tag() const noexcept;
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }
  /// The runtime that owns the bytes, or nullptr for an empty buffer.
  [[nodiscard]] const runtime* owner() const noexcept;

 private:
  friend class runtime;
  friend class access;
  friend class pager;
  /// What a handle does at its end.
  struct ending {
    ending() noexcept : is_borrowed(false) {}
    explicit ending(bool borrowed) noexcept : is_borrowed(borrowed) {}
    void operator()(buffer_state* state) const noexcept;
    bool is_borrowed;  ///< another handle owns the buffer: nothing happens to it
  };
  explicit buffer(std::unique_ptr<buffer_state> state) noexcept;
  /// A handle to a buffer that another handle owns, and outlives this one.
  explicit buffer(buffer_state& borrowed) noexcept : state_(&borrowed, ending{true}) {}

  std::unique_ptr<buffer_state, ending> state_;
};

}  // namespace halocline::memory
