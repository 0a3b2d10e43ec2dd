// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <cstdint>

#include "halocline/memory/plan/plan_check.hpp"
#include "halocline/memory/plan/planner.hpp"

namespace halocline::test {

/// Time of a step in programs that tests write by hand.
inline constexpr std::uint64_t step_ns = 1'000'000;

/// A plan that the check of plans accepts.
[[nodiscard]] inline memory::plan::plan checked_plan(const memory::plan::program& source,
                                                     const memory::plan::planner_options& options) {
  memory::plan::plan made = memory::plan::make_plan(source, options);
  EXPECT_THAT(check_plan(source, made), testing::IsEmpty());
  return made;
}

}  // namespace halocline::test
