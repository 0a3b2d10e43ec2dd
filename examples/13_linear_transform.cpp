// SPDX-License-Identifier: Apache-2.0
// A plain matrix times an encrypted vector, within a memory budget, and a polynomial of the result.
#include <cmath>
#include <complex>
#include <cstdio>
#include <exception>
#include <vector>

#include "halocline/halocline.hpp"

namespace {

namespace ckks = halocline::ckks;
namespace circuits = halocline::circuits;

constexpr std::size_t rows = 4;
constexpr std::size_t columns = 16;

circuits::dense_matrix make_matrix() {
  circuits::dense_matrix matrix{rows, columns, std::vector<std::complex<double>>(rows * columns)};
  for (std::size_t i = 0; i < matrix.entries.size(); ++i) {
    matrix.entries[i] = std::sin(static_cast<double>(i));
  }
  return matrix;
}

/// 1 + 2 t + t^3, the activation after the matrix.
const circuits::polynomial activation{circuits::polynomial_basis::monomial, {1.0, 2.0, 0.0, 1.0}};

void run() {
  const auto parameters = halocline::params::preset("n14-d7");
  ckks::engine_options options;
  options.memory.budget_bytes = halocline::parse_bytes("128MiB");
  ckks::engine engine(parameters, options);
  ckks::client client(parameters);

  // Weights are encoded once, for the level and number of slots of the input.
  const circuits::dense_matrix matrix = make_matrix();
  circuits::transform_options how;
  how.slots = columns;
  how.mode = circuits::transform_mode::double_hoisted;
  const circuits::matrix_vector layer(engine.evaluator(), matrix, how);

  // Every circuit states the keys that it needs.
  auto requests = layer.key_requests();
  for (const auto& each : circuits::key_requests(activation, layer.transform().level() - 1)) {
    requests.push_back(each);
  }
  engine.add_keys(client.make_keys(requests));

  std::vector<std::complex<double>> x(columns);
  for (std::size_t i = 0; i < columns; ++i) x[i] = std::cos(static_cast<double>(i)) / 8;
  const auto input = engine.load(client.encrypt(x));
  const auto output =
      circuits::evaluate(engine.evaluator(), activation, layer.apply(engine.evaluator(), input));
  const auto result = client.decrypt(client.receive(output));

  for (std::size_t row = 0; row < rows; ++row) {
    std::complex<double> sum = 0;
    for (std::size_t column = 0; column < columns; ++column) sum += matrix.at(row, column) * x[column];
    std::printf("row %zu: %.6f, in the clear %.6f\n", row, result[row].real(), activation(sum).real());
    if (std::abs(result[row] - activation(sum)) > 1e-5) throw halocline::error("the result is wrong");
  }
  const auto counters = engine.statistics();
  std::printf("%zu keys, level %u to %u, peak %s of %s\n", requests.size(), input.level, output.level,
              halocline::format_bytes(counters.peak_bytes).c_str(),
              halocline::format_bytes(options.memory.budget_bytes).c_str());
}

}  // namespace

int main() {
  try {
    run();
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "failed: %s\n", failure.what());
    return 1;
  }
}
