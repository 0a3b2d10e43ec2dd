// SPDX-License-Identifier: Apache-2.0
// Reports on accelerators.
#include <optional>
#include <string>

#include "bindings.hpp"
#include "halocline/backend/device_report.hpp"

namespace halocline::python {
namespace {

std::optional<nb::dict> report_device(const std::string& device, bool measure_links) {
  std::optional<backend::device_report> found;
  {
    const released meanwhile;
    found = backend::report_device(device, measure_links);
  }
  if (!found) return std::nullopt;
  nb::dict out;
  out["model"] = found->model;
  out["architecture"] = found->architecture;
  out["multiprocessors"] = found->multiprocessors;
  out["total_bytes"] = found->total_bytes;
  out["free_bytes"] = found->free_bytes;
  out["cache_bytes"] = found->cache_bytes;
  out["clock_khz"] = found->clock_khz;
  out["memory_clock_khz"] = found->memory_clock_khz;
  out["driver_version"] = found->driver_version;
  out["runtime_version"] = found->runtime_version;
  out["to_device_per_second"] = found->to_device_per_second;
  out["from_device_per_second"] = found->from_device_per_second;
  out["within_device_per_second"] = found->within_device_per_second;
  return out;
}

}  // namespace

void bind_device(nb::module_& module) {
  module.def("report_device", report_device, nb::arg("device"), nb::arg("measure_links"));
}

}  // namespace halocline::python
