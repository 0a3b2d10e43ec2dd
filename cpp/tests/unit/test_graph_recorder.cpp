// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "backend/graph/deferred_blocks.hpp"
#include "backend/graph/recorder.hpp"
#include "halocline/core/error.hpp"

namespace halocline::backend::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// What a kernel of these tests takes.
struct parameters {
  std::uint64_t pointer;
  std::uint32_t constant;
  std::uint32_t more[5];
};

/// "kernel(pointer, constant)", as a device would see it.
std::string text_of(const launch& each, const void* params) {
  const auto* p = static_cast<const parameters*>(params);
  return std::string(each.name) + "(" + std::to_string(p->pointer) + "," + std::to_string(p->constant) + ")";
}

// A clock that only the fake device moves.
std::uint64_t time = 0;
constexpr std::uint64_t launch_time = 20;
std::uint64_t patch_time = 5;
std::uint64_t build_time = 1;

std::uint64_t fake_clock() { return time; }

/// Executes by writing down.
class fake_device final : public device_api {
 public:
  class fake_graph final : public executable {
   public:
    fake_graph(fake_device& device, const launch_list& list) : device_(device) {
      for (std::size_t i = 0; i < list.size(); ++i) nodes_.push_back(text_of(list.at(i), list.params(i)));
      ++device_.alive;
    }
    ~fake_graph() override { --device_.alive; }
    void patch(const launch_list& list, std::size_t i) override {
      if (device_.fail_patches) throw device_error("patch refused");
      time += patch_time;
      nodes_[i] = text_of(list.at(i), list.params(i));
    }
    void launch() override {
      if (device_.fail_graphs) throw device_error("replay refused");
      time += 10;
      device_.done.insert(device_.done.end(), nodes_.begin(), nodes_.end());
    }

   private:
    fake_device& device_;
    std::vector<std::string> nodes_;
  };

  void launch(const launch_list& list, std::size_t i) override {
    if (watched != nullptr) {
      EXPECT_TRUE(watched->open());
    }
    if (list.at(i).op == fail_op) throw device_error(std::string(fail_op) + ": launch refused");
    time += launch_time;
    done.push_back(text_of(list.at(i), list.params(i)));
  }
  std::unique_ptr<executable> build(const launch_list& list) override {
    if (fail_builds) throw out_of_memory("no room for a graph");
    time += build_time * list.size();
    return std::make_unique<fake_graph>(*this, list);
  }
  void mark(bool) noexcept override {}
  [[nodiscard]] std::optional<double> elapsed() noexcept override { return {}; }

  std::vector<std::string> done;
  int alive = 0;
  bool fail_builds = false;
  bool fail_patches = false;
  bool fail_graphs = false;
  std::string fail_op;
  const recorder* watched = nullptr;
};

constexpr int kernels[8] = {};  // addresses that stand for functions

launch make_launch(unsigned kernel, std::uint32_t grid = 1) {
  static const char* const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  return {names[kernel], names[kernel], &kernels[kernel], {grid, 1, 1}, {256, 1, 1}, 0, sizeof(parameters)};
}

class GraphRecorder : public testing::Test {
 protected:
  void add(unsigned kernel, std::uint64_t pointer, std::uint32_t constant = 0, std::uint32_t grid = 1) {
    const parameters p{pointer, constant, {}};
    recorder_.add(make_launch(kernel, grid), &p);
  }
  /// Five launches; what they did.
  std::vector<std::string> run(std::uint64_t key, std::uint64_t pointer, std::uint32_t constant = 0) {
    device_.done.clear();
    recorder_.begin(key);
    for (unsigned i = 0; i < 4; ++i) add(i, 10 + i);
    add(4, pointer, constant);
    recorder_.end();
    return device_.done;
  }
  [[nodiscard]] graph_statistics stats() const { return recorder_.statistics(); }

