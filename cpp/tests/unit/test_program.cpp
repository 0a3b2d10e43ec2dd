// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/plan/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "halocline/core/error.hpp"
#include "support/message_of.hpp"
#include "support/random_program.hpp"

namespace halocline::memory::plan {
namespace {

using test::trace_maker;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto key = object_class::evaluation_key;
constexpr auto ciphertext = object_class::ciphertext;
constexpr auto scratch = object_class::scratch;
constexpr auto table = object_class::table;

TEST(Program, MergesTheRowsOfAStep) {
  trace_maker made;
  const auto a = made.exists(key, 3 * page_bytes), b = made.exists(ciphertext, 5000);
  made.read(a, 10, page_bytes);
  made.read(b);
  made.read(a, page_bytes);
  made.write(b, 100);
  made.end_step();
  const program result = make_program(made.result(), {});
  EXPECT_THAT(result.uses, ElementsAre(use{0, 2, true, false}, use{1, 2, true, true}));
  EXPECT_THAT(result.first_use, ElementsAre(0, 2));
  EXPECT_EQ(result.steps(), 1U);
  EXPECT_EQ(result.footprint_bytes(), 5 * page_bytes);
}

TEST(Program, AWriteOfEverythingNeedsNoEarlierContents) {
  trace_maker made;
  const auto whole = made.allocate(ciphertext, 5000), parts = made.allocate(ciphertext, 5000);
  const auto gap = made.allocate(ciphertext, 5000), both = made.allocate(ciphertext, 5000);
  made.write(whole);
  made.write(parts, 1000, 4000);
  made.write(parts, 4100, 0);
  made.write(gap, 1000, 4000);
  made.write(gap, 3900, 0);
  made.read(both);
  made.write(both);
  made.end_step();
  const program result = make_program(made.result(), {});
  EXPECT_THAT(result.uses, ElementsAre(use{0, 2, false, true}, use{1, 2, false, true}, use{2, 2, true, true},
                                       use{3, 2, true, true}));
}

TEST(Program, LeavesOutStepsThatOnlyBuildTables) {
  trace_maker made;
  const auto early = made.allocate(table, 100), late = made.allocate(table, 200);
  const auto a = made.allocate(ciphertext, 100);
  made.write(early);
  made.end_step();
  made.write(late);
  made.end_step();
  made.read(late);
  made.write(a);
  made.end_step();
  made.read(early);  // reads only: kept
  made.end_step();
  const program result = make_program(made.result(), {});
  ASSERT_EQ(result.steps(), 2U);
  ASSERT_EQ(result.objects.size(), 3U);
  EXPECT_EQ(result.objects[0].id, a);  // tables come when a step uses them
  EXPECT_EQ(result.objects[1].id, late);
  EXPECT_EQ(result.objects[2].id, early);
  EXPECT_TRUE(result.objects[1].preexisting);
  EXPECT_FALSE(result.objects[0].preexisting);
}

TEST(Program, KnowsNamesRecoveriesAndLives) {
  trace_maker made;
  const auto named = made.exists(key, 100, 77, recovery::expand);
  const auto plain = made.exists(object_class::plaintext, 100, 0, recovery::encode);
  made.read(named);
  made.end_step();
  const auto born = made.allocate(scratch, 100);
  made.read(plain);
  made.write(born);
  made.end_step();
  made.free(born);
  made.read(plain);
  made.end_step();
  made.free(plain);
  const program result = make_program(made.result(), {});
  EXPECT_EQ(result.objects[0], (object{named, 77, 100, key, recovery::expand, true, 0, no_step}));
  EXPECT_EQ(result.objects[1],
            (object{plain, 0, 100, object_class::plaintext, recovery::encode, true, 0, 3}));
  EXPECT_EQ(result.objects[2], (object{born, 0, 100, scratch, recovery::copy, false, 1, 2}));
}

TEST(Program, AnIdentityIsSixteenDigitsBehindAnAt) {
  const std::vector<std::pair<std::string, std::uint64_t>> samples{{"a@ffffffffffffffff", ~std::uint64_t{0}},
                                                                   {"a@0@00000000000000a1", 0xA1},
                                                                   {"@0000000000000010", 16},
                                                                   {"a@000000000000010", 0},
                                                                   {"a@000000000000001x", 0},
                                                                   {"a@", 0},
                                                                   {"0000000000000010", 0},
                                                                   {trace_maker::tag_of("key", 77), 77}};
  for (const auto& [tag, identity] : samples) {
    trace made;
    made.events.push_back({0, 1, 8, 0, 0, 0, made.intern("-"), made.intern(tag), trace_action::exists, key});
    EXPECT_EQ(make_program(made, {}).objects[0].identity, identity) << tag;
  }
}

TEST(Program, TimesComeFromCostsOrFromTheRecording) {
  trace_maker made;
  const auto a = made.exists(key, 1000);
  made.set_op("slow");
  made.read(a, 500);
  made.read(a, 100);
  made.end_step(700);
  made.set_op("other");
  made.read(a);
  made.end_step(900);
  made.free(a);
  cost_model costs;
  costs.operations["slow"] = {10, 2};
  costs.other_operation = {1, 1};
  EXPECT_THAT(make_program(made.result(), costs).duration_ns, ElementsAre(1210, 1001));
  const program recorded = make_program(made.result(), costs, time_source::recorded);
  EXPECT_THAT(recorded.duration_ns, ElementsAre(700, 900));
  EXPECT_THAT(recorded.names, ElementsAre("slow", "other"));
  EXPECT_THAT(recorded.ops, ElementsAre(0, 1));
}

TEST(Program, TheEndOfTheLastRecordedStepMayBeUnknown) {
  trace_maker made;
  const auto a = made.exists(key, 1000);
  made.read(a);
  made.end_step(700);
  cost_model costs;
  costs.other_operation = {5, 0};
  EXPECT_THAT(make_program(made.result(), costs, time_source::recorded).duration_ns, ElementsAre(5));
}

TEST(Program, AStepHashTellsOperationsSizesClassesWritesAndObjectsApart) {
  const auto hash = [](std::string_view op, object_class cls, std::uint64_t bytes, bool writes,
                       std::uint64_t which) {
    step_hash state(op);
    state.add(cls, bytes, writes, which);
    return state.value();
  };
  const std::uint32_t base = hash("ntt", key, 4096, false, 7);
  EXPECT_EQ(base, hash("ntt", key, 4096, false, 7));
  EXPECT_NE(base, hash("intt", key, 4096, false, 7));
  EXPECT_NE(base, hash("ntt", ciphertext, 4096, false, 7));
  EXPECT_NE(base, hash("ntt", key, 4097, false, 7));
  EXPECT_NE(base, hash("ntt", key, 4096, true, 7));
  EXPECT_NE(base, hash("ntt", key, 4096, false, 8));
  trace_maker made;
  const auto a = made.exists(key, 4096, 7);
  made.set_op("ntt");
  made.read(a);
  made.end_step();
  EXPECT_THAT(make_program(made.result(), {}).hashes, ElementsAre(base));
}

/// The fingerprint of a step that reads the second of two equal objects, and of one that reads the first.
std::pair<std::uint32_t, std::uint32_t> hashes_of_twins(
    const std::function<std::uint64_t(trace_maker&, std::uint64_t number)>& add) {
  trace_maker made;
  const auto first = add(made, 1), second = add(made, 2);
  made.read(second);
  made.end_step();
  made.read(first);
  made.end_step();
  const program result = make_program(made.result(), {});
  return {result.hashes.at(0), result.hashes.at(1)};
}

TEST(Program, FingerprintsTellEqualKeysAndIntermediateResultsApartButNoTables) {
  const auto keys =
      hashes_of_twins([](trace_maker& made, std::uint64_t number) { return made.exists(key, 100, number); });
  EXPECT_NE(keys.first, keys.second);
  const auto results =
      hashes_of_twins([](trace_maker& made, std::uint64_t) { return made.allocate(ciphertext, 100); });
  EXPECT_NE(results.first, results.second);
  const auto tables = hashes_of_twins(
      [](trace_maker& made, std::uint64_t number) { return made.exists(table, 100, number); });
  EXPECT_EQ(tables.first, tables.second);
}

TEST(Program, AnEmptyTraceIsAnEmptyProgram) {
  const program result = make_program({}, {});
  EXPECT_EQ(result.steps(), 0U);
  EXPECT_EQ(result.footprint_bytes(), 0U);
}

std::string refusal(const std::function<void(trace_maker&)>& fill) {
  trace_maker made;
  fill(made);
  return test::message_of<corrupt_data>([&] { (void)make_program(made.result(), {}); });
}

TEST(Program, RefusesTracesThatContradictThemselves) {
  EXPECT_THAT(refusal([](trace_maker& made) {
                const auto a = made.allocate(scratch, 8);
                made.free(a);
                made.read(a);
              }),
              HasSubstr("trace row 3 (step 0, buffer 1): the buffer has been freed"));
  EXPECT_THAT(refusal([](trace_maker& made) {
                const auto a = made.allocate(scratch, 8);
                made.free(a);
                made.free(a);
              }),
              HasSubstr("has been freed"));
  EXPECT_THAT(refusal([](trace_maker& made) {
                const auto a = made.allocate(scratch, 8);
                made.read(a, 5, 4);
              }),
              HasSubstr("outside the buffer"));
  EXPECT_THAT(refusal([](trace_maker& made) { made.allocate(scratch, 0); }), HasSubstr("size"));
  EXPECT_THAT(refusal([](trace_maker& made) { made.allocate(scratch, std::uint64_t{1} << 44); }),
              HasSubstr("size"));
}

TEST(Program, RefusesRowsInDisorder) {
  trace made;
  const std::uint32_t none = made.intern("-");
  const auto row = [&](std::uint64_t step, std::uint64_t id, trace_action action) {
    made.events.push_back({step, id, 8, 0, 0, 0, none, none, action, scratch});
  };
  const auto message = [&] { return test::message_of<corrupt_data>([&] { (void)make_program(made, {}); }); };
  row(1, 1, trace_action::allocate);
  row(1, 1, trace_action::exists);
  EXPECT_THAT(message(), HasSubstr("there already"));
  made.events.back() = {1, 2, 8, 0, 0, 0, none, none, trace_action::read, scratch};
  EXPECT_THAT(message(), HasSubstr("has not been allocated"));
  made.events.back() = {0, 1, 8, 0, 0, 0, none, none, trace_action::read, scratch};
  EXPECT_THAT(message(), HasSubstr("out of order"));
  made.events.back() = {1, 1, 8, 0, 0, 0, 9, none, trace_action::read, scratch};
  EXPECT_THAT(message(), HasSubstr("texts are missing"));
}

TEST(Program, ManyBuffers) {
  trace_maker made;
  for (int i = 0; i < 5000; ++i) {
    const auto a = made.allocate(scratch, 8);
    made.write(a);
    made.end_step();
    made.free(a);
  }
  const program result = make_program(made.result(), {});
  ASSERT_EQ(result.steps(), 5000U);
  for (step_index s = 0; s < 5000; ++s) {
    EXPECT_EQ(result.uses[s].target, s);
    EXPECT_EQ(result.objects[s].dead, s + 1);
  }
}

}  // namespace
}  // namespace halocline::memory::plan
