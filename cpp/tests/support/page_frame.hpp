// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace halocline::test {

/// Memory as stores require it: aligned to 4096 bytes.
class page_frame {
 public:
  /// `bytes`: a multiple of 4096.
  explicit page_frame(std::size_t bytes)
      : bytes_(bytes), data_(static_cast<std::byte*>(std::aligned_alloc(4096, bytes))) {
    if (data_ == nullptr) throw std::bad_alloc();
    fill(~std::uint64_t{0});
  }
  page_frame(std::size_t bytes, std::uint64_t content) : page_frame(bytes) { fill(content); }

  [[nodiscard]] std::byte* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }

  /// Writes a pattern in which every word is different, and different for each `content`.
  void fill(std::uint64_t content) {
    for (std::size_t i = 0; i < bytes_ / 8; ++i) words()[i] = word(content, i);
  }
  /// Whether the first `bytes` bytes are the pattern.
  [[nodiscard]] bool holds(std::uint64_t content, std::size_t bytes) const {
    for (std::size_t i = 0; i < bytes / 8; ++i) {
      if (words()[i] != word(content, i)) return false;
    }
    return true;
  }
  [[nodiscard]] bool holds(std::uint64_t content) const { return holds(content, bytes_); }

 private:
  struct release {
    void operator()(std::byte* data) const noexcept { std::free(data); }
  };
  [[nodiscard]] static std::uint64_t word(std::uint64_t content, std::size_t i) noexcept {
    return (content + 1) * 0x9E3779B97F4A7C15U ^ i;
  }
  [[nodiscard]] std::uint64_t* words() const noexcept {
    return reinterpret_cast<std::uint64_t*>(data_.get());
  }

  std::size_t bytes_;
  std::unique_ptr<std::byte, release> data_;
};

}  // namespace halocline::test
