// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/tier.hpp"

#include <cstdlib>
#include <map>
#include <vector>

namespace halocline::memory {
namespace {

constexpr std::size_t small_alignment = 64;
// Blocks from this size on are aligned to a huge page, which the kernel can then use for them.
constexpr std::size_t huge_page = std::size_t{2} << 20;

class host_tier final : public tier {
 public:
  explicit host_tier(std::size_t cache_limit) : cache_limit_(cache_limit) {}
  ~host_tier() override { trim(); }
  host_tier(const host_tier&) = delete;
  host_tier& operator=(const host_tier&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return "host"; }

  [[nodiscard]] void* allocate(std::size_t bytes) override {
    const auto found = free_blocks_.find(bytes);
    if (found != free_blocks_.end() && !found->second.empty()) {
      void* const block = found->second.back();
      found->second.pop_back();
      cached_ -= bytes;
      return block;
    }
    const std::size_t alignment = bytes >= huge_page ? huge_page : small_alignment;
    void* block = nullptr;
    return posix_memalign(&block, alignment, bytes) == 0 ? block : nullptr;
  }

  void free(void* data, std::size_t bytes) noexcept override {
    if (cached_ + bytes <= cache_limit_) {
      try {
        free_blocks_[bytes].push_back(data);
        cached_ += bytes;
        return;
      } catch (...) {  // no room for the list entry: give the block back instead
      }
    }
    std::free(data);
  }

  [[nodiscard]] std::size_t cached_bytes() const noexcept override { return cached_; }

  void trim() noexcept override { trim_to(0); }

  void trim_to(std::size_t limit) noexcept override {
    // Large blocks first: they are the quickest way down.
    for (auto blocks = free_blocks_.rbegin(); blocks != free_blocks_.rend() && cached_ > limit; ++blocks) {
      for (; !blocks->second.empty() && cached_ > limit; cached_ -= blocks->first) {
        std::free(blocks->second.back());
        blocks->second.pop_back();
      }
    }
  }

 private:
  std::size_t cache_limit_;
  std::size_t cached_ = 0;
  std::map<std::size_t, std::vector<void*>> free_blocks_;
};

class ghost_tier final : public tier {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "ghost"; }
  [[nodiscard]] void* allocate(std::size_t) override { return &sentinel_; }
  void free(void*, std::size_t) noexcept override {}
  [[nodiscard]] std::size_t cached_bytes() const noexcept override { return 0; }
  void trim() noexcept override {}
  void trim_to(std::size_t) noexcept override {}

 private:
  char sentinel_ = 0;
};

}  // namespace

std::unique_ptr<tier> make_host_tier(std::size_t cache_limit) {
  return std::make_unique<host_tier>(cache_limit);
}
std::unique_ptr<tier> make_ghost_tier() { return std::make_unique<ghost_tier>(); }

}  // namespace halocline::memory
