// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace halocline::io {

/// A part of a byte source.
struct byte_range {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// The bytes of one container that lie neither in a file nor in memory, such as an object on a server.
/// Implementations are thread-safe and never give other bytes than those that they were opened for.
class byte_source {
 public:
  virtual ~byte_source() = default;
  /// Bytes in all.
  [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;
  /// What error messages call it.
  [[nodiscard]] virtual std::string name() const = 0;
  /// Copies bytes [offset, offset + dst.size()), which must lie inside.
  /// @throws io_error when they cannot be had in time; corrupt_data when they are not what they should be
  virtual void read(std::uint64_t offset, std::span<std::byte> dst) const = 0;
  /// Begins to fetch parts that `read` will be asked for next; they may still be on their way when it
  /// returns, and what goes wrong then is thrown by that `read`. The parts of two calls are kept, older ones
  /// dropped.
  virtual void prefetch(std::span<const byte_range> parts) const = 0;
  /// Drops what `prefetch` of just these parts fetched.
  virtual void forget(std::span<const byte_range> parts) const = 0;
};

}  // namespace halocline::io
