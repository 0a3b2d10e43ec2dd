// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device/driver_calls.hpp"

#include <array>
#include <atomic>

namespace halocline::backend::cuda::driver {
namespace {

std::array<std::atomic<std::uint64_t>, 7> counters{};

std::uint64_t value(call kind) noexcept {
  return counters[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
}

}  // namespace

void count(call kind) noexcept {
  counters[static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
}

driver_counters counted() noexcept {
  return {value(call::device_wait), value(call::stream_wait), value(call::event_wait),
          value(call::allocation),  value(call::free),        value(call::pool_allocation),
          value(call::pool_free)};
}

cudaError_t device_synchronize() noexcept {
  count(call::device_wait);
  return cudaDeviceSynchronize();
}

cudaError_t stream_synchronize(cudaStream_t stream) noexcept {
  count(call::stream_wait);
  return cudaStreamSynchronize(stream);
}

cudaError_t event_synchronize(cudaEvent_t event) noexcept {
  count(call::event_wait);
  return cudaEventSynchronize(event);
}

cudaError_t malloc_device(void** data, std::size_t bytes) noexcept {
  count(call::allocation);
  return cudaMalloc(data, bytes);
}

cudaError_t malloc_managed(void** data, std::size_t bytes) noexcept {
  count(call::allocation);
  return cudaMallocManaged(data, bytes, cudaMemAttachGlobal);
}

cudaError_t host_alloc(void** data, std::size_t bytes, unsigned flags) noexcept {
  count(call::allocation);
  return cudaHostAlloc(data, bytes, flags);
}

cudaError_t host_register(void* data, std::size_t bytes, unsigned flags) noexcept {
  count(call::allocation);
  return cudaHostRegister(data, bytes, flags);
}

cudaError_t free_device(void* data) noexcept {
  count(call::free);
  return cudaFree(data);
}

cudaError_t free_host(void* data) noexcept {
  count(call::free);
  return cudaFreeHost(data);
}

cudaError_t host_unregister(void* data) noexcept {
  count(call::free);
  return cudaHostUnregister(data);
}

cudaError_t malloc_from_pool(void** data, std::size_t bytes, cudaMemPool_t pool,
                             cudaStream_t stream) noexcept {
  count(call::pool_allocation);
  return cudaMallocFromPoolAsync(data, bytes, pool, stream);
}

cudaError_t free_async(void* data, cudaStream_t stream) noexcept {
  count(call::pool_free);
  return cudaFreeAsync(data, stream);
}

cudaError_t trim_pool(cudaMemPool_t pool, std::size_t bytes) noexcept {
  count(call::free);
  return cudaMemPoolTrimTo(pool, bytes);
}

}  // namespace halocline::backend::cuda::driver
