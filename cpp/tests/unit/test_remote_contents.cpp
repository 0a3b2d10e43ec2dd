// SPDX-License-Identifier: Apache-2.0
// Buffers whose contents are remote, in runtimes: demand loads, plans, faults.
#include "halocline/memory/remote_contents.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

#include "halocline/core/error.hpp"
#include "halocline/memory/plan/planner.hpp"
#include "halocline/memory/recipe.hpp"
#include "halocline/memory/runtime.hpp"
#include "halocline/memory/tier/memory_store.hpp"
#include "support/counted_contents.hpp"
#include "support/page_frame.hpp"

namespace halocline::memory {
namespace {

using test::counted_contents;
using test::page_frame;
using test::remote_log;
using ::testing::SizeIs;

constexpr std::size_t page = 4096;
constexpr std::size_t size = 8 * page;

struct rig {
  rig(const char* policy, std::size_t budget, bool ghost = false) {
    runtime_options options;
    options.policy = policy;
    options.budget_bytes = budget;
    options.ghost = ghost;
    if (!ghost) options.slow = make_memory_store();
    memory = runtime::create(options);
  }
  /// A key with remote contents; on a ghost, one that is there.
  void add_key(std::uint64_t content) {
    keys.push_back(memory->allocate(size, object_class::evaluation_key, "key"));
    memory->set_identity(keys.back(), 100 + content);
    if (memory->is_ghost()) {
      const std::array<operand, 1> made{{{&keys.back(), 0, size}}};
      (void)memory->acquire({}, made, "make");
      return;
    }
    contents.push_back(std::make_shared<counted_contents>(log, content, size));
    memory->set_remote(keys.back(), contents.back());
  }
  /// One step that reads the first bytes of a key.
  void use(std::size_t number, std::size_t bytes = size) {
    const std::array<operand, 1> reads{{{&keys[number], 0, bytes}}};
    const access step = memory->acquire(reads, {}, "use");
    if (memory->is_ghost()) return;
    const page_frame expected(size, number);
    EXPECT_EQ(std::memcmp(step.pointer(keys[number]), expected.data(), bytes), 0) << "key " << number;
  }
  /// Keys, of which the first three are used: all frames that a budget of three has.
  void fill(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) add_key(i);
    for (const std::size_t i : {0, 1, 2}) use(i);
  }
  void spare_two() {
    for (const std::size_t i : {0, 1}) memory->set_spare(keys[i], true);
  }
  /// Steps enough to look for what is brought ahead.
  void run_steps(std::size_t number) {
    for (int i = 0; i < 64; ++i) use(number);
  }
  [[nodiscard]] std::uint64_t loads() const { return memory->statistics().moved.loads; }
  [[nodiscard]] std::uint64_t remote_bytes() const { return memory->link_statistics().back().read_bytes; }

  remote_log log;
  std::vector<std::shared_ptr<counted_contents>> contents;
  std::shared_ptr<runtime> memory;
  std::vector<buffer> keys;
};

/// Uses of keys, and how much of each.
using script = std::vector<std::pair<std::size_t, std::size_t>>;

/// The trace of a script on a ghost.
trace trace_of(const script& uses, std::size_t keys) {
  rig ghost("planned", 0, true);
  for (std::size_t i = 0; i < keys; ++i) ghost.add_key(i);
  ghost.memory->start_trace();
  for (const auto& [number, bytes] : uses) ghost.use(number, bytes);
  return ghost.memory->stop_trace();
}

TEST(RemoteContents, ComeWhenAStepNeedsThemAndAreDroppedWithoutACopy) {
  rig at("lru", 2 * size);
  for (std::uint64_t i = 0; i < 4; ++i) at.add_key(i);
  EXPECT_EQ(at.log.bytes(), 0U) << "nothing is read yet";
  EXPECT_EQ(at.memory->statistics().fast_bytes, 0U);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < 4; ++i) at.use(i);
  }
  EXPECT_EQ(at.log.bytes(), 4 * size) << "the second round reads copies";
  const stats after = at.memory->statistics();
  EXPECT_EQ(after.moved.populated_bytes + after.moved.written_bytes, 0U);
  EXPECT_LE(after.peak_fast_bytes, 2 * size);
}

