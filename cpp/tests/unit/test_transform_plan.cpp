// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/transform_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "circuits/giant_rounds.hpp"
#include "halocline/core/error.hpp"
#include "halocline/params/presets.hpp"

namespace halocline::circuits {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::uint32_t slots = 64;

params::parameters parameters() { return params::preset("test-n10-d3"); }

transform_plan plan_for(const std::vector<int>& diagonals, transform_mode mode,
                        std::optional<unsigned> baby_count = {}) {
  return {parameters(), diagonals, {mode, 2, slots, baby_count, 1, 1}};
}

std::vector<int> range(int first, int count) {
  std::vector<int> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), first);
  return result;
}

const std::vector<transform_mode> all_modes{transform_mode::naive, transform_mode::bsgs,
                                            transform_mode::double_hoisted, transform_mode::small_key};

TEST(TransformPlan, EveryTermIsGiantPlusBaby) {
  for (const transform_mode mode : all_modes) {
    for (const auto& diagonals :
         {range(0, 64), range(-7, 15), std::vector<int>{0, 8, 24, 48}, std::vector<int>{-5}}) {
      const transform_plan plan = plan_for(diagonals, mode);
      ASSERT_EQ(plan.terms().size(), diagonals.size());
      for (const transform_term& term : plan.terms()) {
        const int reached = term.giant * plan.giant_step() + term.baby * plan.baby_step();
        EXPECT_EQ((reached - term.diagonal) % static_cast<int>(slots), 0) << to_string(mode);
      }
    }
  }
}

TEST(TransformPlan, KeepsABandTogetherAcrossTheWrap) {
  // 61, 62, 63 are -3, -2, -1: a band of seven, whose rotations must stay short.
  const transform_plan plan = plan_for({0, 1, 2, 3, 61, 62, 63}, transform_mode::naive);
  EXPECT_THAT(plan.required_rotations(plan.full_usage()), ElementsAre(-3, -2, -1, 1, 2, 3));
}

TEST(TransformPlan, StridedDiagonalsTakeStridedSteps) {
  const transform_plan plan = plan_for({-16, -8, 0, 8, 16, 24}, transform_mode::small_key, 3);
  EXPECT_EQ(plan.baby_step(), 8);
  EXPECT_EQ(plan.giant_step(), 24);
  EXPECT_THAT(plan.required_rotations(plan.full_usage()), ElementsAre(-24, 8, 24));
}

TEST(TransformPlan, SmallKeyNeedsTwoKeysForADenseMatrix) {
  const transform_plan plan = plan_for(range(0, 64), transform_mode::small_key, 8);
  EXPECT_THAT(plan.required_rotations(plan.full_usage()), ElementsAre(1, 8));
  const transform_cost cost = plan.cost(plan.full_usage());
  EXPECT_EQ(cost.key_switches, 14u);
  EXPECT_EQ(cost.decompositions, 14u);
  EXPECT_EQ(cost.divisions, 28u);
  EXPECT_EQ(cost.keys, 2u);
}

TEST(TransformPlan, CountsOfADenseMatrix) {
  const transform_plan naive = plan_for(range(0, 64), transform_mode::naive);
  EXPECT_EQ(naive.cost(naive.full_usage()).key_switches, 63u);
  EXPECT_EQ(naive.cost(naive.full_usage()).decompositions, 1u);
  EXPECT_EQ(naive.cost(naive.full_usage()).divisions, 126u);

  const transform_plan bsgs = plan_for(range(0, 64), transform_mode::bsgs, 8);
  EXPECT_EQ(bsgs.cost(bsgs.full_usage()).key_switches, 14u);
  EXPECT_EQ(bsgs.cost(bsgs.full_usage()).decompositions, 8u);
  EXPECT_EQ(bsgs.cost(bsgs.full_usage()).divisions, 28u);

  // One division for each of the 7 rotated giants and one of both components at the end.
  const transform_plan hoisted = plan_for(range(0, 64), transform_mode::double_hoisted, 8);
  EXPECT_EQ(hoisted.cost(hoisted.full_usage()).key_switches, 14u);
  EXPECT_EQ(hoisted.cost(hoisted.full_usage()).decompositions, 8u);
  EXPECT_EQ(hoisted.cost(hoisted.full_usage()).divisions, 9u);
  EXPECT_EQ(hoisted.cost(hoisted.full_usage()).plaintext_products, 64u);
}

TEST(TransformPlan, GiantsWalkFromBothEndsToZero) {
  EXPECT_THAT(transform_plan::walk(std::vector<int>{-3, -1, 0, 2, 5}), ElementsAre(5, 2, -3, -1, 0));
  EXPECT_THAT(transform_plan::walk(std::vector<int>{0}), ElementsAre(0));
  const std::vector<int> order{5, 2, -3, -1};
  const transform_plan walking = plan_for(range(0, 64), transform_mode::double_hoisted);
  EXPECT_EQ(walking.next(order, 0), 2);
  EXPECT_EQ(walking.next(order, 1), 0);
  EXPECT_EQ(walking.next(order, 2), -1);
  EXPECT_EQ(walking.next(order, 3), 0);
  EXPECT_EQ(plan_for(range(0, 64), transform_mode::bsgs).next(order, 0), 0);

  // A band of 31 diagonals with 4 babies: 3 babies and one key in either direction, though 7 sums are
  // rotated.
  const transform_plan plan = plan_for(range(-15, 31), transform_mode::double_hoisted, 4);
  EXPECT_THAT(plan.required_rotations(plan.full_usage()), ElementsAre(-4, 1, 2, 3, 4));
  EXPECT_EQ(plan.cost(plan.full_usage()).key_switches, 3u + 7u);
  // A gap takes a key of its own, except with small keys, which walk through it.
  const std::vector<int> gap{0, 1, 4, 5, 12, 13};
  EXPECT_THAT(plan_for(gap, transform_mode::double_hoisted, 2)
                  .required_rotations(plan_for(gap, transform_mode::double_hoisted, 2).full_usage()),
              ElementsAre(1, 4, 8));
  EXPECT_THAT(plan_for(gap, transform_mode::small_key, 2)
                  .required_rotations(plan_for(gap, transform_mode::small_key, 2).full_usage()),
              ElementsAre(1, 2, 4));
}

