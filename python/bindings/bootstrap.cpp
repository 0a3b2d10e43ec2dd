// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/bootstrap.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings.hpp"

namespace halocline::python {
namespace {

using circuits::bootstrap_options;
using circuits::bootstrapper;

/// A bootstrapper encoded for one engine.
struct bound_bootstrapper {
  std::shared_ptr<domain> where;
  std::shared_ptr<const bootstrapper> value;
};

bound_bootstrapper make(bound_engine& engine, const bootstrap_options& options) {
  return locked(*engine.where, [&] {
    return bound_bootstrapper{engine.where,
                              std::make_shared<const bootstrapper>(evaluator_here(engine), options)};
  });
}

std::vector<bound_ciphertext> apply(bound_engine& engine, const bound_bootstrapper& boots,
                                    const std::vector<const bound_ciphertext*>& inputs) {
  return evaluate_many(engine,
                       [&](ckks::evaluator& e) { return boots.value->bootstrap(e, pointers_to(inputs)); });
}

/// (Galois element, level) of every key.
std::vector<std::tuple<std::uint64_t, unsigned>> requests_of(const bound_bootstrapper& boots) {
  std::vector<std::tuple<std::uint64_t, unsigned>> rows;
  for (const ckks::key_request& each : boots.value->key_requests()) {
    rows.emplace_back(each.galois_element, each.level);
  }
  return rows;
}

nb::dict describe(const bound_bootstrapper& boots) {
  const bootstrapper& b = *boots.value;
  const circuits::bootstrap_forecast forecast = b.forecast();
  nb::dict out;
  out["slots"] = b.options().slots;
  out["input_level"] = b.input_level();
  out["output_level"] = b.output_level();
  out["raised_level"] = b.raised_level();
  out["cts_levels"] = b.cts().levels();
  out["stc_levels"] = b.stc().levels();
  out["mod1_levels"] = b.eval_mod().levels();
  out["mod1_degree"] = b.eval_mod().degree();
  out["double_angles"] = b.eval_mod().double_angles();
  out["mod1_error"] = b.eval_mod().max_error();
  out["range"] = b.options().range;
  out["log2_failure_probability"] = b.log2_failure_probability();
  out["mean_bits"] = forecast.mean_bits;
  out["worst_bits"] = forecast.worst_bits;
  out["iteration_bits"] = b.options().iteration_bits;
  out["cts_mode"] = to_string(b.options().cts_mode);
  out["stc_mode"] = to_string(b.options().stc_mode);
  out["compact"] = b.options().compact;
  out["baby_count"] = b.options().baby_count;
  out["nbytes"] = b.bytes();
  return out;
}

}  // namespace

void bind_bootstrap(nb::module_& module) {
  nb::class_<bootstrap_options>(module, "BootstrapOptions")
      .def(nb::init<>())
      .def_rw("slots", &bootstrap_options::slots)
      .def_prop_rw(
          "stc_first",
          [](const bootstrap_options& o) { return o.order == circuits::bootstrap_order::stc_first; },
          [](bootstrap_options& o, bool first) {
            o.order = first ? circuits::bootstrap_order::stc_first : circuits::bootstrap_order::cts_first;
          })
      .def_rw("real_only", &bootstrap_options::real_only)
      .def_rw("cts_levels", &bootstrap_options::cts_levels)
      .def_rw("stc_levels", &bootstrap_options::stc_levels)
      .def_prop_rw(
          "cts_mode", [](const bootstrap_options& o) { return std::string(to_string(o.cts_mode)); },
          [](bootstrap_options& o, const std::string& name) { o.cts_mode = transform_mode_of(name); })
      .def_prop_rw(
          "stc_mode", [](const bootstrap_options& o) { return std::string(to_string(o.stc_mode)); },
          [](bootstrap_options& o, const std::string& name) { o.stc_mode = transform_mode_of(name); })
      .def_rw("compact", &bootstrap_options::compact)
      .def_rw("baby_count", &bootstrap_options::baby_count)
      .def_rw("memory_bytes", &bootstrap_options::memory_bytes)
      .def_rw("range", &bootstrap_options::range)
      .def_rw("log2_failure", &bootstrap_options::log2_failure)
      .def_rw("allow_failure", &bootstrap_options::allow_failure)
      .def_rw("message_bound", &bootstrap_options::message_bound)
      .def_rw("fraction", &bootstrap_options::fraction)
      .def_rw("tolerance", &bootstrap_options::tolerance)
      .def_rw("double_angles", &bootstrap_options::double_angles)
      .def_rw("arcsine_degree", &bootstrap_options::arcsine_degree)
      .def_rw("iterations", &bootstrap_options::iterations)
      .def_rw("iteration_bits", &bootstrap_options::iteration_bits);
  nb::class_<bound_bootstrapper>(module, "Bootstrapper")
      .def_static("make", make, nb::arg("engine"), nb::arg("options"))
      .def_prop_ro("requests", requests_of)
      .def("describe", describe);
  auto engine = nb::borrow<nb::class_<bound_engine>>(module.attr("Engine"));
  engine.def("bootstrap", apply, nb::arg("bootstrapper"), nb::arg("inputs"));
}

}  // namespace halocline::python
