// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/map.h>
#include <nanobind/stl/tuple.h>

#include <functional>
#include <map>
#include <tuple>

#include "bindings.hpp"
#include "halocline/circuits/chebyshev.hpp"
#include "halocline/circuits/comparison.hpp"
#include "halocline/circuits/convolution.hpp"
#include "halocline/circuits/linear_transform.hpp"
#include "halocline/circuits/matmul.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::python {
namespace {

using circuits::diagonal_map;
using circuits::transform_grid;

/// A circuit with its weights encoded for one engine and input level.
struct bound_circuit {
  std::shared_ptr<domain> where;
  std::function<std::vector<ckks::ciphertext>(ckks::evaluator&, std::span<const ckks::ciphertext* const>)>
      apply;
  std::vector<ckks::key_request> requests;
  circuits::transform_cost cost;
  std::size_t bytes = 0;
};

using plain_cells = std::vector<std::vector<std::map<int, complex_array>>>;
using complex_matrix = nb::ndarray<const std::complex<double>, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using real_tensor = nb::ndarray<const double, nb::ndim<4>, nb::c_contig, nb::device::cpu>;

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

struct encoding {
  std::string mode;
  unsigned level = 0;
  std::uint32_t slots = 0;
  unsigned baby_count = 0;
  bool compact = false;

