// SPDX-License-Identifier: Apache-2.0
// Simulated devices: models, replays of traces, decisions of the profiling scheme.
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

#include "bindings.hpp"
#include "halocline/memory/policy/decision_file.hpp"
#include "halocline/memory/sim/device_json.hpp"
#include "halocline/memory/sim/replay.hpp"

namespace halocline::python {
namespace {

using memory::trace;
using memory::sim::device_model;
using memory::sim::replay_options;
using memory::sim::replay_report;

/// Name -> (value, source).
std::map<std::string, std::tuple<double, std::string>> constants_of(const device_model& model) {
  std::map<std::string, std::tuple<double, std::string>> rows;
  for (const memory::sim::device_field& each : memory::sim::device_fields()) {
    const auto found = model.sources.find(each.name);
    rows[std::string(each.name)] = {model.*each.member, found == model.sources.end() ? "" : found->second};
  }
  return rows;
}

device_model with_capacity(device_model model, double bytes) {
  model.capacity_bytes = bytes + model.reserved_bytes;
  model.name += " with other memory";
  return model;
}

/// One byte per allocation: 1 for the pool, 0 for managed memory.
nb::bytes make_decisions(const trace& recorded, double lifetime_limit, std::uint64_t pool_peak) {
  const std::vector<std::uint8_t> made = memory::make_decisions(recorded, {lifetime_limit, pool_peak});
  return nb::bytes(made.data(), made.size());
}

std::string decisions_to_text(const nb::bytes& decisions) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(decisions.c_str());
  return memory::decisions_to_text({first, decisions.size()});
}

void set_decisions(replay_options& options, const nb::bytes& decisions) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(decisions.c_str());
  options.constants.decisions =
      std::make_shared<const std::vector<std::uint8_t>>(first, first + decisions.size());
}

std::vector<std::tuple<std::string, double, double>> phases_of(const replay_report& report) {
  std::vector<std::tuple<std::string, double, double>> rows;
  rows.reserve(report.phases.size());
  for (const memory::sim::phase_time& each : report.phases) {
    rows.emplace_back(each.phase, each.begin_s, each.seconds);
  }
  return rows;
}

template <typename GetT>
auto sampled(const replay_report& report, GetT get) {
  std::vector<double> values;
  values.reserve(report.timeline.size());
  for (const memory::sim::residency_point& each : report.timeline) {
    values.push_back(static_cast<double>(get(each)));
  }
  return to_numpy(std::move(values));
}

nb::dict timeline_of(const replay_report& report) {
  using memory::sim::residency_point;
  nb::dict out;
  out["seconds"] = sampled(report, [](const residency_point& p) { return p.time_s; });
  out["resident_bytes"] = sampled(report, [](const residency_point& p) { return p.resident_bytes; });
  out["pool_bytes"] = sampled(report, [](const residency_point& p) { return p.pool_bytes; });
  out["managed_bytes"] = sampled(report, [](const residency_point& p) { return p.managed_bytes; });
  return out;
}

/// Every number of a report by its name in C++.
nb::dict numbers_of(const replay_report& r) {
  nb::dict out;
  const auto put = [&out](const char* name, auto value) { out[name] = value; };
  put("budget_bytes", r.budget_bytes);
  put("steps", r.steps);
  put("total_s", r.total_s);
  put("compute_s", r.compute_s);
  put("fault_s", r.fault_s);
  put("transfer_wait_s", r.transfer_wait_s);
  put("regenerate_s", r.regenerate_s);
  put("host_wait_s", r.host_wait_s);
  put("stall_s", r.stall_s);
  put("allocate_s", r.allocate_s);
  put("free_s", r.free_s);
  put("synchronize_s", r.synchronize_s);
  put("load_busy_s", r.load_busy_s);
  put("store_busy_s", r.store_busy_s);
  put("loaded_bytes", r.loaded_bytes);
  put("stored_bytes", r.stored_bytes);
  put("regenerated_bytes", r.regenerated_bytes);
  put("faults", r.faults);
  put("fault_batches", r.fault_batches);
  put("allocations", r.allocations);
  put("frees", r.frees);
  put("peak_resident_bytes", r.peak_resident_bytes);
  put("peak_pool_bytes", r.peak_pool_bytes);
  put("peak_managed_bytes", r.peak_managed_bytes);
  return out;
}

