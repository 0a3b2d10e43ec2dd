// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/tier.hpp"

#include <cstdint>
#include <cstdlib>
#include <map>
#include <vector>

#include "memory/tier/pages.hpp"

namespace halocline::memory {
namespace {

constexpr std::size_t small_alignment = 64;
// Blocks from this size on are mappings of their own: on the heap, blocks of many sizes and lives leave holes
// that stay resident.
constexpr std::size_t mapping_bytes = std::size_t{1} << 20;

void* take_block(std::size_t bytes) noexcept {
  if (bytes > SIZE_MAX - page_bytes) return nullptr;
  if (bytes >= mapping_bytes) return map_pages(round_to_pages(bytes));
  void* block = nullptr;
  return posix_memalign(&block, small_alignment, bytes) == 0 ? block : nullptr;
}

void give_block(void* block, std::size_t bytes) noexcept {
  if (bytes >= mapping_bytes) return unmap_pages(block, round_to_pages(bytes));
  std::free(block);
}

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
    return take_block(bytes);
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
    give_block(data, bytes);
  }

  [[nodiscard]] std::size_t cached_bytes() const noexcept override { return cached_; }

  void trim() noexcept override { trim_to(0); }

  void trim_to(std::size_t limit) noexcept override {
    // Large blocks first: they are the quickest way down.
    for (auto blocks = free_blocks_.rbegin(); blocks != free_blocks_.rend() && cached_ > limit; ++blocks) {
      for (; !blocks->second.empty() && cached_ > limit; cached_ -= blocks->first) {
        give_block(blocks->second.back(), blocks->first);
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
