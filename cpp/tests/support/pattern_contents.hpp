// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "halocline/core/error.hpp"
#include "halocline/memory/remote_contents.hpp"

namespace halocline::test {

/// Byte `i` of version `version` of an object.
inline std::byte expected_byte(std::size_t object, std::uint64_t version, std::size_t i) {
  const std::uint64_t mixed = (object * 1315423911U + version * 2654435761U + i) * 0x9e3779b97f4a7c15ULL;
  return static_cast<std::byte>(mixed >> 56);
}

/// Remote contents of a key: its first version. Reads take a moment, and fail as `fails` says.
class pattern_contents final : public memory::remote_contents {
 public:
  pattern_contents(std::size_t object, std::size_t bytes, std::function<bool()> fails)
      : object_(object), bytes_(bytes), fails_(std::move(fails)) {}
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::string origin() const override { return "a test"; }
  void read(std::uint64_t offset, std::span<std::byte> dst) const override {
    if (fails_ && fails_()) throw io_error("a test: the read failed");
    for (std::size_t i = 0; i < dst.size(); ++i) dst[i] = expected_byte(object_, 1, offset + i);
  }

 private:
  std::size_t object_;
  std::size_t bytes_;
  std::function<bool()> fails_;
};

}  // namespace halocline::test
