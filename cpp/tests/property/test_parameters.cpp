// SPDX-License-Identifier: Apache-2.0
#include "halocline/params/parameters.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "halocline/core/error.hpp"
#include "halocline/params/primes.hpp"

namespace halocline::params {
namespace {

/// Draws literals of which a good part is valid.
class literal_source {
 public:
  explicit literal_source(std::uint32_t seed) : random_(seed) {}

  literal draw() {
    literal s;
    s.allow_insecure = below(4) != 0;
    s.log_n = 10 + below(8);
    s.depth = below(20);
    s.word_bits = below(3) == 0 ? 64 : 32;
    s.special_primes = 1 + below(8);
    s.digit_size = 1 + below(s.special_primes + 1);
    s.galois_generator = below(2) == 0 ? 3 : 5;
    if (below(4) == 0) s.secret = {secret_kind::sparse, 1 + below(400)};
    if (s.word_bits == 64) {
      s.main_bits = s.terminal_bits = 0;
      s.scale_bits = 28 + uniform() * 30;
      s.base_bits = s.scale_bits + uniform() * 20;
      s.special_bits = 50 + uniform() * 11;
    } else {
      const double shrink = below(3) == 0 ? 0.98 + uniform() * 0.02 : 1;
      s.terminal_bits = shrink * (20 + 5 * below(2));
      s.main_bits = shrink * 30;
      s.scale_bits = shrink * (25 + 5 * below(7));
      s.base_bits = shrink * (30 + 5 * below(14));
    }
    if (below(3) == 0) s.bootstrapping = draw_bootstrapping(s);
    return s;
  }

  bootstrap_literal draw_bootstrapping(const literal& s) {
    bootstrap_literal extra;
    const bool narrow = s.word_bits == 32;
    const double shrink = s.main_bits / 30;
    extra.eval_mod = {narrow ? shrink * (30 + 10 * below(4)) : 40 + uniform() * 20, 1 + below(10)};
    extra.coeff_to_slot = {narrow ? shrink * (30 + 10 * below(4)) : 40 + uniform() * 20, 1 + below(4)};
    extra.slot_to_coeff_levels = 1 + below(3);
    extra.ephemeral_weight = below(3) == 0 ? 0 : 16 + below(200);
    extra.ephemeral_special_primes = extra.ephemeral_weight == 0 ? 0 : 1 + below(s.special_primes);
    return extra;
  }

  unsigned below(unsigned bound) { return std::uniform_int_distribution<unsigned>(0, bound - 1)(random_); }

