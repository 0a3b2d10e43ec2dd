// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/tier/arena_tier.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <list>
#include <map>
#include <vector>

#include "memory/tier/pages.hpp"

namespace halocline::memory {
namespace {

constexpr std::size_t small_alignment = 64;
/// Larger blocks are cut for requests of at least this part of them.
constexpr std::size_t largest_waste = 2;

class arena_tier final : public tier {
 public:
  explicit arena_tier(std::size_t keep_bytes) : keep_bytes_(keep_bytes) {}
  ~arena_tier() override { trim(); }
  arena_tier(const arena_tier&) = delete;
  arena_tier& operator=(const arena_tier&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return "arena"; }

  [[nodiscard]] void* allocate(std::size_t bytes) override {
    if (bytes < arena_mapping_bytes) {
      void* block = nullptr;
      return posix_memalign(&block, bytes < page_bytes ? small_alignment : page_bytes, bytes) == 0 ? block
                                                                                                   : nullptr;
    }
    if (bytes > SIZE_MAX - page_bytes) return nullptr;
    const std::size_t rounded = round_to_pages(bytes);
    if (const auto found = classes_.find(rounded); found != classes_.end()) {
      by_use_.splice(by_use_.begin(), by_use_, found->second);
    }
    // Sizes shrink as levels are used up: the pages of a larger block spare this one its page faults.
    for (auto each = classes_.lower_bound(rounded); each != classes_.end(); ++each) {
      size_class& larger = *each->second;
      if (larger.bytes / largest_waste > rounded) break;
      if (larger.blocks.empty()) continue;
      void* const block = larger.blocks.back();
      larger.blocks.pop_back();
      cached_ -= larger.bytes;
      if (larger.bytes > rounded) {
        unmap_pages(static_cast<std::byte*>(block) + rounded, larger.bytes - rounded);
      }
      return block;
    }
    return map_pages(rounded);
  }

  void free(void* data, std::size_t bytes) noexcept override {
    if (bytes < arena_mapping_bytes) return std::free(data);
    const std::size_t rounded = round_to_pages(bytes);
    if (rounded > keep_bytes_ || !keep(data, rounded)) return unmap_pages(data, rounded);
    trim_to(keep_bytes_);
  }

  [[nodiscard]] std::size_t cached_bytes() const noexcept override { return cached_; }
  void trim() noexcept override { trim_to(0); }

  void trim_to(std::size_t bytes) noexcept override {
    while (cached_ > bytes) {
      size_class& oldest = by_use_.back();
      for (; !oldest.blocks.empty() && cached_ > bytes; cached_ -= oldest.bytes) {
        unmap_pages(oldest.blocks.back(), oldest.bytes);
        oldest.blocks.pop_back();
      }
      if (!oldest.blocks.empty()) return;
      classes_.erase(oldest.bytes);
      by_use_.pop_back();
    }
  }

 private:
  struct size_class {
    std::size_t bytes;
    std::vector<void*> blocks;
  };

  /// Adds a freed block; false when there is no memory to note it in.
  [[nodiscard]] bool keep(void* data, std::size_t rounded) noexcept {
    try {
      auto found = classes_.find(rounded);
      if (found == classes_.end()) {
        by_use_.push_front({rounded, {}});
        try {
          found = classes_.emplace(rounded, by_use_.begin()).first;
        } catch (...) {
          by_use_.pop_front();
          throw;
        }
      }
      found->second->blocks.push_back(data);
      by_use_.splice(by_use_.begin(), by_use_, found->second);
      cached_ += rounded;
      return true;
    } catch (...) {
      return false;
    }
  }

  std::size_t keep_bytes_;
  std::size_t cached_ = 0;
  std::list<size_class> by_use_;  // the latest first
  std::map<std::size_t, std::list<size_class>::iterator> classes_;
};

}  // namespace

std::unique_ptr<tier> make_arena_tier(std::size_t keep_bytes) {
  return std::make_unique<arena_tier>(keep_bytes);
}

}  // namespace halocline::memory
