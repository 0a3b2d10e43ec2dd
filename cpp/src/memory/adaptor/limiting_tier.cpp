// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/adaptor/limiting_tier.hpp"

#include <utility>

namespace halocline::memory {
namespace {

class limiting_tier final : public tier {
 public:
  limiting_tier(std::unique_ptr<tier> inner, std::size_t capacity)
      : inner_(std::move(inner)), capacity_(capacity) {}

  [[nodiscard]] std::string_view name() const noexcept override { return inner_->name(); }

  [[nodiscard]] void* allocate(std::size_t bytes) override {
    if (bytes > capacity_ - live_) return nullptr;
    void* block = inner_->allocate(bytes);
    if (block == nullptr && inner_->cached_bytes() > 0) {
      inner_->trim();
      block = inner_->allocate(bytes);
    }
    if (block == nullptr) return nullptr;
    live_ += bytes;
    inner_->trim_to(capacity_ - live_);
    return block;
  }

  void free(void* data, std::size_t bytes) noexcept override {
    inner_->free(data, bytes);
    live_ -= bytes;
  }

  [[nodiscard]] std::size_t cached_bytes() const noexcept override { return inner_->cached_bytes(); }
  void trim() noexcept override { inner_->trim(); }
  void trim_to(std::size_t bytes) noexcept override { inner_->trim_to(bytes); }

 private:
  std::unique_ptr<tier> inner_;
  std::size_t capacity_;
  std::size_t live_ = 0;
};

}  // namespace

std::unique_ptr<tier> make_limiting_tier(std::unique_ptr<tier> inner, std::size_t capacity_bytes) {
  return std::make_unique<limiting_tier>(std::move(inner), capacity_bytes);
}

}  // namespace halocline::memory
