// SPDX-License-Identifier: Apache-2.0
#include <tuple>

#include <nanobind/stl/tuple.h>

#include "bindings.hpp"
#include "halocline/ckks/context.hpp"

namespace halocline::python {
namespace {

/// (Galois element, level) of every key, ascending.
std::vector<std::tuple<std::uint64_t, unsigned>> list_keys(const bound_keys& keys) {
  std::vector<std::tuple<std::uint64_t, unsigned>> rows;
  for (const ckks::key_request& each : keys.value.list()) rows.emplace_back(each.galois_element, each.level);
  return rows;
}

}  // namespace

void bind_keys(nb::module_& module) {
  nb::class_<bound_keys>(module, "EvaluationKeys")
      .def_prop_ro("params", [](const bound_keys& keys) { return keys.where->ctx->parameters(); })
      .def_prop_ro("key_id", [](const bound_keys& keys) { return known(keys.value.id()); })
      .def_prop_ro("nbytes", [](const bound_keys& keys) { return keys.value.bytes(); })
      .def("list", list_keys);
  nb::class_<bound_public_key>(module, "PublicKey")
      .def_prop_ro("params", [](const bound_public_key& key) { return key.where->ctx->parameters(); })
      .def_prop_ro("key_id", [](const bound_public_key& key) { return known(key.value->id); })
      .def_prop_ro("nbytes", [](const bound_public_key& key) {
        return key.value->b.data().size() + key.value->a.data().size();
      });
  module.def(
      "describe_key",
      [](const params::parameters& p, std::uint64_t galois_element) {
        return ckks::describe_key(p, galois_element);
      },
      nb::arg("params"), nb::arg("galois_element"));
  module.def("largest_key_element", &ckks::largest_key_element, nb::arg("params"));
}

}  // namespace halocline::python
