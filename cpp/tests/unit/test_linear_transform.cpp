// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/linear_transform.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <tuple>

#include "halocline/ckks/context.hpp"
#include "halocline/core/error.hpp"
#include "support/transform_reference.hpp"

namespace halocline::test {
namespace {

using circuits::diagonal_map;
using circuits::linear_transform;
using circuits::transform_grid;
using circuits::transform_mode;
using circuits::transform_options;
using testing::HasSubstr;
using testing::ThrowsMessage;

// A rescale leaves a rounding error of sqrt(N / 18) per coefficient (1/12 for each of the 2 N / 3 nonzero
// coefficients of the secret) and sqrt(N) times that per slot: 2^8 / 2^40 for N = 2^10, so 2^-30 for the
// largest of 512 slots. The weights of all diagonals sum to sqrt(2) at most, so key switches add less than as
// many of these; the walk of 20 steps in small-key mode is the worst. Four bits for all that.
constexpr double worst_bits = 26.0;

const std::vector<transform_mode> all_modes{transform_mode::naive, transform_mode::bsgs,
                                            transform_mode::double_hoisted, transform_mode::small_key};

std::vector<int> range(int first, int count, int stride = 1) {
  std::vector<int> result;
  for (int i = 0; i < count; ++i) result.push_back(first + i * stride);
  return result;
}

void expect_canonical(const ckks_rig& rig, const ckks::ciphertext& value, unsigned level) {
  EXPECT_EQ(value.level, level);
  const double canonical = rig.parameters().level(level).scale;
  EXPECT_NEAR(value.scale / canonical, 1.0, 1e-9);
}

std::vector<std::byte> bytes_of(ckks::context& ctx, const ckks::ciphertext& value) {
  std::vector<std::byte> result;
  for (const ring::poly& part : value.parts) {
    std::vector<std::byte> bytes(part.data().size());
    ctx.device().download(bytes, part.data(), 0);
    result.insert(result.end(), bytes.begin(), bytes.end());
  }
  return result;
}

class LinearTransform : public testing::TestWithParam<std::tuple<std::string, transform_mode>> {
 protected:
  ckks_rig& rig() { return circuit_rig(std::get<0>(GetParam())); }
  transform_mode mode() { return std::get<1>(GetParam()); }

