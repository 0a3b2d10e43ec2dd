// SPDX-License-Identifier: Apache-2.0
// ModRaise, seen with the secret key as integers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>

#include "ckks/small_poly.hpp"
#include "halocline/arith/arith.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/engine.hpp"
#include "halocline/core/error.hpp"
#include "halocline/params/footprint.hpp"
#include "halocline/params/raise_range.hpp"
#include "support/ckks_fixture.hpp"
#include "support/residues.hpp"

namespace halocline::ckks {
namespace {

using test::ckks_rig;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using integer = boost::multiprecision::cpp_int;

params::parameters without_encapsulation(const std::string& preset) {
  params::literal source = params::preset_literal(preset);
  source.name += "-plain";
  source.secret = {params::secret_kind::sparse, 32};
  source.bootstrapping->ephemeral_weight = 0;
  source.bootstrapping->ephemeral_special_primes = 0;
  return params::parameters::from_literal(source);
}

/// c_0 + c_1 s in coefficients: for each prime of the level N residues.
std::vector<std::uint64_t> decrypted_words(ckks_rig& rig, const ciphertext& value) {
  const arith::window primes = value.parts[0].chain().primes;
  const ring::poly sum = ring::make_poly(rig.ctx->ring(), primes, memory::object_class::scratch, "test");
  const backend::unary_job copy{sum.chain(), value.parts[0].chain()};
  rig.ctx->device().copy(rig.ctx->tables(), {&copy, 1});
  const backend::binary_job product{sum.chain(), value.parts[1].chain(), secret_limbs(rig.secret, primes)};
  rig.ctx->device().multiply_add(rig.ctx->tables(), {&product, 1});
  const backend::unary_job transform{sum.chain(), sum.chain()};
  rig.ctx->device().intt(rig.ctx->tables(), {&transform, 1});
  return test::words_of(*rig.ctx, sum.chain());
}

/// The integers of least magnitude with those residues: exact, by the Chinese remainder theorem.
std::vector<integer> decrypted_integers(ckks_rig& rig, const ciphertext& value) {
  const std::vector<std::uint64_t> words = decrypted_words(rig, value);
  const arith::window primes = value.parts[0].chain().primes;
  const std::size_t n = rig.parameters().n();
  integer modulus = 1;
  for (std::uint32_t i = primes.first; i < primes.end(); ++i) modulus *= rig.parameters().primes()[i];
  std::vector<integer> result(n);
  for (std::uint32_t i = 0; i < primes.count; ++i) {
    const auto q = arith::make_modulus(rig.parameters().primes()[primes.first + i]);
    const integer cofactor = modulus / q.value;
    const auto rest = (cofactor % q.value).convert_to<std::uint64_t>();
    const std::uint64_t inverse = arith::inverse_mod(rest, q);
    for (std::size_t k = 0; k < n; ++k) result[k] += cofactor * arith::mul_mod(words[i * n + k], inverse, q);
  }
  for (integer& each : result) {
    each %= modulus;
    if (2 * each > modulus) each -= modulus;
  }
  return result;
}

integer base_modulus(const params::parameters& p) {
  integer product = 1;
  for (std::uint32_t i = p.level(0).q.first; i < p.level(0).q.end(); ++i) product *= p.primes()[i];
  return product;
}

/// What a raised ciphertext is made of: (raised - message) = Q_0 I + error with error of least magnitude.
struct parts_of_raised {
  double largest_error = 0;
  double mean_square_error = 0;
  double largest_i = 0;
  double mean_square_i = 0;
};

parts_of_raised compare(ckks_rig& rig, const ciphertext& low, const ciphertext& raised) {
  const std::vector<integer> message = decrypted_integers(rig, low);
  const std::vector<integer> value = decrypted_integers(rig, raised);
  const integer q = base_modulus(rig.parameters());
  parts_of_raised result;
  for (std::size_t k = 0; k < value.size(); ++k) {
    integer error = (value[k] - message[k]) % q;
    if (2 * error > q) error -= q;
    if (2 * error < -q) error += q;
    const double i = ((value[k] - message[k] - error) / q).convert_to<double>();
    result.largest_error = std::max(result.largest_error, std::abs(error.convert_to<double>()));
    result.mean_square_error += std::pow(error.convert_to<double>(), 2) / static_cast<double>(value.size());
    result.largest_i = std::max(result.largest_i, std::abs(i));
    result.mean_square_i += i * i / static_cast<double>(value.size());
  }
  return result;
}

class ModRaise : public ::testing::TestWithParam<const char*> {
 protected:
  ckks_rig rig{GetParam()};
  const params::parameters& parameters = rig.parameters();
  unsigned top = parameters.top_level();

