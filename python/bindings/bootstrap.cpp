// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/bootstrap.hpp"
#include "halocline/circuits/dft.hpp"
#include "halocline/circuits/mod1.hpp"

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

using request_row = std::tuple<std::uint64_t, unsigned>;
/// (mode, baby steps of each giant step or 0, whether diagonals are coefficients) of a matrix.
using way_row = std::tuple<std::string, unsigned, bool>;

std::vector<way_row> rows_of(const std::vector<circuits::transform_way>& ways) {
  std::vector<way_row> rows;
  for (const circuits::transform_way& each : ways) {
    rows.emplace_back(to_string(each.mode), each.baby_count.value_or(0), each.compact);
  }
  return rows;
}

/// (Galois element, level) of every key.
std::vector<request_row> requests_of(const bound_bootstrapper& boots) {
  std::vector<request_row> rows;
  for (const ckks::key_request& each : boots.value->key_requests()) {
    rows.emplace_back(each.galois_element, each.level);
  }
  return rows;
}

nb::dict describe(const bound_bootstrapper& boots) {
  const bootstrapper& b = *boots.value;
  const circuits::bootstrap_forecast forecast = b.forecast();
  nb::dict out;
  out["slots"] = b.slots();
  out["input_level"] = b.input_level();
  out["output_level"] = b.output_level();
  out["raised_level"] = b.raised_level();
  out["cts_levels"] = b.coeff_to_slot().levels();
  out["stc_levels"] = b.slot_to_coeff().levels();
  out["mod1_levels"] = b.eval_mod().levels();
  out["mod1_degree"] = b.eval_mod().degree();
  out["double_angles"] = b.eval_mod().double_angles();
  out["mod1_error"] = b.eval_mod().max_error();
  out["eval_mod_together"] = *b.options().eval_mod.together;
  out["range"] = *b.options().eval_mod.range;
  out["unit_fraction"] = b.unit_fraction();
  out["log2_failure_probability"] = b.log2_failure_probability();
  out["mean_bits"] = forecast.mean_bits;
  out["worst_bits"] = forecast.worst_bits;
  out["iteration_bits"] = *b.options().iterations.bits;
  out["cts_mode"] = to_string(b.options().transforms.cts_mode);
  out["stc_mode"] = to_string(b.options().transforms.stc_mode);
  out["compact"] = b.options().transforms.compact;
  out["cts_matrices"] = rows_of(ways_of(b.coeff_to_slot().options()));
  out["stc_matrices"] = rows_of(ways_of(b.slot_to_coeff().options()));
  out["seeded_keys"] = b.seeded_keys().size();
  out["from_sparse"] = b.options().transforms.from_sparse;
  out["sum_radix"] = *b.options().transforms.sum_radix;
  out["baby_count"] = b.options().transforms.baby_count.value_or(0);
  out["nbytes"] = b.bytes();
  return out;
}

using options_class = nb::class_<bootstrap_options>;

/// Binds a member of a group of options.
template <typename GroupT, typename ValueT>
void bind_option(options_class& type, const char* name, GroupT bootstrap_options::*group,
                 ValueT GroupT::*member) {
  type.def_prop_rw(
      name, [=](const bootstrap_options& o) { return o.*group.*member; },
      [=](bootstrap_options& o, ValueT to) { o.*group.*member = to; });
}

/// The same for one that is 0 in Python where it is to be chosen.
template <typename GroupT, typename ValueT>
void bind_choice(options_class& type, const char* name, GroupT bootstrap_options::*group,
                 std::optional<ValueT> GroupT::*member) {
  type.def_prop_rw(
      name, [=](const bootstrap_options& o) { return (o.*group.*member).value_or(ValueT{}); },
      [=](bootstrap_options& o, ValueT to) { o.*group.*member = unless_zero(to); });
}

/// The same for the mode of a transform.
template <typename GroupT>
void bind_mode(options_class& type, const char* name, GroupT bootstrap_options::*group,
               circuits::transform_mode GroupT::*member) {
  type.def_prop_rw(
      name, [=](const bootstrap_options& o) { return std::string(to_string(o.*group.*member)); },
      [=](bootstrap_options& o, const std::string& to) { o.*group.*member = transform_mode_of(to); });
}

/// The same for the ways of the matrices of a transform.
void bind_ways(options_class& type, const char* name,
               std::vector<circuits::transform_way> circuits::bootstrap_transforms::*member) {
  type.def_prop_rw(
      name, [=](const bootstrap_options& o) { return rows_of(o.transforms.*member); },
      [=](bootstrap_options& o, const std::vector<way_row>& rows) {
        (o.transforms.*member).clear();
        for (const auto& [mode, babies, compact] : rows) {
          (o.transforms.*member).push_back({transform_mode_of(mode), unless_zero(babies), compact});
        }
      });
}

