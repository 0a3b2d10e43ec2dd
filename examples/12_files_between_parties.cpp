// SPDX-License-Identifier: Apache-2.0
// A client and a server that exchange container files, with exactly the keys of a ghost run.
#include <cmath>
#include <complex>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <vector>

#include "halocline/halocline.hpp"

namespace {

namespace ckks = halocline::ckks;
namespace io = halocline::io;
using values = std::vector<std::complex<double>>;

/// The sum of the squares of 16 slots. Known to both parties.
ckks::ciphertext program(ckks::evaluator& eval, const ckks::ciphertext& x) {
  return eval.inner_sum(eval.square(x), 1, 16);
}

/// Runs the program on shapes: no arithmetic, no data, no keys. What it asks for is what it needs.
std::vector<ckks::key_request> plan_keys(const halocline::params::parameters& parameters, unsigned level) {
  ckks::engine_options options;
  options.device = "ghost";
  ckks::engine ghost(parameters, options);
  (void)program(ghost.evaluator(), ghost.ghost_input(level, parameters.level(level).scale, 16));
  return ghost.needed_keys();
}

/// The server: reads keys and request, writes the answer. It has no secret and does not know the values.
void serve(const std::filesystem::path& folder) {
  const auto parameters = io::load_parameters(io::input(folder / "keys.hlc"));
  ckks::engine engine(parameters);
  // Files are read and checked in a context on the CPU, then copied to the device.
  const auto host = ckks::make_host_context(parameters);
  engine.add_keys(io::load_evaluation_keys(io::input(folder / "keys.hlc"), *host));
  const auto request = engine.load(io::load_ciphertext(io::input(folder / "request.hlc"), *host));
  io::save(io::output(folder / "answer.hlc"), engine.context(), program(engine.evaluator(), request));
}

void run(const std::filesystem::path& folder) {
  const auto parameters = halocline::params::preset("n13-d3");
  const auto requests = plan_keys(parameters, parameters.max_level());
  for (const ckks::key_request& each : requests) {
    std::printf("needed up to level %u: %s\n", each.level,
                ckks::describe_key(parameters, each.galois_element).c_str());
  }

  ckks::client client(parameters);
  io::save(io::output(folder / "keys.hlc"), client.context(), client.make_keys(requests));
  values x(16);
  double expected = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<double>(i) / 16;
    expected += std::norm(x[i]);
  }
  io::save(io::output(folder / "request.hlc"), client.context(), client.encrypt(x));
  serve(folder);

  const auto answer = io::load_ciphertext(io::input(folder / "answer.hlc"), client.context());
  const double sum = client.decrypt(answer)[0].real();
  std::printf("sum of squares: %.6f, in the clear %.6f\n", sum, expected);
  if (std::abs(sum - expected) > 1e-4) throw halocline::error("the answer is wrong");
}

}  // namespace

int main() {
  const auto folder = std::filesystem::temp_directory_path() / "halocline_example_12";
  try {
    std::filesystem::create_directories(folder);
    run(folder);
    std::filesystem::remove_all(folder);
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "failed: %s\n", failure.what());
    return 1;
  }
}
