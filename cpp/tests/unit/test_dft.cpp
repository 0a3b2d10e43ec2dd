// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/dft.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numbers>
#include <tuple>

#include "halocline/core/error.hpp"
#include "support/transform_reference.hpp"

namespace halocline::test {
namespace {

using circuits::coeff_to_slot;
using circuits::dft_direction;
using circuits::dft_options;
using circuits::dft_parts;
using circuits::slot_to_coeff;
using circuits::transform_mode;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr double pi = std::numbers::pi;

/// Slots of the polynomial with complex coefficients w, by the definition.
complex_vector slots_of(const complex_vector& w) {
  const std::size_t n = w.size();
  complex_vector result(n);
  std::size_t power = 1;
  for (auto& slot : result) {
    for (std::size_t j = 0; j < n; ++j) {
      slot += w[j] * std::polar(1.0, 2 * pi * static_cast<double>(j * power % (4 * n)) / (4.0 * double(n)));
    }
    power = power * 5 % (4 * n);
  }
  return result;
}

complex_vector permuted(const complex_vector& values) {
  const auto n = static_cast<std::uint32_t>(values.size());
  complex_vector result(n);
  for (std::uint32_t i = 0; i < n; ++i) result[i] = values[circuits::bit_reversed(i, n)];
  return result;
}

complex_vector random_vector(std::size_t count, std::uint32_t seed, bool real = false) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  complex_vector values(count);
  for (auto& value : values) value = {uniform(engine), real ? 0.0 : uniform(engine)};
  return values;
}

double distance(const complex_vector& a, const complex_vector& b) {
  double most = a.size() == b.size() ? 0 : HUGE_VAL;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

complex_vector apply_all(const std::vector<circuits::diagonal_map>& matrices, complex_vector x) {
  for (const auto& each : matrices) x = transform_reference(each, x);
  return x;
}

class DftMatrices : public testing::TestWithParam<std::tuple<std::uint32_t, unsigned>> {};

// Every product of stages, against the definition. Rounding of doubles: far below 1e-12.
TEST_P(DftMatrices, AreTheTransformAndItsInverse) {
  const auto [slots, matrices] = GetParam();
  const complex_vector w = random_vector(slots, 3);
  const complex_vector expected = slots_of(w);
  const auto forward = circuits::dft_matrices(dft_direction::slot_to_coeff, slots, matrices);
  EXPECT_EQ(forward.size(), matrices);
  EXPECT_LT(distance(apply_all(forward, permuted(w)), expected), 1e-12);
  const auto backward = circuits::dft_matrices(dft_direction::coeff_to_slot, slots, matrices, 0.25);
  complex_vector quarter = permuted(w);
  for (auto& each : quarter) each *= 0.25;
  EXPECT_LT(distance(apply_all(backward, expected), quarter), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Sizes, DftMatrices,
                         testing::Values(std::tuple{1u, 1u}, std::tuple{2u, 1u}, std::tuple{4u, 2u},
                                         std::tuple{8u, 1u}, std::tuple{8u, 2u}, std::tuple{64u, 3u},
                                         std::tuple{256u, 3u}, std::tuple{256u, 8u}));

// g neighbouring stages have 2^(g+1) - 1 diagonals, 2^g where the longest one wraps around.
TEST(DftMatrices, CountOfDiagonals) {
  const auto count = [](dft_direction direction) {
    std::vector<std::size_t> sizes;
    for (const auto& each : circuits::dft_matrices(direction, 1 << 11, 3)) sizes.push_back(each.size());
    return sizes;
  };
  EXPECT_THAT(count(dft_direction::coeff_to_slot), testing::ElementsAre(16, 31, 15));
  EXPECT_THAT(count(dft_direction::slot_to_coeff), testing::ElementsAre(15, 31, 16));
}

// No stage in the first matrix: a unit matrix, and the others are the transform.
TEST(DftMatrices, FirstMayBeTheUnitMatrix) {
  const std::vector<unsigned> behind{3, 3}, with{0, 3, 3}, inside{3, 0, 3};
  const auto towards = dft_direction::coeff_to_slot;
  const auto made = circuits::dft_matrices(towards, 64, with, 1.0);
  EXPECT_EQ(made.front(), (circuits::diagonal_map{{0, complex_vector(64, 1.0)}}));
  const complex_vector x = random_vector(64, 5);
  EXPECT_EQ(apply_all(made, x), apply_all(circuits::dft_matrices(towards, 64, behind, 1.0), x));
  EXPECT_THAT([&] { (void)circuits::dft_matrices(towards, 64, inside, 1.0); },
              ThrowsMessage<invalid_argument>(HasSubstr("or none in the first matrix")));
}

TEST(DftMatrices, BadInput) {
  const auto make = [](std::uint32_t slots, unsigned matrices) {
    return [=] { (void)circuits::dft_matrices(dft_direction::slot_to_coeff, slots, matrices); };
  };
  EXPECT_THAT(make(12, 1), ThrowsMessage<invalid_argument>(HasSubstr("expected a power of two")));
  EXPECT_THAT(make(16, 5), ThrowsMessage<invalid_argument>(HasSubstr("expected 1 to 4")));
  EXPECT_THAT(make(16, 0), ThrowsMessage<invalid_argument>(HasSubstr("expected 1 to 4")));
}

ckks_rig& rig() { return circuit_rig("test-n11-d8"); }

/// Complex coefficients of a message with random slots, real ones if wished.
struct message {
  explicit message(std::uint32_t count, bool real = false) : slots(random_vector(count, 17, real)), w(slots) {
    w = apply_all(circuits::dft_matrices(dft_direction::coeff_to_slot, count, 1), w);
  }
  [[nodiscard]] complex_vector real_parts() const {
    complex_vector result = w;
    for (auto& each : result) each = each.real();
    return result;
  }
  [[nodiscard]] complex_vector imaginary_parts() const {
    complex_vector result = w;
    for (auto& each : result) each = each.imag();
    return result;
  }

  complex_vector slots;
  complex_vector w;  ///< bit-reversed
};

dft_options options_for(std::optional<std::uint32_t> slots, dft_parts parts, transform_mode mode) {
  dft_options options;
  options.slots = slots;
  options.parts = parts;
  options.mode = mode;
  return options;
}

// A rescale errs by 2^8.5 / 2^39.5 in the worst of 1024 slots of N = 2^11, a fresh encryption by four times
// that. Towards the slots the errors of one matrix are averaged by the next, so the last of three dominates;
// towards the coefficients a slot sums n errors of the input, sqrt(n) in size. Three bits for key switches.
constexpr double worst_bits = 25.0;

class Dft : public testing::TestWithParam<transform_mode> {
 protected:
  /// Both ways with exactly the keys that they ask for.
  void check(std::uint32_t slots, dft_parts parts, const message& m,
             const std::vector<complex_vector>& expected) {
    SCOPED_TRACE(rig().describe() + " slots " + std::to_string(slots));
    const coeff_to_slot there(rig().eval, options_for(slots, parts, GetParam()));
    exact_keys keys(rig(), there.key_requests());
    const auto found = there.apply(keys.eval, encrypted(m.slots, rig().top()));
    ASSERT_EQ(found.size(), expected.size());
    std::vector<ckks::ciphertext> inputs;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].level, rig().top() - 3);
      EXPECT_GT(rig().precision(found[i], expected[i]).worst_bits, worst_bits);
      inputs.push_back(encrypted(expected[i], rig().top() - 3));
    }
    dft_options options = options_for(slots, parts, GetParam());
    options.level = rig().top() - 3;
    const slot_to_coeff back(rig().eval, options);
    exact_keys other_keys(rig(), back.key_requests());
    const ckks::ciphertext result = back.apply(other_keys.eval, inputs);
    EXPECT_EQ(result.slots, slots);
    EXPECT_EQ(result.level, rig().top() - 6);
    EXPECT_DOUBLE_EQ(result.scale, rig().parameters().level(result.level).scale);
    EXPECT_GT(rig().precision(result, m.slots).worst_bits, worst_bits - 0.5 * std::log2(slots));
  }
  static ckks::ciphertext encrypted(const complex_vector& values, unsigned level) {
    return rig().encrypt(values, level);
  }
};

