// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/cuda_memory.hpp"

#include <utility>

#include "backend/cuda/pool_tier.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::backend::cuda {
namespace {

class cuda_memory final : public memory::device_memory {
 public:
  explicit cuda_memory(std::shared_ptr<device_context> device) : device_(std::move(device)) {}

  [[nodiscard]] std::string describe() const override {
    return text("HBM of ", device_->properties().name, " (cuda:", device_->ordinal(), ")");
  }
  [[nodiscard]] std::unique_ptr<memory::tier> make_pool_tier() override {
    return cuda::make_pool_tier(device_);
  }
  void wipe(std::byte* data, std::size_t bytes) noexcept override {
    device_->flush_quietly();  // kernels that were put off may still use the bytes
    cudaMemsetAsync(data, 0, bytes, device_->compute());
  }

 private:
  std::shared_ptr<device_context> device_;
};

}  // namespace

std::shared_ptr<memory::device_memory> make_cuda_memory(std::shared_ptr<device_context> device) {
  return std::make_shared<cuda_memory>(std::move(device));
}

}  // namespace halocline::backend::cuda
