// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "halocline/core/clock.hpp"
#include "halocline/memory/device_memory.hpp"
#include "halocline/memory/plan/cost_model.hpp"
#include "halocline/memory/trace.hpp"
#include "memory/device/lane_clock.hpp"

namespace halocline::memory {

/// Adds up how long recipes take: on the host, or on the compute lane of an accelerator, where the host only
/// queues them and does not wait.
class recipe_clock {
 public:
  /// @param device nullptr: recipes run on the host
  explicit recipe_clock(const std::shared_ptr<device_memory>& device);

  /// Runs `work()`, which regenerates `bytes` bytes. Work that ends with an exception does not count.
  template <typename WorkT>
  void measure(recovery kind, std::size_t bytes, const WorkT& work) {
    sums& of = sums_[index_of(kind)];
    if (of.lane) {
      of.lane->measure(bytes, work);
    } else {
      const std::uint64_t begin = now_ns();
      work();
      of.host_ns += now_ns() - begin;
    }
    of.bytes += bytes;
  }
  /// Nanoseconds of what has ended so far.
  [[nodiscard]] std::uint64_t total_ns() { return ns_of(recovery::expand) + ns_of(recovery::encode); }
  /// Replaces `costs` by measured ones, where enough bytes were regenerated.
  void refine(plan::cost_model& costs);

 private:
  struct sums {
    std::uint64_t bytes = 0;
    std::uint64_t host_ns = 0;
    std::optional<lane_clock> lane;
  };
  [[nodiscard]] static std::size_t index_of(recovery kind) noexcept {
    return kind == recovery::expand ? 0 : 1;
  }
  [[nodiscard]] std::uint64_t ns_of(recovery kind);

  std::array<sums, 2> sums_;
};

}  // namespace halocline::memory
