// SPDX-License-Identifier: Apache-2.0
// Random sets of diagonals, modes, levels and numbers of slots against the definition.
#include "halocline/circuits/linear_transform.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "halocline/ckks/context.hpp"
#include "support/transform_reference.hpp"

namespace halocline::test {
namespace {

using circuits::linear_transform;
using circuits::transform_mode;
using circuits::transform_options;

// See unit/test_linear_transform.cpp: 2^-30 for the largest slot, and four bits for key switches.
constexpr double worst_bits = 26.0;
constexpr int rounds = 60;

struct drawn_case {
  std::vector<int> indices;
  transform_options options;
};

drawn_case draw(std::mt19937_64& random, const params::parameters& parameters) {
  const auto pick = [&](unsigned low, unsigned high) {
    return std::uniform_int_distribution<unsigned>(low, high)(random);
  };
  drawn_case c;
  c.options.mode = static_cast<transform_mode>(pick(0, 3));
  c.options.level = pick(1, parameters.max_level());
  c.options.slots = 1u << pick(2, parameters.log_n() - 1);
  c.options.compact = pick(0, 1) == 1;
  if (pick(0, 2) == 0) c.options.baby_count = pick(1, 9);
  const int slots = static_cast<int>(*c.options.slots);
  const int stride = 1 << pick(0, 2);
  // A walk takes a key switch for each step of a gap, so the small-key mode gets narrow bands only.
  const int span = std::min<int>(slots / stride, c.options.mode == transform_mode::small_key ? 24 : slots);
  const int first = static_cast<int>(pick(0, *c.options.slots - 1)) - slots / 2;
  std::set<int> wrapped;
  for (unsigned k = 0; k < pick(1, 16); ++k) {
    const int index =
        first / stride * stride + stride * static_cast<int>(pick(0, static_cast<unsigned>(span - 1)));
    const int inside = ((index % slots) + slots) % slots;
    if (wrapped.insert(inside).second)
      c.indices.push_back(pick(0, 1) == 1 ? inside : inside - slots + (inside == 0) * slots);
  }
  return c;
}

TEST(LinearTransformProperty, RandomDiagonals) {
  std::mt19937_64 random(test_seed);
  for (int round = 0; round < rounds; ++round) {
    ckks_rig& rig = circuit_rig(round % 2 == 0 ? "test-n10-d3" : "test-n10-d3-w64");
    const drawn_case c = draw(random, rig.parameters());
    const std::uint32_t slots = *c.options.slots;
    SCOPED_TRACE(rig.describe() + " round " + std::to_string(round) + " " + to_string(c.options.mode) +
                 " slots " + std::to_string(slots) + " level " + std::to_string(*c.options.level) +
                 " diagonals " + std::to_string(c.indices.size()));
    const circuits::diagonal_map diagonals =
        random_diagonals(rig, c.indices, slots, static_cast<std::uint32_t>(round));
    const linear_transform transform(rig.eval, diagonals, c.options);
    exact_keys keys(rig, transform.key_requests());
    const complex_vector x = rig.random_values(slots, static_cast<std::uint32_t>(1000 + round));
    const ckks::ciphertext y = transform.apply(keys.eval, rig.encrypt(x, *c.options.level));
    const unsigned level = *c.options.level - 1;
    EXPECT_EQ(y.level, level);
    EXPECT_NEAR(y.scale / rig.parameters().level(level).scale, 1.0, 1e-9);
    EXPECT_GT(rig.precision(y, transform_reference(diagonals, x)).worst_bits, worst_bits);
  }
}

TEST(LinearTransformProperty, StatedKeysAreThoseOfAGhostRun) {
  std::mt19937_64 random(test_seed + 1);
  ckks_rig& rig = circuit_rig("test-n10-d3");
  for (int round = 0; round < rounds; ++round) {
    ghost_rig ghost("test-n10-d3");
    const drawn_case c = draw(random, rig.parameters());
    SCOPED_TRACE("round " + std::to_string(round));
    const linear_transform transform(ghost.eval, random_diagonals(rig, c.indices, *c.options.slots, 1),
                                     c.options);
    const ckks::ciphertext x = ghost.ghost_input(*c.options.level, *c.options.slots);
    ghost.ctx->set_joining_budget(1);  // one key in each call
    ghost.ctx->runtime().start_trace();
    (void)transform.apply(ghost.eval, x);
    EXPECT_EQ(count_key_switches(ghost.ctx->runtime().stop_trace()), transform.cost().key_switches);
    EXPECT_EQ(ghost.keys.requests(), transform.key_requests());
    EXPECT_EQ(transform.cost().keys, transform.key_requests().size());
  }
}

}  // namespace
}  // namespace halocline::test
