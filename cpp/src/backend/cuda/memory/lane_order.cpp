// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/memory/lane_order.hpp"

#include <algorithm>

#include "backend/cuda/device/driver_calls.hpp"

namespace halocline::backend::cuda {

using memory::lane;
using memory::stamp;
using memory::ticket;

lane_order::lane_order(std::shared_ptr<device_context> device) : device_(std::move(device)) {
  of_lane(lane::compute).stream = device_->compute();
  of_lane(lane::load).stream = device_->load();
  of_lane(lane::save).stream = device_->save();
}

event lane_order::take(std::vector<event>& spare, bool timed) {
  if (spare.empty()) return event(timed);
  event result = std::move(spare.back());
  spare.pop_back();
  return result;
}

void lane_order::collect(line& of) {
  while (!of.pending.empty() && of.pending.front().second.done()) {
    of.done = of.pending.front().first;
    spare_.push_back(std::move(of.pending.front().second));
    of.pending.pop_front();
  }
}

const event& lane_order::event_of(const line& of, ticket moment) const {
  return std::lower_bound(of.pending.begin(), of.pending.end(), moment,
                          [](const auto& each, ticket at) { return each.first < at; })
      ->second;
}

ticket lane_order::mark(lane of) {
  device_->make_current();
  if (of == lane::compute) device_->flush();
  const std::lock_guard lock(mutex_);
  line& at = of_lane(of);
  collect(at);
  event here = take(spare_, false);
  here.record(at.stream);
  at.pending.emplace_back(at.next, std::move(here));
  return at.next++;
}

bool lane_order::passed(lane of, ticket moment) {
  const std::lock_guard lock(mutex_);
  line& at = of_lane(of);
  if (moment <= at.done) return true;
  device_->make_current();
  collect(at);
  return moment <= at.done;
}

void lane_order::order(lane waiting, lane of, ticket moment) {
  if (waiting == of || passed(of, moment)) return;
  // Deferred launches must not wait as well.
  if (waiting == lane::compute) device_->flush();
  const std::lock_guard lock(mutex_);
  const line& at = of_lane(of);
  if (moment <= at.done || at.pending.empty()) return;
  event_of(at, moment).block(of_lane(waiting).stream);
}

void lane_order::wait(lane of, ticket moment) {
  if (passed(of, moment)) return;
  const std::lock_guard lock(mutex_);
  line& at = of_lane(of);
  if (moment <= at.done || at.pending.empty()) return;
  event_of(at, moment).wait();
  collect(at);
}

stamp lane_order::take_time(lane of) {
  if (of == lane::compute && device_->is_recording()) return 0;
  device_->make_current();
  const std::lock_guard lock(mutex_);
  event here = take(spare_timed_, true);
  here.record(of_lane(of).stream);
  stamps_.emplace(next_stamp_, std::move(here));
  return next_stamp_++;
}

std::optional<std::uint64_t> lane_order::nanoseconds(stamp begin, stamp end) {
  const std::lock_guard lock(mutex_);
  const auto first = stamps_.find(begin);
  const auto last = stamps_.find(end);
  device_->make_current();
  // Both are on one lane, so the first is done when the last is.
  const auto later = last != stamps_.end() ? last : first;
  if (later != stamps_.end() && !later->second.done()) return std::nullopt;
  std::uint64_t result = 0;
  if (first != stamps_.end() && last != stamps_.end()) {
    result = static_cast<std::uint64_t>(1e6 * last->second.milliseconds_since(first->second));
  }
  for (const auto& each : {first, last}) {
    if (each == stamps_.end()) continue;
    spare_timed_.push_back(std::move(each->second));
    stamps_.erase(each);
  }
  return result;
}

}  // namespace halocline::backend::cuda
