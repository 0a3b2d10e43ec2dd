// SPDX-License-Identifier: Apache-2.0
// Planning: a program of a million steps with six uses each, 4000 keys and scratch that comes and goes. For
// peak memory run one of them alone: /usr/bin/time -v halocline_bench --benchmark_filter=million_steps$.
#include <benchmark/benchmark.h>

#include <deque>
#include <random>
#include <vector>

#include "halocline/memory/plan/planner.hpp"

namespace {

using namespace halocline::memory;

/// Trace of a synthetic program, as a ghost run would record it.
class long_program {
 public:
  long_program(unsigned steps, unsigned levels) : levels_(levels) {
    for (unsigned i = 0; i < key_count; ++i)
      keys_.push_back(add(trace_action::exists, object_class::evaluation_key, (3U << 20) + 4096 * (i % 256)));
    for (unsigned i = 0; i < ciphertext_count; ++i)
      ciphertexts_.push_back(add(trace_action::exists, object_class::ciphertext, 2U << 20));
    std::vector<double> weights;
    for (unsigned i = 0; i < key_count; ++i) weights.push_back(1.0 / (i + 1));
    key_ = std::discrete_distribution<unsigned>(weights.begin(), weights.end());
    for (unsigned i = 0; i < steps; ++i) step();
  }

  [[nodiscard]] const trace& result() const { return trace_; }

 private:
  static constexpr unsigned key_count = 4000, ciphertext_count = 40;
  struct buffer {
    std::uint64_t id, bytes;
    object_class cls;
  };

  buffer add(trace_action action, object_class cls, std::uint64_t bytes) {
    const buffer added{++last_id_, bytes, cls};
    const std::string digits = std::to_string(added.id);
    row(action, added, bytes,
        action == trace_action::exists ? "key@" + std::string(16 - digits.size(), '0') + digits : "scratch");
    return added;
  }
  void row(trace_action action, const buffer& each, std::uint64_t bytes, const std::string& tag = "scratch") {
    trace_.events.push_back({step_, each.id, bytes, 0, 500'000 * step_, 0, trace_.intern("op"),
                             trace_.intern(tag), action, each.cls});
  }

  void step() {
    scratch_.push_back(add(trace_action::allocate, object_class::scratch, 1U << 20));
    const unsigned first = key_(random_), second = key_(random_);
    const std::uint64_t part = 1 + random_() % levels_;
    row(trace_action::read, keys_[first], keys_[first].bytes * part / levels_);
    row(trace_action::read, keys_[second], keys_[second].bytes * part / levels_);
    row(trace_action::read, scratch_.front(), 1U << 20);
    row(trace_action::write, scratch_.back(), 1U << 20);
    for (const auto action : {trace_action::read, trace_action::write})
      row(action, ciphertexts_[random_() % ciphertext_count], 2U << 20);
    ++step_;
    if (scratch_.size() < 4) return;
    row(trace_action::free, scratch_.front(), 1U << 20);
    scratch_.pop_front();
  }

  unsigned levels_;
  trace trace_;
  std::vector<buffer> keys_, ciphertexts_;
  std::deque<buffer> scratch_;
  std::mt19937 random_;
  std::discrete_distribution<unsigned> key_;
  std::uint64_t last_id_ = 0, step_ = 0;
};

plan::planner_options options_for(bool resizes) {
  plan::planner_options options;
  options.capacity_bytes = std::uint64_t{2} << 30;
  options.costs.load = options.costs.store = {100e3, 0.02};
  options.allow_resize = resizes;
  return options;
}

/// Trace to plan.
void make_plan(benchmark::State& state, unsigned steps, unsigned levels) {
  const long_program source(steps, levels);
  double gap = 0;
  for (auto _ : state) {
    const plan::program made = plan::make_program(source.result(), {}, plan::time_source::recorded);
    gap = plan::make_plan(made, options_for(levels > 1)).expected.gap();
  }
  state.counters["gap_percent"] = 100 * gap;
  state.counters["steps_per_second"] =
      benchmark::Counter(steps, benchmark::Counter::kIsIterationInvariantRate);
}

const bool registered = [] {
  const auto add = [](const char* name, unsigned steps, unsigned levels) {
    benchmark::RegisterBenchmark(name, [=](benchmark::State& state) {
      make_plan(state, steps, levels);
    })->Unit(benchmark::kMillisecond);
  };
  add("planner/thousand_steps", 1000, 1);
  add("planner/ten_thousand_steps", 10'000, 1);
  add("planner/million_steps", 1'000'000, 1);
  add("planner/million_steps_eight_levels", 1'000'000, 8);
  return true;
}();

}  // namespace
