// SPDX-License-Identifier: Apache-2.0
// Plans for chains of tiers: which link carries what, when loads begin, bounds, files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/memory/plan/planner.hpp"
#include "support/checked_plan.hpp"
#include "support/random_program.hpp"

namespace halocline::memory::plan {
namespace {

using test::checked_plan;
using test::step_ns;
using test::trace_maker;
using testing::SizeIs;

constexpr std::uint64_t pages = 100;

/// One step per letter, which reads that key; its identity is the letter.
program read_in_order(const std::string& order) {
  trace_maker made;
  std::map<char, std::uint64_t> keys;
  for (const char c : order) {
    if (!keys.contains(c)) {
      keys[c] = made.exists(object_class::evaluation_key, pages * page_bytes, static_cast<std::uint64_t>(c),
                            recovery::copy);
    }
    made.read(keys[c]);
    made.end_step(step_ns);
  }
  made.end_step(step_ns);
  return make_program(made.result(), {}, time_source::recorded);
}

/// A file of one page per microsecond, and a remote place that is `slower` times as slow and 3 ms away; all
/// objects are remote.
planner_options chain_for(const program& source, std::uint64_t capacity_pages, double slower,
                          std::uint64_t file_pages = 0) {
  planner_options options;
  options.capacity_bytes = capacity_pages * page_bytes;
  options.costs.load = options.costs.store = {0, 1000.0 / page_bytes};
  options.links = {{"file", options.costs.load, file_pages * page_bytes},
                   {"remote", {3e6, slower * 1000.0 / page_bytes}, 0}};
  for (const object& each : source.objects) options.remote[each.identity] = {};
  return options;
}

TEST(PlanLinks, WhatWasReadFromAfarComesFromTheNextTierAfterThat) {
  const program source = read_in_order("abcabcabc");
  const plan made = checked_plan(source, chain_for(source, 2 * pages, 4));
  ASSERT_THAT(made.expected.links, SizeIs(2));
  const link_forecast &file = made.expected.links[0], &remote = made.expected.links[1];
  EXPECT_EQ(remote.loaded_bytes, 3 * pages * page_bytes);
  EXPECT_EQ(remote.least_bytes, remote.loaded_bytes);
  EXPECT_GT(file.loads, 0U);
  EXPECT_EQ(file.loaded_bytes + remote.loaded_bytes, made.expected.loaded_bytes);
  EXPECT_EQ(file.least_bytes, 0U);
}

TEST(PlanLinks, WithoutRoomInTheFileItIsReadAgain) {
  const program source = read_in_order("abcdabcdabcd");
  const plan roomy = checked_plan(source, chain_for(source, pages, 4));
  const plan tight = checked_plan(source, chain_for(source, pages, 4, pages));
  EXPECT_EQ(roomy.expected.links[1].loads, 4U);
  EXPECT_EQ(tight.expected.links[1].loads, 12U) << "least recently used, of one: never there";
  EXPECT_EQ(tight.expected.links[0].loads, 0U);
}

TEST(PlanLinks, CopiesThatAreHereAreNotRemote) {
  const program source = read_in_order("abc");
  planner_options options = chain_for(source, pages, 4);
  options.remote['a'].copies = {pages * page_bytes};
  options.remote['b'].copies = {page_bytes};  // too short
  const plan made = checked_plan(source, options);
  EXPECT_EQ(made.expected.links[0].loaded_bytes, pages * page_bytes);
  EXPECT_EQ(made.expected.links[1].least_bytes, 2 * pages * page_bytes);
}

TEST(PlanLinks, RemoteLoadsBeginBeforeTheHorizon) {
  const std::string order = std::string(30, 'a') + "b";
  const program source = read_in_order(order);
  planner_options options = chain_for(source, 3 * pages, 100);
  options.horizon_ns = 2e6;
  const auto begin_of_b = [&](const plan& made) {
    for (const directive& each : made.directives) {
      if (made.objects[each.target].identity == 'b') return each.before;
    }
    return no_step;
  };
  EXPECT_EQ(begin_of_b(checked_plan(source, options)), 0U) << "it takes 13 ms";
  options.remote['b'].copies = {pages * page_bytes};
  EXPECT_GT(begin_of_b(checked_plan(source, options)), 20U) << "from the file it takes 0.1 ms";
}

TEST(PlanLinks, LatencyIsNotTimeOfTheLink) {
  const program source = read_in_order("abcd");
  const plan made = checked_plan(source, chain_for(source, 4 * pages, 1));
  // Four loads of 0.1 ms, of which the first one arrives 3 ms late and the others behind it.
  EXPECT_NEAR(made.expected.total_ns, 3.1e6 + made.expected.resident_ns, 1);
  EXPECT_NEAR(made.expected.links[1].busy_ns, 4e5, 1);
}

TEST(PlanLinks, TheBoundIsThatOfTheSlowestPart) {
  const program source = read_in_order("abcd");
  std::string by;
  const plan computing = checked_plan(source, chain_for(source, 4 * pages, 1));
  EXPECT_EQ(computing.expected.bound_ns(&by), computing.expected.resident_ns);
  EXPECT_EQ(by, "compute");
  const plan reading = checked_plan(source, chain_for(source, 4 * pages, 100));
  EXPECT_NEAR(reading.expected.bound_ns(&by), 40e6, 1);
  EXPECT_EQ(by, "remote");
  EXPECT_GE(reading.expected.total_ns, reading.expected.bound_ns());
  const program again = read_in_order("abcdefghabcdefghabcdefgh");
  planner_options options = chain_for(again, pages, 1);
  options.costs.load.ns_per_byte *= 100;
  for (link& each : options.links) each.cost.ns_per_byte *= 100;
  const plan moving = checked_plan(again, options);
  EXPECT_EQ((static_cast<void>(moving.expected.bound_ns(&by)), by), "links");
  EXPECT_GE(moving.expected.total_ns, moving.expected.bound_ns());
}

TEST(PlanLinks, WhatHasNoCopyIsAlwaysMade) {
  trace_maker made;
  const std::uint64_t half =
      made.exists(object_class::evaluation_key, pages * page_bytes, 7, recovery::expand);
  made.read(half);
  made.end_step(step_ns);
  made.end_step(step_ns);
  const program source = make_program(made.result(), {}, time_source::recorded);
  planner_options options = chain_for(source, pages, 1);
  options.remote.clear();
  options.costs.expand = {0, 1e3};  // far slower than a load
  EXPECT_EQ(checked_plan(source, options).expected.expanded_bytes, 0U);
  options.made.insert(7);
  const plan forced = checked_plan(source, options);
  EXPECT_EQ(forced.expected.expanded_bytes, pages * page_bytes);
  EXPECT_EQ(forced.expected.loaded_bytes, 0U);
}

TEST(PlanLinks, FilesHaveThemAndAreChecked) {
  const program source = read_in_order("abcabc");
  const plan made = checked_plan(source, chain_for(source, 2 * pages, 4));
  const std::vector<std::byte> bytes = to_bytes(made);
  EXPECT_EQ(bytes[8], std::byte{3});
  EXPECT_EQ(plan_from_bytes(bytes), made);
  EXPECT_THAT(to_json(made), testing::HasSubstr("\"bound_by\""));
  plan plain = made;
  plain.expected.links.clear();
  EXPECT_EQ(to_bytes(plain)[8], std::byte{2}) << "plans without a chain are as they were";
  for (std::size_t size = bytes.size() - 60; size < bytes.size(); ++size) {
    EXPECT_THROW((void)plan_from_bytes(std::span(bytes).first(size)), corrupt_data);
  }
  planner_options one = chain_for(source, 2 * pages, 4);
  one.links.resize(1);
  EXPECT_THROW((void)make_plan(source, one), invalid_argument);
}

}  // namespace
}  // namespace halocline::memory::plan