  void add_key(unsigned level, bool seeded = false) {
    rig.keys.add(rig.generator.make_evaluation_key(rig.secret, {encapsulation_element, level}, seeded));
  }
};

// The error of the two switches: rounding by P under the sparse secret (standard deviation sqrt(33 / 12)
// = 1.7), and under the main one (sqrt((2 N / 3 + 1) / 12) = 10.7 at N = 2^11); c e / P is far below that.
// Eight deviations of their sum.
constexpr double largest_switch_error = 8 * 11;

TEST_P(ModRaise, AddsMultiplesOfTheBaseModulusAndLittleElse) {
  add_key(top);
  const ciphertext low = rig.encrypt(rig.random_values(rig.slots(), 1), 0);
  const ciphertext raised = rig.eval.mod_raise(low, top);
  EXPECT_EQ(raised.level, top);
  EXPECT_EQ(raised.scale, low.scale);
  EXPECT_EQ(raised.slots, low.slots);
  const parts_of_raised found = compare(rig, low, raised);
  EXPECT_LT(found.largest_error, largest_switch_error);
  // The variance that docs/concepts/error_budget.md gives, without the last term; 10 % are 6 standard errors.
  const double expected = 33 / 12.0 + (1 + 2.0 * static_cast<double>(parameters.n()) / 3) / 12;
  EXPECT_NEAR(std::sqrt(found.mean_square_error / expected), 1, 0.1);
  EXPECT_LE(found.largest_i, params::overflow_range(32, -40, parameters.n()));
  // Variance of a sum of 33 uniform terms, plus 1/12 of rounding, from 2048 samples: 5 standard errors.
  EXPECT_NEAR(found.mean_square_i, 33 / 12.0 + 1 / 12.0, 5 * 2.9 * std::sqrt(2.0 / 2048));
}

TEST_P(ModRaise, WithoutEncapsulationTheLiftIsExact) {
  ckks_rig plain(without_encapsulation(GetParam()));
  const ciphertext low = plain.encrypt(plain.random_values(plain.slots(), 1), 0);
  const ciphertext raised = plain.eval.mod_raise(low, top);
  const parts_of_raised found = compare(plain, low, raised);
  EXPECT_EQ(found.largest_error, 0);
  EXPECT_GT(found.largest_i, 3);
  EXPECT_LE(found.largest_i, params::overflow_range(32, -40, parameters.n()));
}

TEST_P(ModRaise, HigherLevelsComeDownFirstAndScalesAreExact) {
  add_key(top);
  const test::complex_vector values = rig.random_values(rig.slots(), 2);
  const ciphertext high = rig.encryptor.encrypt(rig.encoder.encode(values, 3, std::exp2(39.5)), rig.secret);
  const ciphertext raised = rig.eval.mod_raise(high, top);
  EXPECT_EQ(raised.scale, parameters.level(0).scale);
  // Modulo Q_0 the raised ciphertext is the message at the canonical scale again.
  ciphertext back = rig.eval.adjust(raised, 0, raised.scale);
  EXPECT_GT(rig.precision(back, values).worst_bits, 18);
  const ciphertext drifted =
      rig.encryptor.encrypt(rig.encoder.encode(values, 0, std::exp2(39.25)), rig.secret);
  const ciphertext kept = rig.eval.mod_raise(drifted, top);
  EXPECT_EQ(kept.scale, std::exp2(39.25));
  back = rig.eval.adjust(kept, 0, kept.scale);
  EXPECT_GT(rig.precision(back, values).worst_bits, 18);
}

TEST_P(ModRaise, BatchesLowerLevelsAndSeededKeysGiveTheSameIntegers) {
  add_key(top);
  const ciphertext a = rig.encrypt(rig.random_values(rig.slots(), 3), 0);
  const ciphertext b = rig.encrypt(rig.random_values(64, 4), 1);
  const std::vector<const ciphertext*> both{&a, &b};
  const std::vector<ciphertext> batch = rig.eval.mod_raise(both, top);
  ASSERT_EQ(batch.size(), 2U);
  EXPECT_EQ(decrypted_words(rig, batch[0]), decrypted_words(rig, rig.eval.mod_raise(a, top)));
  EXPECT_EQ(decrypted_words(rig, batch[1]), decrypted_words(rig, rig.eval.mod_raise(b, top)));
  EXPECT_EQ(batch[1].slots, 64U);
  EXPECT_TRUE(rig.eval.mod_raise(std::span<const ciphertext* const>{}, top).empty());
  // A key for the highest level serves the levels below, and gives nearly the integers that it gives there.
  for (unsigned level = parameters.max_level() + 1; level <= top; ++level) {
    EXPECT_LT(compare(rig, a, rig.eval.mod_raise(a, level)).largest_error, largest_switch_error) << level;
  }
}

TEST_P(ModRaise, SeededKeysExpandToTheSameIntegers) {
  evaluation_key key = rig.generator.make_evaluation_key(rig.secret, {encapsulation_element, top}, true);
  const params::footprint sizes(parameters);
  EXPECT_EQ(key.bytes(), sizes.encapsulation_key(top, true));
  const ciphertext low = rig.encrypt(rig.random_values(rig.slots(), 5), 0);
  rig.keys.add(transfer(key, *rig.ctx));
  const ciphertext from_seeds = rig.eval.mod_raise(low, top);
  expand(*rig.ctx, key);
  EXPECT_EQ(key.bytes(), sizes.encapsulation_key(top));
  rig.keys.add(std::move(key));
  EXPECT_EQ(decrypted_words(rig, rig.eval.mod_raise(low, top)), decrypted_words(rig, from_seeds));
}

TEST_P(ModRaise, MissingKeysAreNamed) {
  const ciphertext low = rig.encrypt(rig.random_values(4, 6), 0);
  EXPECT_THAT([&] { (void)rig.eval.mod_raise(low, top); },
              ThrowsMessage<missing_key>(
                  ::testing::AllOf(HasSubstr("encapsulation key missing"), HasSubstr("ModRaise"))));
  add_key(top - 1);
  EXPECT_THAT([&] { (void)rig.eval.mod_raise(low, top); },
              ThrowsMessage<missing_key>(
                  HasSubstr("encapsulation key is for levels up to " + std::to_string(top - 1))));
  EXPECT_EQ(rig.eval.mod_raise(low, top - 1).level, top - 1);
}

TEST_P(ModRaise, BadInputIsRefused) {
  add_key(top);
  const ciphertext low = rig.encrypt(rig.random_values(4, 7), 0);
  for (const unsigned level : {0U, parameters.max_level(), top + 1}) {
    EXPECT_THAT([&] { (void)rig.eval.mod_raise(low, level); },
                ThrowsMessage<invalid_argument>(HasSubstr("levels that only bootstrapping uses")));
  }
  rig.eval.set_mode(maintenance::manual);
  const ciphertext one = rig.encrypt(rig.random_values(4, 8), 1);
  const ciphertext three = rig.eval.multiply(one, one);
  EXPECT_THAT([&] { (void)rig.eval.mod_raise(three, top); },
              ThrowsMessage<invalid_argument>(HasSubstr("relinearize")));
}

TEST_P(ModRaise, GhostsAskForTheKeyAndForNothingElse) {
  engine_options options;
  options.device = "ghost";
  engine ghost(parameters, options);
  const ciphertext low = ghost.ghost_input(2, parameters.level(2).scale, 16);
  const ciphertext raised = ghost.evaluator().mod_raise(low, top);
  EXPECT_EQ(raised.level, top);
  EXPECT_EQ(raised.scale, parameters.level(0).scale);
  const std::vector<key_request> expected{{encapsulation_element, top}};
  EXPECT_EQ(ghost.needed_keys(), expected);
}

INSTANTIATE_TEST_SUITE_P(WordBits, ModRaise, ::testing::Values("test-n11-boot", "test-n11-boot64"),
                         [](const auto& each) {
                           return std::string(each.param).find("64") == std::string::npos ? "w32" : "w64";
                         });

TEST(ModRaiseOfOtherSets, IsRefused) {
  ckks_rig rig("test-n10-d3");
  const ciphertext low = rig.encrypt(rig.random_values(4, 1), 0);
  EXPECT_THAT([&] { (void)rig.eval.mod_raise(low, 3); },
              ThrowsMessage<invalid_argument>(HasSubstr("no levels for bootstrapping")));
  EXPECT_THAT(
      [&] {
        (void)rig.generator.make_evaluation_key(rig.secret, {encapsulation_element, 3});
      },
      ThrowsMessage<invalid_argument>(HasSubstr("no ephemeral secret")));
  EXPECT_FALSE(is_key_element(rig.parameters(), encapsulation_element));
}

}  // namespace
}  // namespace halocline::ckks
