// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/memory/managed_tier.hpp"

#include <exception>
#include <utility>

#include "backend/cuda/device/driver_calls.hpp"
#include "backend/cuda/memory/driver_pool.hpp"

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
  explicit pooled_managed(std::shared_ptr<device_context> device)
      : device_(std::move(device)), pool_(device_, cudaMemAllocationTypeManaged) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "managed pool"; }
  [[nodiscard]] void* allocate(std::size_t bytes) override {
    device_->make_current();
    device_->flush();
    return pool_.take(bytes);
  }
  void free(void* data, std::size_t) noexcept override {
    device_->flush_quietly();
    pool_.give(data);
  }
  [[nodiscard]] std::size_t cached_bytes() const noexcept override { return pool_.cached_bytes(); }
  void trim() noexcept override { trim_to(0); }
  void trim_to(std::size_t bytes) noexcept override { pool_.trim_to(bytes); }

 private:
  std::shared_ptr<device_context> device_;
  driver_pool pool_;
};

}  // namespace

std::unique_ptr<memory::tier> make_managed_tier(std::shared_ptr<device_context> device, bool stream_ordered) {
  if (stream_ordered) return std::make_unique<pooled_managed>(std::move(device));
  return std::make_unique<plain_managed>(std::move(device));
}

}  // namespace halocline::backend::cuda
