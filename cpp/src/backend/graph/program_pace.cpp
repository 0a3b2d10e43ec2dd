// SPDX-License-Identifier: Apache-2.0
#include "backend/graph/program_pace.hpp"

#include <algorithm>
#include <cmath>

namespace halocline::backend::graph {

void program_pace::mean::add(double time) noexcept {
  ns = std::isfinite(ns) ? ns + newest * (time - ns) : time;
}

bool program_pace::begin(std::uint64_t key) {
  if (known_.size() >= most) known_.clear();
  pace& of = known_[key];
  key_ = key;
  run_ = of.runs % pause;
  const std::uint64_t runs = of.runs;
  if (run_ == 0) of = {};
  of.runs = runs + 1;
  launches_ = 0;
  records_ = of.records;
  const std::uint64_t number = run_ - of.tried_from;  // since the trial began
  if (of.tried_from == 0 || run_ < of.tried_from) {
    times_ = run_ == 1 || run_ == 2;
  } else if (number < trial) {
    records_ = true;
    times_ = number >= ready;
  } else if (number < trial + again) {
    records_ = false;
    times_ = number > trial;
    if (!times_) of.plain = {};
  } else {
    times_ = of.settles == 0;
    if (of.settles != 0) --of.settles;
  }
  return records_;
}

void program_pace::timed(double host_ns, double device_ns) noexcept {
  const auto found = known_.find(key_);
  if (found == known_.end()) return;
  pace& of = found->second;
  (records_ ? of.recorded : of.plain).add(device_ns);
  if (run_ < first) {
    if (launches_ > most_launches || host_ns < late_share * device_ns) return;
    const std::uint64_t begins = host_ns < share * device_ns ? late : first;
    of.tried_from = of.tried_from == 0 ? begins : std::min(of.tried_from, begins);
  } else if (run_ < of.tried_from + trial + again) {
    of.records = of.recorded.ns < gain * of.plain.ns;
  } else if ((records_ ? of.recorded.ns : of.plain.ns) > margin * (records_ ? of.plain.ns : of.recorded.ns)) {
    of.records = !records_;
    of.settles = settling;
  }
}

}  // namespace halocline::backend::graph
