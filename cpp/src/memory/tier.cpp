// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/tier.hpp"

#include <sodium.h>

#include <cstdlib>
#include <map>
#include <vector>

#include "halocline/memory/tier/arena_tier.hpp"

namespace halocline::memory {
namespace {

constexpr std::size_t small_alignment = 64;

/// Large blocks in an arena tier; small ones on the heap, with a cache of their own.
class host_tier final : public tier {
 public:
  explicit host_tier(std::size_t cache_limit) : limit_(cache_limit), large_(make_arena_tier(cache_limit)) {}
  ~host_tier() override { trim(); }
  host_tier(const host_tier&) = delete;
  host_tier& operator=(const host_tier&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return "host"; }

  [[nodiscard]] void* allocate(std::size_t bytes) override {
    if (bytes >= arena_mapping_bytes) return large_->allocate(bytes);
    const auto found = free_blocks_.find(bytes);
    if (found != free_blocks_.end() && !found->second.empty()) {
      void* const block = found->second.back();
      found->second.pop_back();
      small_ -= bytes;
      return block;
    }
    void* block = nullptr;
    return posix_memalign(&block, small_alignment, bytes) == 0 ? block : nullptr;
  }

  void free(void* data, std::size_t bytes) noexcept override {
    if (bytes >= arena_mapping_bytes) {
      large_->free(data, bytes);
      return large_->trim_to(limit_ - small_);
    }
    if (cached_bytes() + bytes <= limit_) {
      try {
        free_blocks_[bytes].push_back(data);
        small_ += bytes;
        return;
      } catch (...) {  // no room for the list entry: give the block back instead
      }
    }
    std::free(data);
  }

  [[nodiscard]] std::size_t cached_bytes() const noexcept override { return small_ + large_->cached_bytes(); }

  void trim() noexcept override { trim_to(0); }

  void trim_to(std::size_t bytes) noexcept override {
    large_->trim_to(bytes - (bytes < small_ ? bytes : small_));
    for (auto blocks = free_blocks_.rbegin(); blocks != free_blocks_.rend(); ++blocks) {
      for (; !blocks->second.empty() && cached_bytes() > bytes; small_ -= blocks->first) {
        std::free(blocks->second.back());
        blocks->second.pop_back();
      }
    }
  }

 private:
  std::size_t limit_;
  std::unique_ptr<tier> large_;
  std::size_t small_ = 0;
  std::map<std::size_t, std::vector<void*>> free_blocks_;
};

}  // namespace

void tier::wipe(void* data, std::size_t bytes) noexcept { sodium_memzero(data, bytes); }

std::unique_ptr<tier> make_host_tier(std::size_t cache_limit) {
  return std::make_unique<host_tier>(cache_limit);
}

}  // namespace halocline::memory
