// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "halocline/memory/plan/plan.hpp"
#include "halocline/memory/plan/program.hpp"

namespace halocline::memory::plan {

/// Carries a plan out on paper, object by object and step by step, and says what is wrong with it; it shares
/// no code with the planner. Checked after every single directive and step: the sum of frames stays within
/// the capacity, with loads counted from their directive on and write-backs until the directive that needs
/// their room; operands have enough pages and defined contents; nothing is dropped that has no copy; scratch
/// never moves; nothing is named before the executor can know it; objects and steps are those of the program.
/// @return one sentence per violation, at most 20; empty for a correct plan
[[nodiscard]] std::vector<std::string> check_plan(const program& source, const plan& checked);

}  // namespace halocline::memory::plan
