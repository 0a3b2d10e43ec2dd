// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device/device_context.hpp"

#include <atomic>

#include "backend/cuda/device/driver_calls.hpp"
#include "backend/cuda/device/launcher.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/core/process.hpp"

namespace halocline::backend::cuda {
namespace {

constexpr int oldest_major = 8;

/// The process that opened the driver first, it or an ancestor; 0: none.
std::atomic<std::uint64_t> driver_owner = 0;

/// @throws device_error where the driver cannot be opened any more
void claim_driver() {
  const std::uint64_t process = process_generation();
  std::uint64_t owner = 0;
  if (driver_owner.compare_exchange_strong(owner, process)) return;
  HALOCLINE_EXPECTS(
      owner == process, device_error,
      "cuda: this process was forked after its parent had opened a device, and a driver cannot be "
      "opened again then; start worker processes with 'spawn', or open devices after the fork "
      "only");
}

/// Selects the card before members that need a current one are made.
int select(int ordinal) {
  claim_driver();
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
      process_(process_generation()),
      counters_(nullptr, [](std::uint32_t* words) { driver::free_device(words); }) {
  check(cudaGetDeviceProperties(&properties_, ordinal), "read the device's properties");
  void* words = nullptr;
  check(driver::malloc_device(&words, counters * sizeof(std::uint32_t)), "allocate counters");
  counters_.reset(static_cast<std::uint32_t*>(words));
  check(cudaMemsetAsync(words, 0, counters * sizeof(std::uint32_t), compute_.get()), "clear counters");
}

device_context::~device_context() {
  if (process_generation() == process_) cudaStreamSynchronize(compute_.get());
}

void device_context::make_current() const {
  HALOCLINE_EXPECTS(process_generation() == process_, device_error,
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
  if (process_generation() != process_) return;
  if (launch_observer* const by = observer_) by->flush_quietly();
}

std::vector<std::string> device_names() {
  std::uint64_t none = 0;
  driver_owner.compare_exchange_strong(none, process_generation());  // the query opens the driver
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
