// SPDX-License-Identifier: Apache-2.0
#include "memory/sim/sim_pool.hpp"

#include <algorithm>

namespace halocline::memory::sim {
namespace {

constexpr double mib = 1 << 20;

}  // namespace

sim_pool::sim_pool(const device_model& device, machine& clocks, block_reuse reuse, std::uint64_t budget_bytes)
    : device_(device), clocks_(clocks), reuse_(reuse), budget_(budget_bytes) {}

std::uint64_t sim_pool::allocate(std::uint64_t bytes, bool timed) {
  std::uint64_t size = bytes;
  if (reuse_ == block_reuse::stream_ordered) {
    if (timed) clocks_.host_work(device_.pool_allocate_us);
    held_ = std::max(held_, live_ + bytes);
  } else if (const auto fit = free_.lower_bound(bytes); fit != free_.end()) {
    size = fit->first;
    if (--fit->second == 0) free_.erase(fit);
  } else {
    allocate_plain(bytes, timed);
  }
  live_ += size;
  return size;
}

void sim_pool::free(std::uint64_t block_bytes) {
  live_ -= block_bytes;
  if (reuse_ == block_reuse::stream_ordered) {
    clocks_.host_work(device_.pool_free_us);
  } else {
    ++free_[block_bytes];
  }
}

void sim_pool::allocate_plain(std::uint64_t bytes, bool timed) {
  if (held_ + bytes > budget_) flush();
  held_ += bytes;
  if (!timed) return;
  clocks_.host_work(device_.plain_allocate_us +
                    device_.plain_allocate_us_per_mib * static_cast<double>(bytes) / mib);
}

void sim_pool::flush() {
  if (free_.empty()) return;
  clocks_.synchronize();
  for (const auto& [size, count] : free_) {
    clocks_.host_work(device_.plain_free_us * static_cast<double>(count));
    held_ -= size * count;
  }
  free_.clear();
}

}  // namespace halocline::memory::sim
