// SPDX-License-Identifier: Apache-2.0
#include "backend/graph/program_pace.hpp"

namespace halocline::backend::graph {

bool program_pace::begin(std::uint64_t key) {
  measured_ = nullptr;
  if (known_.size() >= most) known_.clear();
  pace& of = known_[key];
  const std::uint64_t run = of.runs++;
  if (run % pause == 1) {
    measured_ = &of;
    launches_ = answers_ = idle_ = 0;
    return false;
  }
  return of.records;
}

void program_pace::asked(bool idle) noexcept {
  ++answers_;
  if (idle) ++idle_;
}

void program_pace::end(bool idle) noexcept {
  if (measured_ == nullptr) return;
  asked(idle);
  measured_->records = worth_recording * idle_ >= answers_;
  measured_ = nullptr;
}

}  // namespace halocline::backend::graph
