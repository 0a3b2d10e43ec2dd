// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>

#include "backend/graph/graph_cache.hpp"
#include "backend/graph/program_pace.hpp"

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
      : device_(device), cache_(device, limits, counted_, now), now_(now) {}

  /// Begins a program, or a part of the one that is open, which then changes nothing. Programs with one key
  /// are expected to look alike.
  /// @param measured record it only where that is faster (`program_pace`)
  void begin(std::uint64_t key, bool measured = false) noexcept;
  /// Ends what `begin` began; at the end of a program its launches are done.
  /// @throws device_error naming the operation whose launch fails
  void end();
  /// Whether a program is open, recorded or not.
  [[nodiscard]] bool begun() const noexcept { return depth_.load(std::memory_order_acquire) != 0; }
  /// Whether a program is open that is recorded.
  /// It is until its last launch is done: what is freed in between must wait.
  [[nodiscard]] bool open() const noexcept { return begun() && !passes_.load(std::memory_order_acquire); }
  /// The caller launches a kernel of a program that is begun and not recorded.
  void pass() noexcept;

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
  [[nodiscard]] bool worth_recording(std::uint64_t key) noexcept;
  void finish_timing() noexcept;

  mutable std::mutex mutex_;
  device_api& device_;
  graph_statistics counted_;
  graph_cache cache_;
  graph_cache::clock now_;
  program_pace pace_;
  launch_list list_;
  std::uint64_t key_ = 0;
  std::size_t position_ = 0;  ///< of the segment in the program
  std::atomic<std::size_t> depth_ = 0;
  std::atomic<bool> passes_ = false;        ///< the present program is not recorded
  bool times_ = false, was_timed_ = false;  ///< the present program, and the last one
  std::uint64_t began_ns_ = 0;              ///< that which is timed, on the host
  double host_ns_ = 0;                      ///< and what it took there
  std::exception_ptr failure_;
};

}  // namespace halocline::backend::graph