  void SetUp() override {
    patch_time = 5;
    build_time = 1;
  }
  /// Launches with the pointers from `pointer` on.
  void run_long(recorder& on, std::uint64_t key, unsigned count, std::uint64_t pointer) {
    std::vector<std::string> expected;
    device_.done.clear();
    on.begin(key);
    for (unsigned i = 0; i < count; ++i) {
      const parameters p{pointer + i, 0, {}};
      expected.push_back(text_of(make_launch(i % 8), &p));
      on.add(make_launch(i % 8), &p);
    }
    on.end();
    EXPECT_EQ(device_.done, expected);
  }

  fake_device device_;
  recorder recorder_{device_, {.always_ns = 0}, fake_clock};
};

TEST_F(GraphRecorder, ReplaysFromTheSecondRunOnAndPatchesWhatChanged) {
  EXPECT_THAT(run(1, 5), ElementsAre("a(10,0)", "b(11,0)", "c(12,0)", "d(13,0)", "e(5,0)"));
  EXPECT_EQ(stats().eager_launches, 5U);
  EXPECT_EQ(stats().graphs_built, 0U);
  EXPECT_THAT(run(1, 6), ElementsAre("a(10,0)", "b(11,0)", "c(12,0)", "d(13,0)", "e(6,0)"));
  EXPECT_EQ(stats().graphs_built, 1U);
  EXPECT_EQ(stats().patched_nodes, 0U);  // built with the parameters of this run
  EXPECT_THAT(run(1, 6), ElementsAre("a(10,0)", "b(11,0)", "c(12,0)", "d(13,0)", "e(6,0)"));
  EXPECT_EQ(stats().patched_nodes, 0U);
  EXPECT_THAT(run(1, 7, 9), ElementsAre("a(10,0)", "b(11,0)", "c(12,0)", "d(13,0)", "e(7,9)"));
  EXPECT_EQ(stats().patched_nodes, 1U);
  // The node keeps what the last run gave it: going back is a change again.
  EXPECT_THAT(run(1, 6), ElementsAre("a(10,0)", "b(11,0)", "c(12,0)", "d(13,0)", "e(6,0)"));
  EXPECT_EQ(stats().patched_nodes, 2U);
  EXPECT_EQ(stats().eager_launches, 5U);
  EXPECT_EQ(stats().replays, 4U);
  EXPECT_EQ(stats().replayed_nodes, 20U);
  EXPECT_EQ(device_.alive, 1);
}

TEST_F(GraphRecorder, LaunchesOneByOneWhatLooksDifferent) {
  (void)run(1, 5);
  (void)run(1, 5);
  device_.done.clear();
  recorder_.begin(1);
  for (unsigned i = 0; i < 5; ++i) add(i, 10 + i, 0, i == 2 ? 3 : 1);  // another grid
  recorder_.end();
  EXPECT_EQ(device_.done.size(), 5U);
  EXPECT_EQ(stats().eager_launches, 10U);
  EXPECT_EQ(stats().replays, 1U);
  (void)run(2, 5);  // another program
  EXPECT_EQ(stats().eager_launches, 15U);
  (void)run(1, 5);  // the graph is still there
  EXPECT_EQ(stats().replays, 2U);
}

TEST_F(GraphRecorder, ShortSegmentsNeedNoGraph) {
  for (int i = 0; i < 3; ++i) {
    recorder_.begin(1);
    add(0, 1);
    add(1, 2);
    add(2, 3);
    recorder_.end();
  }
  EXPECT_EQ(stats().eager_launches, 9U);
  EXPECT_EQ(stats().graphs_built, 0U);
}

