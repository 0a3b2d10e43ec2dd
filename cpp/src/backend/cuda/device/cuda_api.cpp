// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device/cuda_api.hpp"

#include "backend/cuda/device/driver_calls.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::backend::cuda {

void check(cudaError_t code, std::string_view what) {
  if (code == cudaSuccess) [[likely]]
    return;
  (void)cudaGetLastError();  // clears an error that is not sticky, so that the next call does not return it
                             // again
  const std::string message = text(what, ": ", cudaGetErrorString(code), " (", cudaGetErrorName(code), ")");
  if (code == cudaErrorMemoryAllocation) throw out_of_memory(message);
  throw device_error(message);
}

stream::stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "create a stream"); }

stream::~stream() { cudaStreamDestroy(stream_); }

event::event(bool timed) {
  check(cudaEventCreateWithFlags(&event_, timed ? cudaEventDefault : cudaEventDisableTiming),
        "create an event");
}

event::~event() {
  if (event_ != nullptr) cudaEventDestroy(event_);
}

void event::record(cudaStream_t on) const { check(cudaEventRecord(event_, on), "record an event"); }

bool event::done() const {
  const cudaError_t state = cudaEventQuery(event_);
  if (state == cudaErrorNotReady) return false;
  check(state, "query an event");
  return true;
}

void event::wait() const { check(driver::event_synchronize(event_), "wait for an event"); }

void event::block(cudaStream_t later) const {
  check(cudaStreamWaitEvent(later, event_, 0), "make a stream wait for an event");
}

float event::milliseconds_since(const event& begin) const {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin.event_, event_), "read the time between two events");
  return milliseconds;
}

}  // namespace halocline::backend::cuda
