// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>
#include <utility>

namespace halocline::backend::cuda {

/// Throws unless `code` is cudaSuccess; `what` is the operation's name.
/// @throws out_of_memory for cudaErrorMemoryAllocation, device_error for everything else
void check(cudaError_t code, std::string_view what);

/// A stream that does not wait for the legacy default stream.
class stream {
 public:
  stream();
  ~stream();
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  [[nodiscard]] cudaStream_t get() const noexcept { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// An event; move-only.
class event {
 public:
  /// @param timed whether `milliseconds_since` is wanted; events without are cheaper
  explicit event(bool timed = false);
  ~event();
  event(event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  event& operator=(event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  [[nodiscard]] cudaEvent_t get() const noexcept { return event_; }
  /// Marks the present end of a stream.
  void record(cudaStream_t on) const;
  /// Whether everything before the mark is done. Never blocks.
  [[nodiscard]] bool done() const;
  /// Blocks until it is.
  void wait() const;
  /// Makes later work of a stream wait for the mark, without blocking the host.
  void block(cudaStream_t later) const;
  /// Time between two timed events that are done.
  [[nodiscard]] float milliseconds_since(const event& begin) const;

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace halocline::backend::cuda
