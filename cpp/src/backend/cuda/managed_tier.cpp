// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/managed_tier.hpp"

#include <cstdint>
#include <exception>
#include <utility>

#include "backend/cuda/driver_calls.hpp"

namespace halocline::backend::cuda {
namespace {

class plain_managed final : public memory::tier {
 public:
  explicit plain_managed(std::shared_ptr<device_context> device) : device_(std::move(device)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "managed"; }
  [[nodiscard]] void* allocate(std::size_t bytes) override {
    device_->make_current();
    void* data = nullptr;
    const cudaError_t state = driver::malloc_managed(&data, bytes);
    if (state == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      return nullptr;
    }
    check(state, "allocate managed memory");
    return data;
  }
  void free(void* data, std::size_t) noexcept override {
    try {
      device_->make_current();
    } catch (const std::exception&) {  // a forked process owns nothing here
      return;
    }
    device_->flush_quietly();
    driver::free_device(data);
  }
  [[nodiscard]] std::size_t cached_bytes() const noexcept override { return 0; }
  void trim() noexcept override {}
  void trim_to(std::size_t) noexcept override {}

 private:
  std::shared_ptr<device_context> device_;
};

class pooled_managed final : public memory::tier {
 public:
  explicit pooled_managed(std::shared_ptr<device_context> device) : device_(std::move(device)) {
    device_->make_current();
    cudaMemPoolProps wanted{};
    wanted.allocType = cudaMemAllocationTypeManaged;
    wanted.location.type = cudaMemLocationTypeDevice;
    wanted.location.id = device_->ordinal();
    check(cudaMemPoolCreate(&pool_, &wanted), "create a pool of managed memory");
    std::uint64_t keep = UINT64_MAX;
    check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep), "set up a memory pool");
  }
  ~pooled_managed() override {
    (void)driver::stream_synchronize(device_->compute());
    cudaMemPoolDestroy(pool_);
  }
  pooled_managed(const pooled_managed&) = delete;
  pooled_managed& operator=(const pooled_managed&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return "managed pool"; }
  [[nodiscard]] void* allocate(std::size_t bytes) override {
    device_->make_current();
    device_->flush();
    void* data = nullptr;
    const cudaError_t state = driver::malloc_from_pool(&data, bytes, pool_, device_->compute());
    if (state == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      return nullptr;
    }
    check(state, "allocate managed memory");
    return data;
  }
  void free(void* data, std::size_t) noexcept override {
    device_->flush_quietly();
    driver::free_async(data, device_->compute());
  }
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
    driver::trim_pool(pool_, used + bytes);
  }

 private:
  std::shared_ptr<device_context> device_;
  cudaMemPool_t pool_ = nullptr;
};

}  // namespace

std::unique_ptr<memory::tier> make_managed_tier(std::shared_ptr<device_context> device, bool stream_ordered) {
  if (stream_ordered) return std::make_unique<pooled_managed>(std::move(device));
  return std::make_unique<plain_managed>(std::move(device));
}

}  // namespace halocline::backend::cuda