TEST(RemoteContents, OperandsOfOneStepComeTogether) {
  rig at("lru", 0);
  for (std::uint64_t i = 0; i < 3; ++i) at.add_key(i);
  at.log.close_gate();
  std::thread opener([&] {
    at.log.await(3);
    at.log.open_gate();
  });
  const std::array<operand, 3> reads{
      {{&at.keys[0], 0, size}, {&at.keys[1], 0, size}, {&at.keys[2], 0, size}}};
  (void)at.memory->acquire(reads, {}, "use");
  opener.join();
  EXPECT_EQ(at.log.most(), 3U);
}

TEST(RemoteContents, APlanReadsWhatItSaysOverEachLink) {
  const script uses{{0, size}, {1, size}, {2, size}, {3, page}, {0, size}, {1, size}, {3, page}, {2, size}};
  rig at("planned", 2 * size);
  for (std::uint64_t i = 0; i < 4; ++i) at.add_key(i);
  const plan::planner_options options = at.memory->planning(2 * size);
  ASSERT_THAT(options.links, SizeIs(2));
  const auto made = std::make_shared<plan::plan>(
      plan::make_plan(plan::make_program(trace_of(uses, 4), options.costs), options));
  ASSERT_THAT(made->expected.links, SizeIs(2));
  EXPECT_EQ(made->expected.links.back().least_bytes, 3 * size + page);
  EXPECT_EQ(made->expected.links.back().loaded_bytes, 3 * size + page);
  EXPECT_EQ(made->expected.links.front().loaded_bytes + made->expected.links.back().loaded_bytes,
            made->expected.loaded_bytes);
  const std::vector<link_stats> before = at.memory->link_statistics();
  at.memory->begin_plan(made);
  for (const auto& [number, bytes] : uses) at.use(number, bytes);
  EXPECT_FALSE(at.memory->end_plan().diverged);
  const std::vector<link_stats> after = at.memory->link_statistics();
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(after[i].read_bytes - before[i].read_bytes, made->expected.links[i].loaded_bytes)
        << after[i].name;
  }
  EXPECT_EQ(at.log.bytes(), 3 * size + page) << "of key 3 only the prefix";
  // What is here now is no longer counted as far away.
  const plan::planner_options again = at.memory->planning(2 * size);
  const plan::plan next = plan::make_plan(plan::make_program(trace_of(uses, 4), again.costs), again);
  EXPECT_EQ(next.expected.links.back().loaded_bytes, 0U);
  EXPECT_EQ(next.expected.links.back().least_bytes, 0U);
}

TEST(RemoteContents, SpareFramesGoFirst) {
  rig at("lru", 3 * size);
  at.fill(5);
  at.memory->set_spare(at.keys[2], true);
  at.use(3);
  EXPECT_EQ(at.loads(), 4U);
  for (const std::size_t i : {0, 1}) at.use(i);
  EXPECT_EQ(at.loads(), 4U) << "key 2 went, though 0 and 1 were used longer ago";
  at.spare_two();
  at.use(0);  // a step uses it: it is spare no longer
  at.use(4);
  at.use(0);
  EXPECT_EQ(at.loads(), 5U);
  at.use(1);
  EXPECT_EQ(at.loads(), 6U);
}

TEST(RemoteContents, FetchesTakeRoomOfSpareFramesOnly) {
  rig at("lru", 3 * size);
  at.fill(5);
  EXPECT_EQ(at.memory->fetch(at.keys[3]), fetched::near);
  EXPECT_EQ(at.memory->fetch(at.keys[4]), fetched::near) << "as key 3, which is before it";
  EXPECT_EQ(at.loads(), 3U);
  at.spare_two();
  // Some room stays free. Steps go on with what waits for room.
  at.run_steps(2);
  EXPECT_EQ(at.loads(), 4U);
  at.use(3);
  EXPECT_EQ(at.loads(), 4U) << "it was there already";
  EXPECT_EQ(at.memory->fetch(at.keys[4]), fetched::near);
  at.memory->set_spare(at.keys[4], false);  // ends it
  at.memory->set_spare(at.keys[3], true);
  at.run_steps(2);
  EXPECT_EQ(at.loads(), 4U);
  at.use(4);
  EXPECT_EQ(at.loads(), 5U);
}

