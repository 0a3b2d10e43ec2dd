// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "backend/cuda/device/device_context.hpp"

namespace halocline::backend::cuda {

/// A stream-ordered pool of the driver on the compute stream. What is freed stays in it until it is trimmed:
/// a pool that returns memory at every synchronization pays for it anew.
class driver_pool {
 public:
  /// @throws device_error when the driver has no such pools
  driver_pool(std::shared_ptr<device_context> device, cudaMemAllocationType type);
  ~driver_pool();
  driver_pool(const driver_pool&) = delete;
  driver_pool& operator=(const driver_pool&) = delete;

  /// nullptr: there is no memory left.
  [[nodiscard]] void* take(std::size_t bytes);
  void give(void* data) noexcept;
  /// Bytes that are in the pool and not in use.
  [[nodiscard]] std::size_t cached_bytes() const noexcept;
  /// Gives memory back until no more than `bytes` bytes are cached.
  void trim_to(std::size_t bytes) noexcept;

 private:
  std::shared_ptr<device_context> device_;
  cudaMemPool_t pool_ = nullptr;
};

}  // namespace halocline::backend::cuda
