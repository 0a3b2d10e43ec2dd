// SPDX-License-Identifier: Apache-2.0
// Terms of sums before their division: the same numbers as operations that finish each term.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halocline/ckks/combinations.hpp"
#include "halocline/ckks/scales.hpp"
#include "halocline/core/error.hpp"
#include "support/circuit_fixture.hpp"
#include "support/residues.hpp"

namespace halocline::ckks {
namespace {

using test::ckks_rig;
using test::complex_vector;
using testing::HasSubstr;
using testing::ThrowsMessage;

using list = std::vector<ciphertext>;

class EvaluatorSums : public ::testing::TestWithParam<const char*> {
 protected:
  ckks_rig& rig = test::circuit_rig(GetParam());
  evaluator& eval = rig.eval;
  const params::parameters& parameters = rig.parameters();
  const unsigned top = rig.top();

  [[nodiscard]] list encrypted(const complex_vector& values, unsigned level) {
    list result;
    result.push_back(rig.encrypt(values, level));
    return result;
  }
  /// A level below the highest that has no other primes.
  [[nodiscard]] unsigned below() const {
    unsigned level = top - 1;
    while (level > 1 && !has_primes_of(parameters, top, level)) --level;
    return level;
  }
  [[nodiscard]] std::vector<std::uint64_t> words(const ciphertext& of) {
    std::vector<std::uint64_t> result;
    for (const ring::poly& part : of.parts) {
      const auto own = test::words_of(*rig.ctx, part.chain());
      result.insert(result.end(), own.begin(), own.end());
    }
    return result;
  }
};

TEST_P(EvaluatorSums, LevelsWithTheirPrimes) {
  EXPECT_TRUE(has_primes_of(parameters, top, top));
  EXPECT_TRUE(has_primes_of(parameters, top, below()));
  EXPECT_FALSE(has_primes_of(parameters, top - 1, top));
  // With 64-bit words a level is one prime more than the one below; with 32-bit words steps take up others.
  EXPECT_EQ(has_primes_of(parameters, top, top - 1), parameters.word_bits() == 64);
}

/// Limbs that are ignored change neither the message nor the scale.
TEST_P(EvaluatorSums, MultiplesEqualThoseOfTruncatedCiphertexts) {
  const list x = encrypted(rig.random_values(rig.slots(), 1), top);
  const list low = eval.adjust(pointers(x), below(), x.front().scale);
  for (const std::complex<double> c : {std::complex<double>(0.7), {-0.2, 0.4}}) {
    const list wanted = eval.multiply_constant_raw(pointers(low), c, 0x1p30);
    const list found = eval.multiples(pointers(x), c, below(), wanted.front().scale);
    EXPECT_EQ(words(found.front()), words(wanted.front()));
    EXPECT_EQ(found.front().level, below());

    list sums = eval.multiply_constant_raw(pointers(low), 0.3, 0x1p30);
    const list sum = eval.add(pointers(sums), pointers(wanted));
    eval.add_multiples(sums, pointers(x), c);
    EXPECT_EQ(words(sums.front()), words(sum.front()));
  }
}

TEST_P(EvaluatorSums, ConstantsInPlace) {
  for (const std::complex<double> c : {std::complex<double>(-0.7), {0.25, 0.5}}) {
    list x = encrypted(rig.random_values(rig.slots(), 2), top);
    const list wanted = eval.add_constant(pointers(x), c);
    eval.add_constants(x, c);
    EXPECT_EQ(words(x.front()), words(wanted.front()));
    EXPECT_FALSE(x.front().seed);
  }
}

TEST_P(EvaluatorSums, ProductsAtALowerLevel) {
  const list x = encrypted(rig.random_values(rig.slots(), 3), top);
  const list y = encrypted(rig.random_values(rig.slots(), 4), top);
  const list low = eval.adjust(pointers(x), below(), x.front().scale);
  const list other = eval.adjust(pointers(y), below(), y.front().scale);
  const std::vector<const ciphertext*> a[] = {pointers(x), pointers(y)};
  const std::vector<const ciphertext*> b[] = {pointers(other), pointers(y)};
  const std::vector<const ciphertext*> a_low[] = {pointers(low), pointers(other)};
  const std::vector<const ciphertext*> b_low[] = {pointers(other), pointers(other)};
  eval.set_mode(maintenance::manual);
  const list wanted = eval.dot(a_low, b_low);
  eval.set_mode(maintenance::automatic);
  const list found = eval.unfinished_dot(a, b, below());
  EXPECT_EQ(words(found.front()), words(wanted.front()));
  EXPECT_EQ(found.front().scale, wanted.front().scale);
}

/// Ciphertexts that have the primes of the sum and one that lacks them, of different levels and scales.
TEST_P(EvaluatorSums, LinearCombinations) {
  const complex_vector values[] = {rig.random_values(rig.slots(), 5), rig.random_values(rig.slots(), 6),
                                   rig.random_values(rig.slots(), 7)};
  list given;
  given.push_back(rig.encrypt(values[0], top));
  given.push_back(rig.encrypt(values[1], top - 1));
  given.push_back(eval.adjust(rig.encrypt(values[2], top), below(), 1.25 * parameters.level(below()).scale));
  const std::vector<double> rows[] = {{0.5, -1.25, 2.0}, {0.0, 3.0, 1e-30}};
  const list found = combinations(eval, pointers(given), rows, below() - 1);
  ASSERT_EQ(found.size(), 2U);
  for (std::size_t r = 0; r < 2; ++r) {
    EXPECT_EQ(found[r].level, below() - 1);
    EXPECT_EQ(found[r].scale, parameters.level(below() - 1).scale);
    complex_vector wanted(rig.slots());
    for (std::size_t s = 0; s < wanted.size(); ++s) {
      for (std::size_t i = 0; i < 3; ++i) wanted[s] += rows[r][i] * values[i][s];
    }
    // Fresh encryptions at a scale of 2^40 have errors of 2^-33, the largest factor is 3.
    EXPECT_GT(rig.precision(found[r], wanted).worst_bits, 24.0);
  }
}

TEST_P(EvaluatorSums, BadLinearCombinations) {
  const list x = encrypted({0.5}, top);
  const std::vector<double> one[] = {{1.0}}, two[] = {{1.0, 2.0}}, wrong[] = {{std::nan("")}},
                            large[] = {{1e300}};
  EXPECT_THAT([&] { (void)combinations(eval, {}, one, 0); },
              ThrowsMessage<invalid_argument>(HasSubstr("combine: 0 ciphertexts and 1 rows")));
  EXPECT_THAT([&] { (void)combinations(eval, pointers(x), {}, 0); },
              ThrowsMessage<invalid_argument>(HasSubstr("and 0 rows")));
  EXPECT_THAT([&] { (void)combinations(eval, pointers(x), two, 0); },
              ThrowsMessage<invalid_argument>(HasSubstr("a row of 2 numbers for 1 ciphertexts")));
  EXPECT_THAT([&] { (void)combinations(eval, pointers(x), wrong, 0); },
              ThrowsMessage<invalid_argument>(HasSubstr("expected a finite one")));
  EXPECT_THAT([&] { (void)combinations(eval, pointers(x), one, top); },
              ThrowsMessage<level_exhausted>(HasSubstr("expected one above level")));
  EXPECT_THROW((void)combinations(eval, pointers(x), large, 0), invalid_argument);
}

TEST_P(EvaluatorSums, BadInput) {
  const list x = encrypted({0.5}, top);
  list sums = encrypted({0.5}, below());
  const list two = [&] {
    list made = encrypted({0.5}, top);
    made.push_back(rig.encrypt({0.5}, top));
    return made;
  }();
  EXPECT_THAT([&] { eval.add_multiples(sums, pointers(two), 1.0); },
              ThrowsMessage<invalid_argument>(HasSubstr("add_multiples: 1 sums")));
  list higher = encrypted({0.5}, top);
  EXPECT_THAT([&] { eval.add_multiples(higher, pointers(sums), 1.0); },
              ThrowsMessage<invalid_argument>(HasSubstr("does not have all primes of level")));
  EXPECT_THAT([&] { (void)eval.multiples(pointers(sums), 1.0, top, 0x1p40); },
              ThrowsMessage<invalid_argument>(HasSubstr("drop_level it")));
  const std::vector<const ciphertext*> factor[] = {pointers(sums)};
  EXPECT_THAT([&] { (void)eval.unfinished_dot(factor, factor, top); },
              ThrowsMessage<invalid_argument>(HasSubstr("does not have all primes")));
  EXPECT_THROW(eval.add_constants(sums, 1e300), invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Words, EvaluatorSums, testing::Values("test-n11-d8", "test-n10-d3-w64"));

}  // namespace
}  // namespace halocline::ckks
