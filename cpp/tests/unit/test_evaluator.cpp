// SPDX-License-Identifier: Apache-2.0
// Every evaluator operation against complex arithmetic on slots, on both word sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>

#include "halocline/ckks/context.hpp"
#include "halocline/core/error.hpp"
#include "support/ckks_fixture.hpp"
#include "support/message_of.hpp"

namespace halocline::test {
namespace {

// N = 2^10 and a scale of 2^40: a fresh encryption has an error of 3.2 * 32 / 2^40 = 2^-33 a slot, and a key
// switch or a rescale adds about sqrt(N) * 2^6 / 2^40 = 2^-29. Ten bits of slack cover values up to 2 and a
// few steps.
constexpr double worst_bits = 20.0;

const std::vector<std::int64_t> steps{1, 2, 3, 4, 8, -1, 5};

ckks_rig& shared_rig(const std::string& preset) {
  static std::map<std::string, std::unique_ptr<ckks_rig>> rigs;
  auto& rig = rigs[preset];
  if (!rig) rig = std::make_unique<ckks_rig>(preset, steps);
  rig->eval.set_mode(ckks::maintenance::automatic);
  return *rig;
}

complex_vector map_values(const complex_vector& a,
                          const std::function<std::complex<double>(std::complex<double>)>& f) {
  complex_vector out(a.size());
  std::transform(a.begin(), a.end(), out.begin(), f);
  return out;
}

complex_vector zip(const complex_vector& a, const complex_vector& b,
                   const std::function<std::complex<double>(std::complex<double>, std::complex<double>)>& f) {
  complex_vector out(a.size());
  std::transform(a.begin(), a.end(), b.begin(), out.begin(), f);
  return out;
}

complex_vector rotated(const complex_vector& a, std::int64_t k) {
  const auto n = static_cast<std::int64_t>(a.size());
  complex_vector out(a.size());
  for (std::int64_t i = 0; i < n; ++i)
    out[static_cast<std::size_t>(i)] = a[static_cast<std::size_t>(((i + k) % n + n) % n)];
  return out;
}

class Evaluator : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    a = rig.random_values(rig.slots(), 1);
    b = rig.random_values(rig.slots(), 2);
    x.emplace(rig.encrypt(a));
    y.emplace(rig.encrypt(b));
    live_before = rig.ctx->runtime().statistics().live_bytes;
  }

  void expect(const ckks::ciphertext& got, const complex_vector& expected, unsigned level) {
    SCOPED_TRACE(rig.describe());
    EXPECT_EQ(got.level, level);
    EXPECT_EQ(got.scale, rig.parameters().level(level).scale) << "canonical scale";
    EXPECT_GE(rig.precision(got, expected).worst_bits, worst_bits);
  }

  ckks_rig& rig = shared_rig(GetParam());
  ckks::evaluator& eval = rig.eval;
  complex_vector a;
  complex_vector b;
  std::optional<ckks::ciphertext> x;
  std::optional<ckks::ciphertext> y;
  std::size_t live_before = 0;
};

TEST_P(Evaluator, AddSubtractNegate) {
  expect(eval.add(*x, *y), zip(a, b, std::plus<>()), rig.top());
  expect(eval.sub(*x, *y), zip(a, b, std::minus<>()), rig.top());
  expect(eval.negate(*x), map_values(a, std::negate<>()), rig.top());
}

TEST_P(Evaluator, MultiplyRelinearizesAndRescales) {
  const ckks::ciphertext product = eval.multiply(*x, *y);
  EXPECT_EQ(product.parts.size(), 2U);
  expect(product, zip(a, b, std::multiplies<>()), rig.top() - 1);
  expect(eval.square(*x), zip(a, a, std::multiplies<>()), rig.top() - 1);
}

TEST_P(Evaluator, ProductsReachLevelZero) {
  ckks::ciphertext power = ckks::clone(*rig.ctx, *x);
  complex_vector expected = a;
  for (unsigned level = rig.top(); level > 0; --level) {
    power = eval.multiply(power, *y);
    expected = zip(expected, b, std::multiplies<>());
    expect(power, expected, level - 1);
  }
  EXPECT_THAT(message_of<level_exhausted>([&] { (void)eval.multiply(power, *y); }),
              testing::HasSubstr("multiply"));
}

TEST_P(Evaluator, AddsAcrossLevels) {
  const ckks::ciphertext lower = eval.multiply(*x, *y);
  expect(eval.add(lower, *x), zip(zip(a, b, std::multiplies<>()), a, std::plus<>()), rig.top() - 1);
  expect(eval.sub(*x, lower), zip(a, zip(a, b, std::multiplies<>()), std::minus<>()), rig.top() - 1);
  const ckks::ciphertext bottom = eval.drop_level(*y, 0);
  expect(eval.add(bottom, *x), zip(a, b, std::plus<>()), 0);
}

TEST_P(Evaluator, MultipliesAcrossLevels) {
  const ckks::ciphertext lower = eval.drop_level(*x, 1);
  expect(eval.multiply(lower, *y), zip(a, b, std::multiplies<>()), 0);
}

