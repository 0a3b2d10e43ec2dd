// SPDX-License-Identifier: Apache-2.0
#include <hwy/targets.h>

#include <cstdlib>
#include <iostream>

#include "halocline/backend/registry.hpp"
#include "ops_fixture.hpp"

namespace halocline::test {
namespace {

std::shared_ptr<backend::backend> make_cpu(unsigned threads, bool scalar) {
  backend::backend_options options;
  options.threads = threads;
  options.scalar = scalar;
  return backend::make_backend("cpu", options);
}

/// Makes Highway believe that the machine has exactly `targets` (0: what it has).
void pretend(std::int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

/// HALOCLINE_TEST_DEVICE: with the specification, this device alone.
std::vector<device_under_test> chosen_device(const char* name) {
  return {{"scalar", make_cpu(1, true)}, {name, backend::make_backend(name)}};
}

}  // namespace

std::vector<device_under_test> devices_under_test() {
  if (const char* const name = std::getenv("HALOCLINE_TEST_DEVICE")) return chosen_device(name);
  std::vector<device_under_test> devices;
  devices.push_back({"scalar", make_cpu(1, true)});
  const std::int64_t supported = hwy::SupportedTargets();
  for (const std::int64_t target : {HWY_AVX3, HWY_AVX2, HWY_NEON}) {
    if ((supported & target) == 0) continue;
    pretend(target);
    for (const unsigned threads : {1U, 3U}) {
      devices.push_back(
          {std::string(hwy::TargetName(target)) + " x" + std::to_string(threads), make_cpu(threads, false)});
    }
  }
  pretend(0);
  for (const std::string& name : backend::available_devices()) {
    if (name.starts_with("cuda:") || name.starts_with("sycl:"))
      devices.push_back({name, backend::make_backend(name)});
  }
  return devices;
}

std::uint64_t test_seed() {
  static const std::uint64_t seed = [] {
    const char* const given = std::getenv("HALOCLINE_TEST_SEED");
    const std::uint64_t value = given != nullptr ? std::strtoull(given, nullptr, 0) : 20261120;
    std::cout << "seed of the backend conformance data: " << value << " (HALOCLINE_TEST_SEED)\n";
    return value;
  }();
  return seed;
}

}  // namespace halocline::test
