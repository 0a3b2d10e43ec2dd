// SPDX-License-Identifier: Apache-2.0
// Several keys in one call of the backend: the same integers as with one key for each, fewer calls, and no
// larger steps than a budget allows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "halocline/circuits/linear_transform.hpp"
#include "halocline/circuits/raised_transform.hpp"
#include "halocline/ckks/key_switch.hpp"
#include "halocline/core/error.hpp"
#include "halocline/memory/plan/minimum.hpp"
#include "support/circuit_fixture.hpp"
#include "support/residues.hpp"

namespace halocline::test {
namespace {

using circuits::linear_transform;
using circuits::transform_mode;
using ckks::joined_product;
using ckks::poly_pair;

constexpr std::size_t large_cache = std::size_t{1} << 30, mebibyte = std::size_t{1} << 20;

std::vector<std::uint64_t> words(ckks::context& ctx, const ring::poly& p) {
  std::vector<std::uint64_t> result;
  for (const backend::limb_view& view : p.views()) {
    const std::vector<std::uint64_t> part = words_of(ctx, view);
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

std::vector<std::uint64_t> words(ckks::context& ctx, const ckks::ciphertext& a) {
  std::vector<std::uint64_t> result;
  for (const ring::poly& each : a.parts) {
    const std::vector<std::uint64_t> part = words(ctx, each);
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

/// Gives a context the cache and the budget of a device for as long as it lives.
class as_on_device {
 public:
  as_on_device(ckks::context& ctx, std::optional<std::size_t> budget) : ctx_(ctx) {
    ctx_.set_cache_bytes(large_cache);
    ctx_.set_joining_budget(budget);
  }
  ~as_on_device() {
    ctx_.set_cache_bytes(0);
    ctx_.set_joining_budget({});
  }
  as_on_device(const as_on_device&) = delete;
  as_on_device& operator=(const as_on_device&) = delete;

 private:
  ckks::context& ctx_;
};

/// Budgets from none, over some with which calls take several keys, to one with which each takes one.
const std::vector<std::size_t> budgets{0, 64 * mebibyte, 24 * mebibyte, 8 * mebibyte, 1};

class JoinedKeys : public testing::TestWithParam<const char*> {
 protected:
  ckks_rig& rig = circuit_rig(GetParam());
  ckks::context& ctx = *rig.ctx;

  [[nodiscard]] circuits::diagonal_map diagonals(int first, int count) const {
    circuits::diagonal_map map;
    for (int d = first; d < first + count; ++d) {
      map[d] = rig.random_values(rig.slots(), static_cast<std::uint32_t>(100 + d));
    }
    return map;
  }
  [[nodiscard]] std::size_t calls(std::string_view operation, const auto& body) const {
    ctx.runtime().start_trace();
    body();
    return count_calls(ctx.runtime().stop_trace(), operation);
  }
  /// Calls for a transform of 16 diagonals, all of them babies, under each budget.
  [[nodiscard]] std::vector<std::size_t> calls_for_babies(std::string_view operation, bool seeded,
                                                          bool compact) const {
    circuits::transform_options options;
    options.level = 2;
    options.baby_count = 16;
    options.compact = compact;
    const linear_transform transform(rig.eval, diagonals(0, 16), options);
    exact_keys keys(rig, transform.key_requests(), seeded);
    const ckks::ciphertext x = rig.encrypt(rig.random_values(rig.slots(), 4), 2);
    std::vector<std::size_t> found;
    for (const std::size_t budget : budgets) {
      const as_on_device device(ctx, budget);
      found.push_back(calls(operation, [&] { (void)transform.apply(keys.eval, x); }));
    }
    return found;
  }
};

TEST_P(JoinedKeys, TransformsAreTheSameIntegers) {
  const ckks::ciphertext x = rig.encrypt(rig.random_values(rig.slots(), 4), 2);
  for (const transform_mode mode : {transform_mode::naive, transform_mode::bsgs,
                                    transform_mode::double_hoisted, transform_mode::small_key}) {
    for (const int first : {-14, -3, 0}) {
      for (const bool compact : {false, true}) {
        const bool seeded = first == -3;
        circuits::transform_options options;
        options.mode = mode;
        options.level = 2;
        options.baby_count = 4;
        options.compact = compact;
        const linear_transform transform(rig.eval, diagonals(first, 20), options);
        exact_keys keys(rig, transform.key_requests(), seeded);
        const auto wanted = words(ctx, transform.apply(keys.eval, x));
        for (const std::size_t budget : budgets) {
          const as_on_device device(ctx, budget);
          ASSERT_EQ(words(ctx, transform.apply(keys.eval, x)), wanted)
              << to_string(mode) << " from " << first << ", budget " << budget;
        }
      }
    }
  }
}

TEST_P(JoinedKeys, SumsOfTransformsAreTheSameIntegers) {
  circuits::transform_options options;
  options.level = 2;
  options.baby_count = 2;
  const circuits::diagonal_map one = diagonals(-5, 11), other = diagonals(0, 3);
  const circuits::transform_grid grid(rig.eval, {{one, other}, {other, one}, {other, {}}}, options);
  exact_keys keys(rig, grid.key_requests());
  const ckks::ciphertext x = rig.encrypt(rig.random_values(rig.slots(), 4), 2),
                         y = rig.encrypt(rig.random_values(rig.slots(), 5), 2);
  const ckks::ciphertext* const both[] = {&x, &y};
  const auto wanted = grid.apply(keys.eval, both);
  for (const std::size_t budget : budgets) {
    const as_on_device device(ctx, budget);
    const auto found = grid.apply(keys.eval, both);
    for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_EQ(words(ctx, found[i]), words(ctx, wanted[i]));
  }
}

TEST_P(JoinedKeys, HoistedRotationsAreTheSameIntegers) {
  const std::vector<std::int64_t> steps{3, 0, 1, -7, 2, 1};
  std::vector<ckks::key_request> requests;
  for (const std::int64_t step : {1, 2, 3, -7}) {
    requests.push_back({rig.parameters().galois_element(step), rig.top()});
  }
  exact_keys keys(rig, requests);
  for (const unsigned level : {rig.top(), 1U}) {
    const ckks::ciphertext x = rig.encrypt(rig.random_values(rig.slots(), 4), level);
    for (const std::size_t budget : budgets) {
      std::vector<ckks::ciphertext> found;
      {
        const as_on_device device(ctx, budget);
        const std::size_t products =
            calls("key_multiply_accumulate", [&] { found = keys.eval.rotate_hoisted(x, steps); });
        EXPECT_EQ(products, budget == 0 ? 1U : 5U);
      }
      const auto wanted = keys.eval.rotate_hoisted(x, steps);
      ASSERT_EQ(found.size(), steps.size());
      for (std::size_t i = 0; i < steps.size(); ++i) ASSERT_EQ(words(ctx, found[i]), words(ctx, wanted[i]));
    }
  }
}

// The baby 0 has no key: it is a term beside the others, or written on its own.
TEST_P(JoinedKeys, CallsTakeAsManyKeysAsTheBudgetAllows) {
  const std::vector<std::size_t> whole = calls_for_babies("key_dot", false, false),
                                 seeded = calls_for_babies("key_multiply_accumulate:seeded", true, false);
  EXPECT_TRUE(std::ranges::is_sorted(whole));
  EXPECT_EQ(whole.front(), 1U);
  EXPECT_GT(whole[whole.size() - 2], 1U);
  EXPECT_LT(whole[1], 16U);
  EXPECT_EQ(whole.back(), 16U);
  EXPECT_TRUE(std::ranges::is_sorted(seeded));
  EXPECT_EQ(seeded.front(), 1U);
  EXPECT_EQ(seeded.back(), 15U);
}

// Diagonals that are expanded count as polynomials, so that calls take no more of them than of others.
TEST_P(JoinedKeys, CallsTakeAsManyExpandedDiagonalsAsTheBudgetAllows) {
  const std::vector<std::size_t> whole = calls_for_babies("key_dot", false, false),
                                 expanded = calls_for_babies("key_dot", false, true);
  EXPECT_TRUE(std::ranges::is_sorted(expanded));
  EXPECT_EQ(expanded.front(), 1U);
  EXPECT_GT(expanded[expanded.size() - 2], 1U);
  EXPECT_EQ(expanded.back(), 16U);
  for (std::size_t i = 0; i < budgets.size(); ++i) EXPECT_GE(expanded[i], whole[i]) << budgets[i];
}

// The least budget with one key in each call is enough, and so is any larger one with what calls then take.
TEST_P(JoinedKeys, TheLeastBudgetStaysAsItIs) {
  for (const bool compact : {false, true}) {
    ghost_rig ghost(GetParam());
    circuits::transform_options options;
    options.level = 2;
    options.baby_count = 4;
    options.compact = compact;
    const linear_transform transform(ghost.eval, diagonals(-10, 20), options);
    const auto least = [&](std::size_t budget) {
      const as_on_device device(*ghost.ctx, budget);
      ghost.ctx->runtime().start_trace();
      (void)transform.apply(ghost.eval, ghost.ghost_input(2, rig.slots()));
      return memory::plan::find_minimum(ghost.ctx->runtime().stop_trace());
    };
    (void)least(1);  // tables and keys are there from now on
    const memory::plan::minimum_budget one_each = least(1);
    EXPECT_EQ(least(one_each.lru_bytes).lru_bytes, one_each.lru_bytes) << compact;
    EXPECT_EQ(least(one_each.planned_bytes).planned_bytes, one_each.planned_bytes) << compact;
    for (std::size_t quarters = 5; quarters < 40; ++quarters) {
      const std::size_t lru = quarters * one_each.lru_bytes / 4,
                        planned = quarters * one_each.planned_bytes / 4;
      EXPECT_LE(least(lru).lru_bytes, lru) << compact << quarters;
      EXPECT_LE(least(planned).planned_bytes, planned) << compact << quarters;
    }
  }
}

TEST_P(JoinedKeys, ProductsAddToWhatIsThere) {
  std::vector<ckks::key_request> requests;
  const std::vector<std::int64_t> steps{1, 2, 5};
  for (const std::int64_t step : steps)
    requests.push_back({rig.parameters().galois_element(step), rig.top()});
  exact_keys keys(rig, requests);
  const ckks::ciphertext x = rig.encrypt(rig.random_values(rig.slots(), 3)),
                         y = rig.encrypt(rig.random_values(rig.slots(), 8));
  const rns::raised_digits digits[] = {rns::mod_up(ctx.ring(), ctx.converter(), x.parts[1].chain()),
                                       rns::mod_up(ctx.ring(), ctx.converter(), y.parts[1].chain())};
  ckks::key_id id{};
  const auto products = [&](bool onto) {
    std::vector<joined_product> list;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      joined_product& each = list.emplace_back();
      each.digits = &digits[i % 2];
      each.options.galois_element = requests[i].galois_element;
      each.options.plus1 = x.parts[0].chain();
      each.key = &ckks::matching_key(keys.eval.keys(), requests[i].galois_element, rig.top(), id, "test");
      if (onto) each.total = ckks::key_product(ctx, digits[0], *each.key);
    }
    return list;
  };
  for (const std::size_t budget : budgets) {
    const as_on_device device(ctx, budget);
    for (const bool onto : {false, true}) {
      std::vector<joined_product> list = products(onto);
      ckks::key_products(ctx, list);
      for (joined_product& each : list) {
        const poly_pair alone = ckks::key_product(ctx, *each.digits, *each.key, each.options);
        if (onto) {
          const poly_pair before = ckks::key_product(ctx, digits[0], *each.key);
          for (const auto half : {&poly_pair::first, &poly_pair::second}) {
            for (std::size_t v = 0; v < 2; ++v) {
              const backend::limb_view to = (alone.*half).views()[v];
              const backend::binary_job sum{to, to, (before.*half).views()[v]};
              ctx.device().add(ctx.tables(), {&sum, 1});
            }
          }
        }
        ASSERT_EQ(words(ctx, each.total.first), words(ctx, alone.first));
        ASSERT_EQ(words(ctx, each.total.second), words(ctx, alone.second));
      }
    }
  }
  std::vector<joined_product> wrong = products(false);
  wrong.back().total.first =
      ring::make_poly(ctx.ring(), digits[0].chain, memory::object_class::scratch, "without special primes");
  EXPECT_THROW(ckks::key_products(ctx, wrong), invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(WordBits, JoinedKeys, testing::Values("test-n10-d3", "test-n10-d3-w64"),
                         [](const auto& each) {
                           return std::string(each.param).find("64") == std::string::npos ? "w32" : "w64";
                         });

}  // namespace
}  // namespace halocline::test
