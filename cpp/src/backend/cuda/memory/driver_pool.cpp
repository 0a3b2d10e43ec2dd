// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/memory/driver_pool.hpp"

#include <cstdint>
#include <utility>

#include "backend/cuda/device/driver_calls.hpp"

namespace halocline::backend::cuda {
namespace {

std::uint64_t attribute(cudaMemPool_t pool, cudaMemPoolAttr name) noexcept {
  std::uint64_t value = 0;
  cudaMemPoolGetAttribute(pool, name, &value);
  return value;
}

}  // namespace

driver_pool::driver_pool(std::shared_ptr<device_context> device, cudaMemAllocationType type)
    : device_(std::move(device)) {
  device_->make_current();
  cudaMemPoolProps wanted{};
  wanted.allocType = type;
  wanted.location.type = cudaMemLocationTypeDevice;
  wanted.location.id = device_->ordinal();
  check(cudaMemPoolCreate(&pool_, &wanted), "create a memory pool");
  std::uint64_t keep = UINT64_MAX;
  check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep), "set up a memory pool");
}

driver_pool::~driver_pool() {
  (void)driver::stream_synchronize(device_->compute());
  cudaMemPoolDestroy(pool_);
}

void* driver_pool::take(std::size_t bytes) {
  void* data = nullptr;
  const cudaError_t state = driver::malloc_from_pool(&data, bytes, pool_, device_->compute());
  if (state == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    return nullptr;
  }
  check(state, "allocate from a memory pool");
  return data;
}

void driver_pool::give(void* data) noexcept { driver::free_async(data, device_->compute()); }

std::size_t driver_pool::cached_bytes() const noexcept {
  return attribute(pool_, cudaMemPoolAttrReservedMemCurrent) -
         attribute(pool_, cudaMemPoolAttrUsedMemCurrent);
}

void driver_pool::trim_to(std::size_t bytes) noexcept {
  driver::trim_pool(pool_, attribute(pool_, cudaMemPoolAttrUsedMemCurrent) + bytes);
}

}  // namespace halocline::backend::cuda
