// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "halocline/backend/driver_counters.hpp"

/// Driver calls that wait, or may make others wait, counted. Everything in this folder makes them through
/// here, so that a profile can show that a program in steady state makes none.
namespace halocline::backend::cuda::driver {

/// Member of `driver_counters` that a call belongs to.
enum class call : std::uint8_t {
  device_wait,
  stream_wait,
  event_wait,
  allocation,
  free,
  pool_allocation,
  pool_free,
};

/// Counts a call that has no wrapper here.
void count(call kind) noexcept;
/// Calls of this process so far.
[[nodiscard]] driver_counters counted() noexcept;

// Each of these is the call of the runtime API with the same arguments.
[[nodiscard]] cudaError_t device_synchronize() noexcept;
[[nodiscard]] cudaError_t stream_synchronize(cudaStream_t stream) noexcept;
[[nodiscard]] cudaError_t event_synchronize(cudaEvent_t event) noexcept;
[[nodiscard]] cudaError_t malloc_device(void** data, std::size_t bytes) noexcept;
[[nodiscard]] cudaError_t malloc_managed(void** data, std::size_t bytes) noexcept;
[[nodiscard]] cudaError_t host_alloc(void** data, std::size_t bytes, unsigned flags) noexcept;
[[nodiscard]] cudaError_t host_register(void* data, std::size_t bytes, unsigned flags) noexcept;
cudaError_t free_device(void* data) noexcept;
cudaError_t free_host(void* data) noexcept;
cudaError_t host_unregister(void* data) noexcept;
[[nodiscard]] cudaError_t malloc_from_pool(void** data, std::size_t bytes, cudaMemPool_t pool,
                                           cudaStream_t stream) noexcept;
cudaError_t free_async(void* data, cudaStream_t stream) noexcept;
cudaError_t trim_pool(cudaMemPool_t pool, std::size_t bytes) noexcept;

}  // namespace halocline::backend::cuda::driver
