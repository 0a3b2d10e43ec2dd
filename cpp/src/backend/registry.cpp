// SPDX-License-Identifier: Apache-2.0
#include "halocline/backend/registry.hpp"

#include <charconv>
#include <optional>
#include <utility>

#include "backend/cpu/cpu_backend.hpp"
#include "backend/ghost/ghost_backend.hpp"
#include "backend/sycl/sycl_backend.hpp"
#if defined(HALOCLINE_HAS_CUDA)
#include "backend/cuda/cuda_backend.hpp"
#include "backend/cuda/device/device_report.hpp"
#endif
#include "halocline/backend/device_report.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::backend {

namespace {

/// 1 of "cuda:1" and 0 of "cuda", for the family "cuda".
std::optional<int> ordinal_of(std::string_view family, std::string_view device) {
  if (!device.starts_with(family)) return std::nullopt;
  device.remove_prefix(family.size());
  if (device.empty()) return 0;
  if (!device.starts_with(':')) return std::nullopt;
  device.remove_prefix(1);
  int ordinal = 0;
  const auto [end, status] = std::from_chars(device.data(), device.data() + device.size(), ordinal);
  const bool whole = status == std::errc{} && end == device.data() + device.size();
  return whole && ordinal >= 0 ? std::optional(ordinal) : std::nullopt;
}

#if !defined(HALOCLINE_HAS_CUDA)
[[noreturn]] void throw_without_cuda(std::string_view device) {
  throw device_error(
      text("device '", device,
           "': this build has no CUDA backend; build with -DHALOCLINE_CUDA=ON (see `make cuda`)"));
}
#endif

}  // namespace

std::shared_ptr<backend> make_backend(std::string_view device, const backend_options& options) {
  memory::runtime_options memory = options.memory;
  if (device == "cpu") {
    memory.ghost = false;
    HALOCLINE_EXPECTS(
        options.threads != 0U, invalid_argument,
        "device 'cpu': 0 threads; expected at least 1, or none given for the number of processors");
    return make_cpu_backend(memory::runtime::create(memory), options.threads.value_or(0), options.scalar);
  }
  if (device == "ghost") {
    memory.ghost = true;
    return make_ghost_backend(memory::runtime::create(memory));
  }
  if (const std::optional<int> ordinal = ordinal_of("cuda", device)) {
#if defined(HALOCLINE_HAS_CUDA)
    return make_cuda_backend(*ordinal, options);
#else
    throw_without_cuda(device);
#endif
  }
  if (const std::optional<int> ordinal = ordinal_of("sycl", device)) {
    return make_sycl_backend(static_cast<unsigned>(*ordinal), options);
  }
  std::string known;
  for (const std::string& each : available_devices()) known += (known.empty() ? "" : ", ") + each;
  throw invalid_argument(text("unknown device '", device, "'; this build has: ", known));
}

std::vector<std::string> available_devices() {
  std::vector<std::string> devices{"cpu", "ghost"};
#if defined(HALOCLINE_HAS_CUDA)
  for (std::string& each : cuda_devices()) devices.push_back(std::move(each));
#endif
  for (std::string& each : sycl_devices()) devices.push_back(std::move(each));
  return devices;
}

std::optional<device_report> report_device(std::string_view device, bool measure_links) {
  const std::optional<int> ordinal = ordinal_of("cuda", device);
  if (!ordinal) return std::nullopt;
#if defined(HALOCLINE_HAS_CUDA)
  return report_cuda_device(*ordinal, measure_links);
#else
  (void)measure_links;
  throw_without_cuda(device);
#endif
}

}  // namespace halocline::backend
