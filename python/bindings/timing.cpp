// SPDX-License-Identifier: Apache-2.0
// Times of single operations, measured without Python in between; reports on accelerators.
#include <optional>
#include <string>

#include "bindings.hpp"
#include "halocline/backend/device_report.hpp"
#include "halocline/ckks/operation_timing.hpp"

namespace halocline::python {
namespace {

nb::dict time_operation(bound_engine& self, const std::string& operation, unsigned level, unsigned samples,
                        unsigned per_sample, unsigned operand_sets, bool graph, double sample_seconds) {
  const ckks::timing_request request{operation,    level, samples,       per_sample,
                                     operand_sets, graph, sample_seconds};
  const ckks::timing_result result =
      locked(*self.where, [&] { return ckks::time_operation(*self.value, request); });
  nb::dict out;
  out["seconds"] = result.seconds;
  out["per_sample"] = result.per_sample;
  out["replays"] = result.replays;
  return out;
}

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

void bind_timing(nb::module_& module) {
  auto engine = nb::borrow<nb::class_<bound_engine>>(module.attr("Engine"));
  engine
      .def("time_operation", time_operation, nb::arg("operation"), nb::arg("level"), nb::arg("samples"),
           nb::arg("per_sample"), nb::arg("operand_sets"), nb::arg("graph"), nb::arg("sample_seconds"))
      .def_prop_ro("makes_graphs",
                   [](const bound_engine& self) { return self.where->ctx->device().makes_graphs(); });
  module.def("timed_operations", &ckks::timed_operations);
  module.def("report_device", report_device, nb::arg("device"), nb::arg("measure_links"));
}

}  // namespace halocline::python
