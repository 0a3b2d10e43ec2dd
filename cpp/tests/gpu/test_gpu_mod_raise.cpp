// SPDX-License-Identifier: Apache-2.0
// ModRaise on the GPU gives the integers that the CPU gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <random>
#include <string>
#include <vector>

#include "halocline/backend/registry.hpp"
#include "halocline/ckks/client.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/engine.hpp"
#include "halocline/params/presets.hpp"

namespace halocline::ckks {
namespace {

class GpuModRaise : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::vector<std::string> devices = backend::available_devices();
    if (std::find(devices.begin(), devices.end(), "cuda:0") == devices.end()) GTEST_SKIP() << "no GPU";
  }

  [[nodiscard]] static std::vector<std::byte> bytes_of(engine& server, const ciphertext& value) {
    std::vector<std::byte> bytes;
    for (const ring::poly& part : value.parts) {
      std::vector<std::byte> each(part.data().size());
      server.context().device().download(each, part.data(), 0);
      bytes.insert(bytes.end(), each.begin(), each.end());
    }
    return bytes;
  }
};

TEST_P(GpuModRaise, GivesTheIntegersOfTheCpu) {
  const params::parameters parameters = params::preset(GetParam());
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  client owner(parameters);
  key_selection selection;
  selection.relinearization = false;
  selection.encapsulation = true;
  const memory_key_set keys = owner.make_keys(selection);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<ciphertext> inputs;
  for (const unsigned level : {0U, 2U}) {
    std::vector<std::complex<double>> values(parameters.slots());
    for (auto& value : values) value = {uniform(random), uniform(random)};
    encrypt_options options;
    options.level = level;
    inputs.push_back(owner.encrypt(values, options));
  }
  const auto run = [&](const char* device, bool keep_seeds) {
    engine_options options;
    options.device = device;
    options.keep_seeds = keep_seeds;
    engine server(parameters, options);
    server.add_keys(keys);
    std::vector<ciphertext> loaded;
    std::vector<const ciphertext*> operands;
    for (const ciphertext& each : inputs) loaded.push_back(server.load(each));
    for (const ciphertext& each : loaded) operands.push_back(&each);
    std::vector<std::vector<std::byte>> results;
    for (const ciphertext& each : server.evaluator().mod_raise(operands, parameters.top_level())) {
      results.push_back(bytes_of(server, each));
    }
    return results;
  };
  const auto expected = run("cpu", false);
  EXPECT_EQ(run("cuda:0", false), expected);
  EXPECT_EQ(run("cuda:0", true), expected);
}

INSTANTIATE_TEST_SUITE_P(Presets, GpuModRaise,
                         testing::Values("test-n11-boot", "test-n11-boot64", "n16-boot", "FGa-boot"),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace halocline::ckks