  void check(const std::vector<int>& indices, unsigned level, std::uint32_t slots) {
    SCOPED_TRACE(rig().describe() + " level " + std::to_string(level));
    const diagonal_map diagonals = random_diagonals(rig(), indices, slots, 11);
    const linear_transform transform(rig().eval, diagonals, options_for(mode(), level, slots));
    exact_keys keys(rig(), transform.key_requests());
    const complex_vector x = rig().random_values(slots, 5);
    const ckks::ciphertext y = transform.apply(keys.eval, rig().encrypt(x, level));
    expect_canonical(rig(), y, level - 1);
    EXPECT_GT(rig().precision(y, transform_reference(diagonals, x)).worst_bits, worst_bits);
  }
};

TEST_P(LinearTransform, MatchesTheDefinition) {
  const std::uint32_t slots = rig().slots();
  check({0}, 3, slots);
  check({5}, 2, slots);
  check({-2}, 1, slots);
  check(range(-3, 7), 3, slots);
  check(range(-64, 9, 16), 2, slots);
  check({3, 17, 100, 101, 355, 511}, 1, slots);
}

TEST_P(LinearTransform, DenseMatrixOnSparseSlots) {
  check(range(0, 16), 2, 16);
  check(range(-3, 7), 2, 64);
}

TEST_P(LinearTransform, AsksForExactlyTheKeysItStates) {
  const auto& [preset, mode] = GetParam();
  for (const auto& indices :
       {range(0, 32), range(-9, 19), range(-64, 9, 16), std::vector<int>{7}, std::vector<int>{0}}) {
    ghost_rig ghost(preset);
    const std::uint32_t slots = rig().slots();
    const linear_transform transform(ghost.eval, random_diagonals(rig(), indices, slots, 1),
                                     options_for(mode, 2, slots));
    (void)transform.apply(ghost.eval, ghost.ghost_input(3, slots));
    EXPECT_EQ(ghost.keys.requests(), transform.key_requests());
    EXPECT_EQ(transform.cost().keys, transform.key_requests().size());
  }
}

/// On a device with a cache the sums of several giants are rotated together, and in double hoisting a direct
/// plan has the keys for that. Rotations without divisions in between are as precise.
TEST_P(LinearTransform, GiantsTurnTogetherOnDevicesWithACache) {
  const std::uint32_t slots = rig().slots();
  for (const auto& indices : {range(0, 40), range(-20, 33), std::vector<int>{3, 17, 100, 101, 355, 511}}) {
    const diagonal_map diagonals = random_diagonals(rig(), indices, slots, 11);
    transform_options options = options_for(mode(), 2, slots);
    options.direct = true;
    options.baby_count = 4;
    const linear_transform transform(rig().eval, diagonals, options);
    exact_keys keys(rig(), transform.key_requests());
    const complex_vector x = rig().random_values(slots, 5);
    const ckks::ciphertext input = rig().encrypt(x, 2);
    const auto calls_with = [&](std::size_t cache) {
      rig().ctx->set_cache_bytes(cache);
      rig().ctx->device().start_profile();
      const ckks::ciphertext y = transform.apply(keys.eval, input);
      std::uint64_t calls = 0;
      for (const auto& row : rig().ctx->device().stop_profile().rows) calls += row.calls;
      rig().ctx->set_cache_bytes(0);
      expect_canonical(rig(), y, 1);
      EXPECT_GT(rig().precision(y, transform_reference(diagonals, x)).worst_bits, worst_bits);
      return calls;
    };
    const std::uint64_t apart = calls_with(0), together = calls_with(std::size_t{50} << 20);
    if (transform.plan().is_direct()) {
      EXPECT_LT(3 * together, 2 * apart);
    }
  }
}

TEST_P(LinearTransform, CompactDiagonalsGiveTheSameIntegers) {
  const std::uint32_t slots = rig().slots();
  const diagonal_map diagonals = random_diagonals(rig(), range(-2, 6), slots, 3);
  transform_options options = options_for(mode(), 2, slots);
  const linear_transform expanded(rig().eval, diagonals, options);
  options.compact = true;
  const linear_transform compact(rig().eval, diagonals, options);
  EXPECT_LT(compact.bytes(), expanded.bytes());
  EXPECT_EQ(compact.bytes(), 6 * 8 * rig().parameters().n());

  exact_keys keys(rig(), expanded.key_requests());
  const ckks::ciphertext x = rig().encrypt(rig().random_values(slots, 4), 2);
  EXPECT_EQ(bytes_of(*rig().ctx, expanded.apply(keys.eval, x)),
            bytes_of(*rig().ctx, compact.apply(keys.eval, x)));
}

TEST_P(LinearTransform, AHigherInputIsBroughtDown) {
  const std::uint32_t slots = rig().slots();
  const diagonal_map diagonals = random_diagonals(rig(), {0, 1, 2}, slots, 8);
  const linear_transform transform(rig().eval, diagonals, options_for(mode(), 1, slots));
  exact_keys keys(rig(), transform.key_requests());
  const complex_vector x = rig().random_values(slots, 6);
  const ckks::ciphertext y = transform.apply(keys.eval, rig().encrypt(x, 3));
  expect_canonical(rig(), y, 0);
  EXPECT_GT(rig().precision(y, transform_reference(diagonals, x)).worst_bits, worst_bits);
}

TEST_P(LinearTransform, GridSumsOverInputsAndSharesRotations) {
  const std::uint32_t slots = rig().slots();
  // Three inputs, two outputs; one cell is zero and one has fewer diagonals.
  std::vector<std::vector<diagonal_map>> cells(2);
  for (std::uint32_t o = 0; o < 2; ++o) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      cells[o].push_back(random_diagonals(rig(), range(-5, 11), slots, 100 * o + 1000 * i));
    }
  }
  cells[0][1].clear();
  cells[1][2] = random_diagonals(rig(), {-5, 2}, slots, 77);
  const transform_grid grid(rig().eval, cells, options_for(mode(), 2, slots));
  ASSERT_EQ(grid.outputs(), 2u);
  exact_keys keys(rig(), grid.key_requests());
  std::vector<complex_vector> x;
  std::vector<ckks::ciphertext> encrypted;
  for (std::uint32_t i = 0; i < 3; ++i) {
    x.push_back(rig().random_values(slots, 20 + i));
    encrypted.push_back(rig().encrypt(x.back(), 2));
  }
  const ckks::ciphertext* const inputs[] = {&encrypted[0], &encrypted[1], &encrypted[2]};
  const std::vector<ckks::ciphertext> y = grid.apply(keys.eval, inputs);
  for (std::size_t o = 0; o < 2; ++o) {
    complex_vector expected(slots);
    for (std::size_t i = 0; i < 3; ++i) {
      const complex_vector part = transform_reference(cells[o][i], x[i]);
      std::transform(part.begin(), part.end(), expected.begin(), expected.begin(), std::plus<>{});
    }
    expect_canonical(rig(), y[o], 1);
    EXPECT_GT(rig().precision(y[o], expected).worst_bits, worst_bits - 1);
  }
}