/// A replay whose operations, copies, faults and stalls are written down as JSON for Perfetto.
std::string replay_perfetto(const trace& recorded, const device_model& device, replay_options options) {
  memory::timeline spans;
  options.spans = &spans;
  (void)memory::sim::replay(recorded, device, options);
  std::ostringstream out;
  memory::write_perfetto(spans, out);
  return std::move(out).str();
}

/// A replay under `planned`, and the plan that it carried out.
std::pair<replay_report, memory::plan::plan> replay_planned(const trace& recorded, const device_model& device,
                                                            replay_options options,
                                                            const std::string& parameters) {
  memory::plan::plan made;
  options.policy = "planned";
  options.made = &made;
  replay_report report = memory::sim::replay(recorded, device, options);
  made.parameters = parameters;
  return {std::move(report), std::move(made)};
}

void bind_devices(nb::module_& module) {
  nb::class_<device_model>(module, "DeviceModel")
      .def_static(
          "by_name", [](const std::string& name) { return memory::sim::device_by_name(name); },
          nb::arg("name"))
      .def_static(
          "from_json", [](const std::string& text) { return memory::sim::device_from_json(text); },
          nb::arg("text"))
      .def("to_json", &memory::sim::device_to_json)
      .def("with_capacity", with_capacity, nb::arg("bytes"))
      .def_ro("name", &device_model::name)
      .def_prop_ro("capacity_bytes",
                   [](const device_model& m) { return static_cast<std::uint64_t>(m.capacity_bytes); })
      .def_prop_ro("usable_bytes",
                   [](const device_model& m) { return static_cast<std::uint64_t>(m.usable_bytes()); })
      .def_prop_ro("constants", constants_of);
  module.def("device_names", &memory::sim::device_names);
}

void bind_replays(nb::module_& module) {
  nb::class_<replay_options>(module, "ReplayOptions")
      .def(nb::init<>())
      .def_rw("policy", &replay_options::policy)
      .def_rw("budget_bytes", &replay_options::budget_bytes)
      .def_rw("kernel_scale", &replay_options::kernel_scale)
      .def_prop_rw(
          "recorded_times",
          [](const replay_options& o) { return o.times == memory::plan::time_source::recorded; },
          [](replay_options& o, bool on) {
            o.times = on ? memory::plan::time_source::recorded : memory::plan::time_source::costs;
          })
      .def_rw("allow_regenerate", &replay_options::allow_regenerate)
      .def_rw("allow_prefixes", &replay_options::allow_prefixes)
      .def_rw("only_keys_cold", &replay_options::only_keys_cold)
      .def_rw("steady", &replay_options::steady)
      .def_prop_rw(
          "range_limit", [](const replay_options& o) { return o.constants.range_limit; },
          [](replay_options& o, std::uint64_t limit) { o.constants.range_limit = limit; })
      .def("set_decisions", set_decisions, nb::arg("decisions"));
  nb::class_<replay_report>(module, "ReplayReport")
      .def_ro("device", &replay_report::device)
      .def_ro("policy", &replay_report::policy)
      .def("numbers", numbers_of)
      .def("phases", phases_of)
      .def("timeline", timeline_of);
  module.def("replay", &memory::sim::replay, nb::arg("trace"), nb::arg("device"), nb::arg("options"),
             nb::call_guard<released>());
  module.def("replay_planned", replay_planned, nb::arg("trace"), nb::arg("device"), nb::arg("options"),
             nb::arg("parameters"), nb::call_guard<released>());
  module.def("replay_perfetto", replay_perfetto, nb::arg("trace"), nb::arg("device"), nb::arg("options"),
             nb::call_guard<released>());
  module.def("make_decisions", make_decisions, nb::arg("trace"), nb::arg("lifetime_limit"),
             nb::arg("pool_peak"));
  module.def("decisions_to_text", decisions_to_text, nb::arg("decisions"));
}

}  // namespace

void bind_sim(nb::module_& module) {
  bind_devices(module);
  bind_replays(module);
}

}  // namespace halocline::python
