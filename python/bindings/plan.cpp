// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/map.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <span>
#include <string>
#include <tuple>

#include "bindings.hpp"
#include "halocline/ckks/key_routes.hpp"
#include "halocline/memory/plan/planner.hpp"
#include "halocline/memory/sim/device_model.hpp"

namespace halocline::python {
namespace {

using memory::plan::forecast;
using memory::plan::plan;

nb::bytes bytes_of(const plan& source) {
  const std::vector<std::byte> bytes = memory::plan::to_bytes(source);
  return nb::bytes(bytes.data(), bytes.size());
}

plan from_bytes(const nb::bytes& bytes) {
  return memory::plan::plan_from_bytes(std::as_bytes(std::span(bytes.c_str(), bytes.size())));
}

ckks::key_routes compositions_of(const plan& source) {
  ckks::key_routes routes;
  for (const memory::plan::composition& each : source.compositions) routes[each.element] = each.parts;
  return routes;
}

void set_compositions(plan& target, const ckks::key_routes& routes) {
  target.compositions.clear();
  for (const auto& [element, parts] : routes) target.compositions.push_back({element, parts});
}

/// What is expected of each link of a chain of tiers, nearest first.
nb::list links_of(const plan& source) {
  nb::list rows;
  for (const memory::plan::link_forecast& each : source.expected.links) {
    nb::dict row;
    row["name"] = each.name;
    row["loads"] = each.loads;
    row["loaded_bytes"] = each.loaded_bytes;
    row["least_bytes"] = each.least_bytes;
    row["busy_seconds"] = each.busy_ns * 1e-9;
    row["bytes_per_second"] = each.ns_per_byte > 0 ? 1e9 / each.ns_per_byte : 0.0;
    rows.append(row);
  }
  return rows;
}

/// (nanoseconds, what sets them): no schedule takes less.
std::tuple<double, std::string> bound_of(const plan& source) {
  std::string by;
  const double ns = source.expected.bound_ns(&by);
  return {ns, by};
}

template <typename MemberT>
auto expected(MemberT member) {
  return [member](const plan& source) { return source.expected.*member; };
}

memory::plan::time_source times(bool recorded) {
  return recorded ? memory::plan::time_source::recorded : memory::plan::time_source::costs;
}

/// A plan for a trace on a modelled device.
plan plan_trace(const memory::trace& recorded, const memory::sim::device_model& device,
                std::uint64_t capacity, double kernel_scale, bool recorded_times,
                const std::string& parameters) {
  memory::plan::planner_options options;
  options.capacity_bytes = capacity;
  options.costs = device.costs(kernel_scale);
  options.parameters = parameters;
  options.allow_resize = true;
  return memory::plan::make_plan(memory::plan::make_program(recorded, options.costs, times(recorded_times)),
                                 options);
}

/// What the plan says of each object, and each directive, as columns.
nb::dict columns_of(const plan& source) {
  std::vector<std::uint64_t> before, target, pages, action, bytes, cls, dead;
  for (const memory::plan::directive& each : source.directives) {
    before.push_back(each.before);
    target.push_back(each.target);
    pages.push_back(each.pages);
    action.push_back(static_cast<std::uint64_t>(each.action));
  }
  for (const memory::plan::object& each : source.objects) {
    bytes.push_back(each.bytes);
    cls.push_back(static_cast<std::uint64_t>(each.cls));
    dead.push_back(std::min<std::uint64_t>(each.dead, source.steps()));
  }
  nb::dict out;
  out["before"] = to_numpy(std::move(before));
  out["target"] = to_numpy(std::move(target));
  out["pages"] = to_numpy(std::move(pages));
  out["action"] = to_numpy(std::move(action));
  out["object_bytes"] = to_numpy(std::move(bytes));
  out["object_class"] = to_numpy(std::move(cls));
  out["object_dead"] = to_numpy(std::move(dead));
  return out;
}

}  // namespace

void bind_plan(nb::module_& module) {
  nb::class_<plan>(module, "Plan")
      .def_static("from_bytes", from_bytes, nb::arg("data"))
      .def("to_bytes", bytes_of)
      .def("to_json", &memory::plan::to_json)
      .def("columns", columns_of)
      .def_ro("parameters", &plan::parameters)
      .def_ro("capacity_bytes", &plan::capacity_bytes)
      .def_prop_ro("steps", &plan::steps)
      .def_prop_ro("directives", [](const plan& source) { return source.directives.size(); })
      .def_prop_ro("objects", [](const plan& source) { return source.objects.size(); })
      .def_prop_ro("compositions", compositions_of)
      .def("set_compositions", set_compositions, nb::arg("routes"))
      .def_prop_ro("footprint_bytes", expected(&forecast::footprint_bytes))
      .def_prop_ro("minimum_bytes", expected(&forecast::minimum_bytes))
      .def_prop_ro("peak_bytes", expected(&forecast::peak_bytes))
      .def_prop_ro("loaded_bytes", expected(&forecast::loaded_bytes))
      .def_prop_ro("written_bytes", expected(&forecast::written_bytes))
      .def_prop_ro("expanded_bytes", expected(&forecast::expanded_bytes))
      .def_prop_ro("encoded_bytes", expected(&forecast::encoded_bytes))
      .def_prop_ro("lower_bound_bytes", expected(&forecast::lower_bound_bytes))
      .def_prop_ro("resident_ns", expected(&forecast::resident_ns))
      .def_prop_ro("total_ns", expected(&forecast::total_ns))
      .def_prop_ro("stall_ns", expected(&forecast::stall_ns))
      .def_prop_ro("load_busy_ns", expected(&forecast::load_busy_ns))
      .def_prop_ro("store_busy_ns", expected(&forecast::store_busy_ns))
      .def_prop_ro("links", links_of)
      .def_prop_ro("bound", bound_of)
      .def_prop_ro("gap", [](const plan& source) { return source.expected.gap(); });
  module.def("plan_trace", plan_trace, nb::arg("trace"), nb::arg("device"), nb::arg("capacity"),
             nb::arg("kernel_scale"), nb::arg("recorded_times"), nb::arg("parameters"),
             nb::call_guard<released>());
}

}  // namespace halocline::python
