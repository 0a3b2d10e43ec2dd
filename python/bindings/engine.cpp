// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/map.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings.hpp"
#include "halocline/backend/registry.hpp"
#include "halocline/ckks/combinations.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/memory/policy/policy.hpp"

namespace halocline::python {
namespace {

using ckks::evaluator;

bound_engine make_engine(const params::parameters& p, const std::string& device, std::size_t budget_bytes,
                         const std::string& policy, unsigned threads, bool keep_seeds,
                         const memory::runtime_options& memory) {
  ckks::engine_options options;
  options.device = device;
  options.threads = unless_zero(threads);
  options.keep_seeds = keep_seeds;
  options.memory = with_budget(memory, budget_bytes, policy);
  const released meanwhile;
  auto engine = std::make_unique<ckks::engine>(p, options);
  const auto where = std::make_shared<domain>(engine->context_handle());
  return {where, own(where, std::move(engine))};
}

void bind_key(bound_engine& self, const bound_keys& keys) {
  locked(*self.where, [&] { self.value->bind_key(keys.value.id()); });
}

void add_key(bound_engine& self, const bound_keys& keys, std::uint64_t galois_element) {
  locked(*self.where, *keys.where, [&] { self.value->add_key(keys.value.keys().at(galois_element)); });
}

void keep_more_seeds(bound_engine& self, const std::vector<std::uint64_t>& elements) {
  locked(*self.where, [&] { self.value->keep_more_seeds({elements.begin(), elements.end()}); });
}

void keep_seeds_of(bound_engine& self, const std::vector<std::uint64_t>& elements) {
  locked(*self.where, [&] { self.value->keep_seeds_of({elements.begin(), elements.end()}); });
}

void prepare_keys(bound_engine& self, const std::vector<std::tuple<std::uint64_t, unsigned>>& rows) {
  std::vector<ckks::key_request> requests;
  for (const auto& [element, level] : rows) requests.push_back({element, level});
  locked(*self.where, [&] { self.value->prepare_keys(requests); });
}

bound_ciphertext load(bound_engine& self, const bound_ciphertext& ct) {
  return locked(*self.where, *ct.where, [&] {
    return bound_ciphertext{self.where, self.value->load(ct.value)};
  });
}

std::vector<std::tuple<std::uint64_t, unsigned>> rows_of(const std::vector<ckks::key_request>& requests) {
  std::vector<std::tuple<std::uint64_t, unsigned>> rows;
  for (const ckks::key_request& each : requests) rows.emplace_back(each.galois_element, each.level);
  return rows;
}

nb::dict statistics(const bound_engine& self) {
  const memory::stats s = self.where->ctx->runtime().statistics();
  nb::dict live, peak;
  for (std::size_t i = 0; i < memory::object_class_count; ++i) {
    const std::string name(to_string(static_cast<memory::object_class>(i)));
    live[name.c_str()] = s.live_by_class[i];
    peak[name.c_str()] = s.peak_by_class[i];
  }
  nb::dict out;
  out["live_bytes"] = s.live_bytes;
  out["peak_bytes"] = s.peak_bytes;
  out["cached_bytes"] = s.cached_bytes;
  out["fast_bytes"] = s.fast_bytes;
  out["peak_fast_bytes"] = s.peak_fast_bytes;
  out["repairs"] = s.moved.repairs;
  out["repaired_bytes"] = s.moved.repaired_bytes;
  out["losses"] = s.moved.losses;
  out["lost_bytes"] = s.moved.lost_bytes;
  out["allocations"] = s.allocations;
  out["frees"] = s.frees;
  out["live_buffers"] = s.live_buffers;
  out["steps"] = s.steps;
  out["largest_step_bytes"] = s.largest_step_bytes;
  out["live_by_class"] = live;
  out["peak_by_class"] = peak;
  return out;
}

nb::dict describe_engine(const bound_engine& self) {
  const backend::capability c = self.where->ctx->device().describe();
  nb::dict out;
  out["device"] = c.device;
  out["simd"] = c.simd;
  out["threads"] = c.threads;
  out["memory_bytes"] = c.memory_bytes;
  return out;
}

void bind_additions(nb::class_<bound_engine>& type) {
  using ct = const bound_ciphertext&;
  using engine = bound_engine&;
  type.def(
          "add",
          [](engine e, ct a, ct b) {
            return evaluate(e, [&](evaluator& v) { return v.add(a.value, b.value); });
          },
          nb::arg("a"), nb::arg("b"))
      .def(
          "sub",
          [](engine e, ct a, ct b) {
            return evaluate(e, [&](evaluator& v) { return v.sub(a.value, b.value); });
          },
          nb::arg("a"), nb::arg("b"))
      .def(
          "negate",
          [](engine e, ct a) { return evaluate(e, [&](evaluator& v) { return v.negate(a.value); }); },
          nb::arg("a"))
      .def(
          "add_values",
          [](engine e, ct a, const complex_array& b) {
            return evaluate(e, [&](evaluator& v) { return v.add_values(a.value, span_of(b)); });
          },
          nb::arg("a"), nb::arg("values"))
      .def(
          "add_constant",
          [](engine e, ct a, std::complex<double> c) {
            return evaluate(e, [&](evaluator& v) { return v.add_constant(a.value, c); });
          },
          nb::arg("a"), nb::arg("constant"));
}

void bind_products(nb::class_<bound_engine>& type) {
  using ct = const bound_ciphertext&;
  using engine = bound_engine&;
  type.def(
          "multiply",
          [](engine e, ct a, ct b) {
            return evaluate(e, [&](evaluator& v) { return v.multiply(a.value, b.value); });
          },
          nb::arg("a"), nb::arg("b"))
      .def(
          "unfinished_product",
          [](engine e, ct a, ct b) {
            return evaluate(e, [&](evaluator& v) { return v.unfinished_product(a.value, b.value); });
          },
          nb::arg("a"), nb::arg("b"))
      .def(
          "multiply_values",
          [](engine e, ct a, const complex_array& b) {
            return evaluate(e, [&](evaluator& v) { return v.multiply_values(a.value, span_of(b)); });
          },
          nb::arg("a"), nb::arg("values"))
      .def(
          "multiply_constant",
          [](engine e, ct a, std::complex<double> c) {
            return evaluate(e, [&](evaluator& v) { return v.multiply_constant(a.value, c); });
          },
          nb::arg("a"), nb::arg("constant"))
      .def(
          "multiply_by_i",
          [](engine e, ct a) { return evaluate(e, [&](evaluator& v) { return v.multiply_by_i(a.value); }); },
          nb::arg("a"));
}

void bind_sums_of_products(nb::class_<bound_engine>& type) {
  using ct = const bound_ciphertext&;
  using cts = const std::vector<const bound_ciphertext*>&;
  using engine = bound_engine&;
  type.def(
          "dot",
          [](engine e, cts a, cts b) {
            return evaluate(e, [&](evaluator& v) { return v.dot(pointers_to(a), pointers_to(b)); });
          },
          nb::arg("a"), nb::arg("b"))
      .def(
          "combine",
          [](engine e, cts a, const std::vector<std::vector<double>>& rows, unsigned level) {
            return evaluate_many(
                e, [&](evaluator& v) { return ckks::combinations(v, pointers_to(a), rows, level); });
          },
          nb::arg("values"), nb::arg("rows"), nb::arg("level"))
      .def(
          "unfinished_dot",
          [](engine e, cts a, cts b) {
            return evaluate(e,
                            [&](evaluator& v) { return v.unfinished_dot(pointers_to(a), pointers_to(b)); });
          },
          nb::arg("a"), nb::arg("b"))
      .def(
          "finish_product",
          [](engine e, ct a) { return evaluate(e, [&](evaluator& v) { return v.finish_product(a.value); }); },
          nb::arg("a"));
}

/// The scale at which a number is encoded that a ciphertext is multiplied by.
double plain_scale(bound_engine& self, const bound_ciphertext& a) {
  return locked(*self.where, [&] { return evaluator_here(self).plain_scale(a.value); });
}

bool is_manual(bound_engine& self) {
  return locked(*self.where, [&] { return self.where->manual.contains(std::this_thread::get_id()); });
}

void set_manual(bound_engine& self, bool manual) {
  locked(*self.where, [&] {
    if (manual) {
      self.where->manual.insert(std::this_thread::get_id());
    } else {
      self.where->manual.erase(std::this_thread::get_id());
    }
  });
}

void bind_maintenance(nb::class_<bound_engine>& type) {
  using ct = const bound_ciphertext&;
  using engine = bound_engine&;
  type.def(
          "relinearize",
          [](engine e, ct a) { return evaluate(e, [&](evaluator& v) { return v.relinearize(a.value); }); },
          nb::arg("a"))
      .def(
          "rescale",
          [](engine e, ct a) { return evaluate(e, [&](evaluator& v) { return v.rescale(a.value); }); },
          nb::arg("a"))
      .def(
          "drop_level",
          [](engine e, ct a, unsigned level) {
            return evaluate(e, [&](evaluator& v) { return v.drop_level(a.value, level); });
          },
          nb::arg("a"), nb::arg("level"))
      .def(
          "adjust",
          [](engine e, ct a, unsigned level, double scale) {
            return evaluate(e, [&](evaluator& v) { return v.adjust(a.value, level, scale); });
          },
          nb::arg("a"), nb::arg("level"), nb::arg("scale"))
      .def(
          "with_slots",
          [](engine e, ct a, std::uint32_t slots) {
            return evaluate(e, [&](evaluator& v) { return ckks::with_slots(v.context(), a.value, slots); });
          },
          nb::arg("a"), nb::arg("slots"))
      .def("plain_scale", plain_scale, nb::arg("a"))
      .def_prop_rw("manual", is_manual, set_manual);
}

void bind_rotations(nb::class_<bound_engine>& type) {
  using ct = const bound_ciphertext&;
  using engine = bound_engine&;
  type.def(
          "rotate",
          [](engine e, ct a, std::int64_t steps) {
            return evaluate(e, [&](evaluator& v) { return v.rotate(a.value, steps); });
          },
          nb::arg("a"), nb::arg("steps"))
      .def(
          "rotate_many",
          [](engine e, ct a, const std::vector<std::int64_t>& steps) {
            return evaluate_many(e, [&](evaluator& v) { return v.rotate_hoisted(a.value, steps); });
          },
          nb::arg("a"), nb::arg("steps"))
      .def(
          "conjugate",
          [](engine e, ct a) { return evaluate(e, [&](evaluator& v) { return v.conjugate(a.value); }); },
          nb::arg("a"))
      .def(
          "inner_sum",
          [](engine e, ct a, std::int64_t stride, std::uint32_t count, unsigned radix) {
            return evaluate(e, [&](evaluator& v) { return v.inner_sum(a.value, stride, count, radix); });
          },
          nb::arg("a"), nb::arg("stride"), nb::arg("count"), nb::arg("radix") = 2)
      .def(
          "sum_rotations",
          [](engine e, ct a, const std::vector<std::int64_t>& steps) {
            return evaluate(e, [&](evaluator& v) { return v.sum_rotations(a.value, steps); });
          },
          nb::arg("a"), nb::arg("steps"));
}

void bind_keys(nb::class_<bound_engine>& type) {
  type.def("keep_seeds_of", keep_seeds_of, nb::arg("galois_elements"))
      .def("keep_more_seeds", keep_more_seeds, nb::arg("galois_elements"))
      .def_prop_ro("key_id", [](const bound_engine& self) { return known(self.value->id()); })
      .def("bind_key", bind_key, nb::arg("keys"))
      .def("add_key", add_key, nb::arg("keys"), nb::arg("galois_element"))
      .def("list_keys",
           [](bound_engine& self) {
             return rows_of(locked(*self.where, [&] { return self.value->keys().list(); }));
           })
      .def("held_keys",
           [](const bound_engine& self) {
             return rows_of(locked(*self.where, [&] { return self.value->held_keys(); }));
           })
      .def("needed_keys",
           [](const bound_engine& self) {
             return rows_of(locked(*self.where, [&] { return self.value->needed_keys(); }));
           })
      .def("needed_keys_in_order",
           [](const bound_engine& self) { return rows_of(self.value->needed_keys_in_order()); })
      .def("prepare_keys", prepare_keys, nb::arg("requests"));
}

/// What the sequence of steps depends on besides the program.
void bind_blocking(nb::class_<bound_engine>& type) {
  type.def_prop_rw(
          "cache_bytes", [](const bound_engine& self) { return self.value->context().cache_bytes(); },
          [](const bound_engine& self, std::size_t bytes) { self.value->context().set_cache_bytes(bytes); })
      .def_prop_rw(
          "joining_budget", [](const bound_engine& self) { return self.value->context().joining_budget(); },
          [](const bound_engine& self, std::optional<std::size_t> bytes) {
            locked(*self.where, [&] { self.value->context().set_joining_budget(bytes); });
          },
          nb::arg().none());
}

}  // namespace

void bind_engine(nb::module_& module) {
  nb::class_<bound_engine> type(module, "Engine");
  type.def_static("make", make_engine, nb::arg("params"), nb::arg("device"), nb::arg("budget_bytes"),
                  nb::arg("policy"), nb::arg("threads"), nb::arg("keep_seeds"), nb::arg("memory"))
      .def_prop_ro("params", [](const bound_engine& self) { return self.value->parameters(); })
      .def_prop_ro("is_ghost", [](const bound_engine& self) { return self.value->is_ghost(); })
      .def("load", load, nb::arg("ciphertext"))
      .def(
          "ghost_input",
          [](bound_engine& self, unsigned level, double scale, std::uint32_t slots) {
            return locked(*self.where, [&] {
              return bound_ciphertext{self.where, self.value->ghost_input(level, scale, slots)};
            });
          },
          nb::arg("level"), nb::arg("scale"), nb::arg("slots"))
      .def("statistics", statistics)
      .def("reset_peak", [](bound_engine& self) { self.where->ctx->runtime().reset_peak(); })
      .def("trim", [](bound_engine& self) { self.where->ctx->runtime().trim(); })
      .def("describe", describe_engine);
  bind_blocking(type);
  bind_keys(type);
  bind_additions(type);
  bind_products(type);
  bind_sums_of_products(type);
  bind_maintenance(type);
  bind_rotations(type);
  module.def("available_devices", [] {
    const released meanwhile;  // devices of SYCL may compile for seconds
    return backend::available_devices();
  });
  module.def("use_sycl_root", &backend::use_sycl_root, nb::arg("folder"));
  module.def("sycl_problem", [] {
    const released meanwhile;
    return backend::sycl_problem();
  });
  module.def("policy_names", &memory::policy_names);
  module.def("sum_stages", &ckks::sum_stages, nb::arg("stride"), nb::arg("count"), nb::arg("radix"));
}

}  // namespace halocline::python
