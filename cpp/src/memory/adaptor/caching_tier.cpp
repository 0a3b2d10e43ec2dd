// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/adaptor/caching_tier.hpp"

#include <iterator>
#include <utility>

namespace halocline::memory {

void* caching_tier::allocate(std::size_t bytes) {
  auto fitting = free_.lower_bound(bytes);
  if (fitting == free_.end()) {
    void* fresh = source().allocate(bytes);
    if (fresh == nullptr && cached_ > 0) {
      trim();
      fresh = source().allocate(bytes);
    }
    if (fresh == nullptr) return nullptr;
    fitting = free_.emplace(bytes, fresh);
    cached_ += bytes;
  }
  const auto [capacity, block] = *fitting;
  const auto entry = used_.emplace(block, free_list::node_type()).first;  // before the block leaves the list
  entry->second = free_.extract(fitting);
  cached_ -= capacity;
  live_ += capacity;
  requested_ += bytes;
  return block;
}

void caching_tier::free(void* data, std::size_t bytes) noexcept {
  const auto found = used_.find(data);
  if (found == used_.end()) return;
  const std::size_t capacity = found->second.key();
  free_.insert(std::move(found->second));
  used_.erase(found);
  live_ -= capacity;
  requested_ -= bytes;
  cached_ += capacity;
}

void caching_tier::trim_to(std::size_t bytes) noexcept {
  while (cached_ > bytes) {
    const auto largest = std::prev(free_.end());
    source().free(largest->second, largest->first);
    cached_ -= largest->first;
    free_.erase(largest);
  }
}

}  // namespace halocline::memory