TEST_P(Evaluator, DropLevelKeepsTheMessageAtEveryLevel) {
  for (unsigned level = 0; level <= rig.top(); ++level) expect(eval.drop_level(*x, level), a, level);
}

TEST_P(Evaluator, AdjustReachesAnyScale) {
  const double scale = rig.parameters().level(0).scale * 1.37;
  const ckks::ciphertext adjusted = eval.adjust(*x, 0, scale);
  EXPECT_EQ(adjusted.scale, scale);
  EXPECT_GE(rig.precision(adjusted, a).worst_bits, worst_bits);
}

TEST_P(Evaluator, DriftedScalesAreCorrectedNotIgnored) {
  // One percent of drift ignored would cost all but seven bits.
  const unsigned level = rig.top();
  const double drifted_scale = rig.parameters().level(level).scale * 1.01;
  const ckks::ciphertext drifted =
      rig.encryptor.encrypt(rig.encoder.encode(a, level, drifted_scale), rig.secret);
  expect(eval.add(drifted, *y), zip(a, b, std::plus<>()), level - 1);
}

TEST_P(Evaluator, UnrescaledProductsAddToFreshOnes) {
  const ckks::plaintext ones = rig.encoder.encode(complex_vector(rig.slots(), 1.0), rig.top(),
                                                  rig.parameters().level(rig.top()).scale);
  const ckks::ciphertext raw = eval.multiply_plain(*x, ones);
  const ckks::ciphertext sum = eval.add(raw, *y);
  EXPECT_EQ(sum.level, rig.top());
  EXPECT_GE(rig.precision(sum, zip(a, b, std::plus<>())).worst_bits, worst_bits);
}

TEST_P(Evaluator, Constants) {
  const std::complex<double> c{0.75, -0.3};
  expect(eval.add_constant(*x, c), map_values(a, [&](auto v) { return v + c; }), rig.top());
  expect(eval.multiply_constant(*x, c), map_values(a, [&](auto v) { return v * c; }), rig.top() - 1);
  expect(eval.multiply_constant(*x, {0.0, -3.0}),
         map_values(a, [](auto v) { return v * std::complex<double>(0, -3); }), rig.top());
  expect(eval.multiply_by_i(*x), map_values(a, [](auto v) { return v * std::complex<double>(0, 1); }),
         rig.top());
  EXPECT_THROW((void)eval.add_constant(*x, std::nan("")), invalid_argument);
}

TEST_P(Evaluator, PlaintextVectors) {
  expect(eval.add_values(*x, b), zip(a, b, std::plus<>()), rig.top());
  expect(eval.multiply_values(*x, b), zip(a, b, std::multiplies<>()), rig.top() - 1);
}

TEST_P(Evaluator, RotatesLeftAndRight) {
  for (const std::int64_t k : steps) expect(eval.rotate(*x, k), rotated(a, k), rig.top());
  expect(eval.rotate(*x, 0), a, rig.top());
}

TEST_P(Evaluator, HoistedRotationsAreTheSameIntegersAsSingleOnes) {
  const auto many = eval.rotate_hoisted(*x, steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const ckks::ciphertext one = eval.rotate(*x, steps[i]);
    for (std::size_t part = 0; part < 2; ++part) {
      std::vector<std::byte> left(one.parts[part].data().size());
      std::vector<std::byte> right(left.size());
      rig.ctx->device().download(left, one.parts[part].data(), 0);
      rig.ctx->device().download(right, many[i].parts[part].data(), 0);
      EXPECT_EQ(left, right);
    }
  }
}

TEST_P(Evaluator, RotatesAtLowerLevels) {
  for (unsigned level = 0; level < rig.top(); ++level) {
    expect(eval.rotate(eval.drop_level(*x, level), 3), rotated(a, 3), level);
  }
}

TEST_P(Evaluator, Conjugates) {
  expect(eval.conjugate(*x), map_values(a, [](auto v) { return std::conj(v); }), rig.top());
}

TEST_P(Evaluator, InnerSums) {
  for (const std::uint32_t count : {1U, 2U, 3U, 4U, 6U, 8U}) {
    complex_vector expected(a.size());
    for (std::uint32_t i = 0; i < count; ++i) expected = zip(expected, rotated(a, i), std::plus<>());
    if (count == 6) rig.add_key(rig.parameters().galois_element(2));
    expect(eval.inner_sum(*x, 1, count), expected, rig.top());
  }
}

TEST_P(Evaluator, DotProductUsesOneRelinearization) {
  const ckks::ciphertext lower = eval.drop_level(*y, rig.top() - 1);
  const ckks::ciphertext* left[] = {&*x, &*y, &*x};
  const ckks::ciphertext* right[] = {&*y, &lower, &*x};
  complex_vector expected(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) expected[i] = a[i] * b[i] + b[i] * b[i] + a[i] * a[i];
  expect(eval.dot(left, right), expected, rig.top() - 2);
}