TEST(TransformPlan, SidesOfGiantsTurnAloneOrTogether) {
  const auto turns = [](transform_mode mode, const std::vector<int>& giants, std::size_t at_once) {
    std::string text;
    for (const detail::giant_round& round :
         detail::giant_rounds(plan_for(range(0, 64), mode), giants, at_once)) {
      for (const detail::giant_turn& each : round) {
        text += std::to_string(each.giant) + ">" + std::to_string(each.next) + " ";
      }
      text += "| ";
    }
    return text;
  };
  const auto extended = transform_mode::double_hoisted;
  EXPECT_EQ(turns(extended, {-1, 0, 1, 2, 3}, 1), "3>2 | 2>1 | 1>0 | -1>0 | 0>0 | ");
  EXPECT_EQ(turns(extended, {-1, 0, 1, 2, 3}, 2), "3>2 | 2>1 | 1>0 -1>0 | 0>0 | ");
  EXPECT_EQ(turns(extended, {-4, -2, 3}, 2), "-4>-2 | 3>0 -2>0 | ");
  EXPECT_EQ(turns(extended, {0}, 2), "0>0 | ");
  EXPECT_EQ(turns(extended, {1, 2}, 2), "2>1 | 1>0 | ");
  EXPECT_EQ(turns(transform_mode::bsgs, {-1, 0, 2, 4}, 1), "4>0 | 2>0 | -1>0 | 0>0 | ");
  EXPECT_EQ(turns(transform_mode::bsgs, {-1, 0, 2, 4}, 2), "4>0 2>0 | -1>0 | 0>0 | ");
  EXPECT_EQ(turns(transform_mode::bsgs, {-1, 0, 2, 4}, 8), "4>0 2>0 -1>0 | 0>0 | ");
}

TEST(TransformPlan, ChoosesTheCheapestBabyCount) {
  for (const transform_mode mode :
       {transform_mode::bsgs, transform_mode::double_hoisted, transform_mode::small_key}) {
    const transform_plan chosen = plan_for(range(0, 64), mode);
    const double work = chosen.cost(chosen.full_usage()).work;
    for (const unsigned babies : {1u, 2u, 4u, 8u, 16u, 32u, 64u}) {
      const transform_plan other = plan_for(range(0, 64), mode, babies);
      EXPECT_LE(work, other.cost(other.full_usage()).work * 1.05) << to_string(mode) << " " << babies;
    }
  }
}

TEST(TransformPlan, ManyOutputsPreferBabiesAndManyInputsGiants) {
  const auto babies_for = [](std::size_t inputs, std::size_t outputs) {
    const transform_plan plan(parameters(), range(0, 64),
                              {transform_mode::bsgs, 2, slots, {}, inputs, outputs});
    return plan.giant_step() / plan.baby_step();
  };
  EXPECT_LT(babies_for(8, 1), babies_for(1, 1));
  EXPECT_GT(babies_for(1, 8), babies_for(1, 1));
}

TEST(TransformPlan, RefusesWhatIsNoTransform) {
  EXPECT_THAT([] { plan_for({}, transform_mode::naive); },
              ThrowsMessage<invalid_argument>(HasSubstr("no diagonals")));
  EXPECT_THAT([] { plan_for({64}, transform_mode::naive); },
              ThrowsMessage<invalid_argument>(HasSubstr("64")));
  EXPECT_THAT(
      [] {
        plan_for({-1, 63}, transform_mode::naive);
      },
      ThrowsMessage<invalid_argument>(HasSubstr("given twice")));
  EXPECT_THAT(
      [] {
        transform_plan(parameters(), range(0, 2), {transform_mode::naive, 0, slots, {}, 1, 1});
      },
      ThrowsMessage<level_exhausted>(HasSubstr("level 1")));
  EXPECT_THAT(
      [] {
        transform_plan(parameters(), range(0, 2), {transform_mode::naive, 9, slots, {}, 1, 1});
      },
      ThrowsMessage<invalid_argument>(HasSubstr("level 9")));
  EXPECT_THAT(
      [] {
        transform_plan(parameters(), range(0, 2), {transform_mode::naive, 1, 48, {}, 1, 1});
      },
      ThrowsMessage<invalid_argument>(HasSubstr("48")));
  EXPECT_THAT(
      [] {
        (void)plan_for({1, 2}, transform_mode::naive).term(3);
      },
      ThrowsMessage<invalid_argument>(HasSubstr("diagonal 3")));
}

}  // namespace
}  // namespace halocline::circuits
