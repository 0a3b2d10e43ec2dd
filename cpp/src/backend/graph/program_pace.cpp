// SPDX-License-Identifier: Apache-2.0
#include "backend/graph/program_pace.hpp"

#include <algorithm>

namespace halocline::backend::graph {

bool program_pace::begin(std::uint64_t key) {
  if (known_.size() >= most) known_.clear();
  pace& of = known_[key];
  key_ = key;
  run_ = of.runs % pause;
  if (run_ == 0) of = {of.runs};
  ++of.runs;
  launches_ = checked_ = idle_ = 0;
  checks_ = run_ == 1;
  const bool tries = of.waits && run_ >= first_recorded && run_ < decided;
  times_ = run_ == 1 || run_ == 2 || (tries && run_ >= first_ready);
  return tries || (run_ >= decided && of.recorded < of.plain);
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
  const auto found = known_.find(key_);
  if (found == known_.end()) return;
  double& least = run_ < first_recorded ? found->second.plain : found->second.recorded;
  least = std::min(least, ns);
}

}  // namespace halocline::backend::graph
