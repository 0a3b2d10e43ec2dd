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
  buffer() noexcept;
  buffer(buffer&&) noexcept;
  buffer& operator=(buffer&&) noexcept;
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  ~buffer();

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
  explicit buffer(std::unique_ptr<buffer_state> state) noexcept;
  void release() noexcept;

  std::unique_ptr<buffer_state> state_;
};

}  // namespace halocline::memory
