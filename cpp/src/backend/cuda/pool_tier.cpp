// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/pool_tier.hpp"

#include <cstdint>
#include <utility>

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
    device_->wait();
    cudaMemPoolDestroy(pool_);
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "device"; }
  [[nodiscard]] void* allocate(std::size_t bytes) override {
    device_->make_current();
    void* data = nullptr;
    const cudaError_t state = cudaMallocFromPoolAsync(&data, bytes, pool_, device_->compute());
    if (state == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      return nullptr;
    }
    check(state, "allocate device memory");
    return data;
  }
  void free(void* data, std::size_t) noexcept override { cudaFreeAsync(data, device_->compute()); }
  [[nodiscard]] std::size_t cached_bytes() const noexcept override {
    std::uint64_t reserved = 0, used = 0;
    cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved);
    cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used);
    return reserved - used;
  }
  void trim() noexcept override { trim_to(0); }
  void trim_to(std::size_t bytes) noexcept override {
    std::uint64_t used = 0;
    cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used);
    cudaMemPoolTrimTo(pool_, used + bytes);
  }

 private:
  std::shared_ptr<device_context> device_;
  cudaMemPool_t pool_ = nullptr;
};

}  // namespace

std::unique_ptr<memory::tier> make_pool_tier(std::shared_ptr<device_context> device) {
  return std::make_unique<pool_tier>(std::move(device));
}

}  // namespace halocline::backend::cuda
