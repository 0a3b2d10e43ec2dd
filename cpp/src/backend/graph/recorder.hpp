// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>

#include "backend/graph/graph_cache.hpp"

namespace halocline::backend::graph {

/// Takes the launches of programs instead of the device. Thread-safe, because any thread may free memory and
/// therefore flush.
///
/// A program is cut into segments: where something needs its launches done (`flush`), and after a number of
/// launches that depends on the place only, so that the device begins while later ones are still recorded.
class recorder {
 public:
  /// @param now see `graph_cache`
  explicit recorder(device_api& device, const cache_limits& limits = {}, graph_cache::clock now = now_ns)
      : cache_(device, limits, counted_, now) {}

  /// Begins a program, or a part of the one that is open, which then changes nothing. Programs with one key
  /// are expected to look alike.
  void begin(std::uint64_t key) noexcept;
  /// Ends what `begin` began; at the end of a program its launches are done.
  /// @throws device_error naming the operation whose launch fails
  void end();
  /// Whether a program is open.
  /// It is until its last launch is done: what is freed in between must wait.
  [[nodiscard]] bool open() const noexcept { return depth_.load(std::memory_order_acquire) != 0; }

  /// Records a launch of the open program.
  /// @throws device_error naming an earlier operation whose launch fails
  void add(const launch& each, const void* params);
  /// Launches what was recorded.
  /// @throws device_error naming the operation whose launch fails
  void flush();
  /// The same for callers that must not throw: the next call of another member throws.
  void flush_quietly() noexcept;

  [[nodiscard]] graph_statistics statistics() const;
  /// Destroys all graphs.
  void clear();

  /// Launches after which segment `position` of a program ends.
  [[nodiscard]] static std::size_t segment_limit(std::size_t position) noexcept;

 private:
  void rethrow();
  void run_segment();

  mutable std::mutex mutex_;
  graph_statistics counted_;
  graph_cache cache_;
  launch_list list_;
  std::uint64_t key_ = 0;
  std::size_t position_ = 0;  ///< of the segment in the program
  std::atomic<std::size_t> depth_ = 0;
  std::exception_ptr failure_;
};

}  // namespace halocline::backend::graph
