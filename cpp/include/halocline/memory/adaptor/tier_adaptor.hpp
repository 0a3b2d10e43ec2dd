// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "halocline/memory/tier.hpp"

namespace halocline::memory {

/// A tier in front of another one, as the resource adaptors of RMM: hands every call on. Adaptors derive from
/// it and override what they change; they can be put in front of each other in any order.
class tier_adaptor : public tier {
 public:
  explicit tier_adaptor(std::unique_ptr<tier> source) : source_(std::move(source)) {}
  tier_adaptor(const tier_adaptor&) = delete;
  tier_adaptor& operator=(const tier_adaptor&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return source_->name(); }
  [[nodiscard]] void* allocate(std::size_t bytes) override { return source_->allocate(bytes); }
  [[nodiscard]] void* allocate_for(object_class cls, std::size_t bytes) override {
    return source_->allocate_for(cls, bytes);
  }
  void free(void* data, std::size_t bytes) noexcept override { source_->free(data, bytes); }
  [[nodiscard]] void* resize(void* data, std::size_t bytes, std::size_t new_bytes) noexcept override {
    return source_->resize(data, bytes, new_bytes);
  }
  [[nodiscard]] bool joins() const noexcept override { return source_->joins(); }
  void wipe(void* data, std::size_t bytes) noexcept override { source_->wipe(data, bytes); }
  void wipe_inherited(void* data, std::size_t bytes) noexcept override {
    source_->wipe_inherited(data, bytes);
  }
  [[nodiscard]] std::size_t cached_bytes() const noexcept override { return source_->cached_bytes(); }
  [[nodiscard]] std::size_t slack_bytes() const noexcept override { return source_->slack_bytes(); }
  void trim() noexcept override { source_->trim(); }
  void trim_to(std::size_t bytes) noexcept override { source_->trim_to(bytes); }

 protected:
  [[nodiscard]] tier& source() noexcept { return *source_; }

 private:
  std::unique_ptr<tier> source_;
};

}  // namespace halocline::memory