TEST_F(GraphRecorder, NothingIsLaunchedBeforeTheOrderMatters) {
  recorder_.begin(1);
  add(0, 1);
  add(1, 2);
  EXPECT_TRUE(device_.done.empty());
  recorder_.flush();  // a download, say
  EXPECT_THAT(device_.done, ElementsAre("a(1,0)", "b(2,0)"));
  add(2, 3);
  recorder_.begin(7);  // a part: changes nothing, and its end is no end
  recorder_.end();
  EXPECT_EQ(device_.done.size(), 2U);
  EXPECT_TRUE(recorder_.open());
  recorder_.end();
  EXPECT_THAT(device_.done, ElementsAre("a(1,0)", "b(2,0)", "c(3,0)"));
  EXPECT_FALSE(recorder_.open());
  recorder_.end();  // one too many
  EXPECT_FALSE(recorder_.open());
  EXPECT_EQ(stats().programs, 1U);
  EXPECT_EQ(stats().segments, 2U);
}

TEST_F(GraphRecorder, LongProgramsBeginBeforeTheyAreRecorded) {
  EXPECT_EQ(recorder::segment_limit(0), 32U);
  EXPECT_EQ(recorder::segment_limit(1), 64U);
  EXPECT_EQ(recorder::segment_limit(100), 256U);
  for (int i = 0; i < 3; ++i) {
    device_.done.clear();
    recorder_.begin(1);
    for (unsigned k = 0; k < 100; ++k) {
      add(k % 8, k);
      EXPECT_EQ(device_.done.size(), k + 1 >= 96 ? 96U : k + 1 >= 32 ? 32U : 0U);
    }
    recorder_.end();
    EXPECT_EQ(device_.done.size(), 100U);
  }
  EXPECT_EQ(stats().graphs_built, 3U);  // 32, 64 and 4 launches
  EXPECT_EQ(stats().replayed_nodes, 200U);
}

TEST_F(GraphRecorder, RandomProgramsDoWhatTheySay) {
  std::mt19937 random(std::random_device{}());
  std::vector<std::string> expected;
  const auto step = [&](std::mt19937& shape) {
    const unsigned kernel = shape() % 8;
    const std::uint64_t pointer = random() % 4;
    const std::uint32_t constant = random() % 3;
    const parameters p{pointer, constant, {}};
    expected.push_back(text_of(make_launch(kernel), &p));
    add(kernel, pointer, constant);
    if (shape() % 40 == 0) recorder_.flush();
  };
  for (int i = 0; i < 60; ++i) {
    const std::uint32_t program = random() % 5;
    std::mt19937 shape(program);
    recorder_.begin(random() % 2);  // even with keys that say nothing
    for (unsigned k = 0; k < 10 + 100 * program; ++k) step(shape);
    recorder_.end();
  }
  EXPECT_EQ(device_.done, expected);
  EXPECT_GT(stats().replays, 0U);
  EXPECT_EQ(stats().eager_launches + stats().replayed_nodes, expected.size());
}

TEST_F(GraphRecorder, ProgramsAreOpenUntilTheirLastLaunchIsDone) {
  // Otherwise memory that another thread frees meanwhile would overtake kernels that use it.
  device_.watched = &recorder_;
  EXPECT_EQ(run(1, 5).size(), 5U);
  EXPECT_FALSE(recorder_.open());
}

TEST_F(GraphRecorder, OtherThreadsMayFlush) {
  constexpr unsigned count = 3000;
  std::vector<std::string> expected;
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) recorder_.flush_quietly();
  });
  recorder_.begin(1);
  for (unsigned i = 0; i < count; ++i) {
    const parameters p{i, i % 7, {}};
    expected.push_back(text_of(make_launch(i % 8), &p));
    add(i % 8, i, i % 7);
  }
  recorder_.end();
  done = true;
  other.join();
  EXPECT_EQ(device_.done, expected);
}