/// What a choice within `memory_bytes` may count on; see `circuits::bootstrap_room`.
void bind_room(options_class& type) {
  type.def_prop_rw(
      "loads", [](const bootstrap_options& o) { return o.transforms.room.loads; },
      [](bootstrap_options& o, bool to) { o.transforms.room.loads = to; });
  type.def(
      "keep_seeds", [](bootstrap_options& o, bool all) { o.transforms.room.seeded = all; }, nb::arg("all"));
  type.def(
      "use_keys",
      [](bootstrap_options& o, const std::vector<request_row>& rows) {
        std::vector<ckks::key_request>& keys = o.transforms.room.keys.emplace();
        for (const auto& [element, level] : rows) keys.push_back({element, level});
      },
      nb::arg("requests"));
}

void bind_groups(options_class& type) {
  using options = bootstrap_options;
  bind_choice(type, "cts_levels", &options::transforms, &circuits::bootstrap_transforms::cts_levels);
  bind_choice(type, "stc_levels", &options::transforms, &circuits::bootstrap_transforms::stc_levels);
  bind_mode(type, "cts_mode", &options::transforms, &circuits::bootstrap_transforms::cts_mode);
  bind_mode(type, "stc_mode", &options::transforms, &circuits::bootstrap_transforms::stc_mode);
  bind_option(type, "compact", &options::transforms, &circuits::bootstrap_transforms::compact);
  bind_choice(type, "baby_count", &options::transforms, &circuits::bootstrap_transforms::baby_count);
  bind_option(type, "from_sparse", &options::transforms, &circuits::bootstrap_transforms::from_sparse);
  bind_choice(type, "sum_radix", &options::transforms, &circuits::bootstrap_transforms::sum_radix);
  bind_option(type, "cts_stages", &options::transforms, &circuits::bootstrap_transforms::cts_stages);
  bind_ways(type, "cts_ways", &circuits::bootstrap_transforms::cts_ways);
  bind_ways(type, "stc_ways", &circuits::bootstrap_transforms::stc_ways);
  bind_choice(type, "memory_bytes", &options::transforms, &circuits::bootstrap_transforms::memory_bytes);
  bind_choice(type, "range", &options::eval_mod, &circuits::bootstrap_eval_mod::range);
  bind_option(type, "log2_failure", &options::eval_mod, &circuits::bootstrap_eval_mod::log2_failure);
  bind_option(type, "allow_failure", &options::eval_mod, &circuits::bootstrap_eval_mod::allow_failure);
  bind_option(type, "message_bound", &options::eval_mod, &circuits::bootstrap_eval_mod::message_bound);
  bind_choice(type, "fraction", &options::eval_mod, &circuits::bootstrap_eval_mod::fraction);
  bind_option(type, "tolerance", &options::eval_mod, &circuits::bootstrap_eval_mod::tolerance);
  bind_option(type, "double_angles", &options::eval_mod, &circuits::bootstrap_eval_mod::double_angles);
  bind_option(type, "arcsine_degree", &options::eval_mod, &circuits::bootstrap_eval_mod::arcsine_degree);
  bind_choice(type, "eval_mod_together", &options::eval_mod, &circuits::bootstrap_eval_mod::together);
  bind_option(type, "iterations", &options::iterations, &circuits::bootstrap_iterations::count);
  bind_choice(type, "iteration_bits", &options::iterations, &circuits::bootstrap_iterations::bits);
}

void bind_options(nb::module_& module) {
  options_class type(module, "BootstrapOptions");
  type.def(nb::init<>());
  type.def_prop_rw(
      "slots", [](const bootstrap_options& o) { return o.slots.value_or(0); },
      [](bootstrap_options& o, std::uint32_t slots) { o.slots = unless_zero(slots); });
  type.def_prop_rw(
      "stc_first", [](const bootstrap_options& o) { return o.order == circuits::bootstrap_order::stc_first; },
      [](bootstrap_options& o, bool first) {
        o.order = first ? circuits::bootstrap_order::stc_first : circuits::bootstrap_order::cts_first;
      });
  type.def_rw("real_only", &bootstrap_options::real_only);
  type.def_prop_rw(
      "output_level", [](const bootstrap_options& o) { return o.output_level.value_or(0); },
      [](bootstrap_options& o, unsigned level) { o.output_level = unless_zero(level); });
  bind_groups(type);
  bind_room(type);
}

}  // namespace

void bind_bootstrap(nb::module_& module) {
  bind_options(module);
  nb::class_<bound_bootstrapper>(module, "Bootstrapper")
      .def_static("make", make, nb::arg("engine"), nb::arg("options"))
      .def_prop_ro("requests", requests_of)
      .def_prop_ro("seeded_keys", [](const bound_bootstrapper& b) { return b.value->seeded_keys(); })
      .def_prop_ro("options", [](const bound_bootstrapper& b) { return b.value->options(); })
      .def("describe", describe);
  auto engine = nb::borrow<nb::class_<bound_engine>>(module.attr("Engine"));
  engine.def("bootstrap", apply, nb::arg("bootstrapper"), nb::arg("inputs"));
}

}  // namespace halocline::python
