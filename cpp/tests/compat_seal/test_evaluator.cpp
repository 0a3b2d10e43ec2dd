// SPDX-License-Identifier: Apache-2.0
#include "seal/evaluator.h"

#include "halocline/seal/evaluator.hpp"
#include "seal_rig.hpp"

namespace seal::test {
namespace {

using number = std::complex<double>;
constexpr double tolerance = 2e-3;  // noise at scale 2^30, or 2^25

class CompatEvaluator : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Rings, CompatEvaluator, testing::Values(4, 8, 64, 1024, 4096));

TEST_P(CompatEvaluator, SumsAndDifferences) {
  rig r(GetParam());
  const slots a = r.values(), b = r.values();
  const Ciphertext x = r.encrypt(a), y = r.encrypt(b);
  Ciphertext z;
  r.evaluator.add(x, y, z);
  EXPECT_LT(distance(r.decrypt(z), map(a, b, std::plus<number>())), tolerance);
  r.evaluator.sub_inplace(z, y);
  EXPECT_LT(distance(r.decrypt(z), a), tolerance);
  r.evaluator.negate(z, z);
  EXPECT_LT(distance(r.decrypt(z), map(a, std::negate<number>())), tolerance);
  r.evaluator.add_many({x, y, x}, z);
  EXPECT_LT(distance(r.decrypt(z), map(a, b, [](number s, number t) { return 2.0 * s + t; })), tolerance);
  r.evaluator.add_plain(x, r.encode(b), z);
  EXPECT_LT(distance(r.decrypt(z), map(a, b, std::plus<number>())), tolerance);
  r.evaluator.sub_plain_inplace(z, r.encode(a));
  EXPECT_LT(distance(r.decrypt(z), b), tolerance);
}

TEST_P(CompatEvaluator, ProductsOfAllSizes) {
  rig r(GetParam());
  const slots a = r.values(), b = r.values();
  const Ciphertext x = r.encrypt(a), y = r.encrypt(b);
  const slots product = map(a, b, std::multiplies<number>());
  Ciphertext z;
  r.evaluator.multiply(x, y, z);
  EXPECT_EQ(z.size(), 3U);
  EXPECT_EQ(z.scale(), 0x1p60);
  EXPECT_LT(distance(r.decrypt(z), product), tolerance);
  Ciphertext cube;
  r.evaluator.multiply(z, x, cube);
  EXPECT_EQ(cube.size(), 4U);
  EXPECT_LT(distance(r.decrypt(cube), map(product, a, std::multiplies<number>())), tolerance);
  r.evaluator.relinearize_inplace(z, r.relin);
  EXPECT_EQ(z.size(), 2U);
  EXPECT_LT(distance(r.decrypt(z), product), tolerance);
  r.evaluator.rescale_to_next_inplace(z);
  EXPECT_NEAR(std::log2(z.scale()), 20.0, 0.01);
  EXPECT_LT(distance(r.decrypt(z), product), 0.05);
  r.evaluator.square(x, z);
  EXPECT_LT(distance(r.decrypt(z), map(a, a, std::multiplies<number>())), tolerance);
  r.evaluator.multiply_plain(x, r.encode(b), z);
  EXPECT_LT(distance(r.decrypt(z), product), tolerance);
}

TEST_P(CompatEvaluator, Levels) {
  rig r(GetParam());
  const slots a = r.values();
  Ciphertext x = r.encrypt(a, 0x1p25), y;
  const auto first = r.context.first_context_data();
  r.evaluator.mod_switch_to_next(x, y);
  EXPECT_EQ(y.parms_id(), first->next_context_data()->parms_id());
  EXPECT_EQ(y.scale(), x.scale());
  EXPECT_LT(distance(r.decrypt(y), a), tolerance);
  r.evaluator.mod_switch_to(x, r.context.last_parms_id(), y);
  EXPECT_EQ(y.coeff_modulus_size(), 1U);
  EXPECT_LT(distance(r.decrypt(y), a), tolerance);
  x = r.encrypt(a, 0x1p105);
  r.evaluator.rescale_to_inplace(x, r.context.last_parms_id());
  EXPECT_EQ(x.parms_id(), r.context.last_parms_id());
  EXPECT_LT(distance(r.decrypt(x), a), tolerance);
  Plaintext plain = r.encode(a, 0x1p25), lower;
  r.evaluator.mod_switch_to(plain, r.context.last_parms_id(), lower);
  slots back;
  r.encoder.decode(lower, back);
  EXPECT_LT(distance(back, a), tolerance);
  r.evaluator.mod_switch_to_next_inplace(plain);
  EXPECT_EQ(plain.parms_id(), first->next_context_data()->parms_id());
  r.evaluator.add_plain_inplace(y, lower);
  EXPECT_LT(distance(r.decrypt(y), map(a, [](number s) { return 2.0 * s; })), tolerance);
}

TEST_P(CompatEvaluator, RotationsAndConjugation) {
  rig r(GetParam());
  const GaloisKeys keys = r.galois();
  const slots a = r.values();
  const Ciphertext x = r.encrypt(a);
  const auto count = static_cast<int>(a.size());
  Ciphertext y;
  for (const int steps : {0, 1, -1, count / 2, 1 - count, count - 1, count / 3, -count / 3}) {
    if (std::abs(steps) >= count) continue;
    r.evaluator.rotate_vector(x, steps, keys, y);
    EXPECT_LT(distance(r.decrypt(y), rotated(a, steps)), tolerance) << steps;
  }
  r.evaluator.complex_conjugate(x, keys, y);
  EXPECT_LT(distance(r.decrypt(y), map(a, [](number s) { return std::conj(s); })), tolerance);
  // Of one step's key alone, its composites are made of other steps and missing.
  GaloisKeys one;
  r.generator.create_galois_keys(std::vector<int>{1}, one);
  y = x;
  r.evaluator.rotate_vector_inplace(y, 1, one);
  EXPECT_LT(distance(r.decrypt(y), rotated(a, 1)), tolerance);
  EXPECT_THROW(r.evaluator.rotate_vector_inplace(y, count, one), std::invalid_argument);
  EXPECT_THROW(r.evaluator.complex_conjugate_inplace(y, one), std::invalid_argument);
}

TEST_P(CompatEvaluator, FormsAndBack) {
  rig r(GetParam());
  const slots a = r.values();
  const Ciphertext x = r.encrypt(a);
  Ciphertext y;
  r.evaluator.transform_from_ntt(x, y);
  EXPECT_FALSE(y.is_ntt_form());
  EXPECT_NE(words_of(x), words_of(y));
  Ciphertext twice;
  r.evaluator.add(y, y, twice);
  r.evaluator.multiply_plain_inplace(y, r.encode(a));
  r.evaluator.transform_to_ntt_inplace(y);
  EXPECT_LT(distance(r.decrypt(y), map(a, a, std::multiplies<number>())), tolerance);
  r.evaluator.transform_to_ntt_inplace(twice);
  EXPECT_LT(distance(r.decrypt(twice), map(a, [](number s) { return 2.0 * s; })), tolerance);
  EXPECT_THROW(r.evaluator.transform_to_ntt_inplace(twice), std::invalid_argument);
}

// Results may be written over operands; the other operand keeps its words.
TEST(CompatEvaluatorPlaces, DestinationsMayBeOperands) {
  rig r;
  const slots a = r.values(), b = r.values();
  Ciphertext x = r.encrypt(a), y = r.encrypt(b);
  const std::vector<std::uint64_t> before = words_of(y);
  r.evaluator.add(x, y, x);
  r.evaluator.multiply(y, x, x);
  EXPECT_LT(distance(r.decrypt(x), map(a, b, [](number s, number t) { return (s + t) * t; })), tolerance);
  EXPECT_EQ(words_of(y), before);
  r.evaluator.multiply(y, y, y);
  EXPECT_LT(distance(r.decrypt(y), map(b, b, std::multiplies<number>())), tolerance);
}

// Words that a program changes are those that the next operation takes.
TEST(CompatEvaluatorPlaces, ChangedWordsCount) {
  rig r;
  const slots a = r.values(), b = r.values();
  Ciphertext x = r.encrypt(a), y = r.encrypt(b), z;
  r.evaluator.add(x, y, z);  // both now have copies in the queue
  std::copy(y.data(), y.data() + y.dyn_array().size(), x.data());
  r.evaluator.add(x, y, z);
  EXPECT_LT(distance(r.decrypt(z), map(b, [](number s) { return 2.0 * s; })), tolerance);
  z.data(0)[3] ^= 1;
  Ciphertext copy = z;
  EXPECT_EQ(words_of(copy), words_of(z));
  x.resize(3);
  EXPECT_EQ(x.data(2)[0], 0U);
  r.evaluator.add(x, y, z);
  EXPECT_EQ(z.size(), 3U);
  EXPECT_LT(distance(r.decrypt(z), map(b, [](number s) { return 2.0 * s; })), tolerance);
}

}  // namespace
}  // namespace seal::test