TEST_F(GraphRecorder, KeepsGraphsWithinItsLimits) {
  recorder small(device_, {.nodes = 10});
  const auto go = [&](std::uint64_t key) {
    small.begin(key);
    for (unsigned i = 0; i < 4; ++i) {
      const parameters p{i, 0, {}};
      small.add(make_launch(i), &p);
    }
    small.end();
  };
  for (const std::uint64_t key : {1, 1, 2, 2}) go(key);
  EXPECT_EQ(device_.alive, 2);
  go(1);                                           // used last
  for (const std::uint64_t key : {3, 3}) go(key);  // 12 nodes: the graph of 2 goes
  EXPECT_EQ(device_.alive, 2);
  EXPECT_EQ(small.statistics().nodes_kept, 8U);
  const std::uint64_t replays = small.statistics().replays;
  go(1);
  EXPECT_EQ(small.statistics().replays, replays + 1);
  go(2);
  EXPECT_EQ(small.statistics().replays, replays + 1);
  small.clear();
  EXPECT_EQ(device_.alive, 0);
  EXPECT_EQ(small.statistics().graphs_kept, 0U);
}

TEST_F(GraphRecorder, ProgramsWithMoreKernelsThanThereIsRoomForKeepGraphsOfAPart) {
  recorder small(device_, {.nodes = 100}, fake_clock);
  for (int i = 0; i < 6; ++i) run_long(small, 1, 32 + 64 + 128, 1);
  const graph_statistics found = small.statistics();
  EXPECT_EQ(found.graphs_built, 2U);  // of 32 and 64 kernels, once each; never destroyed for the last part
  EXPECT_EQ(found.replayed_nodes, 5U * (32 + 64));
  EXPECT_EQ(found.eager_launches, (32 + 64) + 6U * 128);
  // A program that is not run any more leaves its room to others.
  for (int i = 0; i < 4; ++i) run_long(small, 2, 32, 1);
  EXPECT_EQ(small.statistics().graphs_built, 3U);
}

TEST_F(GraphRecorder, TwoProgramsInTurnDoNotDestroyEachOthersGraphs) {
  recorder small(device_, {.nodes = 100}, fake_clock);
  for (int i = 0; i < 2; ++i) run_long(small, 1, 32 + 64, 1);
  for (int i = 0; i < 6; ++i) {
    run_long(small, 2, 32 + 64, 1);
    run_long(small, 3, 2, 1);  // too short for a graph
    run_long(small, 1, 32 + 64, 1);
  }
  EXPECT_EQ(small.statistics().graphs_built, 2U);
  EXPECT_EQ(small.statistics().replayed_nodes, 7U * (32 + 64));
}

TEST_F(GraphRecorder, ProgramsInTurnShareTheRoom) {
  recorder small(device_, {.nodes = 100}, fake_clock);
  for (int i = 0; i < 8; ++i) {
    for (const std::uint64_t key : {1, 2, 3}) run_long(small, key, 40, 1);
  }
  EXPECT_EQ(small.statistics().graphs_built, 5U);  // 32 and 8 kernels each, and 8 of the third program
}

TEST_F(GraphRecorder, MakingGraphsTakesNoLongerThanARun) {
  build_time = 25;  // a kernel; a run takes 20 for each
  constexpr unsigned count = 32 + 64 + 128 + 256;
  run_long(recorder_, 1, count, 1);
  std::uint64_t most = 0, built = 0;
  for (int i = 0; i < 6; ++i) {
    run_long(recorder_, 1, count, 1);
    const std::uint64_t now = stats().nodes_kept;
    most = std::max(most, build_time * (now - built));
    built = now;
  }
  EXPECT_EQ(built, count);  // in the end all of it
  // The time between two beginnings is that of a run with what was built during it.
  EXPECT_LE(most, 2 * launch_time * count);
  EXPECT_GT(stats().eager_launches, count);  // not all at once
}

