// SPDX-License-Identifier: Apache-2.0
// Logs of RMM: what they become, what is refused, and that what is written reads back.
#include <gmock/gmock.h>

#include <sstream>

#include "halocline/core/error.hpp"
#include "halocline/memory/trace_formats/rmm_log.hpp"

namespace halocline::memory {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

trace imported(const std::string& rows, object_class cls = object_class::ciphertext) {
  std::istringstream in(std::string(rmm_log_header) + "\n" + rows);
  return read_rmm_log(in, cls);
}

std::vector<trace_action> actions(const trace& t) {
  std::vector<trace_action> result;
  for (const trace_event& e : t.events) result.push_back(e.action);
  return result;
}

std::string refusal(const std::string& rows) {
  try {
    (void)imported(rows);
  } catch (const corrupt_data& e) {
    return e.what();
  }
  return "accepted";
}

TEST(RmmLog, AllocationsAreWrittenAndFreesAreReadFirst) {
  const trace t = imported(
      "17,15:47:02.000001,allocate,0x100,64,0x2\n"
      "17,15:47:02.000003,allocate,0x200,128,0\n"
      "18,15:47:03.000001,free,0x100,64,0x2\n");
  using enum trace_action;
  EXPECT_THAT(actions(t), ElementsAre(allocate, write, allocate, write, read, trace_action::free));
  const trace_event& last = t.events.back();
  EXPECT_EQ(last.object, t.events.front().object);
  EXPECT_EQ(last.bytes, 64U);
  EXPECT_EQ(last.time_ns, 1'000'000'000U);
  EXPECT_EQ(last.step, 3U);
  EXPECT_EQ(t.events[2].stream, 1U);  // numbered by appearance
  EXPECT_EQ(t.tag(last), "thread 17");
  EXPECT_EQ(t.op(t.events[1]), "rmm");
  EXPECT_EQ(last.cls, object_class::ciphertext);
  EXPECT_EQ(imported("1,00:00:00.000000,allocate,1,1,0\n", object_class::scratch).events[0].cls,
            object_class::scratch);
}

TEST(RmmLog, StepsAreNumberedLikeThoseOfTheRuntime) {
  const trace t = imported(
      "1,00:00:00.000000,allocate,a,1,0\n1,00:00:00.000000,allocate,b,2,0\n1,00:00:00.000000,free,a,1,0\n");
  std::vector<std::uint64_t> steps;
  for (const trace_event& e : t.events) steps.push_back(e.step);
  EXPECT_THAT(steps, ElementsAre(0, 0, 1, 1, 2, 3));  // allocations carry the step that follows, frees too
}

TEST(RmmLog, UnknownMemoryWasThereBefore) {
  const trace t = imported("1,00:00:00.000000,free,0x7f,32,0\n");
  using enum trace_action;
  EXPECT_THAT(actions(t), ElementsAre(exists, read, trace_action::free));
  EXPECT_EQ(t.events[0].bytes, 32U);
}

TEST(RmmLog, AnAddressCanBeUsedAgainByAnotherBuffer) {
  const trace t = imported(
      "1,00:00:00.000000,allocate,0x100,64,0\n1,00:00:00.000000,free,0x100,0,0\n"
      "1,00:00:00.000000,allocate,0x100,32,0\n");
  EXPECT_NE(t.events.front().object, t.events.back().object);
}

TEST(RmmLog, RowsThatAllocateNothingLeaveNoEvents) {
  const trace t = imported(
      "1,00:00:00.000000,allocate failure,0x0,64,0\n1,00:00:00.000000,allocate,(nil),0,0\n"
      "1,00:00:00.000000,free,(nil),0,0\n\n");
  EXPECT_TRUE(t.events.empty());
}

TEST(RmmLog, TheClockPassesMidnightAndNeverRunsBack) {
  const trace t = imported(
      "1,23:59:59:999999,allocate,1,1,0\r\n1,00:00:00:000001,allocate,2,1,0\r\n"
      "2,23:59:59.999999,allocate,3,1,0\n1,00:00:00.000002,allocate,4,1,0\n");
  EXPECT_EQ(t.events[2].time_ns, 2000U);
  EXPECT_GE(t.events[4].time_ns, t.events[2].time_ns);
  EXPECT_GE(t.events[6].time_ns, t.events[4].time_ns);
  const trace threads = imported(
      "1,10:00:00.000005,allocate,1,1,0\n2,10:00:00.000002,allocate,2,1,0\n"
      "1,10:00:00.000006,allocate,3,1,0\n");
  EXPECT_EQ(threads.events[2].time_ns, 0U);
  EXPECT_EQ(threads.events[4].time_ns, 1000U);
}

TEST(RmmLog, MalformedRowsAreNamed) {
  EXPECT_THAT(refusal("1,00:00:00.000000,allocate,1,1\n"), HasSubstr("line 2: expected 6 columns"));
  EXPECT_THAT(refusal("1,00:00:00.000000,allocate,1,1,0,9\n"), HasSubstr("expected 6 columns"));
  EXPECT_THAT(refusal("1,00:00:00,allocate,1,1,0\n"), HasSubstr("HH:MM:SS"));
  EXPECT_THAT(refusal("1,24:00:00.000000,allocate,1,1,0\n"), HasSubstr("none of a day"));
  EXPECT_THAT(refusal("1,00:00:00.00000x,allocate,1,1,0\n"), HasSubstr("microsecond"));
  EXPECT_THAT(refusal("1,00:00:00.000000,reallocate,1,1,0\n"), HasSubstr("unknown action 'reallocate'"));
  EXPECT_THAT(refusal("1,00:00:00.000000,allocate,xyz,1,0\n"), HasSubstr("pointer"));
  EXPECT_THAT(refusal("1,00:00:00.000000,allocate,1,-1,0\n"), HasSubstr("size"));
  EXPECT_THAT(refusal("1,00:00:00.000000,allocate,1,99999999999999999999,0\n"), HasSubstr("size"));
  EXPECT_THAT(refusal("a b,00:00:00.000000,allocate,1,1,0\n"), HasSubstr("thread"));
  EXPECT_THAT(refusal("1,00:00:00.000000,allocate,1,1,\n"), HasSubstr("stream"));
  const std::string one = "1,00:00:00.000000,allocate,1,8,0\n";
  EXPECT_THAT(refusal(one + one), HasSubstr("line 3: address 1 is allocated while it is live"));
  EXPECT_THAT(refusal(one + "1,00:00:00.000000,free,1,9,0\n"), HasSubstr("frees 9 bytes"));
  std::istringstream foreign("step,op\n");
  EXPECT_THROW((void)read_rmm_log(foreign), corrupt_data);
}

TEST(RmmLog, WritesAllocationsAndFrees) {
  trace t;
  const std::uint32_t none = t.intern("-");
  using enum trace_action;
  const auto push = [&](std::uint64_t object, std::uint64_t bytes, trace_action action, std::uint64_t time) {
    t.events.push_back({0, object, bytes, 0, time, 3, none, none, action, object_class::ciphertext});
  };
  push(1, 300, allocate, 1'500);
  push(1, 300, write, 2'000);
  push(2, 10, exists, 3'000);
  push(1, 300, trace_action::free, 3'661'000'004'000);
  push(9, 5, trace_action::free, 3'662'000'000'000);  // never announced: cannot be written
  std::ostringstream out;
  write_rmm_log(t, out);
  EXPECT_EQ(out.str(), std::string(rmm_log_header) +
                           "\n1,00:00:00.000000,allocate,0x10000000000,10,0x3\n"
                           "1,00:00:00.000001,allocate,0x10000000100,300,0x3\n"
                           "1,01:01:01.000004,free,0x10000000100,300,0x3\n");
  std::istringstream in(out.str());
  EXPECT_THAT(actions(read_rmm_log(in)),
              ElementsAre(allocate, write, allocate, write, read, trace_action::free));
}

TEST(RmmLog, RefusesSizesThatNoAddressSpaceHolds) {
  trace t;
  const std::uint32_t none = t.intern("-");
  const std::uint64_t most = ~std::uint64_t{0};
  t.events.push_back({0, 1, most, 0, 0, 0, none, none, trace_action::allocate, object_class::scratch});
  std::ostringstream out;
  EXPECT_THROW(write_rmm_log(t, out), invalid_argument);
}

}  // namespace
}  // namespace halocline::memory
