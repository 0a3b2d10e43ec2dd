// SPDX-License-Identifier: Apache-2.0
#include "backend/sycl/memory/lane_order.hpp"

#include <algorithm>

#include "backend/sycl/runtime/sycl_runtime.hpp"

namespace halocline::backend::sycl {

using memory::lane;
using memory::stamp;
using memory::ticket;

namespace {

[[nodiscard]] bool has_passed(sycl_bridge::event& moment) {
  bool answer = false;
  check(moment.passed(answer), "ask for the end of work");
  return answer;
}

[[nodiscard]] std::uint64_t time_of(sycl_bridge::event& moment) {
  std::uint64_t at = 0;
  check(moment.nanoseconds(at), "ask for a time");
  return at;
}

}  // namespace

lane_order::event lane_order::end_of(lane of) {
  sycl_bridge::event* made = nullptr;
  check(device_->use().mark(static_cast<unsigned>(of), made), "mark the end of a queue");
  return event(made);
}

void lane_order::collect(line& of) {
  while (!of.pending.empty() && has_passed(*of.pending.front().second)) {
    of.done = of.pending.front().first;
    of.pending.pop_front();
  }
}

sycl_bridge::event* lane_order::event_of(const line& of, ticket moment) {
  if (moment <= of.done) return nullptr;
  const auto found = std::lower_bound(of.pending.begin(), of.pending.end(), moment,
                                      [](const auto& each, ticket at) { return each.first < at; });
  return found == of.pending.end() ? nullptr : found->second.get();
}

ticket lane_order::mark(lane of) {
  const std::lock_guard lock(mutex_);
  line& at = of_lane(of);
  collect(at);
  at.pending.emplace_back(at.next, end_of(of));
  return at.next++;
}

bool lane_order::passed(lane of, ticket moment) {
  const std::lock_guard lock(mutex_);
  line& at = of_lane(of);
  if (moment > at.done) collect(at);
  return moment <= at.done;
}

void lane_order::order(lane waiting, lane of, ticket moment) {
  if (waiting == of) return;
  const std::lock_guard lock(mutex_);
  line& at = of_lane(of);
  collect(at);
  sycl_bridge::event* const behind = event_of(at, moment);
  if (behind == nullptr) return;
  check(device_->use().order(static_cast<unsigned>(waiting), behind), "order queues");
}

void lane_order::wait(lane of, ticket moment) {
  const std::lock_guard lock(mutex_);
  line& at = of_lane(of);
  sycl_bridge::event* const until = event_of(at, moment);
  if (until == nullptr) return;
  check(until->wait(), "wait for a queue");
  collect(at);
}

stamp lane_order::take_time(lane of) {
  const std::lock_guard lock(mutex_);
  stamps_.emplace(next_stamp_, end_of(of));
  return next_stamp_++;
}

std::optional<std::uint64_t> lane_order::nanoseconds(stamp begin, stamp end) {
  const std::lock_guard lock(mutex_);
  const auto first = stamps_.find(begin);
  const auto last = stamps_.find(end);
  // Both are on one lane, so the first is done when the last is.
  const auto later = last != stamps_.end() ? last : first;
  if (later != stamps_.end() && !has_passed(*later->second)) return std::nullopt;
  std::uint64_t result = 0;
  if (first != stamps_.end() && last != stamps_.end()) {
    const std::uint64_t from = time_of(*first->second), to = time_of(*last->second);
    result = to > from ? to - from : 0;
  }
  if (first != stamps_.end()) stamps_.erase(first);
  if (last != stamps_.end() && end != begin) stamps_.erase(last);
  return result;
}

}  // namespace halocline::backend::sycl
