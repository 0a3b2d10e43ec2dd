// SPDX-License-Identifier: Apache-2.0
// Parameter sets with levels that only bootstrapping uses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "halocline/core/error.hpp"
#include "halocline/params/footprint.hpp"
#include "halocline/params/presets.hpp"

namespace halocline::params {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<std::string> bootstrappable() {
  std::vector<std::string> names;
  for (const std::string& name : preset_names()) {
    if (preset(name).bootstrapping()) names.push_back(name);
  }
  return names;
}

using change = std::function<void(literal&)>;

void expect_refused(const char* name, const change& edit, const std::vector<std::string>& fragments) {
  literal source = preset_literal(name);
  edit(source);
  for (const std::string& fragment : fragments) {
    EXPECT_THAT([&] { (void)parameters::from_literal(source); },
                ThrowsMessage<invalid_argument>(HasSubstr(fragment)))
        << name;
  }
}

TEST(BootstrapParameters, LevelsComeInGroups) {
  ASSERT_EQ(bootstrappable().size(), 11U);
  for (const std::string& name : bootstrappable()) {
    const parameters p = preset(name);
    const bootstrap_literal& extra = *p.bootstrapping();
    EXPECT_EQ(p.top_level(), p.max_level() + extra.eval_mod.levels + extra.coeff_to_slot.levels) << name;
    for (unsigned l = 0; l <= p.top_level(); ++l) {
      const level_use expected = l <= p.max_level()                           ? level_use::message
                                 : l <= p.max_level() + extra.eval_mod.levels ? level_use::eval_mod
                                                                              : level_use::coeff_to_slot;
      EXPECT_EQ(p.level(l).use, expected) << name << " " << l;
    }
    EXPECT_THROW((void)p.level(p.top_level() + 1), invalid_argument);
  }
  const parameters plain = preset("n14-d7");
  EXPECT_EQ(plain.top_level(), plain.max_level());
  EXPECT_FALSE(plain.bootstrapping() || plain.encapsulation());
  EXPECT_EQ(level_use_name(level_use::message), "message");
  EXPECT_EQ(level_use_name(level_use::eval_mod), "eval_mod");
  EXPECT_EQ(level_use_name(level_use::coeff_to_slot), "coeff_to_slot");
}

// Lowered levels are those of the set with this depth, made of primes of the large set.
TEST(BootstrapParameters, LoweredLevelsFollowLowerMessageLevels) {
  for (const char* const name : {"n16-boot", "test-n12-boot", "test-n11-boot"}) {
    const parameters p = preset(name);
    const unsigned above = p.top_level() - p.max_level();
    EXPECT_EQ(p.lowered_offset(p.max_level()), 0U);
    for (unsigned m = 1; m < p.max_level(); ++m) {
      const auto offset = p.lowered_offset(m);
      ASSERT_TRUE(offset.has_value()) << name << " " << m;
      EXPECT_GT(*offset, p.top_level());
      for (unsigned l = 0; l <= m; ++l) {
        EXPECT_EQ(p.level(*offset + l).q, p.level(l).q) << name << " " << m << " " << l;
        EXPECT_EQ(p.level(*offset + l).scale, p.level(l).scale) << name << " " << m << " " << l;
      }
      for (unsigned l = m + 1; l <= m + above; ++l) {
        const level_info& row = p.level(*offset + l);
        const level_info& usual = p.level(p.max_level() + l - m);
        EXPECT_EQ(row.use, usual.use);
        const double bits = row.use == level_use::eval_mod ? 60 : 50;
        EXPECT_NEAR(std::log2(row.scale), bits, 0.25) << name << " " << m << " " << l;
        EXPECT_LT(row.log2_modulus, usual.log2_modulus);
        const unsigned key = p.key_level(*offset + l);
        EXPECT_LE(key, p.max_level() + l - m);
        EXPECT_GE(p.key_limbs(key), row.q.end());
        EXPECT_TRUE(key == 0 || p.key_limbs(key - 1) < row.q.end());
      }
      EXPECT_EQ(p.level(*offset + m).arrival_scale, p.level(p.max_level()).arrival_scale);
      EXPECT_FALSE(p.has_level(*offset + m + above + 1));
      EXPECT_THROW((void)p.level(*offset + m + above + 1), invalid_argument);
      EXPECT_THROW((void)p.key_level(*offset + m + above + 1), invalid_argument);
    }
    EXPECT_EQ(p.key_level(p.top_level()), p.top_level());
    EXPECT_FALSE(p.lowered_offset(0) || p.lowered_offset(p.max_level() + 1));
  }
  EXPECT_FALSE(preset("test-n11-boot64").lowered_offset(4).has_value());
  EXPECT_EQ(preset("test-n11-boot64").lowered_offset(5), 0U);
  EXPECT_FALSE(preset("n14-d7").lowered_offset(7).has_value());
}

// Every level is a contiguous window of one list: what it drops and takes up are the ends of the windows, it
// has one main prime more, or as many, than the level below, and all windows lie behind the special primes.
TEST(BootstrapParameters, WindowsAreContiguousAndMainsNeverFall) {
  for (const std::string& name : bootstrappable()) {
    const parameters p = preset(name);
    const unsigned first_main = p.special_count() + p.terminal_count();
    for (unsigned l = 0; l <= p.top_level(); ++l) {
      const level_info& row = p.level(l);
      EXPECT_EQ(row.q.first, first_main - row.terminals) << name << " " << l;
      EXPECT_EQ(row.q.end(), first_main + row.mains) << name << " " << l;
      EXPECT_LE(row.q.end(), p.prime_count());
      EXPECT_EQ(p.key_limbs(l), row.q.end()) << name << " " << l;
      if (l == 0) continue;
      EXPECT_GE(row.mains, p.level(l - 1).mains) << name << " " << l;
      EXPECT_FALSE(row.dropped.empty()) << name << " " << l;
      EXPECT_EQ(row.q.count - row.dropped.size() + row.added.size(), p.level(l - 1).q.count)
          << name << " " << l;
    }
  }
}

// 60 bits are two main primes of 30; 50 bits are a main and a terminal prime, or three mains less two
// terminals.
TEST(BootstrapParameters, StepsOfTheNarrowSet) {
  const parameters p = preset("n16-boot");
  const unsigned bottom = p.max_level();
  EXPECT_EQ(p.terminal_count(), 2U);
  EXPECT_EQ(p.main_count(), 44U);
  EXPECT_EQ(p.special_count(), 12U);
  for (unsigned l = bottom + 1; l <= bottom + 8; ++l) {
    EXPECT_EQ(p.level(l).terminals, p.level(bottom).terminals);
    EXPECT_EQ(p.level(l).mains, p.level(bottom).mains + 2 * (l - bottom));
  }
  const unsigned top = p.top_level();
  const std::vector<level_shape> shapes = plan_levels(p.source());
  EXPECT_EQ(shapes[top], (level_shape{2, 44}));
  EXPECT_EQ(shapes[top - 1], (level_shape{1, 43}));
  EXPECT_EQ(shapes[top - 2], (level_shape{0, 42}));
  EXPECT_EQ(shapes[top - 3], (level_shape{2, 39}));
  EXPECT_EQ(shapes[0], (level_shape{1, 1}));
}

TEST(BootstrapParameters, ScalesStayWithinAQuarterOfABitAndStartAnewAtBorders) {
  for (const std::string& name : bootstrappable()) {
    const parameters p = preset(name);
    const std::vector<level_target> targets = level_targets(p.source());
    ASSERT_EQ(targets.size(), p.top_level() + 1);
    for (unsigned l = 0; l <= p.top_level(); ++l) {
      const level_info& row = p.level(l);
      EXPECT_NEAR(std::log2(row.scale), targets[l].scale_bits, 0.25) << name << " " << l;
      EXPECT_NEAR(row.log2_modulus, targets[l].modulus_bits, 8) << name << " " << l;
      if (l == 0) continue;
      const level_info& below = p.level(l - 1);
      // A product of canonical ciphertexts arrives below with the arrival scale, to the precision of doubles.
      const double arrives = 2 * std::log2(row.scale) - (row.log2_modulus - below.log2_modulus);
      EXPECT_NEAR(arrives, std::log2(below.arrival_scale), 1e-9) << name << " " << l;
      if (below.use == row.use) {
        EXPECT_EQ(below.arrival_scale, below.scale) << name << " " << l;
      } else {
        EXPECT_EQ(below.arrival_scale, std::exp2(targets[l].scale_bits)) << name << " " << l;
      }
    }
  }
}

TEST(BootstrapParameters, EncapsulationTakesFewSpecialPrimes) {
  const parameters narrow = preset("n16-boot");
  const encapsulation_info& e = *narrow.encapsulation();
  EXPECT_EQ(e.to_sparse, (arith::window{0, 2}));
  EXPECT_EQ(e.to_dense, (arith::window{0, 3}));  // 50 + 20 bits
  EXPECT_NEAR(e.log2_pq, 110, 0.5);
  EXPECT_EQ(e.security.bits, 128);
  EXPECT_EQ(narrow.security_bits(), 128);  // of the weaker one; the table has no row above 128 bits for it
  EXPECT_GT(narrow.security().bits, 130);
  EXPECT_NEAR(std::log2(narrow.base_modulus()), narrow.level(0).log2_modulus, 1e-12);
  const footprint f(narrow);
  // Two digits of 2 + 2 limbs, and one of 3 special primes and 46 of the chain.
  EXPECT_EQ(f.encapsulation_key(narrow.top_level()), 2U * (2 * 4 + 3 + 46) * narrow.limb_bytes());
  EXPECT_EQ(f.encapsulation_key(narrow.top_level(), true), (2U * 4 + 3 + 46) * narrow.limb_bytes() + 3 * 32);
  EXPECT_EQ(footprint(preset("n14-d7")).encapsulation_key(7), 0U);
}

TEST(BootstrapParameters, JsonAndFingerprint) {
  const parameters p = preset("n16-boot");
  const parameters again = parameters::from_json(p.to_json());
  EXPECT_EQ(again, p);
  EXPECT_EQ(again.fingerprint(), p.fingerprint());
  std::vector<change> changes{[](literal& s) { s.bootstrapping->ephemeral_weight = 33; },
                              [](literal& s) { s.bootstrapping->ephemeral_special_primes = 1; },
                              [](literal& s) { s.bootstrapping->slot_to_coeff_levels = 4; },
                              [](literal& s) { s.bootstrapping->eval_mod.levels = 7; },
                              [](literal& s) { s.bootstrapping->coeff_to_slot.levels = 2; }};
  for (const change& edit : changes) {
    literal source = p.source();
    edit(source);
    EXPECT_NE(parameters::from_literal(source), p);
  }
}

TEST(BootstrapParameters, BadFieldsAreNamed) {
  const char* narrow = "test-n11-boot";
  const char* wide = "test-n11-boot64";
  expect_refused(narrow, [](literal& s) { s.bootstrapping->eval_mod.bits = 60.5; },
                 {"bootstrapping eval_mod bits is 60.5; expected 20..60"});
  expect_refused(wide, [](literal& s) { s.bootstrapping->coeff_to_slot.bits = 27; },
                 {"bootstrapping coeff_to_slot bits is 27; expected 28..60"});
  expect_refused(narrow, [](literal& s) { s.bootstrapping->eval_mod.levels = 0; },
                 {"bootstrapping eval_mod levels is 0"});
  expect_refused(narrow, [](literal& s) { s.bootstrapping->eval_mod.levels = 120; },
                 {"depth and bootstrapping levels together are 128; expected at most 127"});
  expect_refused(narrow, [](literal& s) { s.bootstrapping->slot_to_coeff_levels = 6; },
                 {"slot_to_coeff_levels is 6; expected 1..depth = 5"});
  expect_refused(narrow, [](literal& s) { s.bootstrapping->ephemeral_weight = 4096; },
                 {"ephemeral_weight is 4096"});
  expect_refused(narrow, [](literal& s) { s.bootstrapping->ephemeral_special_primes = 7; },
                 {"ephemeral_special_primes is 7", "1..special_primes = 6"});
  expect_refused(narrow, [](literal& s) { s.bootstrapping->ephemeral_weight = 0; },
                 {"ephemeral_special_primes is 2 with ephemeral_weight 0"});
  // 45 bits are no sum of primes of 30 and 20 bits that begins at this modulus.
  expect_refused(narrow, [](literal& s) { s.bootstrapping->coeff_to_slot.bits = 45; },
                 {"level 14 needs a modulus of 775 bits", "bits of bootstrapping levels"});
  expect_refused(wide,
                 [](literal& s) {
                   s.special_bits = 45;
                   s.digit_size = 2;
                 },
                 {"a prime of level 0 has 50", "raise ephemeral_special_primes"});
}

TEST(BootstrapParameters, WeakEphemeralSecretsAreRefused) {
  const auto refused = [](const change& edit, const std::string& fragment) {
    literal source = preset_literal("n16-boot");
    edit(source);
    EXPECT_THAT(
        [&] { (void)parameters::from_literal(source); },
        ThrowsMessage<insecure_parameters>(AllOf(HasSubstr("ephemeral secret"), HasSubstr(fragment))));
    source.allow_insecure = true;
    EXPECT_LT(parameters::from_literal(source).security_bits(), 128);
  };
  refused([](literal& s) { s.bootstrapping->ephemeral_weight = 31; }, "is not rated");
  refused([](literal& s) { s.bootstrapping->ephemeral_special_primes = 3; }, "expected log2(PQ) <= 121");
}

}  // namespace
}  // namespace halocline::params