TEST_F(GraphRecorder, GraphsThatAreSlowerThanTheirKernelsAreGivenUp) {
  patch_time = 30;  // a launch takes 20
  recorder small(device_, {.pause = 20}, fake_clock);
  for (unsigned i = 0; i < 3; ++i) run_long(small, 10 + i, 32, 0);  // now it is known what launching takes
  for (unsigned i = 0; i < 16; ++i) run_long(small, 1, 32, 100U * i);
  EXPECT_EQ(small.statistics().slow_graphs, 1U);
  EXPECT_EQ(small.statistics().graphs_kept, 0U);
  EXPECT_EQ(small.statistics().graphs_built, 1U);  // and not made again so soon
  EXPECT_LE(small.statistics().patched_nodes, 6U * 32);
  patch_time = 1;  // the reason was one of the moment
  for (unsigned i = 0; i < 40; ++i) run_long(small, 1, 32, 100U * i);
  EXPECT_EQ(small.statistics().graphs_kept, 1U);
  EXPECT_EQ(small.statistics().slow_graphs, 1U);
}

TEST_F(GraphRecorder, OneSlowChangeIsNoReasonToGiveUp) {
  for (unsigned i = 0; i < 3; ++i) run_long(recorder_, 10 + i, 32, 0);
  for (unsigned i = 0; i < 12; ++i) {
    patch_time = i == 2 ? 3000 : 5;
    run_long(recorder_, 1, 32, 100U * i);
  }
  EXPECT_EQ(stats().slow_graphs, 0U);
  EXPECT_EQ(stats().graphs_kept, 1U);
}

TEST_F(GraphRecorder, WhatChangesOnceIsPaidOnce) {
  patch_time = 50;
  const auto go = [&](std::uint64_t key, std::uint64_t pointer) {
    recorder_.begin(key);
    for (unsigned k = 0; k < 32; ++k) add(k % 8, k < 16 ? pointer + k : k);
    recorder_.end();
  };
  for (unsigned i = 0; i < 16; ++i) go(10, i < 8 ? 100U * i : 0);  // all costs are known
  for (int i = 0; i < 3; ++i) go(1, 0);
  const std::uint64_t eager = stats().eager_launches;
  for (int i = 0; i < 10; ++i) go(1, 5000);
  EXPECT_EQ(stats().eager_launches, eager);
}

TEST_F(GraphRecorder, GraphsOfWhichLittleChangesStay) {
  patch_time = 30;
  run_long(recorder_, 1, 32, 0);
  for (int i = 0; i < 8; ++i) {
    recorder_.begin(1);
    for (unsigned k = 0; k < 32; ++k) add(k % 8, k < 4 ? 100U * static_cast<unsigned>(i) + k : k);
    recorder_.end();
  }
  EXPECT_EQ(stats().slow_graphs, 0U);
  EXPECT_EQ(stats().eager_launches, 32U);
}

TEST_F(GraphRecorder, ArgumentsInTurnGetAGraphEach) {
  for (int i = 0; i < 12; ++i) run_long(recorder_, 1, 32, i % 2 == 0 ? 0 : 1000);
  EXPECT_EQ(stats().graphs_built, 2U);
  const std::uint64_t patched = stats().patched_nodes;
  for (int i = 0; i < 6; ++i) run_long(recorder_, 1, 32, i % 2 == 0 ? 0 : 1000);
  EXPECT_EQ(stats().patched_nodes, patched);  // nothing changes any more
  EXPECT_EQ(stats().graphs_built, 2U);
  // Others change one of them; at most four are kept.
  for (int i = 0; i < 40; ++i) run_long(recorder_, 1, 32, 5000U + 100U * static_cast<unsigned>(i % 10));
  EXPECT_LE(stats().graphs_kept, 4U);
}

TEST_F(GraphRecorder, GraphsThatCannotBeMadeOrChangedAreDoneWithout) {
  device_.fail_builds = true;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(1, 5).size(), 5U);
  EXPECT_EQ(stats().eager_launches, 15U);
  EXPECT_EQ(stats().failed_builds, 1U);  // the third run is a first sight again
  device_.fail_builds = false;
  (void)run(1, 5);
  EXPECT_EQ(stats().graphs_built, 1U);
  device_.fail_patches = true;
  EXPECT_THAT(run(1, 6), ElementsAre("a(10,0)", "b(11,0)", "c(12,0)", "d(13,0)", "e(6,0)"));
  EXPECT_EQ(stats().failed_builds, 2U);
  EXPECT_EQ(device_.alive, 0);
}

