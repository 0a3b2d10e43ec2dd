// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "halocline/core/expects.hpp"
#include "halocline/seal_format/read.hpp"

namespace halocline::seal_format {

static_assert(std::endian::native == std::endian::little, "SEAL's files are little endian, read in place");

inline constexpr std::uint16_t file_magic = 0xA15E;
inline constexpr std::size_t header_bytes = 16;
inline constexpr unsigned file_major = 4;
inline constexpr unsigned newest_minor = 4;

/// Zeroes bytes at its end where that is wanted.
class wiped_at_end {
 public:
  explicit wiped_at_end(bool wanted) noexcept : wanted_(wanted) {}
  wiped_at_end(const wiped_at_end&) = delete;
  wiped_at_end& operator=(const wiped_at_end&) = delete;
  ~wiped_at_end() {
    if (!wanted_ || bytes_.empty()) return;
    std::memset(bytes_.data(), 0, bytes_.size());
    asm volatile("" : : "r"(bytes_.data()) : "memory");  // the compiler must not leave it out
  }

  void set(std::span<std::byte> bytes) noexcept { bytes_ = bytes; }

 private:
  std::span<std::byte> bytes_;
  bool wanted_;
};

/// Takes the members of an object off its bytes. Every read is checked.
class fields {
 public:
  /// @param what subject of the messages
  fields(std::span<const std::byte> bytes, unsigned minor, const char* what)
      : rest_(bytes), minor_(minor), what_(what) {}

  template <typename ValueT>
  [[nodiscard]] ValueT get() {
    ValueT value;
    const std::span<const std::byte> bytes = take(sizeof value);
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  [[nodiscard]] std::span<const std::byte> take(std::uint64_t count) {
    HALOCLINE_EXPECTS(count <= rest_.size(), corrupt_data, what_, " ends too early: ", rest_.size(),
                      " bytes left, ", count, " needed");
    const std::span<const std::byte> front = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(static_cast<std::size_t>(count));
    return front;
  }
  /// `count` words, of which there must be so many before room is made for them.
  [[nodiscard]] std::vector<std::uint64_t> words(std::uint64_t count) {
    HALOCLINE_EXPECTS(count <= rest_.size() / sizeof(std::uint64_t), corrupt_data, what_,
                      " ends too early: ", rest_.size(), " bytes left, ", count, " words needed");
    const std::span<const std::byte> bytes = take(count * sizeof(std::uint64_t));
    std::vector<std::uint64_t> made(static_cast<std::size_t>(count));
    if (!made.empty()) std::memcpy(made.data(), bytes.data(), bytes.size());
    return made;
  }
  /// An object within this one: its header is checked and taken off.
  [[nodiscard]] fields nested() {
    const object_header head = peek(rest_);
    HALOCLINE_EXPECTS(head.compression == 0 && head.minor == minor_, corrupt_data, what_,
                      ": a part has version 4.", head.minor, " and compression ", head.compression,
                      "; expected 4.", minor_, " and none, as the whole says");
    return {take(head.bytes).subspan(header_bytes), minor_, what_};
  }
  [[nodiscard]] std::size_t left() const noexcept { return rest_.size(); }
  void expect_end() const {
    HALOCLINE_EXPECTS(rest_.empty(), corrupt_data, what_, " is longer than its content: ", rest_.size(),
                      " bytes left over");
  }
  [[nodiscard]] const char* what() const noexcept { return what_; }

 private:
  std::span<const std::byte> rest_;
  unsigned minor_;
  const char* what_;
};

}  // namespace halocline::seal_format
