// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "backend/sycl/bridge/bridge_api.hpp"

namespace halocline::backend::sycl {

/// Host memory that the device reads where it lies, for parameters of kernels. What was put in stays until
/// `forget`, which is called when no kernel is left that could read it.
class parameter_space {
 public:
  explicit parameter_space(sycl_bridge::device& device) : device_(device) {}
  ~parameter_space();
  parameter_space(const parameter_space&) = delete;
  parameter_space& operator=(const parameter_space&) = delete;

  /// A copy of `values` that kernels can read.
  /// @throws device_error when the runtime has no memory
  template <typename T>
  [[nodiscard]] const T* put(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    void* const to = take(values.size_bytes());
    std::memcpy(to, values.data(), values.size_bytes());
    return static_cast<const T*>(to);
  }
  template <typename T>
  [[nodiscard]] const T* put(const std::vector<T>& values) {
    return put(std::span<const T>(values));
  }
  /// Bytes that were put in since the last `forget`.
  [[nodiscard]] std::size_t used_bytes() const noexcept { return used_; }
  /// Everything that was put in is gone.
  void forget() noexcept;

 private:
  struct chunk {
    std::byte* data;
    std::size_t bytes;
  };
  [[nodiscard]] void* take(std::size_t bytes);

  sycl_bridge::device& device_;
  std::vector<chunk> chunks_;
  std::size_t current_ = 0;  ///< chunk in use
  std::size_t filled_ = 0;   ///< bytes of it
  std::size_t used_ = 0;
};

}  // namespace halocline::backend::sycl