 private:
  double uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  std::mt19937 random_;
};

void check_primes(const parameters& p) {
  const std::set<std::uint64_t> distinct(p.primes().begin(), p.primes().end());
  EXPECT_EQ(distinct.size(), p.prime_count());
  EXPECT_EQ(p.prime_count(), p.special_count() + p.terminal_count() + p.main_count());
  const std::uint64_t low = p.word_bits() == 32 ? 1U << 19U : 1U << 26U;
  const std::uint64_t high = std::uint64_t{1} << (p.word_bits() == 32 ? 30U : 61U);
  for (const std::uint64_t q : p.primes()) {
    EXPECT_TRUE(is_prime(q));
    EXPECT_EQ(q % (2 * p.n()), 1U);
    EXPECT_GT(q, low);
    EXPECT_LT(q, high);
  }
}

void check_levels(const parameters& p) {
  unsigned limbs = 0;
  const std::vector<level_target> targets = level_targets(p.source());
  ASSERT_EQ(targets.size(), p.top_level() + 1);
  for (unsigned l = 0; l <= p.top_level(); ++l) {
    const level_info& level = p.level(l);
    EXPECT_EQ(level.use == level_use::message, l <= p.max_level());
    EXPECT_GE(level.q.first, p.special_count());
    EXPECT_LE(level.q.end(), p.prime_count());
    EXPECT_EQ(level.q.count, level.terminals + level.mains);
    EXPECT_LE(level.terminals, p.terminal_count());
    limbs = std::max(limbs, level.q.end());
    EXPECT_EQ(p.key_limbs(l), limbs);
    EXPECT_LE(std::abs(std::log2(level.scale) - targets[l].scale_bits), 0.25);
    EXPECT_LE(level.log2_modulus, p.log2_q() + 1e-9);
    if (l == 0) continue;

    const level_info& next = p.level(l - 1);
    std::set<std::uint32_t> left;
    for (std::uint32_t i = level.q.first; i < level.q.end(); ++i) left.insert(i);
    long double ratio = 1;
    for (const std::uint32_t i : level.dropped) {
      EXPECT_EQ(left.erase(i), 1U);
      ratio *= static_cast<long double>(p.primes()[i]);
    }
    for (const std::uint32_t i : level.added) {
      EXPECT_TRUE(left.insert(i).second);
      ratio /= static_cast<long double>(p.primes()[i]);
    }
    EXPECT_EQ(left.size(), next.q.count);
    EXPECT_EQ(*left.begin(), next.q.first);
    EXPECT_EQ(*left.rbegin(), next.q.end() - 1);
    // A product of two ciphertexts of this level rescales to the scale of the next, if that is of its group.
    const long double product = level.scale * static_cast<long double>(level.scale) / ratio;
    EXPECT_NEAR(static_cast<double>(product / next.arrival_scale), 1, 1e-14);
    EXPECT_TRUE(next.use != level.use || next.arrival_scale == next.scale);
  }
  EXPECT_EQ(limbs, p.prime_count());  // no prime is unused
}

void check_encapsulation(const parameters& p) {
  const bool wanted = p.bootstrapping() && p.bootstrapping()->ephemeral_weight != 0;
  ASSERT_EQ(p.encapsulation().has_value(), wanted);
  if (!wanted) return;
  const encapsulation_info& e = *p.encapsulation();
  EXPECT_EQ(e.to_sparse, (arith::window{0, p.bootstrapping()->ephemeral_special_primes}));
  EXPECT_EQ(e.to_dense.first, 0U);
  EXPECT_GE(e.to_dense.count, 1U);
  EXPECT_LE(e.to_dense.count, p.special_count());
  EXPECT_GT(e.log2_pq, p.level(0).log2_modulus);
  EXPECT_LE(p.security_bits(), e.security.bits);
}

void check_digits(const parameters& p) {
  std::uint32_t next = p.special_count();
  for (unsigned j = 0; j < p.digit_count(); ++j) {
    const arith::window w = p.digit(j);
    EXPECT_EQ(w.first, next);
    EXPECT_GE(w.count, 1U);
    EXPECT_LE(w.count, p.digit_size());
    next = w.end();
    double bits = 0;
    for (std::uint32_t i = w.first; i < w.end(); ++i) bits += std::log2(static_cast<double>(p.primes()[i]));
    EXPECT_LE(bits, p.log2_p() + 1 + 1e-9);
  }
  EXPECT_EQ(next, p.prime_count());
}

TEST(ParametersProperty, RandomLiteralsAreRefusedOrConsistent) {
  literal_source random(20261120);
  unsigned accepted = 0;
  unsigned bootstrappable = 0;
  for (int i = 0; i < 3000; ++i) {
    const literal source = random.draw();
    SCOPED_TRACE(testing::Message() << "literal " << i << ": " << source.to_json(0));
    ASSERT_EQ(literal::from_json(source.to_json(0)), source);
    try {
      const auto p = parameters::from_literal(source);
      ++accepted;
      check_primes(p);
      check_levels(p);
      check_digits(p);
      check_encapsulation(p);
      bootstrappable += p.bootstrapping() ? 1 : 0;
      EXPECT_TRUE(source.allow_insecure || p.security_bits() >= required_security);
      EXPECT_EQ(parameters::from_json(p.to_json()), p);
    } catch (const invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find("expected"), std::string::npos) << e.what();
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(accepted, 300U);
  EXPECT_GT(bootstrappable, 50U);
}

}  // namespace
}  // namespace halocline::params
