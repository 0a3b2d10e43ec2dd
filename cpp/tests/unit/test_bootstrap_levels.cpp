// SPDX-License-Identifier: Apache-2.0
// Bootstraps whose results have fewer levels than there are, and which raise no further than these need.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halocline/circuits/bootstrap.hpp"
#include "halocline/circuits/dft.hpp"
#include "halocline/circuits/mod1.hpp"
#include "halocline/core/error.hpp"
#include "halocline/params/presets.hpp"
#include "support/circuit_fixture.hpp"

namespace halocline::test {
namespace {

using circuits::bootstrap_options;
using circuits::bootstrap_order;
using circuits::bootstrapper;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr auto cts = bootstrap_order::cts_first;
constexpr auto stc = bootstrap_order::stc_first;

/// 17 levels for messages, as n16-boot has.
ckks_rig& deep_rig() {
  static ckks_rig instance(params::preset("test-n12-boot"));
  instance.eval.set_mode(ckks::maintenance::automatic);
  return instance;
}

bootstrap_options with(std::uint32_t slots, bootstrap_order order, std::optional<unsigned> output_level) {
  bootstrap_options options;
  options.slots = slots;
  options.order = order;
  options.output_level = output_level;
  return options;
}

complex_vector deep_disc(std::uint32_t count) {
  complex_vector values = deep_rig().random_values(2 * count, 5);
  std::erase_if(values, [](const auto& each) { return std::abs(each) > 1; });
  values.resize(count);
  return values;
}

struct lowered_case {
  std::string name;
  bootstrap_options options;
};

std::vector<lowered_case> lowered_cases() {
  std::vector<lowered_case> result{{"least_cts", with(8, cts, 1)},
                                   {"sparse_cts", with(8, cts, 14)},
                                   {"sparse_stc", with(8, stc, 9)},
                                   {"from_sparse", with(64, stc, 12)},
                                   {"most", with(64, stc, 17)},
                                   {"iterations", with(64, stc, 10)},
                                   {"small_key", with(64, cts, 11)},
                                   {"full_from_sparse", with(2048, stc, 13)},
                                   {"full_cts_together", with(2048, cts, 6)}};
  result[3].options.transforms.from_sparse = result[7].options.transforms.from_sparse = true;
  result[5].options.iterations.count = 2;
  result[6].options.transforms.cts_mode = result[6].options.transforms.stc_mode =
      circuits::transform_mode::small_key;
  result[8].options.eval_mod.together = 2;
  return result;
}

class BootstrapLevels : public testing::TestWithParam<lowered_case> {};

// With exactly the keys that it requests, which are no larger than those of a bootstrap to the highest level.
// The scales of EvalMod and CoeffToSlot are those of the usual levels, and so is the forecast; a quarter of a
// bit is what primes of other sizes may change. Measured against the forecast as in test_bootstrap.cpp.
TEST_P(BootstrapLevels, ResultsHaveTheLevelAndTheUsualPrecision) {
  SCOPED_TRACE(deep_rig().describe());
  const bootstrapper boots(deep_rig().eval, GetParam().options);
  bootstrap_options highest = GetParam().options;
  highest.output_level.reset();
  const bootstrapper usual(deep_rig().eval, highest);
  const std::vector<ckks::key_request> requests = boots.key_requests();
  const std::vector<ckks::key_request> most = usual.key_requests();
  for (const ckks::key_request& each : requests) {
    EXPECT_LE(each.level, deep_rig().parameters().top_level());
    const auto same = std::ranges::find(most, each.galois_element, &ckks::key_request::galois_element);
    if (same != most.end()) {
      EXPECT_LE(each.level, same->level);
    }
  }
  exact_keys keys(deep_rig(), requests);
  const complex_vector x = deep_disc(boots.slots());
  const ckks::ciphertext y = boots.bootstrap(keys.eval, deep_rig().encrypt(x, boots.input_level()));
  EXPECT_EQ(y.level, *GetParam().options.output_level);
  EXPECT_EQ(y.level, boots.output_level());
  // With SlotToCoeff first, both parts of sparse messages are in one ciphertext, which a matrix joins.
  const bool joined = boots.options().order == stc && boots.slots() < 2048 && y.level < 17;
  EXPECT_EQ(boots.depth(), usual.depth() + (joined ? 1 : 0));
  EXPECT_EQ(boots.raised_level() - y.level, boots.depth());
  EXPECT_DOUBLE_EQ(y.scale, deep_rig().parameters().level(y.level).scale);
  EXPECT_NEAR(boots.forecast().mean_bits, usual.forecast().mean_bits, 0.25);
  const ckks::precision_stats found = deep_rig().precision(y, x);
  EXPECT_GT(found.mean_bits, boots.forecast().mean_bits - 0.5);
  EXPECT_GT(found.worst_bits, boots.forecast().worst_bits - 3.0);
}

INSTANTIATE_TEST_SUITE_P(All, BootstrapLevels, testing::ValuesIn(lowered_cases()),
                         [](const auto& info) { return info.param.name; });

// What comes out is a message like any other: it has the primes of its level, and can be multiplied.
TEST(BootstrapLevels, ResultsAreOrdinaryCiphertexts) {
  const bootstrapper boots(deep_rig().eval, with(8, stc, 5));
  exact_keys keys(deep_rig(), boots.key_requests());
  const complex_vector x = deep_disc(8);
  ckks::ciphertext y = boots.bootstrap(keys.eval, deep_rig().encrypt(x, boots.input_level()));
  EXPECT_EQ(y.parts.front().chain().primes, deep_rig().parameters().level(5).q);
  complex_vector square = x;
  for (auto& each : square) each *= each;
  y = keys.eval.multiply(y, y);
  EXPECT_EQ(y.level, 4U);
  EXPECT_GT(deep_rig().precision(y, square).worst_bits, 15.0);
}

// Both parts of complex messages go through EvalMod in one ciphertext where a level is left to join them.
TEST(BootstrapLevels, PartsOfSparseMessagesArePackedWhereALevelIsLeft) {
  const auto parts = [](const bootstrap_options& options) {
    return bootstrapper(deep_rig().eval, options).coeff_to_slot().options().parts;
  };
  EXPECT_EQ(parts(with(8, stc, 16)), circuits::dft_parts::packed);
  EXPECT_EQ(parts(with(8, stc, 17)), circuits::dft_parts::separate);
  EXPECT_EQ(parts(with(8, stc, {})), circuits::dft_parts::separate);
  EXPECT_EQ(parts(with(8, cts, {})), circuits::dft_parts::packed);
  EXPECT_EQ(parts(with(2048, stc, 16)), circuits::dft_parts::separate);
  bootstrap_options real = with(8, stc, 16);
  real.real_only = true;
  EXPECT_EQ(parts(real), circuits::dft_parts::real);
}

// Few slots: the matrix under the sparse secret adds rotations and nothing else.
TEST(BootstrapLevels, FewSlotsFromTheSparseSecretBeginWithTheirSum) {
  bootstrap_options options = with(8, stc, 16);
  options.transforms.from_sparse = true;
  const auto stages = [&] { return bootstrapper(deep_rig().eval, options).options().transforms.cts_stages; };
  EXPECT_EQ(stages(), (std::vector<unsigned>{0, 3}));
  options.slots = 256;
  EXPECT_EQ(stages(), (std::vector<unsigned>{0, 4, 4}));
  options.transforms.memory_bytes = 1;  // the choice among transforms counts it, too
  EXPECT_EQ(stages(), (std::vector<unsigned>{0, 4, 4}));
  options.slots = 2048;
  EXPECT_TRUE(stages().empty());
  options.slots = 8;
  options.transforms.cts_stages = {1, 2};
  EXPECT_EQ(stages(), (std::vector<unsigned>{1, 2}));
}

TEST(BootstrapLevels, LevelsThatCannotBeAreRefused) {
  const auto made = [](ckks_rig& at, const bootstrap_options& options) {
    return [&at, options] { (void)bootstrapper(at.eval, options); };
  };
  EXPECT_THAT(made(deep_rig(), with(64, stc, 18)),
              ThrowsMessage<invalid_argument>(HasSubstr("level 18 requested; expected 3 to 17")));
  EXPECT_THAT(made(deep_rig(), with(2048, cts, 15)),
              ThrowsMessage<invalid_argument>(HasSubstr("level 15 requested; expected 1 to 14")));
  EXPECT_THAT(made(deep_rig(), with(64, stc, 2)),
              ThrowsMessage<invalid_argument>(HasSubstr("level 2 requested; expected 3 to 17")));
  EXPECT_THAT(made(deep_rig(), with(64, cts, 0)),
              ThrowsMessage<invalid_argument>(HasSubstr("level 0 requested; expected 1 to")));
  static ckks_rig wide(params::preset("test-n11-boot64"));
  EXPECT_THAT(made(wide, with(16, stc, 3)), ThrowsMessage<invalid_argument>(HasSubstr("64-bit words")));
  for (const unsigned level : {4U, 5U}) {
    EXPECT_EQ(bootstrapper(wide.eval, with(16, stc, level)).output_level(), level);
  }
}

// A key for the highest level serves, one below what is requested does not.
TEST(BootstrapLevels, KeysOfLowerLevelsAreMissing) {
  const bootstrapper boots(deep_rig().eval, with(8, cts, 12));
  std::vector<ckks::key_request> requests = boots.key_requests();
  for (ckks::key_request& each : requests) each.level = deep_rig().parameters().top_level();
  const ckks::ciphertext x = deep_rig().encrypt(deep_disc(8), 0);
  exact_keys large(deep_rig(), requests);
  EXPECT_EQ(boots.bootstrap(large.eval, x).level, 12U);
  for (ckks::key_request& each : requests) each.level = 12;
  exact_keys small(deep_rig(), requests);
  EXPECT_THROW((void)boots.bootstrap(small.eval, x), missing_key);
}

}  // namespace
}  // namespace halocline::test