TEST_P(Evaluator, ManualModeLeavesMaintenanceToTheCaller) {
  eval.set_mode(ckks::maintenance::manual);
  const ckks::ciphertext product = eval.multiply(*x, *y);
  EXPECT_EQ(product.parts.size(), 3U);
  EXPECT_EQ(product.level, rig.top());
  const complex_vector expected = zip(a, b, std::multiplies<>());
  EXPECT_GE(rig.precision(product, expected).worst_bits, worst_bits) << "three components decrypt too";
  expect(eval.rescale(eval.relinearize(product)), expected, rig.top() - 1);
  const ckks::ciphertext lower = eval.rescale(eval.relinearize(product));
  EXPECT_THROW((void)eval.add(lower, *x), invalid_argument);
  EXPECT_THROW((void)eval.add(product, *x), scale_mismatch);
  EXPECT_THROW((void)eval.rotate(product, 1), invalid_argument);
}

/// Bytes of all components.
std::vector<std::byte> bytes_of(ckks_rig& rig, const ckks::ciphertext& value) {
  std::vector<std::byte> all;
  for (const ring::poly& each : value.parts) {
    const std::size_t begin = all.size();
    all.resize(begin + each.data().size());
    rig.ctx->device().download(std::span(all).subspan(begin), each.data(), 0);
  }
  return all;
}

TEST_P(Evaluator, ProductsInTwoHalvesAreTheSameIntegers) {
  const ckks::ciphertext lower = eval.drop_level(*y, rig.top() - 1);
  const ckks::ciphertext half = eval.unfinished_product(*x, lower);
  EXPECT_EQ(half.parts.size(), 3U);
  EXPECT_EQ(half.level, rig.top() - 1);
  EXPECT_EQ(bytes_of(rig, eval.finish_product(half)), bytes_of(rig, eval.multiply(*x, lower)));
  const ckks::ciphertext* left[] = {&*x, &*y};
  const ckks::ciphertext* right[] = {&*y, &lower};
  EXPECT_EQ(bytes_of(rig, eval.finish_product(eval.unfinished_dot(left, right))),
            bytes_of(rig, eval.dot(left, right)));
  EXPECT_EQ(eval.finish_product(half).scale, eval.multiply(*x, lower).scale);
  EXPECT_THROW((void)eval.finish_product(*x), invalid_argument) << "two components";
  eval.set_mode(ckks::maintenance::manual);
  const ckks::ciphertext lowest = eval.drop_level(*y, 0);
  const ckks::ciphertext last = eval.multiply(lowest, lowest);
  EXPECT_THROW((void)eval.finish_product(last), level_exhausted);
}

TEST_P(Evaluator, GroupsOfPrimesGiveTheSameIntegers) {
  const std::size_t limb = rig.ctx->tables().limb_bytes();
  for (const unsigned level : {rig.top(), rig.top() - 1, 1U}) {
    const ckks::ciphertext u = eval.drop_level(*x, level);
    const ckks::ciphertext v = eval.drop_level(*y, level);
    rig.ctx->set_cache_bytes(0);
    const auto product = bytes_of(rig, eval.multiply(u, v));
    const auto rotation = bytes_of(rig, eval.rotate(u, 3));
    const auto hoisted = bytes_of(rig, eval.rotate_hoisted(u, std::vector<std::int64_t>{3, 4}).front());
    EXPECT_EQ(rotation, hoisted);
    // From one prime a group to all of them in one.
    for (const std::size_t limbs : {1, 7, 20, 40, 100, 10000}) {
      rig.ctx->set_cache_bytes(limbs * limb);
      EXPECT_EQ(bytes_of(rig, eval.multiply(u, v)), product) << limbs;
      EXPECT_EQ(bytes_of(rig, eval.rotate(u, 3)), rotation) << limbs;
    }
    rig.ctx->set_cache_bytes(0);
  }
}

TEST_P(Evaluator, MissingKeysNameTheRotation) {
  EXPECT_THAT(message_of<missing_key>([&] { (void)eval.rotate(*x, 7); }),
              testing::AllOf(testing::HasSubstr("7"), testing::HasSubstr("rotation")));
}

TEST_P(Evaluator, ForeignCiphertextsAreRefused) {
  ckks_rig other(GetParam());
  const ckks::ciphertext foreign = other.encrypt(b);
  EXPECT_THROW((void)eval.add(*x, foreign), invalid_argument);
}

TEST_P(Evaluator, ReleasesAllScratch) {
  { const ckks::ciphertext warm = eval.rotate(eval.multiply(*x, *y), 1); }
  const std::size_t before = rig.ctx->runtime().statistics().live_bytes;
  { const ckks::ciphertext again = eval.rotate(eval.multiply(*x, *y), 1); }
  EXPECT_EQ(rig.ctx->runtime().statistics().live_bytes, before);
  EXPECT_GE(before, live_before);
}

INSTANTIATE_TEST_SUITE_P(Presets, Evaluator, testing::Values("test-n10-d3", "test-n10-d3-w64"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace halocline::test