  [[nodiscard]] circuits::transform_options options() const {
    return {transform_mode_of(mode), level, unless_zero(slots), unless_zero(baby_count), compact};
  }
};

/// Encodes a circuit on an engine: `make(evaluator)` returns it, `grid_of` its grid or transform.
template <typename MakeT, typename GridT>
bound_circuit encode(bound_engine& engine, MakeT make, GridT grid_of) {
  return locked(*engine.where, [&] {
    ckks::evaluator& eval = evaluator_here(engine);
    auto circuit = std::make_shared<decltype(make(eval))>(make(eval));
    const auto apply = [circuit](ckks::evaluator& on, std::span<const ckks::ciphertext* const> inputs) {
      if constexpr (requires { circuit->apply(on, *inputs.front()); }) {
        HALOCLINE_EXPECTS(inputs.size() == 1, invalid_argument, "circuit: ", inputs.size(),
                          " inputs, expected 1");
        std::vector<ckks::ciphertext> one;
        one.push_back(circuit->apply(on, *inputs.front()));
        return one;
      } else {
        return circuit->apply(on, inputs);
      }
    };
    const auto& grid = grid_of(*circuit);
    return bound_circuit{engine.where, apply, circuit->key_requests(), grid.cost(), grid.bytes()};
  });
}

bound_circuit make_grid(bound_engine& engine, const encoding& how, const plain_cells& plain) {
  return encode(
      engine,
      [&](ckks::evaluator& eval) { return transform_grid(eval, to_cells(plain, how.slots), how.options()); },
      [](const transform_grid& grid) -> const transform_grid& { return grid; });
}

bound_circuit make_convolution(bound_engine& engine, const encoding& how, const real_tensor& weights,
                               const std::vector<double>& bias, std::uint32_t stride,
                               const std::vector<std::uint32_t>& layout) {
  const auto size = [&](std::size_t axis) { return static_cast<std::uint32_t>(weights.shape(axis)); };
  HALOCLINE_EXPECTS(size(2) == size(3) && layout.size() == 5, invalid_argument, "convolution: a kernel of ",
                    size(2), " x ", size(3), ", expected a square");
  const circuits::convolution_weights plain{
      size(0), size(1), size(2), std::vector<double>(weights.data(), weights.data() + weights.size()), bias};
  const circuits::image_layout input{layout[0], layout[1], layout[2], layout[3], layout[4]};
  return encode(
      engine,
      [&](ckks::evaluator& eval) {
        return circuits::convolution(eval, plain, input, {stride, how.options()});
      },
      [](const circuits::convolution& c) -> const transform_grid& { return c.grid(); });
}

circuits::dense_matrix to_matrix(const complex_matrix& matrix) {
  return {matrix.shape(0), matrix.shape(1), complex_values(matrix.data(), matrix.data() + matrix.size())};
}

bound_circuit make_matrix_vector(bound_engine& engine, const encoding& how, const complex_matrix& matrix) {
  return encode(
      engine,
      [&](ckks::evaluator& eval) { return circuits::matrix_vector(eval, to_matrix(matrix), how.options()); },
      [](const circuits::matrix_vector& m) -> const circuits::linear_transform& { return m.transform(); });
}

bound_circuit make_block_matmul(bound_engine& engine, const encoding& how,
                                const std::vector<std::vector<complex_matrix>>& matrices, std::uint32_t block,
                                bool fold) {
  std::vector<std::vector<circuits::dense_matrix>> plain;
  for (const auto& row : matrices) {
    auto& out = plain.emplace_back();
    for (const complex_matrix& each : row) out.push_back(to_matrix(each));
  }
  return encode(
      engine,
      [&](ckks::evaluator& eval) {
        return circuits::block_matmul(eval, plain, {block, fold, how.options()});
      },
      [](const circuits::block_matmul& m) -> const transform_grid& { return m.grid(); });
}

std::vector<bound_ciphertext> apply_circuit(bound_engine& engine, const bound_circuit& circuit,
                                            const std::vector<const bound_ciphertext*>& inputs) {
  return evaluate_many(engine, [&](ckks::evaluator& e) { return circuit.apply(e, pointers_to(inputs)); });
}

nb::dict cost_of(const bound_circuit& circuit) {
  nb::dict out;
  out["key_switches"] = circuit.cost.key_switches;
  out["decompositions"] = circuit.cost.decompositions;
  out["divisions"] = circuit.cost.divisions;
  out["plaintext_products"] = circuit.cost.plaintext_products;
  out["keys"] = circuit.cost.keys;
  return out;
}

/// (Galois element, level) of every key that the circuit uses.
std::vector<std::tuple<std::uint64_t, unsigned>> circuit_requests(const bound_circuit& circuit) {
  std::vector<std::tuple<std::uint64_t, unsigned>> rows;
  for (const ckks::key_request& each : circuit.requests) rows.emplace_back(each.galois_element, each.level);
  return rows;
}

void bind_transforms(nb::module_& module) {
  nb::class_<encoding>(module, "Encoding")
      .def(nb::init<std::string, unsigned, std::uint32_t, unsigned, bool>(), nb::arg("mode"),
           nb::arg("level"), nb::arg("slots"), nb::arg("baby_count"), nb::arg("compact"));
  nb::class_<bound_circuit>(module, "Circuit")
      .def_static("grid", make_grid, nb::arg("engine"), nb::arg("how"), nb::arg("cells"))
      .def_static("convolution", make_convolution, nb::arg("engine"), nb::arg("how"), nb::arg("weights"),
                  nb::arg("bias"), nb::arg("stride"), nb::arg("layout"))
      .def_static("matrix_vector", make_matrix_vector, nb::arg("engine"), nb::arg("how"), nb::arg("matrix"))
      .def_static("block_matmul", make_block_matmul, nb::arg("engine"), nb::arg("how"), nb::arg("matrices"),
                  nb::arg("block"), nb::arg("fold"))
      .def_prop_ro("requests", circuit_requests)
      .def_prop_ro("nbytes", [](const bound_circuit& circuit) { return circuit.bytes; })
      .def_prop_ro("cost", cost_of);
  auto engine = nb::borrow<nb::class_<bound_engine>>(module.attr("Engine"));
  engine.def("apply_circuit", apply_circuit, nb::arg("circuit"), nb::arg("inputs"));
}

circuits::polynomial to_polynomial(const complex_array& coefficients, bool chebyshev, double lower,
                                   double upper) {
  const auto all = span_of(coefficients);
  return {chebyshev ? circuits::polynomial_basis::chebyshev : circuits::polynomial_basis::monomial,
          complex_values(all.begin(), all.end()), lower, upper};
}

/// (coefficients, largest error found, where)
auto chebyshev_fit(const nb::typed<nb::callable, double(double)>& f, double lower, double upper,
                   unsigned degree) {
  const auto value = [&f](double x) { return call_python([&] { return nb::cast<double>(f(x)); }); };
  const circuits::chebyshev_fit fit = circuits::chebyshev_interpolate(value, lower, upper, degree);
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

circuits::transform_mode transform_mode_of(const std::string& name) {
  using enum circuits::transform_mode;
  std::string known;
  for (const auto mode : {naive, bsgs, double_hoisted, small_key}) {
    if (name == circuits::to_string(mode)) return mode;
    known += text(known.empty() ? "" : ", ", circuits::to_string(mode));
  }
  throw invalid_argument(text("linear transform: unknown mode '", name, "'; expected one of: ", known));
}

void bind_circuits(nb::module_& module) {
  bind_transforms(module);
  bind_polynomials(module);
  bind_comparisons(module);
}

}  // namespace halocline::python
