// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/plan/planner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "halocline/core/error.hpp"
#include "halocline/memory/plan/plan_check.hpp"
#include "support/checked_plan.hpp"
#include "support/key_switch_program.hpp"
#include "support/message_of.hpp"
#include "support/random_program.hpp"

namespace halocline::memory::plan {
namespace {

using test::checked_plan;
using test::step_ns;
using test::trace_maker;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto key = object_class::evaluation_key;
constexpr auto ciphertext = object_class::ciphertext;
constexpr auto scratch = object_class::scratch;

program program_of(const trace_maker& made) { return make_program(made.result(), {}, time_source::recorded); }

/// A link that moves one page per microsecond.
planner_options options_for(std::uint64_t pages) {
  planner_options options;
  options.capacity_bytes = pages * page_bytes;
  options.costs.load = options.costs.store = {0, 1000.0 / page_bytes};
  options.costs.expand = options.costs.encode = {0, 250.0 / page_bytes};
  return options;
}

/// One step per digit, which reads that key.
trace_maker read_in_order(const std::string& order, std::uint64_t pages, recovery way = recovery::copy) {
  trace_maker made;
  std::map<char, std::uint64_t> keys;
  for (const char c : order) {
    if (!keys.contains(c)) keys[c] = made.exists(key, pages * page_bytes, static_cast<std::uint64_t>(c), way);
    made.read(keys[c]);
    made.end_step(step_ns);
  }
  made.end_step(step_ns);
  return made;
}

TEST(Planner, KeepsWhatIsThereForAsLongAsItPays) {
  const program source = program_of(read_in_order("abcdcd", 100));
  planner_options options = options_for(250);
  EXPECT_EQ(checked_plan(source, options).expected.loaded_bytes, 4 * 100 * page_bytes);
  // b is there and used soon; half of c is not enough; there is no room for d until it is needed.
  options.resident = {{'b', 100 * page_bytes}, {'c', 50 * page_bytes}, {'d', 100 * page_bytes}};
  const plan warm = checked_plan(source, options);
  EXPECT_EQ(warm.expected.loaded_bytes, 3 * 100 * page_bytes);
  const auto brings_b = [&](const directive& each) {
    return each.before == 0 && source.objects[each.target].identity == 'b' && each.action == verb::load;
  };
  // Runs that begin without it load it.
  EXPECT_EQ(std::count_if(warm.directives.begin(), warm.directives.end(), brings_b), 1);
}

std::size_t count_of(const plan& made, verb action, object_index target) {
  return static_cast<std::size_t>(
      std::count_if(made.directives.begin(), made.directives.end(),
                    [&](const directive& each) { return each.action == action && each.target == target; }));
}

TEST(Planner, EndsWithWhatTheNextRunBeginsWith) {
  const program source = program_of(read_in_order("abcd", 100));
  const plan made = checked_plan(source, options_for(300));
  // When d comes, a is needed next. Of b and c one has to go, and b has been idle for longer.
  EXPECT_EQ(count_of(made, verb::drop, 0), 0U);
  EXPECT_EQ(count_of(made, verb::drop, 1) + count_of(made, verb::drop, 2), 1U);
  EXPECT_EQ(count_of(made, verb::drop, 3), 0U);
  EXPECT_EQ(made.expected.lower_bound_bytes, 4 * 100 * page_bytes);
}

TEST(Planner, SteadyPlansBeginWithWhatTheyLeave) {
  // Keys in palindromic order: d, c and b are there when they are needed again, and so is a.
  const program source = program_of(read_in_order("abcdedcba", 100));
  planner_options options = options_for(300);
  const plan once = checked_plan(source, options);
  options.steady = true;
  const plan again = checked_plan(source, options);
  EXPECT_EQ(once.expected.loaded_bytes, 7 * 100 * page_bytes);
  EXPECT_EQ(again.expected.loaded_bytes, 4 * 100 * page_bytes);
  EXPECT_EQ(again.expected.lower_bound_bytes, 4 * 100 * page_bytes);
  // The first run loads what the forecast assumes to be resident.
  for (const object_index target : {0U, 1U, 2U}) {
    EXPECT_THAT(again.directives, testing::Contains(directive{0, target, 100, verb::load}));
  }
}

TEST(Planner, WhatTheNextRunDoesNotFindIsDropped) {
  trace_maker made;
  const auto input = made.exists(ciphertext, 100 * page_bytes, 7);  // the next run has another one
  const auto a = made.exists(key, 100 * page_bytes, 8), b = made.exists(key, 100 * page_bytes, 9);
  for (const auto each : {input, a, b}) {
    made.read(each);
    made.end_step(step_ns);
  }
  const plan kept = checked_plan(program_of(made), options_for(300));
  EXPECT_EQ(count_of(kept, verb::drop, 0), 1U);
  EXPECT_EQ(count_of(kept, verb::drop, 1), 0U);
}

TEST(Planner, ExpandsSeedsFirstWhereThatTakesNoTime) {
  // Pairs of halves; those with seeds come back at a twelfth of the time, as on a GPU.
  trace_maker made;
  std::vector<std::uint64_t> halves;
  for (std::uint64_t i = 0; i < 8; ++i) {
    halves.push_back(
        made.exists(key, 100 * page_bytes, i + 1, i % 2 == 0 ? recovery::expand : recovery::copy));
  }
  for (unsigned i = 0; i < 24; ++i) {
    made.read(halves[i % 4 * 2]);
    made.read(halves[i % 4 * 2 + 1]);
    made.end_step(step_ns / 20);
  }
  planner_options options = options_for(600);
  options.costs.expand = {0, 1000.0 / 12 / page_bytes};
  options.steady = true;
  const plan expanding = checked_plan(program_of(made), options);
  // All that cannot be expanded stays: nothing has to be loaded.
  EXPECT_EQ(expanding.expected.loaded_bytes, 0U);
  EXPECT_GT(expanding.expected.expanded_bytes, 0U);
}

TEST(Planner, LeavesRoomWhereItIsAskedTo) {
  const program source = program_of(read_in_order("abcabc", 100));
  planner_options options = options_for(300);
  EXPECT_EQ(checked_plan(source, options).expected.loaded_bytes, 3 * 100 * page_bytes);
  options.loose_bytes = 50 * page_bytes;
  EXPECT_LE(checked_plan(source, options).expected.peak_bytes, 250 * page_bytes);
  options.loose_bytes = 300 * page_bytes;  // the minimum is kept
  EXPECT_EQ(checked_plan(source, options).expected.peak_bytes, 100 * page_bytes);
}

TEST(Planner, EvictsWhatIsNeededLast) {
  // Belady's example: with room for 3 of 4, c goes when d comes, and d goes when c comes back.
  const program source = program_of(read_in_order("abcdabdc", 100));
  const plan made = checked_plan(source, options_for(300));
  EXPECT_EQ(made.expected.loaded_bytes, 5 * 100 * page_bytes);
  EXPECT_EQ(made.expected.lower_bound_bytes, made.expected.loaded_bytes);
  EXPECT_EQ(made.expected.gap(), 0);
  EXPECT_EQ(made.expected.peak_bytes, 300 * page_bytes);
  // The frame of c is given up right after its use, which lets d begin to load while a step runs.
  EXPECT_THAT(made.directives, testing::Contains(directive{3, 2, 100, verb::drop}));
}

TEST(Planner, LoadsAheadWithinRoomAndHorizon) {
  const program source = program_of(read_in_order("aaaaaaaab", 500));
  planner_options options = options_for(1000);
  const plan early = checked_plan(source, options);
  EXPECT_THAT(early.directives, testing::Contains(directive{0, 1, 500, verb::load}));
  EXPECT_NEAR(early.expected.stall_ns, 500'000, 1);  // only the first load
  options.horizon_ns = 2 * step_ns;
  const plan late = checked_plan(source, options);
  EXPECT_THAT(late.directives, testing::Contains(directive{6, 1, 500, verb::load}));
  EXPECT_NEAR(late.expected.total_ns, early.expected.total_ns, 1);
}

TEST(Planner, AtTheMinimumLoadsWaitForTheirFrames) {
  const program source = program_of(read_in_order("abab", 500));
  EXPECT_EQ(minimum_capacity(source), 500 * page_bytes);
  const plan made = checked_plan(source, options_for(500));
  EXPECT_EQ(made.expected.loaded_bytes, 4 * 500 * page_bytes);
  EXPECT_NEAR(made.expected.stall_ns, 4 * 500'000, 1);
  EXPECT_NEAR(made.expected.total_ns, made.expected.resident_ns + 4 * 500'000, 1);
}

TEST(Planner, BelowTheMinimumSaysSo) {
  const program source = program_of(read_in_order("ab", 500));
  EXPECT_THAT(test::message_of<out_of_memory>([&] { (void)make_plan(source, options_for(499)); }),
              HasSubstr("needs at least 2.0 MiB (2048000 bytes)"));
}

TEST(Planner, AnonymousObjectsAreLoadedWhenTheyAreFirstSeen) {
  trace_maker made;
  const auto named = made.exists(key, 100 * page_bytes, 5), unnamed = made.exists(key, 100 * page_bytes);
  for (int i = 0; i < 5; ++i) {
    made.read(named);
    made.end_step(step_ns);
  }
  made.read(unnamed);
  made.end_step(step_ns);
  const plan result = checked_plan(program_of(made), options_for(500));
  EXPECT_THAT(result.directives, testing::Contains(directive{5, 1, 100, verb::load}));
}

// `dying` is not read again, but the run cannot rely on that: it is written back, never dropped.
TEST(Planner, WritesBackWhateverIsAliveAndChanged) {
  trace_maker made;
  const auto kept = made.allocate(ciphertext, 100 * page_bytes);
  const auto dying = made.allocate(ciphertext, 100 * page_bytes);
  made.write(kept);
  made.write(dying);
  made.end_step(step_ns);
  const auto other = made.allocate(ciphertext, 150 * page_bytes);
  made.write(other);
  made.end_step(step_ns);
  made.free(other);
  made.free(dying);
  made.read(kept);
  made.end_step(step_ns);
  made.free(kept);
  made.end_step();
  const plan result = checked_plan(program_of(made), options_for(200));
  EXPECT_EQ(result.expected.written_bytes, 200 * page_bytes);
  EXPECT_THAT(result.directives,
              ElementsAre(directive{1, 0, 100, verb::write_back}, directive{1, 1, 100, verb::write_back},
                          directive{2, 0, 100, verb::load}));
}

TEST(Planner, WhatDiesSoonKeepsItsFrame) {
  trace_maker made;
  const auto long_lived = made.allocate(ciphertext, 100 * page_bytes);
  const auto dying = made.allocate(ciphertext, 100 * page_bytes);
  made.write(long_lived);
  made.write(dying);
  made.end_step(step_ns);
  const auto other = made.allocate(ciphertext, 100 * page_bytes);
  made.write(other);
  made.end_step(step_ns);
  made.free(dying);
  for (int i = 0; i < 9; ++i) {
    made.read(other);
    made.end_step(step_ns);
  }
  made.free(long_lived);
  made.read(other);
  made.end_step(step_ns);
  const plan result = checked_plan(program_of(made), options_for(200));
  EXPECT_THAT(result.directives, ElementsAre(directive{1, 0, 100, verb::write_back}));
}

TEST(Planner, ResultsAreWrittenBackBeforeTheirFramesAreReused) {
  trace_maker made;
  const auto result = made.allocate(ciphertext, 100 * page_bytes);
  made.write(result);
  made.end_step(step_ns);
  const auto other = made.allocate(scratch, 150 * page_bytes);
  made.write(other);
  made.end_step(step_ns);
  const plan planned = checked_plan(program_of(made), options_for(200));
  EXPECT_THAT(planned.directives, ElementsAre(directive{1, 0, 100, verb::write_back}));
  // The link is still writing when the scratch needs the room.
  EXPECT_NEAR(planned.expected.stall_ns, 100'000, 1);
}

TEST(Planner, CleanCopiesAreDroppedWithoutASecondWrite) {
  trace_maker made;
  const auto a = made.allocate(ciphertext, 100 * page_bytes);
  made.write(a);
  made.end_step(step_ns);
  for (int i = 0; i < 3; ++i) {
    const auto room = made.allocate(scratch, 150 * page_bytes);
    made.write(room);
    made.end_step(step_ns);
    made.free(room);
    made.read(a);
    made.end_step(step_ns);
  }
  const plan result = checked_plan(program_of(made), options_for(200));
  EXPECT_EQ(result.expected.written_bytes, 100 * page_bytes);
  EXPECT_EQ(result.expected.loaded_bytes, 300 * page_bytes);
}

TEST(Planner, ExpandsWhereTheLinkIsTheLimit) {
  const program source = program_of(read_in_order("abcabcabc", 2000, recovery::expand));
  planner_options options = options_for(4000);
  const plan expanding = checked_plan(source, options);
  EXPECT_GT(expanding.expected.expanded_bytes, 0U);
  EXPECT_LT(expanding.expected.loaded_bytes, expanding.expected.lower_bound_bytes);
  options.allow_expand = false;
  const plan loading = checked_plan(source, options);
  EXPECT_EQ(loading.expected.expanded_bytes, 0U);
  EXPECT_LT(expanding.expected.total_ns, 0.8 * loading.expected.total_ns);
  EXPECT_NEAR(expanding.expected.total_ns,
              expanding.expected.resident_ns + expanding.expected.stall_ns +
                  250.0 / page_bytes * static_cast<double>(expanding.expected.expanded_bytes),
              10);
}

TEST(Planner, EncodesPlaintextsWhereThatPays) {
  trace_maker made;
  std::vector<std::uint64_t> plaintexts;
  for (int i = 0; i < 3; ++i)
    plaintexts.push_back(made.exists(object_class::plaintext, 2000 * page_bytes, 1 + static_cast<unsigned>(i),
                                     recovery::encode));
  for (int i = 0; i < 12; ++i) {
    made.read(plaintexts[static_cast<unsigned>(i) % 3]);
    made.end_step(step_ns);
  }
  planner_options options = options_for(4000);
  EXPECT_GT(checked_plan(program_of(made), options).expected.encoded_bytes, 0U);
  options.allow_encode = false;
  EXPECT_EQ(checked_plan(program_of(made), options).expected.encoded_bytes, 0U);
}

TEST(Planner, DoesNotExpandWhenLoadsAreHidden) {
  const program source = program_of(read_in_order("aaaaaaaaaabbbbbbbbbbaaaaaaaaaa", 600, recovery::expand));
  const plan made = checked_plan(source, options_for(1300));
  EXPECT_LE(made.expected.expanded_bytes, 600 * page_bytes);  // at most the first one
}

/// Reads of 1 to 4 quarters of two keys of 400 pages, alternating.
trace_maker read_quarters(const std::vector<unsigned>& quarters) {
  trace_maker made;
  const auto a = made.exists(key, 400 * page_bytes, 1), b = made.exists(key, 400 * page_bytes, 2);
  for (const unsigned each : quarters) {
    made.read(a, each * 100 * page_bytes);
    made.end_step(step_ns);
    made.read(b, each * 100 * page_bytes);
    made.end_step(step_ns);
  }
  return made;
}

TEST(Planner, LoadsThePrefixThatIsNeeded) {
  const program source = program_of(read_quarters({1, 1, 1}));
  planner_options options = options_for(1000);
  EXPECT_EQ(checked_plan(source, options).expected.loaded_bytes, 200 * page_bytes);
  options.allow_truncate = false;
  EXPECT_EQ(checked_plan(source, options).expected.loaded_bytes, 800 * page_bytes);
}

TEST(Planner, LoadsAtOnceWhatALaterUseNeeds) {
  const program source = program_of(read_quarters({1, 2, 4}));
  EXPECT_EQ(checked_plan(source, options_for(1000)).expected.loaded_bytes, 800 * page_bytes);
}

TEST(Planner, PrefixesGrowAndShrinkWhereFramesCan) {
  const program source = program_of(read_quarters({4, 1, 1, 1, 4}));
  planner_options options = options_for(500);
  options.allow_resize = true;
  const plan made = checked_plan(source, options);
  EXPECT_EQ(made.expected.loaded_bytes, made.expected.lower_bound_bytes);
  const auto has = [&](verb action) {
    return std::ranges::any_of(made.directives, [&](const directive& each) { return each.action == action; });
  };
  EXPECT_TRUE(has(verb::shrink));
  options.allow_resize = false;
  const plan fixed = checked_plan(source, options);
  EXPECT_GT(fixed.expected.loaded_bytes, made.expected.loaded_bytes);
}

TEST(Planner, AnEmptyProgramHasAnEmptyPlan) {
  const program none = make_program({}, {});
  EXPECT_EQ(minimum_capacity(none), 0U);
  const plan made = checked_plan(none, options_for(0));
  EXPECT_THAT(made.directives, IsEmpty());
  EXPECT_EQ(made.expected.gap(), 0);
}

TEST(Planner, CopiesWhatIdentifiesTheProgram) {
  planner_options options = options_for(500);
  options.parameters = "n15-d14";
  const program source = program_of(read_in_order("ab", 100));
  const plan made = checked_plan(source, options);
  EXPECT_EQ(made.parameters, "n15-d14");
  EXPECT_EQ(made.objects, source.objects);
  EXPECT_EQ(made.hashes, source.hashes);
  EXPECT_EQ(made.expected.footprint_bytes, 200 * page_bytes);
  EXPECT_EQ(made.expected.minimum_bytes, 100 * page_bytes);
}

TEST(Planner, HidesMostLoadsOfAKeySwitchWorkload) {
  test::key_switch_shape shape;
  shape.switches = 600;
  const program switches = make_program(test::key_switch_program(shape).trace(), {}, time_source::recorded);
  planner_options options;
  options.costs.load = options.costs.store = {100e3, 1 / 1.4};
  options.costs.expand = {20e3, 0.4};
  options.capacity_bytes = shape.keys * shape.halves * shape.half_bytes / 4;
  const plan made = checked_plan(switches, options);
  EXPECT_LT(made.expected.total_ns, 1.05 * made.expected.resident_ns);
  EXPECT_LT(made.expected.gap(), 0.05);
}

}  // namespace
}  // namespace halocline::memory::plan
