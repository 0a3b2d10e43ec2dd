// SPDX-License-Identifier: Apache-2.0
// Transforms of the largest rings, whose first stages are two passes through global memory: the conformance
// suite ends at N = 2^16.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>
#include <thread>

#include "conformance/backend_ops/ops_fixture.hpp"
#include "halocline/backend/registry.hpp"

namespace halocline::test {
namespace {

template <typename WordT>
void compare_with_the_specification(unsigned log_n, std::uint64_t seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", N = 2^" << log_n);
  host_ring<WordT> host(log_n);
  host.primes.resize(3);  // tables of more would take longer than the rest
  const arith::window w{1, 2};
  backend::backend_options specification;
  specification.scalar = true;
  limbs<WordT> forward;
  for (const auto& device : {backend::make_backend("cpu", specification), backend::make_backend("sycl:0")}) {
    device_ring<WordT> ring(host, *device);
    std::mt19937_64 random(seed);
    const auto input = random_limbs(host, w, random);
    const backend::limb_view source = ring.filled(w, input), points = ring.poisoned(w);
    device->ntt(ring.tables(), std::vector<backend::unary_job>{{points, source}});
    if (forward.empty()) forward = ring.read(points);
    ASSERT_EQ(ring.read(points), forward);
    device->intt(ring.tables(), std::vector<backend::unary_job>{{points, points}});
    ASSERT_EQ(ring.read(points), input);
    ASSERT_TRUE(ring.guards_intact(points));
  }
}

TEST(SyclNtt, LargestRings) {
  if (std::getenv("HALOCLINE_SYCL_ROOT") == nullptr) GTEST_SKIP() << "HALOCLINE_SYCL_ROOT is not set";
  const std::uint64_t seed = std::random_device{}();
  compare_with_the_specification<std::uint32_t>(17, seed);
  compare_with_the_specification<std::uint64_t>(17, seed);
}

/// Transforms back and forth on a backend of its own; how many results were wrong.
int count_wrong_transforms(std::uint64_t seed, int rounds) {
  const host_ring<std::uint64_t> host(10);
  const auto device = backend::make_backend("sycl:0");
  device_ring<std::uint64_t> ring(host, *device);
  std::mt19937_64 random(seed);
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto input = random_limbs(host, {0, 3}, random);
    const backend::limb_view place = ring.filled({0, 3}, input);
    for (int i = 0; i < 8; ++i) {
      device->ntt(ring.tables(), std::vector<backend::unary_job>{{place, place}});
      device->intt(ring.tables(), std::vector<backend::unary_job>{{place, place}});
    }
    if (ring.read(place) != input) ++wrong;
  }
  return wrong;
}

/// Kernels are shared by all that have opened a device.
TEST(SyclNtt, BackendsInSeveralThreads) {
  if (std::getenv("HALOCLINE_SYCL_ROOT") == nullptr) GTEST_SKIP() << "HALOCLINE_SYCL_ROOT is not set";
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  constexpr int count = 4;
  std::array<int, count> wrong{};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&wrong, seed, i] { wrong[i] = count_wrong_transforms(seed + i, 50); });
  }
  for (std::thread& each : threads) each.join();
  for (int i = 0; i < count; ++i) EXPECT_EQ(wrong[i], 0) << "thread " << i;
}

}  // namespace
}  // namespace halocline::test
