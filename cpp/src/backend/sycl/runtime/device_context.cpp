// SPDX-License-Identifier: Apache-2.0
#include "backend/sycl/runtime/device_context.hpp"

#include <utility>

#include "backend/sycl/runtime/sycl_runtime.hpp"
#include "halocline/core/process.hpp"

namespace halocline::backend::sycl {
namespace {

constexpr unsigned kernel_queue = 0;
/// Parameters of many thousands of launches: the host then waits for the device.
constexpr std::size_t most_parameter_bytes = std::size_t{16} << 20;

}  // namespace

std::shared_ptr<device_context> device_context::open(unsigned ordinal) {
  const sycl_bridge::entry_points& runtime = bridge();
  sycl_bridge::device* found = nullptr;
  if (const sycl_bridge::outcome state = runtime.open(ordinal, found)) {
    throw device_error(text("device 'sycl:", ordinal, "': ", state));
  }
  std::unique_ptr<sycl_bridge::device> device(found);
  sycl_bridge::device_facts facts{};
  check(device->describe(facts), "describe the device");
  return std::shared_ptr<device_context>(new device_context(ordinal, std::move(device), facts));
}

device_context::device_context(unsigned ordinal, std::unique_ptr<sycl_bridge::device> device,
                               const sycl_bridge::device_facts& facts)
    : ordinal_(ordinal),
      process_(process_generation()),
      device_(std::move(device)),
      facts_(facts),
      images_(kernel_images::of(ordinal)),
      parameters_(*device_) {}

bool device_context::usable() const noexcept { return process_ == process_generation(); }

sycl_bridge::device& device_context::use() const {
  HALOCLINE_EXPECTS(usable(), device_error, "device 'sycl:", ordinal_,
                    "' was opened before this process was forked; open it in the process that uses it");
  return *device_;
}

void device_context::launch(std::string_view kernel, unsigned word_bits, std::size_t items, std::size_t group,
                            const void* parameter) {
  if (items == 0) return;
  sycl_bridge::device& on = use();
  check(on.launch(images_.find(kernel, word_bits), items / group, group, parameter), "launch a kernel");
}

void device_context::wait() {
  check(use().wait(kernel_queue), "wait for kernels");
  parameters_.forget();
}

void device_context::begin_operation() {
  if (parameters_.used_bytes() > most_parameter_bytes) wait();
}

}  // namespace halocline::backend::sycl
