// SPDX-License-Identifier: Apache-2.0
#include "ckks/coefficient_lift.hpp"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <random>

#include "halocline/ckks/context.hpp"
#include "support/residues.hpp"

namespace halocline::ckks {
namespace {

using boost::multiprecision::cpp_int;

cpp_int product(const context& ctx, arith::window primes) {
  cpp_int result = 1;
  for (std::uint32_t i = primes.first; i < primes.end(); ++i) result *= ctx.parameters().primes()[i];
  return result;
}

/// Coefficients with residues modulo `primes`, made by big integers.
template <typename WordT>
ring::poly from_integers(context& ctx, arith::window primes, const std::vector<cpp_int>& values) {
  ring::poly result = ring::make_poly(ctx.ring(), primes, memory::object_class::scratch, "test");
  std::vector<WordT> words;
  for (std::uint32_t i = primes.first; i < primes.end(); ++i) {
    const cpp_int q = ctx.parameters().primes()[i];
    for (const cpp_int& value : values) words.push_back(static_cast<WordT>((value % q + q) % q));
  }
  ctx.device().upload(result.data(), 0, std::as_bytes(std::span(words)));
  return result;
}

ring::poly from_integers(context& ctx, arith::window primes, const std::vector<cpp_int>& values) {
  return ctx.tables().word_bits == 32 ? from_integers<std::uint32_t>(ctx, primes, values)
                                      : from_integers<std::uint64_t>(ctx, primes, values);
}

class LiftOnWords : public ::testing::TestWithParam<const char*> {
 protected:
  std::shared_ptr<context> ctx = test::make_test_context(params::preset(GetParam()));
  std::size_t n = ctx->parameters().n();
  arith::window q = ctx->parameters().level(ctx->parameters().max_level()).q;
};

TEST_P(LiftOnWords, GivesTheIntegersOfLeastMagnitude) {
  const cpp_int modulus = product(*ctx, q);
  std::mt19937_64 random(5);
  std::vector<cpp_int> values;
  std::vector<double> expected;
  for (std::size_t j = 0; j < n; ++j) {
    cpp_int value = 0;  // of every size up to that of the modulus
    const unsigned bits = static_cast<unsigned>(random() % msb(modulus));
    for (unsigned done = 0; done < bits; done += 32) value = (value << 32) + (random() & 0xffffffff);
    value %= cpp_int(1) << bits;
    if (random() % 2 == 0) value = -value;
    values.push_back(value);
  }
  values[0] = (modulus - 1) / 2;
  values[1] = -values[0];
  values[2] = 0;
  values[3] = -1;
  const ring::poly source = from_integers(*ctx, q, values);
  const double scale = 3.5;
  const std::vector<double> got = *test::lifted(*ctx, source.chain(), false, n, 1, scale);
  for (std::size_t j = 0; j < n; ++j) {
    const double want = values[j].convert_to<double>() / scale;
    ASSERT_NEAR(got[j], want, std::abs(want) * 0x1p-50) << j;
  }
}

TEST_P(LiftOnWords, TakesEveryStrideAndLength) {
  std::vector<cpp_int> values;
  for (std::size_t j = 0; j < n; ++j) values.emplace_back(static_cast<std::int64_t>(j * j) - 1000);
  for (const std::size_t stride : {1, 2, 64, 512}) {
    const ring::poly source = from_integers(*ctx, q, values);
    const std::vector<double> got = *test::lifted(*ctx, source.chain(), false, n / stride, stride, 1.0);
    for (std::size_t j = 0; j < got.size(); ++j) {
      ASSERT_EQ(got[j], values[j * stride].convert_to<double>()) << stride << " " << j;
    }
  }
}

TEST_P(LiftOnWords, GuardAcceptsExactlyWhatTheOtherPrimesHold) {
  const lift_plan plan = plan_lift(ctx->parameters(), q, 50.0);
  ASSERT_TRUE(plan.guarded);
  EXPECT_EQ(plan.primes.end(), q.end());
  EXPECT_LT(plan.primes.count, q.count);
  const arith::window held{plan.primes.first + 1, plan.primes.count - 1};
  const cpp_int most = (product(*ctx, held) - 1) / 2;
  EXPECT_GE(most, cpp_int(1) << 50);
  const auto lift = [&](const std::vector<cpp_int>& values, bool guarded) {
    return test::lifted(*ctx, from_integers(*ctx, plan.primes, values).chain(), guarded, n, 1, 1.0);
  };
  for (const int sign : {1, -1}) {
    std::vector<cpp_int> values(n);
    values[n - 1] = sign * most;
    const auto got = lift(values, true);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->back(), values[n - 1].convert_to<double>());
    values[n - 1] += sign;
    EXPECT_FALSE(lift(values, true));
    EXPECT_TRUE(lift(values, false));
  }
}

TEST_P(LiftOnWords, PlansAllPrimesWhenFewWouldNotSaveAny) {
  const lift_plan plan = plan_lift(ctx->parameters(), q, ctx->parameters().log2_q());
  EXPECT_FALSE(plan.guarded);
  EXPECT_EQ(plan.primes, q);
  const lift_plan tight = plan_lift(ctx->parameters(), {q.first, 2}, 10.0);
  EXPECT_FALSE(tight.guarded);
  EXPECT_EQ(tight.primes.count, 2U);
}

INSTANTIATE_TEST_SUITE_P(coefficient_lift, LiftOnWords, ::testing::Values("test-n11-d8", "test-n10-d3-w64"));

TEST(CoefficientLift, GivesZerosOnTheGhost) {
  const auto ctx = test::make_test_context(params::preset("test-n10-d3"), "ghost");
  const ring::poly source =
      ring::make_poly(ctx->ring(), ctx->parameters().level(1).q, memory::object_class::scratch, "test");
  EXPECT_EQ(test::lifted(*ctx, source.chain(), true, 4, 1, 1.0), std::vector<double>(4));
}

}  // namespace
}  // namespace halocline::ckks
