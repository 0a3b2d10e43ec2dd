// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "backend/cuda/device/launcher.hpp"
#include "backend/profiler.hpp"

namespace halocline::backend::cuda {

/// Times kernels with marks on the compute stream, which are read when they have passed; nothing waits for
/// the device before the end. Kernels are launched one by one meanwhile, because a graph has no marks inside.
class kernel_profiler final : public profiler, public launch_observer {
 public:
  explicit kernel_profiler(const device_context& device);

  // Steps of the backend.
  void begin_step(op_kind op) override;
  void end_step() noexcept override;
  [[nodiscard]] profile finish() override;

  // Kernels.
  bool begin(const kernel_launch& each) override;
  void end(const kernel_launch& each) override;

 private:
  /// Something between two marks; its times are not known yet.
  struct sample {
    sample_place at;
    event begin;
    event end;
    bool ended = false;
  };

  [[nodiscard]] event take_event();
  void begin_sample(const char* kernel);
  void end_sample();
  /// Reads the marks of samples that are done, in order, up to the first that is not.
  void harvest(bool all);
  [[nodiscard]] std::uint64_t nanoseconds(const event& mark);
  void measure_marks();

  const device_context& device_;
  profile_builder builder_{true};
  sample_place step_;
  bool copies_ = false;  ///< the step is no kernel: its marks are around the whole of it
  std::deque<sample> waiting_;
  std::vector<event> spare_;
  event base_{true};
  double base_ns_ = 0;  ///< time of `base_` since the profile's begin
  std::uint64_t timer_ns_ = 0;
  std::uint64_t host_begin_ns_ = 0;
  driver_counters before_;
};

}  // namespace halocline::backend::cuda