TEST_P(Dft, FullSlots) {
  const message m(rig().slots());
  check(rig().slots(), dft_parts::separate, m, {m.real_parts(), m.imaginary_parts()});
}

TEST_P(Dft, SparseSlotsInOneCiphertext) {
  const message m(8);
  complex_vector both = m.real_parts();
  for (const auto& each : m.imaginary_parts()) both.push_back(each);
  check(8, dft_parts::packed, m, {both});
}

TEST_P(Dft, RealMessages) {
  const message m(64, true);
  check(64, dft_parts::real, m, {m.real_parts()});
}

TEST_P(Dft, ComplexCoefficients) {
  const message m(16);
  check(16, dft_parts::whole, m, {m.w});
}

INSTANTIATE_TEST_SUITE_P(Modes, Dft,
                         testing::Values(transform_mode::double_hoisted, transform_mode::small_key),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST(Dft, SmallKeyModeNeedsThreeKeysPerMatrixAtMost) {
  dft_options options = options_for({}, dft_parts::whole, transform_mode::small_key);
  const coeff_to_slot walks(rig().eval, options);
  EXPECT_LE(walks.key_requests().size(), 9u);
  options.mode = transform_mode::double_hoisted;
  EXPECT_GT(coeff_to_slot(rig().eval, options).key_requests().size(), 15u);
}

TEST(Dft, CompactDiagonalsGiveTheSameNumbers) {
  const auto slots = static_cast<std::uint32_t>(rig().slots());
  dft_options options = options_for(slots, dft_parts::separate, transform_mode::double_hoisted);
  const coeff_to_slot plain(rig().eval, options);
  options.compact = true;
  const coeff_to_slot compact(rig().eval, options);
  EXPECT_LT(compact.bytes(), plain.bytes() / 2);
  exact_keys keys(rig(), plain.key_requests());
  const ckks::ciphertext x = rig().encrypt(random_vector(slots, 5));
  const auto a = plain.apply(keys.eval, x);
  const auto b = compact.apply(keys.eval, x);
  EXPECT_EQ(distance(rig().decrypt(a[1]), rig().decrypt(b[1])), 0.0);
}

TEST(Dft, MatricesOfShortButterfliesAreSmall) {
  // Butterflies up to length h have diagonals of period 2h: points of a polynomial in X^(N/4h).
  const auto slots = static_cast<std::uint32_t>(rig().slots());
  const coeff_to_slot chain(rig().eval,
                            options_for(slots, dft_parts::separate, transform_mode::double_hoisted));
  const auto bytes_per_diagonal = [](const circuits::linear_transform& each) {
    return each.bytes() / each.weights().size();
  };
  const auto transforms = chain.transforms();
  EXPECT_LT(bytes_per_diagonal(transforms.back()) * 16, bytes_per_diagonal(transforms.front()));
}

TEST(Dft, BadInput) {
  const auto make = [](dft_options options) { return [=] { (void)coeff_to_slot(rig().eval, options); }; };
  dft_options options;
  options.slots = 100;
  EXPECT_THAT(make(options), ThrowsMessage<invalid_argument>(HasSubstr("power of two")));
  options.slots = rig().slots();
  options.parts = dft_parts::packed;
  EXPECT_THAT(make(options), ThrowsMessage<invalid_argument>(HasSubstr("use separate parts")));
  options.parts = dft_parts::separate;
  options.level = 2;
  EXPECT_THAT(make(options), ThrowsMessage<level_exhausted>(HasSubstr("1 more are needed")));
}

}  // namespace
}  // namespace halocline::test