TEST_F(GraphRecorder, FailuresNameTheOperationAndLeaveItUsable) {
  device_.fail_op = "c";
  EXPECT_THAT([&] { (void)run(1, 5); }, ThrowsMessage<device_error>(HasSubstr("c: launch refused")));
  EXPECT_FALSE(recorder_.open());
  device_.fail_op.clear();
  EXPECT_EQ(run(1, 5).size(), 5U);
  device_.fail_graphs = true;
  EXPECT_THAT([&] { (void)run(1, 5); }, ThrowsMessage<device_error>(HasSubstr("replay refused")));
  EXPECT_EQ(device_.alive, 0);
  device_.fail_graphs = false;
  EXPECT_EQ(run(1, 5).size(), 5U);

  recorder_.begin(9);
  add(0, 1);
  device_.fail_op = "a";
  recorder_.flush_quietly();
  recorder_.flush_quietly();
  device_.fail_op.clear();
  EXPECT_THAT([&] { add(1, 2); }, ThrowsMessage<device_error>(HasSubstr("a: launch refused")));
  add(1, 2);
  device_.fail_op = "b";
  recorder_.flush_quietly();
  device_.fail_op.clear();
  device_.done.clear();
  EXPECT_THAT([&] { recorder_.end(); }, ThrowsMessage<device_error>(HasSubstr("b: launch refused")));
  EXPECT_FALSE(recorder_.open());
  recorder_.flush();
  EXPECT_TRUE(device_.done.empty());
}

TEST(DeferredBlocks, AreHandedOutAgainByExactSizeOnly) {
  deferred_blocks blocks;
  int memory[4];
  EXPECT_EQ(blocks.take(64), nullptr);
  EXPECT_FALSE(blocks.knows(64));
  EXPECT_TRUE(blocks.keep(&memory[1], 64));
  EXPECT_TRUE(blocks.keep(&memory[0], 64));
  EXPECT_TRUE(blocks.keep(&memory[2], 128));
  EXPECT_EQ(blocks.bytes(), 256U);
  EXPECT_EQ(blocks.take(32), nullptr);
  EXPECT_EQ(blocks.take(64), &memory[0]);  // the lowest address
  EXPECT_EQ(blocks.bytes(), 192U);
  std::vector<std::pair<void*, std::size_t>> freed;
  blocks.release([&](void* data, std::size_t bytes) { freed.emplace_back(data, bytes); });
  EXPECT_THAT(freed, ElementsAre(std::pair<void*, std::size_t>(&memory[1], 64),
                                 std::pair<void*, std::size_t>(&memory[2], 128)));
  EXPECT_EQ(blocks.bytes(), 0U);
  EXPECT_FALSE(blocks.knows(64));
  EXPECT_EQ(blocks.take(64), nullptr);
}

TEST(DeferredBlocks, AProgramFindsTheSameBlocksAgain) {
  deferred_blocks blocks;
  char memory[8];
  for (char& each : memory) ASSERT_TRUE(blocks.keep(&each, 64));
  std::mt19937 random(std::random_device{}());
  std::vector<void*> first;
  for (int run = 0; run < 10; ++run) {
    std::vector<void*> taken;
    for (int i = 0; i < 6; ++i) taken.push_back(blocks.take(64));
    if (run == 0) first = taken;
    EXPECT_EQ(taken, first);
    std::shuffle(taken.begin(), taken.end(), random);  // results leave in any order
    for (void* each : taken) ASSERT_TRUE(blocks.keep(each, 64));
  }
}

}  // namespace
}  // namespace halocline::backend::graph
