// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "halocline/seal_format/write.hpp"

namespace halocline::seal_format {

/// Bytes that grow in place where the system can move pages, so that growing takes no second copy, and whose
/// unused end is never touched. Move-only.
class growing_bytes {
 public:
  /// @throws std::bad_alloc; the bytes are then as they were
  void resize(std::size_t bytes);
  /// Leaves out the last ones; they keep their memory.
  void truncate(std::size_t bytes) noexcept { size_ = std::min(size_, bytes); }
  [[nodiscard]] std::span<std::byte> all() const noexcept { return {data_.get(), size_}; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct release {
    void operator()(std::byte* data) const noexcept { std::free(data); }
  };
  std::unique_ptr<std::byte, release> data_;
  std::size_t size_ = 0;
};

/// Packs bytes. @throws device_error when this build lacks the compression
[[nodiscard]] std::vector<std::byte> pack(std::span<const std::byte> bytes, compression how);

/// Unpacks bytes, all of which must be one stream.
/// @param at_once reserves `most` bytes, of which only those that are written take memory, so that secrets
///   are never moved and leave nothing behind
/// @throws corrupt_data for a damaged stream, or one of more than `most` bytes, of which no more are ever
/// there
[[nodiscard]] growing_bytes unpack(std::span<const std::byte> bytes, compression how, std::uint64_t most,
                                   bool at_once);

}  // namespace halocline::seal_format
