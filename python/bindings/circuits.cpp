// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/map.h>

#include <map>

#include "bindings.hpp"
#include "halocline/circuits/linear_transform.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::python {
namespace {

using circuits::diagonal_map;
using circuits::transform_grid;

struct bound_grid {
  std::shared_ptr<domain> where;
  std::unique_ptr<transform_grid> value;
};

using plain_cells = std::vector<std::vector<std::map<int, complex_array>>>;

circuits::transform_mode mode_of(const std::string& name) {
  using enum circuits::transform_mode;
  std::string known;
  for (const auto mode : {naive, bsgs, double_hoisted, small_key}) {
    if (name == circuits::to_string(mode)) return mode;
    known += text(known.empty() ? "" : ", ", circuits::to_string(mode));
  }
  throw invalid_argument(text("linear transform: unknown mode '", name, "'; expected one of: ", known));
}

std::vector<std::vector<diagonal_map>> to_cells(const plain_cells& plain) {
  std::vector<std::vector<diagonal_map>> cells;
  for (const auto& row : plain) {
    auto& out = cells.emplace_back();
    for (const auto& cell : row) {
      auto& diagonals = out.emplace_back();
      for (const auto& [index, values] : cell) {
        const auto all = span_of(values);
        diagonals.emplace(index, complex_values(all.begin(), all.end()));
      }
    }
  }
  return cells;
}

bound_grid make_grid(bound_engine& engine, const plain_cells& plain, const std::string& mode, unsigned level,
                     std::uint32_t slots, unsigned baby_count, bool compact) {
  const circuits::transform_options options{mode_of(mode), level, slots, baby_count, compact};
  return locked(*engine.where, [&] {
    return bound_grid{engine.where,
                      std::make_unique<transform_grid>(engine.value->evaluate(), to_cells(plain), options)};
  });
}

std::vector<bound_ciphertext> apply_grid(bound_engine& engine, const bound_grid& grid,
                                         const std::vector<const bound_ciphertext*>& inputs) {
  return evaluate_many(engine, [&](ckks::evaluator& e) { return grid.value->apply(e, pointers_to(inputs)); });
}

nb::dict cost_of(const bound_grid& grid) {
  const circuits::transform_cost cost = grid.value->cost();
  nb::dict out;
  out["key_switches"] = cost.key_switches;
  out["decompositions"] = cost.decompositions;
  out["divisions"] = cost.divisions;
  out["plaintext_products"] = cost.plaintext_products;
  out["keys"] = cost.keys;
  return out;
}

void bind_transforms(nb::module_& module) {
  nb::class_<bound_grid>(module, "TransformGrid")
      .def_static("make", make_grid, nb::arg("engine"), nb::arg("cells"), nb::arg("mode"), nb::arg("level"),
                  nb::arg("slots"), nb::arg("baby_count"), nb::arg("compact"))
      .def_prop_ro("rotations", [](const bound_grid& grid) { return grid.value->required_rotations(); })
      .def_prop_ro("nbytes", [](const bound_grid& grid) { return grid.value->bytes(); })
      .def_prop_ro("cost", cost_of);
  auto engine = nb::borrow<nb::class_<bound_engine>>(module.attr("Engine"));
  engine.def("apply_grid", apply_grid, nb::arg("grid"), nb::arg("inputs"));
}

}  // namespace

void bind_circuits(nb::module_& module) { bind_transforms(module); }

}  // namespace halocline::python
