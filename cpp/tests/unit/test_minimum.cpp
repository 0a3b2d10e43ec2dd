// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/plan/minimum.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halocline/core/error.hpp"
#include "halocline/memory/plan/planner.hpp"
#include "support/random_program.hpp"

namespace halocline::memory::plan {
namespace {

using test::trace_maker;

constexpr auto key = object_class::evaluation_key;
constexpr auto ciphertext = object_class::ciphertext;
constexpr auto scratch = object_class::scratch;
constexpr auto table = object_class::table;

constexpr std::uint64_t pages(std::uint64_t count) { return count * page_bytes; }

TEST(Minimum, CountsWholeOperandsOrTheTouchedPages) {
  trace_maker made;
  const std::uint64_t a = made.exists(key, pages(6)), b = made.exists(ciphertext, pages(3) + 1);
  made.read(a, pages(4));
  made.read(b);
  made.end_step();
  made.read(b);
  made.end_step();
  const minimum_budget found = find_minimum(made.result());
  EXPECT_EQ(found.lru_bytes, pages(10));
  EXPECT_EQ(found.managed_bytes, pages(10));
  EXPECT_EQ(found.planned_bytes, pages(8));
  EXPECT_EQ(found.planned_bytes, minimum_capacity(make_program(made.result(), {})));
}

TEST(Minimum, FirstRowsOfABufferDoNotEndAStep) {
  trace_maker made;
  for (int i = 0; i < 3; ++i) made.read(made.exists(key, pages(2)));
  made.end_step();
  const minimum_budget found = find_minimum(made.result());
  EXPECT_EQ(found.lru_bytes, pages(6));
  EXPECT_EQ(found.planned_bytes, pages(6));
}

TEST(Minimum, ScratchStaysFromItsFirstTouchUntilItIsFreed) {
  trace_maker made;
  const std::uint64_t a = made.exists(ciphertext, pages(2));
  const std::uint64_t s = made.allocate(scratch, pages(5));
  made.read(a);  // s has no frame yet
  made.end_step();
  made.write(s);
  made.end_step();
  made.read(a);  // beside s
  made.end_step();
  made.free(s);
  const std::uint64_t other = made.exists(ciphertext, pages(4));
  made.read(a);
  made.read(other);
  made.end_step();
  const minimum_budget found = find_minimum(made.result());
  EXPECT_EQ(found.lru_bytes, pages(7));
  EXPECT_EQ(found.planned_bytes, pages(7));
  EXPECT_EQ(found.managed_bytes, pages(6));  // scratch moves too
}

TEST(Minimum, CountsWhatNoPlanIsAbout) {
  trace_maker made;
  const std::uint64_t a = made.exists(ciphertext, pages(1));
  const std::uint64_t t = made.allocate(table, pages(6));
  made.write(t);  // builds a table: no step of a plan
  made.end_step();
  made.read(a);
  made.end_step();
  EXPECT_EQ(find_minimum(made.result()).planned_bytes, pages(6));
  // A buffer that exceeds the budget is refused even if only its begin is touched.
  const std::uint64_t large = made.allocate(key, pages(20));
  made.write(large, 1);
  made.end_step();
  const minimum_budget found = find_minimum(made.result());
  EXPECT_EQ(found.planned_bytes, pages(20));
  EXPECT_EQ(found.managed_bytes, pages(20));
  // So is scratch that is allocated together, before any of it has a frame.
  made.allocate(scratch, pages(15));
  made.allocate(scratch, pages(15));
  EXPECT_EQ(find_minimum(made.result()).lru_bytes, pages(30));
  EXPECT_EQ(find_minimum(made.result()).planned_bytes, pages(30));
  EXPECT_EQ(find_minimum(made.result()).managed_bytes, pages(20));
}

TEST(Minimum, RefusesTracesThatContradictThemselves) {
  trace_maker made;
  const std::uint64_t a = made.exists(ciphertext, pages(1));
  made.free(a);
  made.read(a);
  EXPECT_THROW((void)find_minimum(made.result()), corrupt_data);
}

}  // namespace
}  // namespace halocline::memory::plan
