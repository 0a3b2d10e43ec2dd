// SPDX-License-Identifier: Apache-2.0
#include "halocline/ring/sampler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sodium.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "halocline/arith/uniform_stream.hpp"
#include "halocline/backend/descriptors.hpp"
#include "halocline/core/error.hpp"
#include "support/forked.hpp"
#include "support/message_of.hpp"

namespace halocline::ring {
namespace {

using ::testing::HasSubstr;

// Statistics below are of a fixed stream, so they pass or fail for good; bounds are five standard deviations.
const backend::seed_bytes seed{1, 2, 3, 4};

std::vector<std::int64_t> gaussian(double stddev, std::size_t count) {
  random_source random(seed);
  std::vector<std::int64_t> out(count);
  sample_gaussian(random, stddev, out);
  return out;
}

TEST(RandomSource, IsTheChacha20StreamOfItsKeyWithANonceForEachCall) {
  random_source random(seed);
  for (std::uint32_t call = 0; call < 3; ++call) {
    std::vector<std::uint8_t> got(150);
    random.fill(std::as_writable_bytes(std::span(got)));
    for (std::size_t i = 0; i < got.size(); ++i) {
      const arith::chacha_block block = arith::chacha20(arith::make_chacha_key(seed.data()),
                                                        static_cast<std::uint32_t>(i / 64), {call, 0, 0});
      ASSERT_EQ(got[i], block.words[i % 64 / 4] >> (8 * (i % 4)) & 0xff) << "call " << call << " byte " << i;
    }
  }
}

TEST(RandomSource, DiffersFromObjectToObjectUnlessSeeded) {
  random_source a;
  random_source b;
  EXPECT_NE(a.next_seed(), b.next_seed());
  random_source c(seed);
  random_source d(seed);
  EXPECT_EQ(c.next_seed(), d.next_seed());
  EXPECT_NE(c.next_u64(), c.next_u64());
}

TEST(RandomSource, ChildrenOfAForkDrawOtherBytes) {
  random_source random;
  (void)random.next_seed();
  const auto draw = [&random] { return random.next_seed(); };
  const auto in_grandchild = [&] { return test::value_of_child<backend::seed_bytes>(draw); };
  const std::set<backend::seed_bytes> seeds{
      test::value_of_child<backend::seed_bytes>(draw), test::value_of_child<backend::seed_bytes>(draw),
      test::value_of_child<backend::seed_bytes>(in_grandchild), random.next_seed(), random.next_seed()};
  EXPECT_EQ(seeds.size(), 5U);
  EXPECT_EQ(seeds.count(backend::seed_bytes{}), 0U);
}

/// Longer outputs are expanded from a key, which must not be the parent's either.
TEST(RandomSource, ChildrenOfAForkSampleOtherNoise) {
  using noise = std::array<std::int64_t, 256>;
  random_source random;
  const auto draw = [&random] {
    noise values;
    sample_gaussian(random, 0x1p20, values);
    return values;
  };
  const noise first = test::value_of_child<noise>(draw);
  const noise second = test::value_of_child<noise>(draw);
  EXPECT_NE(first, second);
  EXPECT_NE(first, draw());
  EXPECT_NE(second, draw());
}

TEST(RandomSource, ChildrenOfTheSystemCallDrawOtherBytes) {
  random_source random;
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  std::set<backend::seed_bytes> seeds{random.next_seed()};
  for (int i = 0; i < 2; ++i) {
    const long child = ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    ASSERT_GE(child, 0);
    if (child == 0) {
      const backend::seed_bytes drawn = random.next_seed();
      ::_exit(::write(ends[1], drawn.data(), drawn.size()) == 32 ? 0 : 1);
    }
    ASSERT_EQ(::waitpid(static_cast<pid_t>(child), nullptr, 0), child);
    backend::seed_bytes drawn{};
    ASSERT_EQ(::read(ends[0], drawn.data(), drawn.size()), 32);
    seeds.insert(drawn);
  }
  ::close(ends[0]);
  ::close(ends[1]);
  seeds.insert(random.next_seed());
  EXPECT_EQ(seeds.size(), 4U);
}

TEST(RandomSource, ThreadsDrawOtherBytes) {
  random_source random;
  std::mutex guard;
  std::set<backend::seed_bytes> seeds;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int draw = 0; draw < 100; ++draw) {
        const backend::seed_bytes drawn = random.next_seed();
        const std::lock_guard lock(guard);
        seeds.insert(drawn);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(seeds.size(), 400U);
}

TEST(RandomSource, WithASeedItRefusesToDrawInAChild) {
  random_source random(seed);
  random_source same(seed);
  EXPECT_EQ(random.next_seed(), same.next_seed());
  const int code = test::exit_code_of_child([&] {
    const std::string message = test::message_of<invalid_argument>([&] { (void)random.next_seed(); });
    if (message.find("forked") == std::string::npos) return 1;
    random_source fresh(seed);  // made here, so it may
    return fresh.next_u64() != 0 ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(random.next_seed(), same.next_seed());  // the parent goes on as if nothing had happened
}

/// Other generators of libsodium keep state of their own; a fork must find none.
TEST(RandomSource, LibsodiumDrawsFromTheSystem) {
  (void)random_source();
  EXPECT_STREQ(randombytes_implementation_name(), "sysrandom");
}

TEST(RandomSource, NextBelowIsUniform) {
  random_source random(seed);
  std::map<std::uint64_t, int> counts;
  constexpr int draws = 12000;
  for (int i = 0; i < draws; ++i) ++counts[random.next_below(6)];
  ASSERT_EQ(counts.size(), 6U);
  for (const auto& [value, count] : counts) {
    EXPECT_LT(value, 6U);
    EXPECT_NEAR(count, draws / 6, 5 * std::sqrt(draws / 6.0));
  }
  EXPECT_EQ(random.next_below(1), 0U);
  EXPECT_LE(random.next_below(std::numeric_limits<std::uint64_t>::max()),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_THROW((void)random.next_below(0), invalid_argument);
}

TEST(SampleTernary, FillsAnyLengthWithUniformValues) {
  random_source random(seed);
  for (const std::size_t length : {0, 1, 22, 23, 24, 31, 32, 33, 64, 1000}) {
    std::vector<std::int64_t> out(length, 77);
    sample_ternary(random, out);
    EXPECT_TRUE(std::all_of(out.begin(), out.end(), [](std::int64_t x) { return x >= -1 && x <= 1; }))
        << length;
  }
  std::vector<std::int64_t> out(30000);
  sample_ternary(random, out);
  for (const std::int64_t value : {-1, 0, 1}) {
    EXPECT_NEAR(std::count(out.begin(), out.end(), value), 10000, 5 * std::sqrt(20000.0 / 3)) << value;
  }
}

TEST(SampleSparseTernary, HasTheWeightAskedFor) {
  random_source random(seed);
  for (const std::size_t weight : {0, 1, 64, 512}) {
    std::vector<std::int64_t> out(512, 77);
    sample_sparse_ternary(random, weight, out);
    const auto plus = static_cast<std::size_t>(std::count(out.begin(), out.end(), 1));
    const auto minus = static_cast<std::size_t>(std::count(out.begin(), out.end(), -1));
    EXPECT_EQ(plus + minus, weight);
    EXPECT_EQ(static_cast<std::size_t>(std::count(out.begin(), out.end(), 0)), 512 - weight);
  }
  std::vector<std::int64_t> out(8);
  EXPECT_THAT(test::message_of<invalid_argument>([&] { sample_sparse_ternary(random, 9, out); }),
              HasSubstr("Hamming weight 9 exceeds the number of coefficients, 8"));
}

TEST(SampleSparseTernary, ReachesEveryPlaceWithBothSigns) {
  random_source random(seed);
  std::vector<std::int64_t> out(16);
  std::vector<int> plus(16);
  std::vector<int> minus(16);
  for (int i = 0; i < 1600; ++i) {
    sample_sparse_ternary(random, 4, out);
    for (std::size_t j = 0; j < out.size(); ++j) {
      plus[j] += out[j] == 1 ? 1 : 0;
      minus[j] += out[j] == -1 ? 1 : 0;
    }
  }
  for (std::size_t j = 0; j < out.size(); ++j) {
    EXPECT_NEAR(plus[j], 200, 5 * std::sqrt(200.0)) << j;
    EXPECT_NEAR(minus[j], 200, 5 * std::sqrt(200.0)) << j;
  }
}

class GaussianWidth : public ::testing::TestWithParam<double> {};

TEST_P(GaussianWidth, HasTheMomentsOfItsDeviation) {
  const double stddev = GetParam();
  const auto sample = gaussian(stddev, 40000);
  const auto n = static_cast<double>(sample.size());
  double mean = 0.0;
  double square = 0.0;
  double fourth = 0.0;
  for (const std::int64_t x : sample) {
    const double y = static_cast<double>(x) / stddev;
    mean += y / n;
    square += y * y / n;
    fourth += y * y * y * y / n;
    ASSERT_LT(std::abs(y), 7.0);
  }
  EXPECT_NEAR(mean, 0.0, 5 / std::sqrt(n));
  EXPECT_NEAR(square, 1.0, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(fourth, 3.0, 5 * std::sqrt(96 / n));
}

// 16 is the widest with a table of its own; wider ones are sums of scaled parts.
INSTANTIATE_TEST_SUITE_P(sample_gaussian, GaussianWidth,
                         ::testing::Values(1.5, 3.2, 9.0, 16.0, 16.5, 40.0, 1000.0, 0x1p20, 0x1p35, 0x1p50));

class GaussianShape : public ::testing::TestWithParam<double> {};

TEST_P(GaussianShape, HasTheExactProbabilities) {
  const double stddev = GetParam();
  const auto sample = gaussian(stddev, 40000);
  std::map<std::int64_t, double> observed;
  for (const std::int64_t x : sample) observed[x] += 1.0;
  double total = 0.0;
  for (int x = -400; x <= 400; ++x) total += std::exp(-x * x / (2 * stddev * stddev));
  double chi_square = 0.0;
  int bins = 0;
  for (int x = -400; x <= 400; ++x) {
    const double expected = 40000 * std::exp(-x * x / (2 * stddev * stddev)) / total;
    if (expected < 10) continue;
    const double gap = observed[x] - expected;
    chi_square += gap * gap / expected;
    ++bins;
  }
  EXPECT_LT(chi_square, bins + 5 * std::sqrt(2.0 * bins));
  EXPECT_GT(chi_square, bins - 5 * std::sqrt(2.0 * bins));
}

INSTANTIATE_TEST_SUITE_P(sample_gaussian, GaussianShape,
                         ::testing::Values(0.6, 1.0, 3.2, 10.0, 16.0, 16.1, 33.0));

TEST(SampleGaussian, WorksForEveryLength) {
  for (const std::size_t length : {0, 1, 15, 16, 17, 511, 512, 513, 1025}) {
    random_source random(seed);
    std::vector<std::int64_t> out(length, 1000000);
    sample_gaussian(random, 20.0, out);
    EXPECT_TRUE(std::all_of(out.begin(), out.end(), [](std::int64_t x) { return std::abs(x) < 200; }))
        << length;
  }
}

TEST(SampleGaussian, RefusesDeviationsOutsideItsRange) {
  for (const double stddev : {0.0, -1.0, 0x1.1p50, std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(test::message_of<invalid_argument>([&] { (void)gaussian(stddev, 4); }),
                HasSubstr("expected above 0 and at most 2^50"));
  }
}

}  // namespace
}  // namespace halocline::ring
