// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/memory/pool_tier.hpp"

#include <utility>

#include "backend/cuda/memory/driver_pool.hpp"
#include "backend/graph/deferred_blocks.hpp"

namespace halocline::backend::cuda {
namespace {

class pool_tier final : public memory::tier {
 public:
  explicit pool_tier(std::shared_ptr<device_context> device)
      : device_(std::move(device)), pool_(device_, cudaMemAllocationTypePinned) {}
  ~pool_tier() override { release(); }
  pool_tier(const pool_tier&) = delete;
  pool_tier& operator=(const pool_tier&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return "device"; }
  [[nodiscard]] void* allocate(std::size_t bytes) override {
    device_->make_current();
    if (void* const block = deferred_.take(bytes)) return block;
    void* data = pool_.take(bytes);
    if (data == nullptr && deferred_.bytes() != 0) {
      device_->flush();
      release();
      data = pool_.take(bytes);
    }
    return data;
  }
  void free(void* data, std::size_t bytes) noexcept override {
    // The driver would reuse the bytes before deferred kernels have used them.
    if (device_->is_recording() || deferred_.knows(bytes)) {
      if (deferred_.keep(data, bytes)) return;
      device_->flush_quietly();
    }
    pool_.give(data);
  }
  [[nodiscard]] std::size_t cached_bytes() const noexcept override {
    return pool_.cached_bytes() + deferred_.bytes();
  }
  void trim() noexcept override { trim_to(0); }
  void trim_to(std::size_t bytes) noexcept override {
    device_->flush_quietly();
    release();
    pool_.trim_to(bytes);
  }

 private:
  /// Frees the kept blocks once the kernels that use them have been launched.
  void release() noexcept {
    deferred_.release([this](void* data, std::size_t) { pool_.give(data); });
  }

  std::shared_ptr<device_context> device_;
  graph::deferred_blocks deferred_;
  driver_pool pool_;
};

}  // namespace

std::unique_ptr<memory::tier> make_pool_tier(std::shared_ptr<device_context> device) {
  return std::make_unique<pool_tier>(std::move(device));
}

}  // namespace halocline::backend::cuda
