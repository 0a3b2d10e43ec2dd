// SPDX-License-Identifier: Apache-2.0
// Which programs are recorded: those of a device that waits for the host.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "backend/graph/recorder.hpp"

namespace halocline::backend::graph {
namespace {

/// Does nothing, says whether it is idle, and how long programs take.
class waiting_device final : public device_api {
 public:
  void launch(const launch_list&, std::size_t) override {}
  std::unique_ptr<executable> build(const launch_list&) override { return std::make_unique<nothing>(); }
  [[nodiscard]] bool idle() noexcept override {
    ++asked;
    return is_idle;
  }
  void mark(bool end) noexcept override { marks += end ? '>' : '<'; }
  [[nodiscard]] std::optional<double> elapsed() noexcept override { return time; }

  int asked = 0;
  bool is_idle = false;
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
  /// How many of the launches of a program are recorded, all or none. It takes `plain` or `recorded`.
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
  recorder recorder_{device_};
  double plain = 10, recorded = 9;
};

TEST_F(ProgramPace, GraphsAreTriedWhereTheDeviceWaits) {
  device_.is_idle = true;
  EXPECT_EQ(runs(1, 40, 12), "---rrrrrrrrr");
  EXPECT_EQ(device_.asked, 3);  // in one run: after 16 and 32 launches, and at the end
  EXPECT_EQ(device_.marks, "<><><><>");
  EXPECT_EQ(recorder_.statistics().passed_programs, 3u);
  EXPECT_EQ(recorder_.statistics().programs, 9u);
}

TEST_F(ProgramPace, HalfOfTheChecksDecides) {
  for (const unsigned idle_checks : {5U, 6U}) {  // of ten while it runs, and one at the end
    (void)run(idle_checks, 160);
    recorder_.begin(idle_checks, true);
    for (unsigned i = 0; i < 160; ++i) {
      device_.is_idle = i / program_pace::interval < idle_checks;
      recorder_.pass();
    }
    recorder_.end();
    EXPECT_EQ(runs(idle_checks, 8, 3), idle_checks == 6 ? "-rr" : "---");
  }
}

TEST_F(ProgramPace, TheyGoWhereTheySaveNothing) {
  device_.is_idle = true;
  recorded = 10;
  EXPECT_EQ(runs(1, 40, 12), "---rrrrr----");
}

TEST_F(ProgramPace, ABusyDeviceGetsNone) {
  EXPECT_EQ(runs(1, 40, 12), "------------");
  EXPECT_EQ(device_.asked, 3);
  EXPECT_EQ(device_.marks, "<><>");
  EXPECT_EQ(recorder_.statistics().segments, 0u);
  EXPECT_EQ(recorder_.statistics().eager_launches, 480u);
}

TEST_F(ProgramPace, LongProgramsGetNone) {
  device_.is_idle = true;
  EXPECT_EQ(runs(1, program_pace::most_launches + 1, 5), "-----");
  EXPECT_EQ(runs(2, program_pace::most_launches, 5), "---rr");
}

TEST_F(ProgramPace, ProgramsHaveTheirOwnTimes) {
  device_.is_idle = true;
  EXPECT_EQ(runs(1, 40, 3), "---");
  plain = 1;
  EXPECT_EQ(runs(2, 40, 12), "---rrrrr----");
  plain = 10;
  EXPECT_EQ(runs(1, 40, 9), "rrrrrrrrr");
}

TEST_F(ProgramPace, NothingIsRecordedWithoutTimes) {
  device_.is_idle = true;
  recorder_.begin(1, true);
  recorder_.end();
  for (int i = 0; i < 11; ++i) {
    const bool found = run(1, 40) != 0;
    device_.time.reset();  // the device has not passed the mark yet
    EXPECT_EQ(found, i >= 2 && i < 7) << i;
  }
}

TEST_F(ProgramPace, ProgramsAreMeasuredAgain) {
  EXPECT_EQ(runs(1, 8, 1000), std::string(1000, '-'));
  device_.is_idle = true;
  EXPECT_EQ(runs(1, 8, 12), "---rrrrrrrrr");
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