INSTANTIATE_TEST_SUITE_P(AllModes, LinearTransform,
                         testing::Combine(testing::Values("test-n10-d3", "test-n10-d3-w64"),
                                          testing::ValuesIn(all_modes)),
                         [](const auto& info) {
                           const bool wide = std::get<0>(info.param).ends_with("w64");
                           return std::string(circuits::to_string(std::get<1>(info.param))) +
                                  (wide ? "_64" : "_32");
                         });

TEST(LinearTransformCost, GridKeySwitchesAreSharedByOutputs) {
  ckks_rig& rig = circuit_rig("test-n10-d3");
  const diagonal_map cell = random_diagonals(rig, range(-1, 3), rig.slots(), 2);
  const transform_grid wide(rig.eval, {{cell}, {cell}, {cell}, {cell}},
                            options_for(transform_mode::naive, 2));
  EXPECT_EQ(wide.cost().key_switches, 2u);
  EXPECT_EQ(wide.cost().plaintext_products, 12u);
  const transform_grid tall(rig.eval, {{cell, cell, cell, cell}}, options_for(transform_mode::naive, 2));
  EXPECT_EQ(tall.cost().key_switches, 8u);
  EXPECT_EQ(tall.cost().decompositions, 4u);
}

TEST(LinearTransformCost, TransientBytesAreReturned) {
  ckks_rig& rig = circuit_rig("test-n10-d3");
  const linear_transform transform(rig.eval, random_diagonals(rig, range(0, 16), rig.slots(), 2), {});
  exact_keys keys(rig, transform.key_requests());
  const ckks::ciphertext x = rig.encrypt(rig.random_values(rig.slots(), 1));
  (void)transform.apply(keys.eval, x);  // constants of conversions are made once and kept
  const std::size_t before = rig.ctx->runtime().statistics().live_bytes;
  (void)transform.apply(keys.eval, x);
  EXPECT_EQ(rig.ctx->runtime().statistics().live_bytes, before);
}

// As `block_matmul` and `convolution` give them where one block fills all slots.
TEST_P(LinearTransform, TwoNamesOfOneDiagonalAdd) {
  const auto slots = static_cast<int>(rig().slots());
  check({0, 3, 3 - slots, -1, slots - 1}, 2, rig().slots());
}

