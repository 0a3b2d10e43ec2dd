// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/bootstrap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "halocline/circuits/dft.hpp"
#include "halocline/circuits/mod1.hpp"
#include "halocline/core/error.hpp"
#include "support/circuit_fixture.hpp"

namespace halocline::test {
namespace {

using circuits::bootstrap_options;
using circuits::bootstrap_order;
using circuits::bootstrapper;
using circuits::transform_mode;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// N = 2^10, insecure; messages have 42 bits and are 12 bits smaller than Q_0.
params::literal small_literal() {
  params::literal literal;
  literal.name = "n10-boot";
  literal.log_n = 10;
  literal.word_bits = 64;
  literal.main_bits = literal.terminal_bits = 0;
  literal.scale_bits = 42;
  literal.base_bits = 54;
  literal.depth = 5;
  literal.special_primes = 3;
  literal.special_bits = 58.5;
  literal.digit_size = 3;
  literal.bootstrapping = params::bootstrap_literal{{58, 8}, {50, 3}, 3, 32, 1};
  literal.allow_insecure = true;
  return literal;
}

ckks_rig& rig() {
  static ckks_rig instance(params::parameters::from_literal(small_literal()));
  instance.eval.set_mode(ckks::maintenance::automatic);
  return instance;
}

/// Random values in the unit disc.
complex_vector in_the_disc(std::uint32_t count, std::uint32_t seed = 1, bool real = false) {
  complex_vector values = rig().random_values(2 * count, seed);
  std::erase_if(values, [](const auto& each) { return std::abs(each) > 1; });
  values.resize(count);
  for (auto& each : values) each = real ? each.real() : each;
  return values;
}

struct bootstrap_case {
  std::string name;
  bootstrap_options options;
};

bootstrap_options with(std::uint32_t slots, bootstrap_order order = bootstrap_order::cts_first) {
  bootstrap_options options;
  options.slots = slots;
  options.order = order;
  return options;
}

std::vector<bootstrap_case> cases() {
  const auto stc = bootstrap_order::stc_first;
  std::vector<bootstrap_case> result{{"full", with(512)},
                                     {"sparse", with(8)},
                                     {"one_slot", with(1)},
                                     {"half", with(256)},
                                     {"full_stc", with(512, stc)},
                                     {"sparse_stc", with(8, stc)},
                                     {"small_key", with(64)},
                                     {"compact", with(64)},
                                     {"real", with(512)},
                                     {"real_sparse_stc", with(8, stc)},
                                     {"levels", with(128)},
                                     {"from_sparse", with(512)},
                                     {"from_sparse_stc", with(512, stc)},
                                     {"from_sparse_8", with(8)},
                                     {"from_sparse_4_stc", with(4, stc)},
                                     {"from_sparse_128", with(128)},
                                     {"from_sparse_pairs", with(8)},
                                     {"pairs", with(8)},
                                     {"eights", with(8)}};
  result[6].options.transforms.cts_mode = result[6].options.transforms.stc_mode = transform_mode::small_key;
  result[7].options.transforms.compact = true;
  result[8].options.real_only = result[9].options.real_only = true;
  result[10].options.transforms.cts_levels = 2;
  result[10].options.transforms.stc_levels = 1;
  for (std::size_t i = 11; i < 17; ++i) result[i].options.transforms.from_sparse = true;
  result[16].options.transforms.sum_radix = result[17].options.transforms.sum_radix = 2;
  result[18].options.transforms.sum_radix = 8;
  result[11].options.transforms.compact = result[13].options.transforms.compact = true;
  result[12].options.transforms.cts_stages = {4, 1, 1, 3};
  return result;
}

class Bootstrap : public testing::TestWithParam<bootstrap_case> {};

// With exactly the keys that it requests. What the forecast includes (`bootstrapper::forecast`): in EvalMod
// the rescale of T_2, 2^8 / 2^58 times a slope of 2^7.4, in x, of which the message is the 2^-10th part, so
// 2^-32.6 in a coefficient and sqrt(n) of that in a slot; the rounded entries of the matrices, about as much;
// sin(e) for e, (2 pi)^2 e^3 / 6. Half a bit for the mean; three for the worst slot, since a quarter of the
// slots of EvalMod is much noisier than the others.
TEST_P(Bootstrap, IsAsPreciseAsForecast) {
  SCOPED_TRACE(rig().describe());
  const bootstrapper boots(rig().eval, GetParam().options);
  exact_keys keys(rig(), boots.key_requests());
  const complex_vector x = in_the_disc(boots.slots(), 3, boots.options().real_only);
  const ckks::ciphertext y = boots.bootstrap(keys.eval, rig().encrypt(x, boots.input_level()));
  EXPECT_EQ(y.level, boots.output_level());
  EXPECT_EQ(y.slots, x.size());
  EXPECT_DOUBLE_EQ(y.scale, rig().parameters().level(y.level).scale);
  const ckks::precision_stats found = rig().precision(y, x);
  EXPECT_GT(found.mean_bits, boots.forecast().mean_bits - 0.5);
  EXPECT_GT(found.worst_bits, boots.forecast().worst_bits - 3.0);
  EXPECT_GT(boots.forecast().worst_bits, 17.0);
}

INSTANTIATE_TEST_SUITE_P(All, Bootstrap, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

// Full slots: a coefficient of a random message is small, and may be enlarged; then noise counts less.
TEST(Bootstrap, KnownBoundOfMessagesGivesPrecision) {
  bootstrap_options options = with(512);
  options.eval_mod.fraction = 0x1p-12;
  const bootstrapper plain(rig().eval, options);
  options.eval_mod.message_bound = 1.0 / 4;
  const bootstrapper bounded(rig().eval, options);
  EXPECT_GT(bounded.forecast().worst_bits, plain.forecast().worst_bits + 1.0);
  exact_keys keys(rig(), bounded.key_requests());
  const complex_vector x = in_the_disc(512);
  const ckks::ciphertext y = bounded.bootstrap(keys.eval, rig().encrypt(x, 0));
  EXPECT_GT(rig().precision(y, x).mean_bits, bounded.forecast().mean_bits - 0.5);
}

// Slots of magnitude 1 at 2^-10 of Q_0 lose 2^-17.3 to the sine; by default they are 2^-13 of it, half of
// what the parameters give, and lose 2^-23.3.
TEST(Bootstrap, SlotsMayBeMadeSmallerBeforeTheyAreReduced) {
  bootstrap_options options = with(64, bootstrap_order::stc_first);
  const bootstrapper boots(rig().eval, options);
  EXPECT_NEAR(std::log2(boots.unit_fraction()), -13, 0.25);
  options.eval_mod.fraction = 0x1p-10;
  const bootstrapper larger(rig().eval, options);
  const complex_vector ones(64, 1.0);
  const auto worst = [&](const bootstrapper& each) {
    exact_keys keys(rig(), each.key_requests());
    return rig()
        .precision(each.bootstrap(keys.eval, rig().encrypt(ones, each.input_level())), ones)
        .worst_bits;
  };
  EXPECT_NEAR(worst(larger), 17.3, 0.3);
  EXPECT_GT(worst(boots), 20.0);  // with the noise of the forecast
}

// All slots 1: the one coefficient of 1 is 2^-6 of Q_0, where the sine is off by 2^-9.3 and the sine with its
// arcsine of degree 3 by (3 / 40) (2 pi 2^-6)^4 = 2^-17.1.
TEST(Bootstrap, ArcsineCorrectsLargeCoefficients) {
  params::literal literal = small_literal();
  literal.bootstrapping->eval_mod.levels = 10;
  ckks_rig deep(params::parameters::from_literal(literal));
  bootstrap_options options = with(4);
  options.eval_mod.fraction = 1.0 / 64;
  options.eval_mod.tolerance = 0x1p-24;
  const complex_vector x(4, 1.0);
  const auto precision = [&](unsigned degree) {
    options.eval_mod.arcsine_degree = degree;
    const bootstrapper boots(deep.eval, options);
    exact_keys keys(deep, boots.key_requests());
    return deep.precision(boots.bootstrap(keys.eval, deep.encrypt(x, 0)), x).worst_bits;
  };
  EXPECT_NEAR(precision(0), 9.3, 0.3);
  EXPECT_GT(precision(3), 16.5);
}

// 50-bit messages: the rest that the second bootstrap is given errs by 2^10 / 2^50 when it is taken at level
// 0, and the result as much. The second bootstrap alone would add 2^-20 times the error of the first.
TEST(Bootstrap, TwoIterationsReach30Bits) {
  params::literal literal = small_literal();
  literal.scale_bits = 50;
  literal.base_bits = 58;
  ckks_rig precise(params::parameters::from_literal(literal));
  bootstrap_options options = with(512);
  options.eval_mod.fraction = 0x1p-8;
  const complex_vector x = in_the_disc(512);
  const ckks::ciphertext input = precise.encrypt(x, 0);
  const bootstrapper once(precise.eval, options);
  options.iterations.count = 2;
  const bootstrapper twice(precise.eval, options);
  exact_keys keys(precise, twice.key_requests());
  EXPECT_LT(precise.precision(once.bootstrap(keys.eval, input), x).worst_bits, 28.0);
  const ckks::ciphertext y = twice.bootstrap(keys.eval, input);
  EXPECT_EQ(y.level, once.output_level() - 1);
  EXPECT_DOUBLE_EQ(y.scale, precise.parameters().level(y.level).scale);
  EXPECT_GE(precise.precision(y, x).worst_bits, 35.0);
  EXPECT_GE(precise.precision(y, x).mean_bits, twice.forecast().mean_bits - 1.0);
  options.iterations.count = 4;
  EXPECT_THAT([&] { (void)bootstrapper(precise.eval, options); },
              ThrowsMessage<invalid_argument>(HasSubstr("fewer iterations")));
}

// What a ghost records is what the list says, for real and for sparse messages, iterations and both orders.
TEST(Bootstrap, GhostRunAsksForTheKeysOfTheList) {
  const params::parameters parameters = params::parameters::from_literal(small_literal());
  for (const bootstrap_order order : {bootstrap_order::cts_first, bootstrap_order::stc_first}) {
    for (const std::uint32_t slots : {512u, 16u}) {
      ghost_rig ghost(parameters);
      bootstrap_options options = with(slots, order);
      options.iterations.count = 2;
      options.transforms.from_sparse = slots == 512u || order == bootstrap_order::cts_first;
      const bootstrapper boots(ghost.eval, options);
      const ckks::ciphertext y = boots.bootstrap(ghost.eval, ghost.ghost_input(boots.input_level(), slots));
      EXPECT_EQ(y.level, boots.output_level());
      const auto listed = boots.key_requests();
      const auto asked = ghost.keys.requests();
      ASSERT_EQ(asked.size(), listed.size());
      for (std::size_t i = 0; i < asked.size(); ++i) {
        EXPECT_EQ(asked[i].galois_element, listed[i].galois_element);
        EXPECT_EQ(asked[i].level, listed[i].level) << asked[i].galois_element;
      }
    }
  }
}

// 64 copies of 8 slots: 6 keys of doublings, 3 stages of 3, 2 of 7. Small keys are for few keys.
TEST(Bootstrap, RadixOfTheSumSaysHowManyKeysItHas) {
  ghost_rig ghost(params::parameters::from_literal(small_literal()));
  const auto made = [&](std::optional<unsigned> radix, bool few_keys = false) {
    bootstrap_options options = with(8);
    options.transforms.sum_radix = radix;
    if (few_keys) options.transforms.cts_mode = transform_mode::small_key;
    return bootstrapper(ghost.eval, options);
  };
  const std::size_t pairs = made(2).key_requests().size();
  EXPECT_EQ(made(4).key_requests().size(), pairs + 3);
  EXPECT_EQ(made(8).key_requests().size(), pairs + 8);
  EXPECT_EQ(made({}).options().transforms.sum_radix, 4U);
  EXPECT_EQ(made({}, true).options().transforms.sum_radix, 2U);
  EXPECT_EQ(made(8, true).options().transforms.sum_radix, 8U);
  for (const unsigned radix : {1U, 6U, 128U}) {
    EXPECT_THAT([&] { (void)made(radix); }, ThrowsMessage<invalid_argument>(HasSubstr("power of two")));
  }
}

TEST(Bootstrap, BatchEqualsSingleOnes) {
  for (const std::uint32_t slots : {16u, 512u}) {
    bootstrap_options options = with(slots);
    options.transforms.from_sparse = slots == 512u;
    const bootstrapper boots(rig().eval, options);
    exact_keys keys(rig(), boots.key_requests());
    const ckks::ciphertext a = rig().encrypt(in_the_disc(slots, 1), 0);
    const ckks::ciphertext b = rig().encrypt(in_the_disc(slots, 2), 3);
    const ckks::ciphertext* const both[] = {&a, &b};
    const auto together = boots.bootstrap(keys.eval, both);
    EXPECT_EQ(rig().decrypt(together[0]), rig().decrypt(boots.bootstrap(keys.eval, a)));
    EXPECT_EQ(rig().decrypt(together[1]), rig().decrypt(boots.bootstrap(keys.eval, b)));
  }
}

// A scale 2^0.4 too large at level 0, and one that has drifted above it.
TEST(Bootstrap, CorrectsTheScale) {
  const bootstrapper boots(rig().eval, with(16));
  exact_keys keys(rig(), boots.key_requests());
  const complex_vector x = in_the_disc(16);
  for (const unsigned level : {0u, 2u}) {
    const double canonical = rig().parameters().level(level).scale;
    const auto plain = rig().encoder.encode(x, level, canonical * 1.32);
    const ckks::ciphertext y = boots.bootstrap(keys.eval, rig().encryptor.encrypt(plain, rig().secret));
    EXPECT_DOUBLE_EQ(y.scale, rig().parameters().level(y.level).scale);
    EXPECT_GT(rig().precision(y, x).mean_bits, boots.forecast().mean_bits - 1.0);
  }
  const auto far = rig().encoder.encode(x, 0, rig().parameters().level(0).scale * 3);
  const ckks::ciphertext refused = rig().encryptor.encrypt(far, rig().secret);
  EXPECT_THAT([&] { (void)boots.bootstrap(keys.eval, refused); },
              ThrowsMessage<scale_mismatch>(HasSubstr("within a factor of 2")));
}

// x -> x * r, |r| = 1, and a bootstrap, 20 times: each adds at most the worst error of one bootstrap.
TEST(Bootstrap, ErrorsOfAChainAdd) {
  constexpr int length = 20;
  bootstrap_options options = with(8);
  const bootstrapper boots(rig().eval, options);
  exact_keys keys(rig(), boots.key_requests());
  complex_vector x = in_the_disc(8);
  complex_vector rotation(8);
  for (std::size_t i = 0; i < 8; ++i) rotation[i] = std::polar(1.0, 0.7 + static_cast<double>(i));
  ckks::ciphertext y = rig().encrypt(x, 0);
  for (int i = 0; i < length; ++i) {
    y = keys.eval.multiply_values(boots.bootstrap(keys.eval, y), rotation);
    for (std::size_t j = 0; j < x.size(); ++j) x[j] *= rotation[j];
  }
  EXPECT_GT(rig().precision(y, x).worst_bits, boots.forecast().worst_bits - std::log2(length) - 1.0);
}

TEST(Bootstrap, StatesLevelsAndFailureProbability) {
  const bootstrapper boots(rig().eval, with(512));
  EXPECT_EQ(boots.raised_level(), rig().parameters().top_level());
  EXPECT_EQ(boots.output_level(), 2u);
  EXPECT_EQ(boots.depth(), 3 + boots.eval_mod().levels() + 3);
  EXPECT_LE(boots.log2_failure_probability(), -32.0);
  bootstrap_options options = with(512);
  options.eval_mod.log2_failure = -64;
  EXPECT_LE(bootstrapper(rig().eval, options).log2_failure_probability(), -64.0);
  // 8 slots have 3 stages: one matrix each way, and two levels more are left.
  const bootstrapper few(rig().eval, with(8));
  EXPECT_EQ(few.raised_level(), rig().parameters().top_level() - 2);
  EXPECT_EQ(few.output_level(), 4u);
}

TEST(Bootstrap, BadInput) {
  const auto make = [](const bootstrap_options& options) {
    return [=] { (void)bootstrapper(rig().eval, options); };
  };
  bootstrap_options sparse = with(2);
  sparse.transforms.from_sparse = true;
  EXPECT_THAT(make(sparse), ThrowsMessage<invalid_argument>(HasSubstr("from_sparse with 2 slots")));
  sparse.slots = 512;
  sparse.transforms.cts_stages = {3, 3, 3};
  EXPECT_THAT(make(sparse), ThrowsMessage<invalid_argument>(HasSubstr("stages of 3 matrices")));
  sparse.transforms.cts_stages = {3, 3, 3, 1};
  EXPECT_THAT(make(sparse), ThrowsMessage<invalid_argument>(HasSubstr("sum to 9")));
  EXPECT_THAT(make(with(100)), ThrowsMessage<invalid_argument>(HasSubstr("expected a power of two")));
  bootstrap_options options;
  options.transforms.cts_levels = 5;
  EXPECT_THAT(make(options), ThrowsMessage<level_exhausted>(HasSubstr("2 more are needed")));
  options = {};
  options.transforms.stc_levels = 7;
  EXPECT_THAT(make(options), ThrowsMessage<level_exhausted>(HasSubstr("2 more are needed")));
  options = {};
  options.eval_mod.range = 8;
  EXPECT_THAT(make(options), ThrowsMessage<invalid_argument>(HasSubstr("leaves the range 8 of EvalMod")));
  options.eval_mod.allow_failure = true;
  EXPECT_GT(bootstrapper(rig().eval, options).log2_failure_probability(), -32.0);
  // A choice is left open by giving nothing, not by 0.
  options = {};
  options.transforms.cts_levels = 0;
  EXPECT_THAT(make(options), ThrowsMessage<invalid_argument>(HasSubstr("expected at least 1 of each")));
  options = {};
  options.transforms.baby_count = 0;
  EXPECT_THAT(make(options), ThrowsMessage<invalid_argument>(HasSubstr("0 babies")));
  options = {};
  options.iterations.bits = 0;
  EXPECT_THAT(make(options), ThrowsMessage<invalid_argument>(HasSubstr("expected 1 or more")));
  EXPECT_THAT(make(with(0)), ThrowsMessage<invalid_argument>(HasSubstr("0 slots")));
  EXPECT_THAT([] { (void)bootstrapper(circuit_rig("test-n10-d3").eval); },
              ThrowsMessage<invalid_argument>(HasSubstr("no levels for bootstrapping")));

  options = with(8, bootstrap_order::stc_first);
  options.transforms.cts_levels = options.transforms.stc_levels = 3;
  const bootstrapper boots(rig().eval, options);
  exact_keys keys(rig(), boots.key_requests());
  const complex_vector x = in_the_disc(8);
  EXPECT_THAT([&] { (void)boots.bootstrap(keys.eval, rig().encrypt(x, 1)); },
              ThrowsMessage<level_exhausted>(HasSubstr("2 more are needed")));
  EXPECT_THAT([&] { (void)boots.bootstrap(keys.eval, rig().encrypt(in_the_disc(4), 3)); },
              ThrowsMessage<invalid_argument>(HasSubstr("made for 8")));
  exact_keys none(rig(), {});
  EXPECT_THAT([&] { (void)boots.bootstrap(none.eval, rig().encrypt(x, 3)); },
              ThrowsMessage<missing_key>(testing::AllOf(HasSubstr("relinearization key up to level 13"),
                                                        HasSubstr("encapsulation key up to level 16"),
                                                        HasSubstr("rotation key for step"))));
}

}  // namespace
}  // namespace halocline::test
