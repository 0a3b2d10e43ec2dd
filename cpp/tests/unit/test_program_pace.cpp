// SPDX-License-Identifier: Apache-2.0
// Which programs are recorded: those of a device that waits for the host, as long as that is faster.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "backend/graph/recorder.hpp"

namespace halocline::backend::graph {
namespace {

std::uint64_t host_time = 0;
std::uint64_t host_clock() { return host_time; }

/// Does nothing, and says how long programs take.
class waiting_device final : public device_api {
 public:
  void launch(const launch_list&, std::size_t) override {}
  std::unique_ptr<executable> build(const launch_list&) override { return std::make_unique<nothing>(); }
  void mark(bool end) noexcept override { marks += end ? '>' : '<'; }
  [[nodiscard]] std::optional<double> elapsed() noexcept override { return time; }

  std::string marks;
  std::optional<double> time;

 private:
  struct nothing final : executable {
    void patch(const launch_list&, std::size_t) override {}
    void launch() override {}
  };
};

constexpr int kernels[8] = {};  // addresses that stand for functions

class ProgramPace : public testing::Test {
 protected:
  /// How many of the launches of a program are recorded, all or none. It takes `plain` or `recorded`, and
  /// `host` on the host.
  unsigned run(std::uint64_t key, unsigned count) {
    unsigned found = 0;
    recorder_.begin(key, true);
    for (unsigned i = 0; i < count; ++i) {
      if (recorder_.open()) {
        ++found;
        recorder_.add({"add", "kernel", &kernels[i % 8], {1, 1, 1}, {256, 1, 1}, 0, sizeof(i)}, &i);
      } else {
        recorder_.pass();
      }
    }
    host_time += host;
    recorder_.end();
    device_.time = found != 0 ? recorded : plain;
    return found;
  }
  /// Which of `runs` runs are recorded: 'r' or '-'.
  std::string runs(std::uint64_t key, unsigned count, unsigned runs) {
    std::string result;
    for (unsigned i = 0; i < runs; ++i) {
      const unsigned found = run(key, count);
      EXPECT_TRUE(found == 0 || found == count);
      result += found != 0 ? 'r' : '-';
    }
    return result;
  }

  waiting_device device_;
  recorder recorder_{device_, {}, host_clock};
  double plain = 10, recorded = 9;
  std::uint64_t host = 10;
};

TEST_F(ProgramPace, GraphsAreTriedWhereTheDeviceWaits) {
  EXPECT_EQ(runs(1, 40, 13), "---rrrrr---rr");
  EXPECT_EQ(device_.marks, "<><><><><><><><>");  // runs 1, 2, 6, 7, 9, 10 and all later ones
  EXPECT_EQ(recorder_.statistics().passed_programs, 6u);
  EXPECT_EQ(recorder_.statistics().programs, 7u);
}

TEST_F(ProgramPace, TheFurtherTheHostIsAheadTheLaterIsTheTrial) {
  plain = 100;
  recorded = 90;
  for (const std::uint64_t time : {39U, 41U, 79U, 81U}) {
    host = time;
    const std::string first = "---rrrrr---" + std::string(9, 'r');
    const std::string late = std::string(16, '-') + std::string(4, 'r');
    EXPECT_EQ(runs(time, 40, 20), time == 39 ? std::string(20, '-') : time == 81 ? first : late);
  }
}

TEST_F(ProgramPace, ABusyDeviceGetsNone) {
  host = 1;
  EXPECT_EQ(runs(1, 40, 12), "------------");
  EXPECT_EQ(device_.marks, "<><>");
  EXPECT_EQ(recorder_.statistics().segments, 0u);
  EXPECT_EQ(recorder_.statistics().eager_launches, 480u);
}

TEST_F(ProgramPace, OneRunInWhichTheDeviceWaitsIsEnough) {
  (void)run(1, 40);
  (void)run(1, 40);
  host = 1;
  EXPECT_EQ(runs(1, 40, 3), "-rr");
}

TEST_F(ProgramPace, TheyGoWhereTheySaveNothing) {
  recorded = 10;
  EXPECT_EQ(runs(1, 40, 12), "---rrrrr----");
}

/// The first runs may be slower than what comes later: what graphs are compared with is timed again.
TEST_F(ProgramPace, SlowFirstRunsAreNoReason) {
  plain = 20;
  host = 20;
  EXPECT_EQ(runs(1, 40, 8), "---rrrrr");
  plain = 9.1;
  EXPECT_EQ(runs(1, 40, 6), "------");  // 9 is less, but not by 2 %
}

TEST_F(ProgramPace, LongProgramsGetNone) {
  EXPECT_EQ(runs(1, program_pace::most_launches + 1, 5), "-----");
  EXPECT_EQ(runs(2, program_pace::most_launches, 5), "---rr");
}

TEST_F(ProgramPace, ProgramsHaveTheirOwnTimes) {
  EXPECT_EQ(runs(1, 40, 3), "---");
  plain = 1;
  EXPECT_EQ(runs(2, 40, 12), "---rrrrr----");
  plain = 10;
  EXPECT_EQ(runs(1, 40, 9), "rrrrr---r");
}

TEST_F(ProgramPace, WhatBecomesSlowerIsLeft) {
  EXPECT_EQ(runs(1, 40, 13), "---rrrrr---rr");
  recorded = 12;  // the mean passes 1.06 times the 10 without graphs with the third time that is known
  EXPECT_EQ(runs(1, 40, 8), "rrr-----");
  plain = 20;  // known after the runs that settle, of which two have been; the mean passes at once
  EXPECT_EQ(runs(1, 40, 4), "-rrr");
}

TEST_F(ProgramPace, OneSlowRunIsNoReason) {
  EXPECT_EQ(runs(1, 40, 13), "---rrrrr---rr");
  recorded = 12;
  EXPECT_EQ(runs(1, 40, 1), "r");
  recorded = 9;
  EXPECT_EQ(runs(1, 40, 5), "rrrrr");
}

TEST_F(ProgramPace, NothingIsRecordedWithoutTimes) {
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(run(1, 40), 0u) << i;
    device_.time.reset();  // the device has not passed the mark yet
  }
}

TEST_F(ProgramPace, ProgramsAreMeasuredAgain) {
  host = 1;
  EXPECT_EQ(runs(1, 8, 1000), std::string(1000, '-'));
  host = 10;
  EXPECT_EQ(runs(1, 8, 12), "---rrrrr---r");
}

TEST_F(ProgramPace, PartsOfAProgramBelongToIt) {
  recorder_.begin(1, true);
  recorder_.begin(2, false);
  EXPECT_TRUE(recorder_.begun());
  EXPECT_FALSE(recorder_.open());
  recorder_.end();
  EXPECT_TRUE(recorder_.begun());
  recorder_.end();
  EXPECT_FALSE(recorder_.begun());
  recorder_.begin(2, false);
  EXPECT_TRUE(recorder_.open());
  recorder_.end();
}

}  // namespace
}  // namespace halocline::backend::graph
