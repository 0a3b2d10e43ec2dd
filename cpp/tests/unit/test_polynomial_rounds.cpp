// SPDX-License-Identifier: Apache-2.0
// Polynomials whose independent products go through key switches together, against one after the other.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "halocline/circuits/comparison.hpp"
#include "halocline/circuits/mod1.hpp"
#include "halocline/circuits/polynomial.hpp"
#include "support/circuit_fixture.hpp"
#include "support/residues.hpp"

namespace halocline::test {
namespace {

using circuits::polynomial;
using circuits::polynomial_basis;
using ckks::ciphertext;

constexpr std::size_t large_cache = std::size_t{1} << 30;

enum class parity : unsigned char { all, odd, even };

/// Coefficients whose magnitudes sum to 1.
polynomial series(polynomial_basis basis, unsigned degree, parity which, double turn = 0.0) {
  polynomial p{basis, std::vector<std::complex<double>>(degree + 1), -1.0, 1.0};
  double total = 0.0;
  for (unsigned k = 0; k <= degree; ++k) {
    if ((which == parity::odd && k % 2 == 0) || (which == parity::even && k % 2 == 1)) continue;
    p.coefficients[k] = std::cos(1.0 + k) / (1 + k % 5) + std::complex<double>(0.0, turn);
    total += std::abs(p.coefficients[k]);
  }
  for (auto& c : p.coefficients) c /= total;
  return p;
}

std::vector<std::uint64_t> words(ckks::context& ctx, const ciphertext& a) {
  std::vector<std::uint64_t> result;
  for (const ring::poly& each : a.parts) {
    const std::vector<std::uint64_t> part = words_of(ctx, each.chain());
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

using evaluation = std::function<std::vector<ciphertext>()>;

struct call_counts {
  std::uint64_t all = 0;
  std::uint64_t key_switches = 0;
};

struct both_counts {
  call_counts alone;
  call_counts joined;
};

class PolynomialRounds : public testing::TestWithParam<const char*> {
 protected:
  ckks_rig& rig = circuit_rig(GetParam());
  ckks::context& ctx = *rig.ctx;

  [[nodiscard]] std::vector<ciphertext> inputs(std::size_t count, unsigned level) {
    std::vector<ciphertext> result;
    for (std::size_t i = 0; i < count; ++i) {
      complex_vector values = rig.random_values(rig.slots(), static_cast<std::uint32_t>(7 + i));
      for (auto& each : values) each = each.real();
      result.push_back(rig.encrypt(values, level));
    }
    return result;
  }

  /// Calls of the backend in `run`, whose results are put into `found`.
  [[nodiscard]] call_counts calls(std::vector<ciphertext>& found, const evaluation& run) const {
    ctx.device().start_profile();
    found = run();
    call_counts counts;
    for (const backend::profile_row& row : ctx.device().stop_profile().rows) {
      counts.all += row.calls;
      if (row.op == "key_multiply_accumulate") counts.key_switches += row.calls;
    }
    return counts;
  }

  /// Compares what is joined with one after the other, with caches for one key switch, for some, and for all.
  both_counts expect_same(const evaluation& run) {
    std::vector<ciphertext> wanted, found;
    ctx.set_joining_budget(0);
    (void)run();  // makes the tables
    both_counts counts;
    counts.alone = calls(wanted, run);
    for (const std::size_t cache : {std::size_t{1}, 60 * ctx.tables().limb_bytes(), large_cache}) {
      ctx.set_cache_bytes(cache);
      counts.joined = calls(found, run);
      ctx.set_cache_bytes(0);
      EXPECT_EQ(found.size(), wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_EQ(found[i].level, wanted[i].level) << i;
        EXPECT_EQ(found[i].scale, wanted[i].scale) << i;
        EXPECT_EQ(found[i].slots, wanted[i].slots) << i;
        EXPECT_EQ(found[i].key, wanted[i].key) << i;
        EXPECT_EQ(words(ctx, found[i]), words(ctx, wanted[i])) << i << " cache " << cache;
      }
    }
    ctx.set_joining_budget({});
    return counts;
  }
};

// As many key switches follow each other as there are levels.
TEST_P(PolynomialRounds, AreTheSameIntegers) {
  const unsigned top = rig.top();
  for (const polynomial_basis basis : {polynomial_basis::monomial, polynomial_basis::chebyshev}) {
    for (const unsigned degree : {1U, 2U, 7U, 15U, 27U, 30U, 59U}) {
      for (const parity which : {parity::all, parity::odd, parity::even}) {
        const polynomial p = series(basis, degree, which);
        const unsigned levels = circuits::levels(p);
        if (levels > top || p.degree() == 0) continue;
        SCOPED_TRACE(rig.describe() + " degree " + std::to_string(degree) + " basis " +
                     std::to_string(static_cast<int>(basis)) + " parity " +
                     std::to_string(static_cast<int>(which)));
        for (const unsigned level : {top, levels}) {
          const std::vector<ciphertext> x = inputs(1, level);
          const both_counts counts =
              expect_same([&] { return circuits::evaluate(rig.eval, p, ckks::pointers(x)); });
          EXPECT_EQ(counts.alone.key_switches, circuits::cost(p).key_switches);
          EXPECT_LE(counts.joined.key_switches, levels);
          EXPECT_LE(counts.joined.all, counts.alone.all);
          if (degree >= 15) {
            EXPECT_LE(counts.joined.all + 8, counts.alone.all);
          }
        }
      }
    }
  }
}

TEST_P(PolynomialRounds, TakeSeveralCiphertexts) {
  const std::vector<ciphertext> x = inputs(3, rig.top());
  for (const unsigned degree : {7U, 27U, 30U}) {
    const polynomial p =
        series(polynomial_basis::chebyshev, degree, degree == 30 ? parity::even : parity::all);
    if (circuits::levels(p) > rig.top()) continue;
    const both_counts counts =
        expect_same([&] { return circuits::evaluate(rig.eval, p, ckks::pointers(x)); });
    EXPECT_EQ(counts.joined.key_switches, circuits::levels(p));
    EXPECT_LT(counts.joined.all, counts.alone.all);
  }
}

// Roots at one level with those of the other polynomial, or at levels and scales of their own.
TEST_P(PolynomialRounds, TakeBatches) {
  const std::vector<ciphertext> x = inputs(1, rig.top());
  for (const polynomial_basis basis : {polynomial_basis::monomial, polynomial_basis::chebyshev}) {
    const unsigned most = rig.top() > 5 ? 59 : 7;
    const std::vector<polynomial> batch{series(basis, most, parity::all),
                                        series(basis, most / 4, parity::odd)};
    for (circuits::polynomial_options options :
         {circuits::polynomial_options{}, circuits::polynomial_options{0, {}}}) {
      if (options.level) options.scale = 1.25 * rig.parameters().level(0).scale;
      const both_counts counts =
          expect_same([&] { return circuits::evaluate(rig.eval, batch, x.front(), options); });
      EXPECT_LE(counts.joined.key_switches, options.level ? rig.top() : circuits::levels(batch.front()));
      EXPECT_LT(counts.joined.key_switches, counts.alone.key_switches);
      EXPECT_LT(counts.joined.all, counts.alone.all);
    }
  }
}

// Where coefficients are not real everything goes one after the other; each key switch has one step less, as
// it transforms its digits itself.
TEST_P(PolynomialRounds, LeaveComplexCoefficientsAlone) {
  const std::vector<ciphertext> x = inputs(1, rig.top());
  const polynomial p = series(polynomial_basis::monomial, 7, parity::all, 0.125);
  const both_counts counts = expect_same([&] { return circuits::evaluate(rig.eval, p, ckks::pointers(x)); });
  EXPECT_EQ(counts.joined.key_switches, counts.alone.key_switches);
  EXPECT_EQ(counts.joined.all + counts.joined.key_switches, counts.alone.all);
}

// Within a budget memory counts more than launches.
TEST_P(PolynomialRounds, NeedNoBudget) {
  const std::vector<ciphertext> x = inputs(1, rig.top());
  const polynomial p = series(polynomial_basis::chebyshev, 7, parity::all);
  const auto run = [&] { return circuits::evaluate(rig.eval, p, ckks::pointers(x)); };
  std::vector<ciphertext> found;
  (void)run();
  const auto alone = calls(found, run);
  ctx.set_cache_bytes(large_cache);
  ctx.set_joining_budget(large_cache);
  const auto within = calls(found, run);
  EXPECT_EQ(within.key_switches, alone.key_switches);
  EXPECT_EQ(within.all + within.key_switches, alone.all);
  ctx.set_joining_budget(0);
  EXPECT_LT(calls(found, run).all, within.all);
  ctx.set_cache_bytes(0);
  ctx.set_joining_budget({});
}

// EvalMod at its levels, where limbs are ignored instead of divided out, of one and of two ciphertexts.
TEST_P(PolynomialRounds, ServeEvalMod) {
  const circuits::mod1 function;
  if (!rig.parameters().bootstrapping()) GTEST_SKIP() << "not bootstrappable";
  const unsigned highest = rig.parameters().max_level() + function.levels();
  ASSERT_LE(highest, rig.parameters().top_level());
  exact_keys keys(rig, function.key_requests(highest));
  for (const std::size_t count : {1, 2}) {
    const std::vector<ciphertext> x = inputs(count, highest);
    const both_counts counts = expect_same([&] { return function.evaluate(keys.eval, ckks::pointers(x)); });
    EXPECT_EQ(counts.alone.key_switches, function.key_switches());
    EXPECT_EQ(counts.joined.key_switches, function.levels());
    EXPECT_LT(counts.joined.all, counts.alone.all);
  }
  const std::vector<ciphertext> x = inputs(4, highest);
  for (const unsigned together : {1U, 2U, 4U}) {
    const auto run = [&] { return function.evaluate_complex(keys.eval, ckks::pointers(x), 1.0, together); };
    const both_counts counts = expect_same(run);
    EXPECT_LT(counts.joined.key_switches, counts.alone.key_switches);
    EXPECT_LT(counts.joined.all, counts.alone.all);
  }
}

TEST_P(PolynomialRounds, ServeComparisons) {
  const circuits::composite_sign& chain = circuits::minimax_sign(rig.top() > 7 ? 8 : 6);
  if (circuits::comparison_levels(circuits::comparison_kind::relu, chain, 1.0) > rig.top()) {
    GTEST_SKIP() << "too few levels";
  }
  const std::vector<ciphertext> x = inputs(1, rig.top());
  const both_counts counts = expect_same([&] {
    std::vector<ciphertext> made;
    made.push_back(circuits::relu(rig.eval, x.front(), chain, 1.0));
    return made;
  });
  const circuits::comparison_kind relu = circuits::comparison_kind::relu;
  EXPECT_EQ(counts.alone.key_switches, circuits::comparison_key_switches(relu, chain, 1.0));
  EXPECT_EQ(counts.joined.key_switches, circuits::comparison_levels(relu, chain, 1.0));
  EXPECT_LT(counts.joined.all, counts.alone.all);
}

INSTANTIATE_TEST_SUITE_P(Presets, PolynomialRounds,
                         testing::Values("test-n11-d8", "test-n10-d3-w64", "test-n11-boot",
                                         "test-n11-boot64"),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace halocline::test
