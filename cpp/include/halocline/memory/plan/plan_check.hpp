// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "halocline/memory/plan/plan.hpp"
#include "halocline/memory/plan/program.hpp"

namespace halocline::memory::plan {

/// Simulates a plan, object by object and step by step, and reports its faults; it shares no code with the
/// planner. Checked after every directive and step: the sum of frames stays within the capacity, with loads
/// counted from their directive on and write-backs until the directive that needs their room; operands have
/// enough pages and defined contents; nothing is dropped that has no copy; scratch never moves; no object is
/// named before the executor can identify it; objects and steps are those of the program.
/// @return one sentence per violation, at most 20; empty for a correct plan
[[nodiscard]] std::vector<std::string> check_plan(const program& source, const plan& checked);

}  // namespace halocline::memory::plan
