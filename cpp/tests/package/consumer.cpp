// SPDX-License-Identifier: Apache-2.0
// Encrypts, multiplies, rotates and decrypts with nothing but the public headers.
#include <halocline/halocline.hpp>

#include <cmath>
#include <complex>
#include <cstdio>
#include <vector>

int main() {
  namespace ckks = halocline::ckks;
  const auto parameters = halocline::params::preset("test-n10-d3");
  ckks::client client(parameters);
  ckks::engine engine(parameters);
  engine.add_keys(client.make_keys(ckks::key_selection{.rotations = {1}}));

  const std::vector<std::complex<double>> values{0.5, -1.0, 0.25, 2.0};
  const ckks::ciphertext x = engine.load(client.encrypt(values));
  ckks::evaluator& eval = engine.evaluator();
  const ckks::ciphertext y = eval.rotate(eval.multiply(x, x), 1);

  const auto found = client.decrypt(client.receive(y));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::complex<double> v = values[(i + 1) % values.size()];
    if (std::abs(found[i] - v * v) > 1e-3) return 1;
  }
  std::printf("halocline %s, %zu bytes at peak\n", std::string(halocline::version()).c_str(),
              engine.statistics().peak_bytes);
  return 0;
}
