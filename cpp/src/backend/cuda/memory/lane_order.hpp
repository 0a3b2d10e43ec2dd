// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/cuda/device/cuda_api.hpp"
#include "backend/cuda/device/device_context.hpp"
#include "halocline/memory/device_memory.hpp"

namespace halocline::backend::cuda {

/// Order and times of the three streams of a card: tickets are events that are made once and used again.
/// Thread-safe, because engines that share a budget request memory from each other.
class lane_order {
 public:
  explicit lane_order(std::shared_ptr<device_context> device);

  [[nodiscard]] cudaStream_t stream(memory::lane of) const noexcept {
    return lines_[static_cast<std::size_t>(of)].stream;
  }
  // As in `memory::device_memory`.
  [[nodiscard]] memory::ticket mark(memory::lane of);
  [[nodiscard]] bool passed(memory::lane of, memory::ticket moment);
  void order(memory::lane waiting, memory::lane of, memory::ticket moment);
  void wait(memory::lane of, memory::ticket moment);
  [[nodiscard]] memory::stamp take_time(memory::lane of);
  [[nodiscard]] std::optional<std::uint64_t> nanoseconds(memory::stamp begin, memory::stamp end);

 private:
  struct line {
    cudaStream_t stream = nullptr;
    memory::ticket next = 1;
    memory::ticket done = 0;
    std::deque<std::pair<memory::ticket, event>> pending;
  };

  /// Releases events that have happened.
  void collect(line& of);
  /// The first event at or behind a ticket that has not been released.
  [[nodiscard]] const event& event_of(const line& of, memory::ticket moment) const;
  [[nodiscard]] static event take(std::vector<event>& spare, bool timed);
  line& of_lane(memory::lane of) noexcept { return lines_[static_cast<std::size_t>(of)]; }

  std::shared_ptr<device_context> device_;
  std::mutex mutex_;
  std::array<line, memory::lane_count> lines_;
  std::vector<event> spare_;
  std::vector<event> spare_timed_;
  std::unordered_map<memory::stamp, event> stamps_;
  memory::stamp next_stamp_ = 1;
};

}  // namespace halocline::backend::cuda
