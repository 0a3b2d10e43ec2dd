// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace halocline::memory {

/// What became of a wish to have bytes in the fast tier ahead of their use.
enum class fetched : std::uint8_t {
  done,   ///< they are there, or on their way
  later,  ///< the link is busy with what is needed now: they come while steps run
  near,   ///< there is no spare room: they are on their way to the next tier, and come when there is
};

/// The contents of one read-only buffer in a place that is not this machine's, such as half a digit of a key
/// in a key store (`runtime::set_remote`). A buffer with such contents needs no copy on a nearer tier: they
/// are read when a step or a plan needs them, and can be read again after every eviction.
///
/// Implementations are thread-safe. A tier calls `read` from threads of its own, several at a time, each call
/// for one request in flight, and never under the lock of a runtime.
class remote_contents {
 public:
  virtual ~remote_contents() = default;
  /// Bytes in all: those of the buffer.
  [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;
  /// Where they are, for reports and messages: "'http://host/keys/alice'".
  [[nodiscard]] virtual std::string origin() const = 0;
  /// Copies bytes [offset, offset + dst.size()), which lie inside, and verifies them. Blocks until then.
  /// @throws io_error when they cannot be had in time: a later attempt may succeed; corrupt_data when they
  ///   are not what they should be. `dst` is undefined then.
  virtual void read(std::uint64_t offset, std::span<std::byte> dst) const = 0;
};

}  // namespace halocline::memory
