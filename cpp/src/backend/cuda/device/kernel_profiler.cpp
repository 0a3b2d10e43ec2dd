// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device/kernel_profiler.hpp"

#include <algorithm>
#include <utility>

#include "backend/cuda/device/driver_calls.hpp"
#include "halocline/core/clock.hpp"

namespace halocline::backend::cuda {
namespace {

// Pending samples before the oldest are tested for completion.
constexpr std::size_t waiting_limit = 1024;
// Times between marks are floats of milliseconds: 24 bits of a second are 60 ns.
constexpr float longest_ms = 1000.0F;
constexpr double ns_of_ms = 1e6;

}  // namespace

kernel_profiler::kernel_profiler(const device_context& device) : device_(device) {
  device_.wait();
  measure_marks();
  before_ = driver::counted();
  host_begin_ns_ = now_ns();
  base_.record(device_.compute());
}

/// The smallest time between two marks with nothing between them.
void kernel_profiler::measure_marks() {
  constexpr int repetitions = 16;
  std::vector<event> marks;
  for (int i = 0; i < repetitions; ++i) {
    marks.push_back(take_event());
    marks.back().record(device_.compute());
  }
  device_.wait();
  float shortest = longest_ms;
  for (int i = 1; i < repetitions; ++i) {
    shortest = std::min(shortest, marks[static_cast<std::size_t>(i)].milliseconds_since(
                                      marks[static_cast<std::size_t>(i) - 1]));
  }
  timer_ns_ = static_cast<std::uint64_t>(std::max(0.0, shortest * ns_of_ms));
  for (event& each : marks) spare_.push_back(std::move(each));
}

event kernel_profiler::take_event() {
  if (spare_.empty()) return event(true);
  event taken = std::move(spare_.back());
  spare_.pop_back();
  return taken;
}

void kernel_profiler::begin_step(op_kind op) {
  step_ = builder_.begin_step(op);
  copies_ = op == op_kind::upload || op == op_kind::download;
  if (copies_) begin_sample("copy");
}

void kernel_profiler::end_step() noexcept {
  if (!copies_) return;
  copies_ = false;
  try {
    end_sample();
  } catch (...) {
    // Without an end it has no time; the next sample drops it.
  }
}

bool kernel_profiler::begin(const kernel_launch& each) {
  begin_sample(each.name);
  return true;
}

void kernel_profiler::end(const kernel_launch&) { end_sample(); }

void kernel_profiler::begin_sample(const char* kernel) {
  if (!waiting_.empty() && !waiting_.back().ended) waiting_.pop_back();  // its launch failed
  if (waiting_.size() >= waiting_limit) harvest(false);
  sample_place at = step_;
  at.kernel = kernel;
  waiting_.push_back({at, take_event(), take_event(), false});
  waiting_.back().begin.record(device_.compute());
}

void kernel_profiler::end_sample() {
  waiting_.back().end.record(device_.compute());
  waiting_.back().ended = true;
}

std::uint64_t kernel_profiler::nanoseconds(const event& mark) {
  const float ms = mark.milliseconds_since(base_);
  return static_cast<std::uint64_t>(std::max(0.0, base_ns_ + static_cast<double>(ms) * ns_of_ms));
}

void kernel_profiler::harvest(bool all) {
  while (!waiting_.empty() && (all || waiting_.front().end.done())) {
    sample& each = waiting_.front();
    const std::uint64_t begin = nanoseconds(each.begin);
    const float ms = each.end.milliseconds_since(each.begin);
    const auto time = static_cast<std::uint64_t>(std::max(0.0, static_cast<double>(ms) * ns_of_ms));
    builder_.add(each.at, begin, begin + time);
    if (each.begin.milliseconds_since(base_) > longest_ms) {
      base_ns_ = static_cast<double>(begin);
      std::swap(base_, each.begin);
    }
    spare_.push_back(std::move(each.begin));
    spare_.push_back(std::move(each.end));
    waiting_.pop_front();
  }
}

profile kernel_profiler::finish() {
  if (!waiting_.empty() && !waiting_.back().ended) waiting_.pop_back();
  const driver_counters calls = driver::counted() - before_;
  const event last = take_event();
  last.record(device_.compute());
  last.wait();
  const std::uint64_t wall = now_ns() - host_begin_ns_;
  harvest(true);
  profile result = builder_.finish();
  result.wall_ns = wall;
  result.timer_ns = timer_ns_;
  result.driver = calls;
  return result;
}

}  // namespace halocline::backend::cuda
