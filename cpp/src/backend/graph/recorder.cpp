// SPDX-License-Identifier: Apache-2.0
#include "backend/graph/recorder.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

namespace halocline::backend::graph {
namespace {

// A device that waits for the first launch is idle: begin with short segments. Long ones gain nothing more,
// since a graph costs less than a microsecond per kernel then.
constexpr std::size_t first_limit = 32;
constexpr std::size_t last_limit = 256;
constexpr std::size_t segment_bytes = std::size_t{8} << 20U;  ///< of parameters

}  // namespace

std::size_t recorder::segment_limit(std::size_t position) noexcept {
  return std::min(last_limit, first_limit << std::min<std::size_t>(position, 8));
}

void recorder::begin(std::uint64_t key, bool measured) noexcept {
  const std::lock_guard lock(mutex_);
  if (depth_ != 0) {
    ++depth_;
    return;
  }
  passes_ = measured && !worth_recording(key);
  times_ = measured && pace_.times();
  if (times_) {
    began_ns_ = now_();
    device_.mark(false);
  }
  depth_ = 1;
  if (passes_) {
    ++counted_.passed_programs;
    return;
  }
  cache_.begin_program(key);
  key_ = key;
  position_ = 0;
  ++counted_.programs;
}

bool recorder::worth_recording(std::uint64_t key) noexcept {
  try {
    if (was_timed_) {
      if (const std::optional<double> ns = device_.elapsed()) pace_.timed(host_ns_, *ns);
    }
    was_timed_ = false;
    return pace_.begin(key);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void recorder::pass() noexcept {
  const std::lock_guard lock(mutex_);
  if (depth_ == 0 || !passes_) return;
  ++counted_.eager_launches;
  pace_.launched();
}

void recorder::end() {
  const std::lock_guard lock(mutex_);
  if (depth_ == 0) return;
  if (depth_ > 1) {
    --depth_;
    return;
  }
  if (passes_) {
    finish_timing();
    depth_ = 0;
    passes_ = false;
    return;
  }
  try {
    run_segment();
  } catch (...) {
    list_.clear();  // left by an earlier failure; it will not be launched
    depth_ = 0;
    throw;
  }
  finish_timing();
  depth_ = 0;
}

void recorder::finish_timing() noexcept {
  if (!times_) return;
  device_.mark(true);
  host_ns_ = static_cast<double>(now_() - began_ns_);
  was_timed_ = true;
}

void recorder::add(const launch& each, const void* params) {
  const std::lock_guard lock(mutex_);
  rethrow();
  list_.add(each, params);
  if (list_.size() >= segment_limit(position_) || list_.bytes() >= segment_bytes) run_segment();
}

void recorder::flush() {
  const std::lock_guard lock(mutex_);
  run_segment();
}

void recorder::run_segment() {
  rethrow();
  if (list_.empty()) return;
  cache_.run(mix(key_, position_++), list_);
}

void recorder::flush_quietly() noexcept {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  try {
    run_segment();
  } catch (...) {
    failure_ = std::current_exception();
  }
}

graph_statistics recorder::statistics() const {
  const std::lock_guard lock(mutex_);
  return counted_;
}

void recorder::clear() {
  const std::lock_guard lock(mutex_);
  cache_.clear();
}

void recorder::rethrow() {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace halocline::backend::graph
