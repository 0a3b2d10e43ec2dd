// SPDX-License-Identifier: Apache-2.0
// Random programs, random capacities: plans exist exactly from the minimum on, are correct, and their peak
// never exceeds the capacity.
#include "halocline/memory/plan/planner.hpp"

#include <gtest/gtest.h>

#include "halocline/core/error.hpp"
#include "halocline/memory/plan/plan_check.hpp"
#include "support/message_of.hpp"
#include "support/random_program.hpp"

namespace halocline::memory::plan {
namespace {

cost_model sample_costs(std::uint32_t draw) {
  cost_model costs;
  costs.load = {10'000, 0.5 * (1 + draw % 16)};
  costs.store = {10'000, 0.5 * (1 + draw / 16 % 16)};
  costs.expand = {1'000, 0.25 * (1 + draw / 256 % 16)};
  costs.encode = {1'000, 0.25 * (1 + draw / 4096 % 16)};
  return costs;
}

planner_options sample_options(test::random_program& random, std::uint64_t minimum, std::uint64_t footprint) {
  planner_options options;
  const std::uint64_t span = footprint > minimum ? (footprint - minimum) / page_bytes + 2 : 2;
  const auto pages = random.below(4) == 0 ? 0 : random.below(static_cast<std::uint32_t>(span));
  options.capacity_bytes = minimum + pages * page_bytes;
  options.costs = sample_costs(random.below(65536));
  options.allow_expand = random.below(3) != 0;
  options.allow_encode = random.below(3) != 0;
  options.allow_truncate = random.below(3) != 0;
  options.allow_resize = random.below(2) != 0;
  options.horizon_ns = random.below(5) == 0 ? 0 : 1e6 * random.below(100);
  return options;
}

TEST(planner, every_plan_is_correct) {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    test::random_program random(seed);
    const program source = make_program(random.trace(), {}, time_source::recorded);
    const std::uint64_t minimum = minimum_capacity(source);
    for (int i = 0; i < 4; ++i) {
      const planner_options options = sample_options(random, minimum, source.footprint_bytes());
      SCOPED_TRACE(options.capacity_bytes);
      const plan made = make_plan(source, options);
      ASSERT_EQ(check_plan(source, made), std::vector<std::string>{});
      ASSERT_LE(made.expected.peak_bytes, options.capacity_bytes);
      ASSERT_GE(made.expected.loaded_bytes + made.expected.expanded_bytes + made.expected.encoded_bytes,
                made.expected.lower_bound_bytes);
      ASSERT_EQ(made, make_plan(source, options));
      ASSERT_EQ(plan_from_bytes(to_bytes(made)), made);
    }
  }
}

TEST(planner, below_the_minimum_the_error_states_it) {
  for (std::uint32_t seed = 1000; seed < 1050; ++seed) {
    SCOPED_TRACE(seed);
    const test::random_program random(seed);
    const program source = make_program(random.trace(), {}, time_source::recorded);
    planner_options options;
    options.capacity_bytes = minimum_capacity(source) - 1;
    const auto message = test::message_of<out_of_memory>([&] { (void)make_plan(source, options); });
    EXPECT_NE(message.find(std::to_string(options.capacity_bytes + 1) + " bytes"), std::string::npos)
        << message;
  }
}

}  // namespace
}  // namespace halocline::memory::plan
