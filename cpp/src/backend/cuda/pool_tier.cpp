// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/pool_tier.hpp"

#include <cstdint>
#include <utility>

#include "backend/cuda/driver_calls.hpp"
#include "backend/graph/deferred_blocks.hpp"

namespace halocline::backend::cuda {
namespace {

class pool_tier final : public memory::tier {
 public:
  explicit pool_tier(std::shared_ptr<device_context> device) : device_(std::move(device)) {
    device_->make_current();
    cudaMemPoolProps wanted{};
    wanted.allocType = cudaMemAllocationTypePinned;
    wanted.location.type = cudaMemLocationTypeDevice;
    wanted.location.id = device_->ordinal();
    check(cudaMemPoolCreate(&pool_, &wanted), "create a memory pool");
    std::uint64_t keep = UINT64_MAX;  // a pool that returns memory at every synchronization pays for it anew
    check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep), "set up a memory pool");
  }
  ~pool_tier() override {
    release();
    (void)driver::stream_synchronize(device_->compute());
    cudaMemPoolDestroy(pool_);
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "device"; }
  [[nodiscard]] void* allocate(std::size_t bytes) override {
    device_->make_current();
    if (void* const block = deferred_.take(bytes)) return block;
    void* data = nullptr;
    cudaError_t state = driver::malloc_from_pool(&data, bytes, pool_, device_->compute());
    if (state == cudaErrorMemoryAllocation && deferred_.bytes() != 0) {
      (void)cudaGetLastError();
      device_->flush();
      release();
      state = driver::malloc_from_pool(&data, bytes, pool_, device_->compute());
    }
    if (state == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      return nullptr;
    }
    check(state, "allocate device memory");
    return data;
  }
  void free(void* data, std::size_t bytes) noexcept override {
    // A driver would hand the bytes on before kernels that were put off have used them.
    if (device_->is_recording() || deferred_.knows(bytes)) {
      if (deferred_.keep(data, bytes)) return;
      device_->flush_quietly();
    }
    driver::free_async(data, device_->compute());
  }
  [[nodiscard]] std::size_t cached_bytes() const noexcept override {
    std::uint64_t reserved = 0, used = 0;
    cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved);
    cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used);
    return reserved - used + deferred_.bytes();
  }
  void trim() noexcept override { trim_to(0); }
  void trim_to(std::size_t bytes) noexcept override {
    device_->flush_quietly();
    release();
    std::uint64_t used = 0;
    cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used);
    driver::trim_pool(pool_, used + bytes);
  }

 private:
  /// Hands back what was kept, once the kernels that use it have been launched.
  void release() noexcept {
    deferred_.release([this](void* data, std::size_t) { driver::free_async(data, device_->compute()); });
  }

  std::shared_ptr<device_context> device_;
  graph::deferred_blocks deferred_;
  cudaMemPool_t pool_ = nullptr;
};

}  // namespace

std::unique_ptr<memory::tier> make_pool_tier(std::shared_ptr<device_context> device) {
  return std::make_unique<pool_tier>(std::move(device));
}

}  // namespace halocline::backend::cuda
