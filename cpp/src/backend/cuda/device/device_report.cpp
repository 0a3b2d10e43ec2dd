// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device/device_report.hpp"

#include <memory>

#include "backend/cuda/device/device_context.hpp"
#include "backend/cuda/device/driver_calls.hpp"

namespace halocline::backend {
namespace {

using namespace cuda;

constexpr std::size_t copied_bytes = std::size_t{256} << 20;  // several times the cache of any card
constexpr int rounds = 5;

struct freed {
  void (*free)(void*);
  void operator()(void* data) const { free(data); }
};
using block = std::unique_ptr<void, freed>;

block device_block(std::size_t bytes) {
  void* data = nullptr;
  check(driver::malloc_device(&data, bytes), "measure links: allocate device memory");
  return {data, {[](void* p) { driver::free_device(p); }}};
}

block pinned_block(std::size_t bytes) {
  void* data = nullptr;
  check(driver::host_alloc(&data, bytes, cudaHostAllocDefault), "measure links: allocate pinned memory");
  return {data, {[](void* p) { driver::free_host(p); }}};
}

/// Bytes per second of the fastest of a few copies; the first one is left out.
double speed(const device_context& on, void* to, const void* from, cudaMemcpyKind kind) {
  const event begin(true), end(true);
  float best = 0;
  for (int i = 0; i <= rounds; ++i) {
    begin.record(on.compute());
    check(cudaMemcpyAsync(to, from, copied_bytes, kind, on.compute()), "measure links: copy");
    end.record(on.compute());
    end.wait();
    const float milliseconds = end.milliseconds_since(begin);
    if (i > 0 && (best == 0 || milliseconds < best)) best = milliseconds;
  }
  return 1e3 * static_cast<double>(copied_bytes) / best;
}

void measure(const device_context& on, device_report& report) {
  const block first = device_block(copied_bytes), second = device_block(copied_bytes);
  const block host = pinned_block(copied_bytes);
  report.to_device_per_second = speed(on, first.get(), host.get(), cudaMemcpyHostToDevice);
  report.from_device_per_second = speed(on, host.get(), first.get(), cudaMemcpyDeviceToHost);
  report.within_device_per_second = 2 * speed(on, second.get(), first.get(), cudaMemcpyDeviceToDevice);
}

unsigned attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, ordinal), "read a property of the device");
  return static_cast<unsigned>(value);
}

}  // namespace

device_report report_cuda_device(int ordinal, bool measure_links) {
  const std::shared_ptr<device_context> on = device_context::open(ordinal);
  const cudaDeviceProp& found = on->properties();
  device_report report;
  report.model = found.name;
  report.architecture = static_cast<unsigned>(on->architecture());
  report.multiprocessors = static_cast<unsigned>(on->multiprocessors());
  report.cache_bytes = static_cast<std::size_t>(found.l2CacheSize);
  report.clock_khz = attribute(cudaDevAttrClockRate, ordinal);
  report.memory_clock_khz = attribute(cudaDevAttrMemoryClockRate, ordinal);
  int version = 0;
  check(cudaDriverGetVersion(&version), "read the driver's version");
  report.driver_version = static_cast<unsigned>(version);
  check(cudaRuntimeGetVersion(&version), "read the version of the CUDA runtime");
  report.runtime_version = static_cast<unsigned>(version);
  if (measure_links) measure(*on, report);
  check(cudaMemGetInfo(&report.free_bytes, &report.total_bytes), "read how much device memory is free");
  return report;
}

}  // namespace halocline::backend
