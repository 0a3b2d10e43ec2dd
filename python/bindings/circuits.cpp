// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/tuple.h>

#include <map>

#include "bindings.hpp"
#include "halocline/circuits/chebyshev.hpp"
#include "halocline/circuits/comparison.hpp"
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

/// Cells with every diagonal repeated until it has one value for each slot.
std::vector<std::vector<diagonal_map>> to_cells(const plain_cells& plain, std::uint32_t slots) {
  std::vector<std::vector<diagonal_map>> cells;
  for (const auto& row : plain) {
    auto& out = cells.emplace_back();
    for (const auto& cell : row) {
      auto& diagonals = out.emplace_back();
      for (const auto& [index, values] : cell) {
        const auto all = span_of(values);
        complex_values& repeated = diagonals[index];
        repeated.reserve(slots);
        while (repeated.size() < slots) repeated.insert(repeated.end(), all.begin(), all.end());
      }
    }
  }
  return cells;
}

bound_grid make_grid(bound_engine& engine, const plain_cells& plain, const std::string& mode, unsigned level,
                     std::uint32_t slots, unsigned baby_count, bool compact) {
  const circuits::transform_options options{mode_of(mode), level, slots, baby_count, compact};
  return locked(*engine.where, [&] {
    return bound_grid{engine.where, std::make_unique<transform_grid>(engine.value->evaluate(),
                                                                     to_cells(plain, slots), options)};
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

circuits::polynomial to_polynomial(const complex_array& coefficients, bool chebyshev, double lower,
                                   double upper) {
  const auto all = span_of(coefficients);
  return {chebyshev ? circuits::polynomial_basis::chebyshev : circuits::polynomial_basis::monomial,
          complex_values(all.begin(), all.end()), lower, upper};
}

/// (coefficients, largest error found, where)
auto chebyshev_fit(const std::function<double(double)>& f, double lower, double upper, unsigned degree) {
  const circuits::chebyshev_fit fit = circuits::chebyshev_interpolate(f, lower, upper, degree);
  return std::tuple(to_numpy(fit.series.coefficients), fit.max_error, fit.worst_x);
}

void bind_polynomials(nb::module_& module) {
  auto engine = nb::borrow<nb::class_<bound_engine>>(module.attr("Engine"));
  engine.def(
      "polynomial",
      [](bound_engine& e, const bound_ciphertext& x, const complex_array& coefficients, bool chebyshev,
         double lower, double upper, std::optional<unsigned> level) {
        const circuits::polynomial p = to_polynomial(coefficients, chebyshev, lower, upper);
        return evaluate(e, [&](ckks::evaluator& v) { return circuits::evaluate(v, p, x.value, {level}); });
      },
      nb::arg("x"), nb::arg("coefficients"), nb::arg("chebyshev"), nb::arg("lower"), nb::arg("upper"),
      nb::arg("level").none());
  module.def(
      "polynomial_levels",
      [](const complex_array& coefficients, bool chebyshev, double lower, double upper) {
        return circuits::levels(to_polynomial(coefficients, chebyshev, lower, upper));
      },
      nb::arg("coefficients"), nb::arg("chebyshev"), nb::arg("lower"), nb::arg("upper"));
  module.def("chebyshev_fit", chebyshev_fit, nb::arg("function"), nb::arg("lower"), nb::arg("upper"),
             nb::arg("degree"));
}

void bind_comparisons(nb::module_& module) {
  auto engine = nb::borrow<nb::class_<bound_engine>>(module.attr("Engine"));
  using one = ckks::ciphertext (*)(ckks::evaluator&, const ckks::ciphertext&, const circuits::composite_sign&,
                                   double);
  using two = ckks::ciphertext (*)(ckks::evaluator&, const ckks::ciphertext&, const ckks::ciphertext&,
                                   const circuits::composite_sign&, double);
  const std::map<const char*, one> unary{
      {"sign", circuits::sign}, {"step", circuits::step}, {"relu", circuits::relu}};
  for (const auto& [name, function] : unary) {
    engine.def(
        name,
        [function = function](bound_engine& e, const bound_ciphertext& x, int alpha, double range) {
          const circuits::composite_sign& chain = circuits::minimax_sign(alpha);
          return evaluate(e, [&](ckks::evaluator& v) { return function(v, x.value, chain, range); });
        },
        nb::arg("x"), nb::arg("alpha"), nb::arg("range"));
  }
  const std::map<const char*, two> binary{
      {"compare", circuits::compare}, {"maximum", circuits::maximum}, {"minimum", circuits::minimum}};
  for (const auto& [name, function] : binary) {
    engine.def(
        name,
        [function = function](bound_engine& e, const bound_ciphertext& a, const bound_ciphertext& b,
                              int alpha, double range) {
          const circuits::composite_sign& chain = circuits::minimax_sign(alpha);
          return evaluate(e, [&](ckks::evaluator& v) { return function(v, a.value, b.value, chain, range); });
        },
        nb::arg("a"), nb::arg("b"), nb::arg("alpha"), nb::arg("range"));
  }
  module.def("sign_alphas", circuits::minimax_sign_alphas);
  module.def(
      "sign_levels",
      [](int alpha, double range) {
        return circuits::comparison_levels(circuits::comparison_kind::sign, circuits::minimax_sign(alpha),
                                           range);
      },
      nb::arg("alpha"), nb::arg("range"));
  module.def(
      "sign_epsilon", [](int alpha) { return circuits::minimax_sign(alpha).epsilon; }, nb::arg("alpha"));
}

}  // namespace

void bind_circuits(nb::module_& module) {
  bind_transforms(module);
  bind_polynomials(module);
  bind_comparisons(module);
}

}  // namespace halocline::python
