// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>

#include "halocline/memory/device_memory.hpp"

namespace halocline::test {

/// Lanes whose work is done later, in an order that only the lanes and their tickets restrict.
class fake_lanes {
 public:
  using lane = memory::lane;
  using ticket = memory::ticket;

  /// @param laziness 0: work is done at once; 100: only when a caller waits
  fake_lanes(std::uint64_t seed, unsigned laziness) : random_(seed), laziness_(laziness) {}

  void enqueue(lane on, std::function<void()> work) {
    const bool copies = on != lane::compute;
    for (const lane other : {lane::compute, lane::load, lane::save}) {
      if ((other != lane::compute) != copies && at(other).work != 0) ++overlaps_;
    }
    ++at(on).work;
    push(on, {[work = std::move(work), &left = at(on).work] {
                work();
                --left;
              },
              on, 0, 0});
  }
  /// Does all work.
  void finish() {
    while (step()) {
    }
    for (const line& each : lines_) EXPECT_TRUE(each.queue.empty()) << "lanes wait for each other";
  }
  /// How often the host waited.
  [[nodiscard]] std::size_t host_waits() const noexcept { return host_waits_; }
  /// How often the end of a lane was marked.
  [[nodiscard]] std::size_t marks() const noexcept { return marks_; }
  /// How often a copy was queued while the compute lane had work left, or the other way round.
  [[nodiscard]] std::size_t overlaps() const noexcept { return overlaps_; }

  // As in `memory::device_memory`.
  [[nodiscard]] ticket mark(lane of) {
    ++marks_;
    const ticket made = ++at(of).next;
    push(of, {{}, of, 0, made});
    return made;
  }
  [[nodiscard]] bool passed(lane of, ticket moment) {
    maybe_work();
    return at(of).done >= moment;
  }
  void order(lane waiting, lane of, ticket moment) {
    EXPECT_LE(moment, at(of).next) << "a ticket of the future";
    if (waiting != of) push(waiting, {{}, of, moment, 0});
  }
  void wait(lane of, ticket moment) {
    ++host_waits_;
    while (at(of).done < moment) {
      if (!step()) throw std::logic_error("lanes wait for each other");
    }
  }
  [[nodiscard]] memory::stamp take_time(lane of) {
    const memory::stamp made = ++stamps_made_;
    push(of, {[=, this] { times_[made] = ++clock_; }, of, 0, 0});
    return made;
  }
  [[nodiscard]] std::optional<std::uint64_t> nanoseconds(memory::stamp begin, memory::stamp end) {
    if (begin == 0 || end == 0) return 0;
    if (!times_.contains(end)) return std::nullopt;
    const std::uint64_t result = times_.at(end) - times_.at(begin);
    times_.erase(begin), times_.erase(end);
    return result;
  }

 private:
  /// Waits until a lane is past a ticket, does something, reaches a ticket.
  struct job {
    std::function<void()> work;
    lane of{};
    ticket after = 0;
    ticket reaches = 0;
  };
  struct line {
    std::deque<job> queue;
    ticket next = 0;
    ticket done = 0;
    std::size_t work = 0;  ///< pieces in the queue
  };

  [[nodiscard]] line& at(lane of) noexcept { return lines_[static_cast<std::size_t>(of)]; }
  void push(lane on, job added) {
    at(on).queue.push_back(std::move(added));
    maybe_work();
  }
  void maybe_work() {
    if (working_) return;
    while (random_() % 100 >= laziness_ && step()) {
    }
  }
  /// Does the first job of some lane. False: no lane can go on.
  bool step() {
    const std::size_t first = random_() % memory::lane_count;
    for (std::size_t i = 0; i < memory::lane_count; ++i) {
      line& each = lines_[(first + i) % memory::lane_count];
      if (each.queue.empty() || at(each.queue.front().of).done < each.queue.front().after) continue;
      const job next = std::move(each.queue.front());
      each.queue.pop_front();
      working_ = true;
      if (next.work) next.work();
      working_ = false;
      each.done = std::max(each.done, next.reaches);
      return true;
    }
    return false;
  }

  std::mt19937_64 random_;
  unsigned laziness_;
  std::array<line, memory::lane_count> lines_;
  bool working_ = false;
  std::size_t host_waits_ = 0;
  std::size_t overlaps_ = 0;
  std::size_t marks_ = 0;
  memory::stamp stamps_made_ = 0;
  std::uint64_t clock_ = 0;
  std::map<memory::stamp, std::uint64_t> times_;
};

}  // namespace halocline::test
