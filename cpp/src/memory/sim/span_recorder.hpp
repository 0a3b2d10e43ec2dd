// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "halocline/memory/sim/replay.hpp"
#include "halocline/memory/trace_formats/perfetto.hpp"

namespace halocline::memory::sim {

/// Activities of a simulated device, as tracks of a timeline.
enum class activity : std::uint8_t { compute, fault, load, write_back, stall };

/// Writes down what a simulated device does, for viewers of timelines; does nothing without a timeline.
class span_recorder {
 public:
  /// @param target appended to; may be nullptr
  explicit span_recorder(timeline* target) : target_(target) {
    if (target_ == nullptr) return;
    first_track_ = static_cast<std::uint32_t>(target_->tracks.size());
    for (const char* each : {"compute", "page faults", "load", "write-back", "stall"}) {
      target_->tracks.emplace_back(each);
    }
    first_counter_ = static_cast<std::uint32_t>(target_->counters.size());
    for (const char* each : {"resident bytes", "pool bytes", "live managed bytes"}) {
      target_->counters.emplace_back(each);
    }
  }

  /// Something that lasted from `begin_us` to `end_us`.
  void add(activity what, std::string_view name, double begin_us, double end_us, std::uint64_t bytes = 0) {
    if (target_ == nullptr || end_us <= begin_us) return;
    target_->spans.push_back({first_track_ + static_cast<std::uint32_t>(what), number_of(name),
                              to_ns(begin_us), to_ns(end_us), bytes});
  }

  /// Samples of the residency.
  void add(const residency_point& now) {
    if (target_ == nullptr) return;
    const std::uint64_t time = to_ns(now.time_s * 1e6);
    target_->samples.push_back({first_counter_, time, now.resident_bytes});
    target_->samples.push_back({first_counter_ + 1, time, now.pool_bytes});
    target_->samples.push_back({first_counter_ + 2, time, now.managed_bytes});
  }

 private:
  static std::uint64_t to_ns(double us) { return static_cast<std::uint64_t>(std::llround(us * 1e3)); }

  std::uint32_t number_of(std::string_view name) {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) return found->second;
    const auto number = static_cast<std::uint32_t>(target_->names.size());
    target_->names.emplace_back(name);
    numbers_.emplace(name, number);
    return number;
  }

  timeline* target_;
  std::uint32_t first_track_ = 0;
  std::uint32_t first_counter_ = 0;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
};

}  // namespace halocline::memory::sim
