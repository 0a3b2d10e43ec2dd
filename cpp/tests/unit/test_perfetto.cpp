// SPDX-License-Identifier: Apache-2.0
// Timelines: what a trace becomes, and the JSON that viewers read.
#include <gmock/gmock.h>

#include <sstream>

#include "halocline/core/error.hpp"
#include "halocline/core/json.hpp"
#include "halocline/memory/sim/replay.hpp"
#include "halocline/memory/trace_formats/perfetto.hpp"

namespace halocline::memory {
namespace {

/// A copy of a buffer that was there before to a new one, on stream 1, then both are freed.
trace sample() {
  trace t;
  const std::uint32_t none = t.intern("-");
  const std::uint32_t copy = t.intern("co\"py");
  using enum trace_action;
  t.events = {
      {0, 7, 100, 0, 500, 0, none, none, exists, object_class::plaintext},
      {0, 8, 50, 0, 1'000, 0, none, none, allocate, object_class::ciphertext},
      {1, 7, 40, 0, 2'000, 1, copy, none, read, object_class::plaintext},
      {1, 8, 50, 0, 2'000, 1, copy, none, write, object_class::ciphertext},
      {2, 8, 50, 0, 5'001, 1, copy, none, read, object_class::ciphertext},
      {3, 8, 50, 0, 6'000, 0, none, none, free, object_class::ciphertext},
      {3, 7, 100, 0, 6'000, 0, none, none, free, object_class::plaintext},
  };
  return t;
}

std::string written(const timeline& t) {
  std::ostringstream out;
  write_perfetto(t, out);
  return out.str();
}

TEST(Perfetto, StepsLastUntilTheNextEvent) {
  const timeline t = make_timeline(sample());
  ASSERT_EQ(t.spans.size(), 2U);
  EXPECT_EQ(t.spans[0].begin_ns, 2'000U);
  EXPECT_EQ(t.spans[0].end_ns, 5'001U);
  EXPECT_EQ(t.spans[0].bytes, 90U);
  EXPECT_EQ(t.spans[1].end_ns, 6'000U);
  EXPECT_THAT(t.tracks, testing::ElementsAre("stream 1"));
}

TEST(Perfetto, CountersFollowLiveBytes) {
  const timeline t = make_timeline(sample());
  std::vector<std::pair<std::uint64_t, std::uint64_t>> plaintext;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ciphertext;
  for (const timeline_sample& each : t.samples) {
    if (each.counter == 1) plaintext.emplace_back(each.time_ns, each.value);
    if (each.counter == 2) ciphertext.emplace_back(each.time_ns, each.value);
  }
  using testing::ElementsAre;
  using testing::Pair;
  EXPECT_THAT(plaintext, ElementsAre(Pair(500, 100), Pair(6'000, 0)));
  EXPECT_THAT(ciphertext, ElementsAre(Pair(500, 0), Pair(1'000, 50), Pair(6'000, 0)));
}

TEST(Perfetto, WritesTraceEventJson) {
  const json::value root = json::parse(written(make_timeline(sample())));
  const json::array& events = json::find(root.as_object("root"), "traceEvents")->as_array("traceEvents");
  std::size_t complete = 0;
  std::size_t counters = 0;
  for (const json::value& each : events) {
    const json::object& event = each.as_object("event");
    const std::string kind = json::find(event, "ph")->as_string("ph");
    if (kind == "C") ++counters;
    if (kind != "X") continue;
    ++complete;
    EXPECT_EQ(json::find(event, "name")->as_string("name"), "co\"py");
    EXPECT_GT(json::find(event, "dur")->as_number("dur"), 0);
  }
  EXPECT_EQ(complete, 2U);
  EXPECT_EQ(counters, 8U);  // a first sample of five classes, and three changes
  EXPECT_THAT(written(make_timeline(sample())), testing::HasSubstr("\"ts\":5.001"));
}

TEST(Perfetto, AnyNameGivesValidJson) {
  timeline t;
  t.tracks = {"compute"};
  t.names = {"a\xff\n"};
  t.spans = {{0, 0, 0, 1, 0}};
  EXPECT_NO_THROW((void)json::parse(written(t)));
}

TEST(Perfetto, AnEmptyTraceIsAnEmptyTimeline) {
  EXPECT_NO_THROW((void)json::parse(written(make_timeline(trace{}))));
}

TEST(Perfetto, ReplaysWriteDownWhatTheDeviceDoes) {
  trace program;
  const std::uint32_t none = program.intern("-");
  const std::uint32_t add = program.intern("add");
  constexpr std::uint64_t bytes = 8U << 20U;
  using enum trace_action;
  for (std::uint64_t step = 0; step < 12; ++step) {
    const std::uint64_t object = step % 4;
    if (step < 4) {
      program.events.push_back(
          {step, object, bytes, 0, 0, 0, none, none, exists, object_class::evaluation_key});
    }
    program.events.push_back(
        {step, object, bytes, 0, step * 1000, 0, add, none, read, object_class::evaluation_key});
  }
  timeline spans;
  sim::replay_options options;
  options.policy = "lru";
  options.budget_bytes = 2 * bytes;
  options.spans = &spans;
  const sim::replay_report report = sim::replay(program, sim::device_by_name("h200"), options);
  std::vector<double> seconds(spans.tracks.size());
  for (const timeline_span& each : spans.spans) {
    seconds[each.track] += static_cast<double>(each.end_ns - each.begin_ns) * 1e-9;
  }
  ASSERT_THAT(spans.tracks, testing::ElementsAre("compute", "page faults", "load", "write-back", "stall"));
  EXPECT_NEAR(seconds[0], report.compute_s, 1e-7);
  EXPECT_NEAR(seconds[2], report.load_busy_s, 1e-7);
  EXPECT_NEAR(seconds[4], report.transfer_wait_s + report.host_wait_s, 1e-5);
  EXPECT_EQ(report.loaded_bytes, 12 * bytes);  // four buffers in turn, room for two
  EXPECT_EQ(spans.counters.size(), 3U);
  EXPECT_NO_THROW((void)json::parse(written(spans)));
}

TEST(Perfetto, RefusesNumbersOutsideTheTables) {
  timeline t;
  t.tracks = {"compute"};
  t.names = {"add"};
  t.counters = {"live"};
  t.spans = {{0, 0, 5, 5, 0}};
  t.samples = {{0, 1, 2}};
  EXPECT_NO_THROW((void)written(t));
  timeline bad = t;
  bad.spans[0].track = 1;
  EXPECT_THROW((void)written(bad), invalid_argument);
  bad = t;
  bad.spans[0].name = 1;
  EXPECT_THROW((void)written(bad), invalid_argument);
  bad = t;
  bad.spans[0].end_ns = 4;
  EXPECT_THROW((void)written(bad), invalid_argument);
  bad = t;
  bad.samples[0].counter = 1;
  EXPECT_THROW((void)written(bad), invalid_argument);
}

}  // namespace
}  // namespace halocline::memory
