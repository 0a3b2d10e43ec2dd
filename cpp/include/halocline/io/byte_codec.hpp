// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "halocline/core/expects.hpp"

namespace halocline::io {

static_assert(std::endian::native == std::endian::little,
              "container files are little endian and read in place");

/// Numbers with one byte representation on all platforms.
template <typename ValueT>
concept fixed_width = std::unsigned_integral<ValueT> || std::same_as<ValueT, double>;

/// Appends little-endian numbers and raw bytes to a vector.
class byte_writer {
 public:
  /// Appends a number.
  template <fixed_width ValueT>
  void put(ValueT value) {
    put_bytes(std::as_bytes(std::span(&value, 1)));
  }
  /// Appends bytes as they are.
  void put_bytes(std::span<const std::byte> bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  /// Everything so far.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return out_; }

 private:
  std::vector<std::byte> out_;
};

/// Takes little-endian numbers and raw bytes off the front of a span. Every read is checked.
class byte_reader {
 public:
  /// @param what subject of the error messages: "'keys.hlc': section 'META'".
  byte_reader(std::span<const std::byte> bytes, std::string what) : rest_(bytes), what_(std::move(what)) {}

  /// @throws corrupt_data when fewer bytes are left.
  template <fixed_width ValueT>
  [[nodiscard]] ValueT get() {
    ValueT value;
    const auto bytes = get_bytes(sizeof value);
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  /// @throws corrupt_data when fewer bytes are left.
  [[nodiscard]] std::span<const std::byte> get_bytes(std::size_t count) {
    HALOCLINE_EXPECTS(count <= rest_.size(), corrupt_data, what_, " ends too early: ", rest_.size(),
                      " bytes left, ", count, " needed");
    const auto front = rest_.first(count);
    rest_ = rest_.subspan(count);
    return front;
  }
  /// @throws corrupt_data when bytes are left over.
  void expect_end() const {
    HALOCLINE_EXPECTS(rest_.empty(), corrupt_data, what_, " is longer than its content: ", rest_.size(),
                      " bytes left over");
  }
  [[nodiscard]] std::size_t left() const noexcept { return rest_.size(); }

 private:
  std::span<const std::byte> rest_;
  std::string what_;
};

}  // namespace halocline::io
