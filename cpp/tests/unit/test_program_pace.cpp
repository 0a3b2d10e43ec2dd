// SPDX-License-Identifier: Apache-2.0
// Which programs are recorded: those of a device that waits for the host.
#include <gtest/gtest.h>

#include <memory>

#include "backend/graph/recorder.hpp"

namespace halocline::backend::graph {
namespace {

/// Does nothing, and says whether it is idle.
class waiting_device final : public device_api {
 public:
  void launch(const launch_list&, std::size_t) override {}
  std::unique_ptr<executable> build(const launch_list&) override { return std::make_unique<nothing>(); }
  [[nodiscard]] bool idle() noexcept override {
    ++asked;
    return is_idle;
  }

  int asked = 0;
  bool is_idle = false;

 private:
  struct nothing final : executable {
    void patch(const launch_list&, std::size_t) override {}
    void launch() override {}
  };
};

constexpr int kernels[8] = {};  // addresses that stand for functions

/// `count` launches of a program that is recorded only if it is worth it; how many of them were recorded.
class GraphPace : public testing::Test {
 protected:
  unsigned run(std::uint64_t key, unsigned count) {
    unsigned recorded = 0;
    recorder_.begin(key, true);
    for (unsigned i = 0; i < count; ++i) {
      if (recorder_.open()) {
        ++recorded;
        recorder_.add({"add", "kernel", &kernels[i % 8], {1, 1, 1}, {256, 1, 1}, 0, sizeof(i)}, &i);
      } else {
        recorder_.pass();
      }
    }
    recorder_.end();
    return recorded;
  }

  waiting_device device_;
  recorder recorder_{device_};
};

TEST_F(GraphPace, ProgramsOfADeviceThatWaitsAreRecordedFromTheThirdRunOn) {
  device_.is_idle = true;
  EXPECT_EQ(run(1, 200), 0u);
  EXPECT_EQ(device_.asked, 0);
  EXPECT_EQ(run(1, 200), 0u);
  EXPECT_EQ(device_.asked, 4);  // after 64, 128 and 192 launches, and at the end
  EXPECT_EQ(run(1, 200), 200u);
  EXPECT_EQ(run(1, 200), 200u);
  EXPECT_EQ(device_.asked, 4);
  EXPECT_EQ(recorder_.statistics().passed_programs, 2u);
  EXPECT_EQ(recorder_.statistics().programs, 2u);
  EXPECT_EQ(recorder_.statistics().eager_launches, 600u);
  EXPECT_EQ(recorder_.statistics().replayed_nodes, 200u);
}

TEST_F(GraphPace, ProgramsOfABusyDeviceAreNot) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run(1, 200), 0u);
  EXPECT_EQ(device_.asked, 4);
  EXPECT_EQ(recorder_.statistics().passed_programs, 5u);
  EXPECT_EQ(recorder_.statistics().segments, 0u);
  EXPECT_FALSE(recorder_.begun());
}

TEST_F(GraphPace, AQuarterOfTheAnswersDecides) {
  const auto records = [&](std::uint64_t key, unsigned idle_answers) {
    (void)run(key, 640);
    recorder_.begin(key, true);
    for (unsigned i = 0; i < 640; ++i) {
      device_.is_idle = i / program_pace::interval < idle_answers;  // asked at the last launch of each part
      recorder_.pass();
    }
    device_.is_idle = false;
    recorder_.end();
    return run(key, 8) == 8;
  };
  EXPECT_FALSE(records(1, 2));  // of eleven
  EXPECT_TRUE(records(2, 3));
}

TEST_F(GraphPace, ShortProgramsAreMeasuredAtTheirEnd) {
  device_.is_idle = true;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run(1, 10), 0u);
  EXPECT_EQ(run(1, 10), 10u);
  device_.is_idle = false;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run(2, 10), 0u);
  EXPECT_EQ(run(2, 10), 0u);
}

TEST_F(GraphPace, ProgramsAreMeasuredAgain) {
  for (std::uint64_t i = 0; i <= program_pace::pause; ++i) EXPECT_EQ(run(1, 10), 0u);
  device_.is_idle = true;
  EXPECT_EQ(run(1, 10), 0u);
  EXPECT_EQ(run(1, 10), 10u);
}

TEST_F(GraphPace, PartsOfAProgramBelongToIt) {
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