TEST(RemoteContents, WhatIsFetchedAheadMayFailOrBeFreed) {
  rig at("lru", 3 * size);
  at.fill(4);
  EXPECT_EQ(at.memory->fetch(at.keys[3]), fetched::near);
  at.contents[3]->fault = [] { throw io_error("cut"); };
  at.spare_two();
  EXPECT_NO_THROW(at.run_steps(2));
  EXPECT_THROW(at.use(3), io_error) << "the step that needs it says so";
  at.contents[3]->fault = nullptr;
  at.use(3);
  for (const std::size_t i : {0, 1}) at.use(i);
  (void)at.memory->fetch(at.keys[2]);
  at.keys.pop_back();
  at.keys.erase(at.keys.begin() + 2);
  at.run_steps(1);
}

TEST(RemoteContents, FaultsReachTheStepAndMayPass) {
  rig at("planned", 0);
  at.add_key(0);
  at.contents[0]->fault = [] { throw io_error("cut"); };
  EXPECT_THROW(at.use(0), io_error);
  at.contents[0]->fault = [] { throw corrupt_data("forged"); };
  EXPECT_THROW(at.use(0), corrupt_data);
  at.contents[0]->fault = nullptr;
  at.use(0);
  EXPECT_EQ(at.memory->statistics().moved.losses, 0U);
}

TEST(RemoteContents, ArriveWhileTheBufferIsFreed) {
  rig at("planned", 0);
  at.add_key(0);
  at.use(0);
  at.keys.clear();
  EXPECT_EQ(at.memory->slow_statistics().slots, 0U);
}

/// Fills a buffer with ones.
class ones final : public recipe {
 public:
  [[nodiscard]] recovery kind() const noexcept override { return recovery::expand; }
  void regenerate(const buffer& target, std::size_t bytes) const override {
    ++runs;
    const std::array<operand, 1> writes{{{&target, 0, bytes}}};
    auto* const owner = const_cast<runtime*>(target.owner());  // as a recipe of a backend has it
    const access step = owner->acquire({}, writes, "expand");
    std::fill_n(step.pointer(target), bytes, std::byte{1});
  }
  mutable unsigned runs = 0;
};

TEST(RemoteContents, WhatIsLeftToItsRecipeIsMadeAgainAfterEveryEviction) {
  rig at("lru", size);
  at.add_key(0);
  buffer half = at.memory->allocate(size, object_class::evaluation_key, "half");
  EXPECT_THROW(at.memory->leave_to_recipe(half), invalid_argument) << "it has no recipe";
  const auto how = std::make_shared<ones>();
  at.memory->set_recipe(half, how);
  at.memory->leave_to_recipe(half);
  for (int i = 0; i < 2; ++i) {
    const std::array<operand, 1> reads{{{&half, 0, size}}};
    EXPECT_EQ(at.memory->acquire(reads, {}, "use").pointer(half)[size - 1], std::byte{1});
    at.use(0);
  }
  EXPECT_EQ(how->runs, 2U);
  const movement moved = at.memory->statistics().moved;
  EXPECT_EQ(moved.populated_bytes + moved.repairs, 0U);
  EXPECT_EQ(moved.expanded_bytes, 2 * size);
}

TEST(RemoteContents, AreRefusedWhereNothingMovesOrSomethingWasWritten) {
  remote_log log;
  const auto contents = std::make_shared<counted_contents>(log, 0, size);
  for (const char* policy : {"resident", "managed"}) {
    rig at(policy, 0);
    EXPECT_FALSE(at.memory->reads_remote());
    const buffer key = at.memory->allocate(size, object_class::evaluation_key, "key");
    EXPECT_THROW(at.memory->set_remote(key, contents), invalid_argument) << policy;
  }
  rig at("planned", 0);
  EXPECT_TRUE(at.memory->reads_remote());
  const buffer key = at.memory->allocate(size, object_class::evaluation_key, "key");
  EXPECT_THROW(at.memory->set_remote(key, nullptr), invalid_argument);
  EXPECT_THROW(at.memory->set_remote(key, std::make_shared<counted_contents>(log, 0, page)),
               invalid_argument);
  const buffer text = at.memory->allocate(size, object_class::ciphertext, "ciphertext");
  EXPECT_THROW(at.memory->set_remote(text, contents), invalid_argument);
  const std::array<operand, 1> writes{{{&key, 0, size}}};
  (void)at.memory->acquire({}, writes, "make");
  EXPECT_THROW(at.memory->set_remote(key, contents), invalid_argument);
}

}  // namespace
}  // namespace halocline::memory
