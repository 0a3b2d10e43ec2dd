// SPDX-License-Identifier: Apache-2.0
// Encrypt, compute, decrypt in C++: the round trip of 01_first_steps.py.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <exception>
#include <vector>

#include "halocline/halocline.hpp"

namespace {

using halocline::ckks::ciphertext;
using values = std::vector<std::complex<double>>;

/// (x * x + 0.5) rotated by one slot to the left. Each product takes one level; scales look after themselves.
ciphertext program(halocline::ckks::evaluator& eval, const ciphertext& x) {
  return eval.rotate(eval.add_constant(eval.multiply(x, x), 0.5), 1);
}

values expected_result(const values& x) {
  values result(x.size());
  std::transform(x.begin(), x.end(), result.begin(), [](std::complex<double> v) { return v * v + 0.5; });
  std::rotate(result.begin(), result.begin() + 1, result.end());
  return result;
}

void run() {
  const auto parameters = halocline::params::preset("n14-d7");  // at least 128 bits, or an exception
  halocline::ckks::client client(parameters);                   // owns the secret key
  halocline::ckks::engine engine(parameters);                   // never sees it
  halocline::ckks::key_selection selection;
  selection.rotations = {1};
  engine.add_keys(client.make_keys(selection));

  values x(parameters.slots());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::cos(static_cast<double>(i));

  // Objects live with the party that made them; `load` and `receive` copy them to another one.
  const ciphertext input = engine.load(client.encrypt(x));
  const ciphertext output = program(engine.evaluator(), input);
  const values result = client.decrypt(client.receive(output));

  const auto precision = halocline::ckks::measure_precision(result, expected_result(x));
  std::printf("level %u to %u, %.1f bits of precision, %.1f at worst\n", input.level, output.level,
              precision.mean_bits, precision.worst_bits);
  if (precision.worst_bits < 18) throw halocline::error("the result is not precise enough");

  try {
    (void)engine.evaluator().rotate(input, 5);
  } catch (const halocline::missing_key& missing) {
    std::printf("as expected: %s\n", missing.what());
  }
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
