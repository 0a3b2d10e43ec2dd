// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device_context.hpp"

#include <pthread.h>

#include <atomic>

#include "backend/cuda/driver_calls.hpp"
#include "backend/cuda/launcher.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::backend::cuda {
namespace {

constexpr int oldest_major = 8;

/// How often the line of processes that leads to this one was forked. Asking the kernel who we are at every
/// launch would cost as much as the launch's own checks.
std::atomic<unsigned> forks = 0;

unsigned forks_so_far() {
  static const int watching = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1); });
  HALOCLINE_EXPECTS(watching == 0, device_error, "cuda: cannot watch for forks of this process (error ",
                    watching, ")");
  return forks.load(std::memory_order_relaxed);
}

/// Selects the card before members that need a current one are made.
int select(int ordinal) {
  int count = 0;
  const cudaError_t state = cudaGetDeviceCount(&count);
  HALOCLINE_EXPECTS(state != cudaErrorInsufficientDriver, device_error,
                    "cuda: the NVIDIA driver is missing or older than CUDA ", CUDART_VERSION / 1000,
                    " needs; install a newer driver, or use device 'cpu'");
  HALOCLINE_EXPECTS(state == cudaSuccess && count > 0, device_error, "cuda: no NVIDIA GPU found (",
                    cudaGetErrorString(state), "); use device 'cpu'");
  HALOCLINE_EXPECTS(ordinal >= 0 && ordinal < count, device_error, "cuda: there is no device 'cuda:", ordinal,
                    "'; this machine has ", count, ", counted from 0");
  check(cudaSetDevice(ordinal), "select the device");
  return ordinal;
}

}  // namespace

std::shared_ptr<device_context> device_context::open(int ordinal) {
  std::shared_ptr<device_context> opened(new device_context(select(ordinal)));
  const cudaDeviceProp& found = opened->properties();
  HALOCLINE_EXPECTS(found.major >= oldest_major, device_error, "cuda:", ordinal, " (", found.name,
                    ") has compute capability ", found.major, ".", found.minor, "; 8.0 or newer is needed");
  return opened;
}

device_context::device_context(int ordinal)
    : ordinal_(ordinal),
      forks_(forks_so_far()),
      counters_(nullptr, [](std::uint32_t* words) { driver::free_device(words); }) {
  check(cudaGetDeviceProperties(&properties_, ordinal), "read the device's properties");
  void* words = nullptr;
  check(driver::malloc_device(&words, counters * sizeof(std::uint32_t)), "allocate counters");
  counters_.reset(static_cast<std::uint32_t*>(words));
  check(cudaMemsetAsync(words, 0, counters * sizeof(std::uint32_t), compute_.get()), "clear counters");
}

device_context::~device_context() {
  if (forks.load(std::memory_order_relaxed) == forks_) cudaStreamSynchronize(compute_.get());
}

void device_context::make_current() const {
  HALOCLINE_EXPECTS(forks.load(std::memory_order_relaxed) == forks_, device_error,
                    "cuda: this process was forked after the device had been opened, and a driver does not "
                    "survive that; start worker processes with 'spawn', or open the device after the fork");
  check(cudaSetDevice(ordinal_), "select the device");
}

void device_context::wait() const {
  flush();
  check(driver::stream_synchronize(compute_.get()), "wait for the device");
}

bool device_context::is_recording() const noexcept {
  const launch_observer* const by = observer_;
  return by != nullptr && by->recording();
}

void device_context::flush() const {
  if (launch_observer* const by = observer_) by->flush();
}

void device_context::flush_quietly() const noexcept {
  if (launch_observer* const by = observer_) by->flush_quietly();
}

std::vector<std::string> device_names() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    (void)cudaGetLastError();
    count = 0;
  }
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(text("cuda:", i));
  return names;
}

}  // namespace halocline::backend::cuda
