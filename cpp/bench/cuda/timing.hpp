// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "backend/cuda/device/cuda_api.hpp"
#include "backend/cuda/device/device_context.hpp"

/// Times work on the compute stream of a card with events.
namespace halocline::bench {

/// Microseconds of one call.
struct timing {
  double median_us = 0;
  double shortest_us = 0;
  unsigned samples = 0;
};

/// How a timing is taken.
struct timing_options {
  unsigned samples = 25;
  unsigned calls = 10;  ///< back to back in every sample
  unsigned warm_up = 3;
};

/// Device memory that keeps a card busy while the host queues what is timed.
class stopwatch {
 public:
  explicit stopwatch(backend::cuda::device_context& device) : device_(device) {
    backend::cuda::check(cudaMalloc(&filler_, filler_bytes), "allocate the filler");
  }
  ~stopwatch() { cudaFree(filler_); }
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;

  /// Times `body()`, which puts work on the compute stream. Calls are queued behind other work, so that a
  /// sample holds no time of the host as long as queueing takes less than about a millisecond.
  template <typename BodyT>
  [[nodiscard]] timing time(const BodyT& body, const timing_options& options = {}) const {
    for (unsigned i = 0; i < options.warm_up; ++i) body();
    std::vector<double> samples;
    const backend::cuda::event begin(true), end(true);
    for (unsigned s = 0; s < options.samples; ++s) {
      device_.wait();
      fill();
      body();  // refills the cache after the filler
      begin.record(device_.compute());
      for (unsigned i = 0; i < options.calls; ++i) body();
      end.record(device_.compute());
      end.wait();
      samples.push_back(1e3 * end.milliseconds_since(begin) / options.calls);
    }
    std::sort(samples.begin(), samples.end());
    return {samples[samples.size() / 2], samples.front(), options.samples};
  }

  /// Bytes read plus bytes written per second by a large copy within the card.
  [[nodiscard]] double copy_bandwidth() const {
    constexpr std::size_t half = filler_bytes / 2;
    auto* const bytes = static_cast<std::byte*>(filler_);
    const timing each = time(
        [&] {
          backend::cuda::check(
              cudaMemcpyAsync(bytes, bytes + half, half, cudaMemcpyDeviceToDevice, device_.compute()),
              "copy");
        },
        {.samples = 21, .calls = 4, .warm_up = 2});
    return 2.0 * half / (each.median_us * 1e-6);
  }

 private:
  static constexpr std::size_t filler_bytes = std::size_t{2} << 30;

  void fill() const {
    for (int i = 0; i < 3; ++i) {  // about 0.7 ms each
      backend::cuda::check(cudaMemsetAsync(filler_, i, filler_bytes, device_.compute()), "fill");
    }
  }

  backend::cuda::device_context& device_;
  void* filler_ = nullptr;
};

}  // namespace halocline::bench
