// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "halocline/core/expects.hpp"

namespace halocline::memory {

/// Limits of a trace that is read, so that no sum of its sizes overflows a signed 64-bit integer: rows end
/// within 8 TiB of their buffer, and the ends of all rows add up to at most 2^62.
class trace_limits {
 public:
  static constexpr std::uint64_t max_buffer_bytes = std::uint64_t{1} << 43;
  static constexpr std::uint64_t max_total_bytes = std::uint64_t{1} << 62;

  /// Counts one row.
  /// @throws corrupt_data that names the source and the line
  void add(std::string_view source, std::size_t line, std::uint64_t offset, std::uint64_t bytes) {
    HALOCLINE_EXPECTS(bytes <= max_buffer_bytes && offset <= max_buffer_bytes - bytes, corrupt_data, source,
                      " line ", line, ": ", bytes, " bytes at offset ", offset,
                      " of a buffer; expected an end of at most 2^43");
    total_ += offset + bytes;
    HALOCLINE_EXPECTS(total_ <= max_total_bytes, corrupt_data, source, " line ", line,
                      ": the ends of all rows up to here add up to more than 2^62");
  }

 private:
  std::uint64_t total_ = 0;
};

}  // namespace halocline::memory
