// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "halocline/memory/adaptor/tier_adaptor.hpp"

namespace halocline::test {

/// A fast tier that has only so many bytes, to imitate a small device: `allocate` returns nullptr when the
/// live bytes, as requested, would exceed them. Cached bytes of the source take room too and are given back
/// first.
class limiting_tier final : public memory::tier_adaptor {
 public:
  limiting_tier(std::unique_ptr<memory::tier> source, std::size_t capacity_bytes)
      : tier_adaptor(std::move(source)), capacity_(capacity_bytes) {}

  [[nodiscard]] void* allocate(std::size_t bytes) override {
    if (bytes > capacity_ - live_) return nullptr;
    void* block = source().allocate(bytes);
    if (block == nullptr && source().cached_bytes() > 0) {
      source().trim();
      block = source().allocate(bytes);
    }
    if (block == nullptr) return nullptr;
    live_ += bytes;
    source().trim_to(capacity_ - live_);
    return block;
  }
  [[nodiscard]] void* allocate_for(memory::object_class, std::size_t bytes) override {
    return allocate(bytes);
  }
  [[nodiscard]] void* resize(void*, std::size_t, std::size_t) noexcept override { return nullptr; }
  void free(void* data, std::size_t bytes) noexcept override {
    source().free(data, bytes);
    live_ -= bytes;
  }

 private:
  std::size_t capacity_;
  std::size_t live_ = 0;
};

}  // namespace halocline::test