// One map is the grid of one cell: same plan, same keys, same numbers.
TEST_P(LinearTransform, IsAGridOfOneCell) {
  const std::uint32_t slots = rig().slots();
  const diagonal_map diagonals = random_diagonals(rig(), {0, 1, 5, -3}, slots, 3);
  const linear_transform one(rig().eval, diagonals, options_for(mode(), 2, slots));
  const transform_grid grid(rig().eval, {{diagonals}}, options_for(mode(), 2, slots));
  EXPECT_EQ(one.key_requests(), grid.key_requests());
  EXPECT_EQ(one.bytes(), grid.bytes());
  exact_keys keys(rig(), one.key_requests());
  const ckks::ciphertext x = rig().encrypt(rig().random_values(slots, 7), 2);
  const ckks::ciphertext* const inputs[] = {&x};
  EXPECT_EQ(rig().decrypt(one.apply(keys.eval, x)), rig().decrypt(grid.apply(keys.eval, inputs).front()));
}

TEST(LinearTransformErrors, AGridWithoutCellsIsRefused) {
  ckks_rig& rig = circuit_rig("test-n10-d3");
  const auto refused = [&](const std::vector<std::vector<diagonal_map>>& cells) {
    EXPECT_THAT([&] { transform_grid(rig.eval, cells, options_for(transform_mode::bsgs, 2)); },
                ThrowsMessage<invalid_argument>(HasSubstr("no cells")));
  };
  refused({});
  refused({{}});
}

TEST(LinearTransformErrors, SayWhatIsWrong) {
  ckks_rig& rig = circuit_rig("test-n10-d3");
  const std::uint32_t slots = rig.slots();
  const diagonal_map one{{1, complex_vector(slots, 0.5)}};
  const linear_transform transform(rig.eval, one, options_for(transform_mode::bsgs, 2));
  const ckks::ciphertext x = rig.encrypt(rig.random_values(slots, 1), 2);
  EXPECT_THAT([&] { (void)transform.apply(rig.eval, x); }, ThrowsMessage<missing_key>(HasSubstr("step 1")));
  EXPECT_THAT([&] { (void)transform.apply(rig.eval, rig.encrypt(rig.random_values(slots, 1), 1)); },
              ThrowsMessage<level_exhausted>(HasSubstr("encoded for level 2")));
  EXPECT_THAT([&] { (void)transform.apply(rig.eval, rig.encrypt(rig.random_values(8, 1), 2)); },
              ThrowsMessage<invalid_argument>(HasSubstr("8 slots")));
  EXPECT_THAT([&] { (void)transform.apply(rig.eval, rig.eval.multiply_constant_raw(x, 1.0, 2.5)); },
              ThrowsMessage<scale_mismatch>(HasSubstr("canonical")));
  EXPECT_THAT(
      [&] {
        linear_transform(rig.eval, {{1, complex_vector(4, 0.5)}}, {});
      },
      ThrowsMessage<invalid_argument>(HasSubstr("4 entries")));
  EXPECT_THAT(
      [&] {
        linear_transform(rig.eval, {{1, complex_vector(slots)}}, {});
      },
      ThrowsMessage<invalid_argument>(HasSubstr("no diagonals")));
  EXPECT_THAT(
      [&] {
        transform_grid(rig.eval, {{one, one}, {one}}, {});
      },
      ThrowsMessage<invalid_argument>(HasSubstr("equally long")));
  EXPECT_THAT(
      [&] {
        transform_grid(rig.eval, {{one}, {diagonal_map{}}}, {});
      },
      ThrowsMessage<invalid_argument>(HasSubstr("only zero cells")));
  EXPECT_THAT(
      [&] {
        (void)transform_grid(rig.eval, {{one, one}}, {}).apply(rig.eval, {});
      },
      ThrowsMessage<invalid_argument>(HasSubstr("made for 2")));
}

TEST(DiagonalsOf, DenseMatrix) {
  const complex_vector matrix{1, 2, 3, 4};
  const diagonal_map diagonals = circuits::diagonals_of(matrix, 2);
  EXPECT_EQ(diagonals.at(0), (complex_vector{1, 4}));
  EXPECT_EQ(diagonals.at(1), (complex_vector{2, 3}));
  EXPECT_THAT([&] { (void)circuits::diagonals_of(matrix, 4); },
              ThrowsMessage<invalid_argument>(HasSubstr("16")));
}

}  // namespace
}  // namespace halocline::test
