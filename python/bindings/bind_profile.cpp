// SPDX-License-Identifier: Apache-2.0
// Profiles, and programs that become graphs.
#include <nanobind/stl/tuple.h>

#include <set>
#include <sstream>
#include <tuple>

#include "bindings.hpp"
#include "halocline/backend/backend.hpp"
#include "halocline/backend/profile.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/context.hpp"

namespace halocline::python {
namespace {

using backend::profile;
using backend::profile_row;

backend::backend& device_of(const bound_engine& engine) { return engine.where->ctx->device(); }

nb::dict to_dict(const backend::driver_counters& calls) {
  nb::dict out;
  out["device_waits"] = calls.device_waits;
  out["stream_waits"] = calls.stream_waits;
  out["event_waits"] = calls.event_waits;
  out["allocations"] = calls.allocations;
  out["frees"] = calls.frees;
  out["pool_allocations"] = calls.pool_allocations;
  out["pool_frees"] = calls.pool_frees;
  return out;
}

nb::dict graph_statistics(const bound_engine& engine) {
  const backend::graph_statistics s = device_of(engine).graphs();
  nb::dict out;
  out["programs"] = s.programs;
  out["passed_programs"] = s.passed_programs;
  out["segments"] = s.segments;
  out["eager_launches"] = s.eager_launches;
  out["graphs_built"] = s.graphs_built;
  out["graphs_kept"] = s.graphs_kept;
  out["nodes_kept"] = s.nodes_kept;
  out["replays"] = s.replays;
  out["replayed_nodes"] = s.replayed_nodes;
  out["patched_nodes"] = s.patched_nodes;
  out["failed_builds"] = s.failed_builds;
  out["slow_graphs"] = s.slow_graphs;
  return out;
}

using row = std::tuple<std::string, std::string, std::string, std::uint64_t, std::uint64_t, std::uint64_t,
                       std::uint64_t>;

std::vector<row> rows_of(const profile& p) {
  std::vector<row> rows;
  rows.reserve(p.rows.size());
  for (const profile_row& each : p.rows) {
    rows.emplace_back(each.operation, each.op, each.kernel, each.calls, each.total_ns, each.shortest_ns,
                      each.longest_ns);
  }
  return rows;
}

std::string to_perfetto(const profile& p) {
  std::ostringstream out;
  memory::write_perfetto(p.timeline, out);
  return std::move(out).str();
}

/// The names that Python gave, for as long as the process lives: profiles keep their addresses.
const char* keep(const std::string& name) {
  static fork_mutex& mutex = *new fork_mutex(fork_order::table);
  static auto& names = *new std::set<std::string>;
  const std::scoped_lock lock(mutex);
  return names.insert(name).first->c_str();
}

/// Operations that Python has entered in this thread.
std::vector<std::unique_ptr<backend::scoped_operation>>& entered() {
  thread_local std::vector<std::unique_ptr<backend::scoped_operation>> operations;
  return operations;
}

void bind_programs(nb::module_& module) {
  module.def(
      "begin_program",
      [](bound_engine& e, std::uint64_t key) { locked(*e.where, [&] { device_of(e).begin_program(key); }); },
      nb::arg("engine"), nb::arg("key"));
  module.def(
      "end_program", [](bound_engine& e) { locked(*e.where, [&] { device_of(e).end_program(); }); },
      nb::arg("engine"));
  module.def(
      "wait", [](bound_engine& e) { locked(*e.where, [&] { device_of(e).wait(); }); }, nb::arg("engine"));
  module.def(
      "makes_graphs", [](bound_engine& e) { return device_of(e).makes_graphs(); }, nb::arg("engine"));
  module.def(
      "use_graphs", [](bound_engine& e, bool wanted) { device_of(e).use_graphs(wanted); }, nb::arg("engine"),
      nb::arg("wanted"));
  module.def("graph_statistics", graph_statistics, nb::arg("engine"));
  module.def(
      "driver_calls", [](const bound_engine& e) { return to_dict(device_of(e).driver_calls()); },
      nb::arg("engine"));
}

}  // namespace

void bind_profile(nb::module_& module) {
  nb::class_<profile>(module, "Profile")
      .def_ro("device", &profile::device)
      .def_ro("kernels", &profile::kernels)
      .def_ro("wall_ns", &profile::wall_ns)
      .def_ro("timer_ns", &profile::timer_ns)
      .def_ro("spans_left_out", &profile::spans_left_out)
      .def_prop_ro("total_ns", &profile::total_ns)
      .def_prop_ro("ntt_ns", &profile::ntt_ns)
      .def_prop_ro("rows", rows_of)
      .def_prop_ro("driver", [](const profile& p) { return to_dict(p.driver); })
      .def("to_perfetto", to_perfetto, nb::call_guard<released>());
  module.def(
      "start_profile", [](bound_engine& e) { locked(*e.where, [&] { device_of(e).start_profile(); }); },
      nb::arg("engine"));
  module.def(
      "stop_profile",
      [](bound_engine& e) { return locked(*e.where, [&] { return device_of(e).stop_profile(); }); },
      nb::arg("engine"));
  module.def(
      "enter_operation",
      [](const std::string& name) {
        entered().push_back(std::make_unique<backend::scoped_operation>(keep(name)));
      },
      nb::arg("name"));
  module.def("leave_operation", [] {
    if (!entered().empty()) entered().pop_back();
  });
  bind_programs(module);
}

}  // namespace halocline::python
