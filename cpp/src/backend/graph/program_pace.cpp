// SPDX-License-Identifier: Apache-2.0
#include "backend/graph/program_pace.hpp"

#include <algorithm>

namespace halocline::backend::graph {

bool program_pace::begin(std::uint64_t key) {
  if (known_.size() >= most) known_.clear();
  pace& of = known_[key];
  const std::uint64_t run = of.runs++ % pause;
  if (run == 0) of = {of.runs, false, false};
  key_ = key;
  checks_ = run == 1;
  const bool tries = of.waits && run >= first_recorded && run < decided;
  times_ = run == 1 || run == 2 || (tries && run >= first_ready);
  timed_key_ = key;
  timed_run_ = run;
  launches_ = checked_ = idle_ = 0;
  if (run == decided) of.records = of.recorded < of.plain;
  return tries || (run >= decided && of.records);
}

void program_pace::end(bool idle) noexcept {
  if (!checks_) return;
  checks_ = false;
  checked(idle);
  if (const auto found = known_.find(key_); found != known_.end()) {
    found->second.waits = share * idle_ >= checked_ && launches_ <= most_launches;
  }
}

void program_pace::timed(double ns) noexcept {
  const auto found = known_.find(timed_key_);
  if (found == known_.end()) return;
  double& least = timed_run_ < first_recorded ? found->second.plain : found->second.recorded;
  least = std::min(least, ns);
}

}  // namespace halocline::backend::graph
