// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "backend/sycl/bridge/bridge_api.hpp"

namespace halocline::backend::sycl {

/// The kernels of one device, for all who have opened it. Those of a word are compiled from source to SPIR-V
/// when one of them is needed first, unless the disk cache has them, and loaded once. Thread-safe.
class kernel_images {
 public:
  /// Those of device `ordinal`, which stay until the process ends.
  /// @throws device_error when the device cannot be opened
  [[nodiscard]] static kernel_images& of(unsigned ordinal);

  /// @param version of the runtime, for the cache
  kernel_images(std::unique_ptr<sycl_bridge::device> device, std::string version, bool doubles);

  /// Handle of a kernel for words of so many bits (32, 64).
  /// @throws device_error when the source cannot be compiled, with the compiler's messages, or there is no
  ///   such kernel
  [[nodiscard]] void* find(std::string_view name, unsigned word_bits);

 private:
  struct side {
    std::vector<std::unique_ptr<sycl_bridge::program>> programs;
    std::map<std::string, void*, std::less<>> kernels;
  };
  using images = std::vector<std::vector<std::byte>>;

  void load(side& into, unsigned word_bits);
  [[nodiscard]] images compile(const std::vector<std::string>& options) const;

  std::mutex mutex_;
  std::unique_ptr<sycl_bridge::device> device_;
  std::string version_;
  bool doubles_;
  std::array<side, 2> sides_;  // 32-bit words, 64-bit words
};

/// Images as one file: for each its bytes (64 bits, little endian) and its contents.
[[nodiscard]] std::vector<std::byte> pack_images(const std::vector<std::vector<std::byte>>& images);
/// What `pack_images` packed; nothing when it is not that.
[[nodiscard]] std::vector<std::vector<std::byte>> unpack_images(const std::vector<std::byte>& file);

}  // namespace halocline::backend::sycl
