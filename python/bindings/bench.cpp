// SPDX-License-Identifier: Apache-2.0
// What `halocline bench operations` and `bench ratio` time: cpp/bench/operations, without Python in between.
#include <string>

#include "bindings.hpp"
#include "operations/operation_timing.hpp"

namespace halocline::python {
namespace {

nb::dict time_operation(bound_engine& on, const std::string& operation, unsigned level, unsigned samples,
                        unsigned per_sample, unsigned operand_sets, bool graph, double sample_seconds) {
  const bench::timing_request request{operation,    level, samples,       per_sample,
                                      operand_sets, graph, sample_seconds};
  const bench::timing_result result =
      locked(*on.where, [&] { return bench::time_operation(*on.value, request); });
  nb::dict out;
  out["seconds"] = result.seconds;
  out["per_sample"] = result.per_sample;
  out["replays"] = result.replays;
  return out;
}

}  // namespace

void bind_bench(nb::module_& module) {
  module.def("time_operation", time_operation, nb::arg("engine"), nb::arg("operation"), nb::arg("level"),
             nb::arg("samples"), nb::arg("per_sample"), nb::arg("operand_sets"), nb::arg("graph"),
             nb::arg("sample_seconds"));
}

}  // namespace halocline::python
