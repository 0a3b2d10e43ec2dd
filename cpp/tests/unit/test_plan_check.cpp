// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/plan/plan_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/random_program.hpp"

namespace halocline::memory::plan {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

/// A key of 4 pages (object 0), used in part at steps 0 and 2; a ciphertext of 2 pages (1), born at step 1
/// and read at 3; scratch of 1 page (2) at step 1; an anonymous seeded key of 1 page (3) at step 3.
class PlanCheck : public testing::Test {
 protected:
  PlanCheck() {
    const auto first = made_.exists(object_class::evaluation_key, 4 * page_bytes, 7);
    made_.read(first, 2 * page_bytes);
    made_.end_step();
    const auto born = made_.allocate(object_class::ciphertext, 2 * page_bytes);
    const auto scratch = made_.allocate(object_class::scratch, page_bytes);
    made_.write(born);
    made_.write(scratch);
    made_.end_step();
    made_.free(scratch);
    made_.read(first);
    made_.end_step();
    const auto unnamed = made_.exists(object_class::evaluation_key, page_bytes, 0, recovery::expand);
    made_.read(born);
    made_.read(unnamed);
    made_.end_step();
    source_ = make_program(made_.result(), {});
    checked_.capacity_bytes = 4 * page_bytes;
    checked_.objects = source_.objects;
    checked_.hashes = source_.hashes;
    checked_.expected.peak_bytes = 4 * page_bytes;
    checked_.directives = {{0, 0, 2, verb::load},  {1, 0, 2, verb::drop}, {2, 1, 2, verb::write_back},
                           {2, 0, 4, verb::load},  {3, 0, 4, verb::drop}, {3, 1, 2, verb::load},
                           {3, 3, 1, verb::expand}};
  }

  void expect_violation(const std::string& text) const {
    EXPECT_THAT(check_plan(source_, checked_), Contains(HasSubstr(text)));
  }

  test::trace_maker made_;
  program source_;
  plan checked_;
};

TEST_F(PlanCheck, AcceptsACorrectPlan) { EXPECT_THAT(check_plan(source_, checked_), IsEmpty()); }

TEST_F(PlanCheck, WantsThePlanOfThisProgram) {
  plan other = checked_;
  other.hashes[1] ^= 1;
  EXPECT_THAT(check_plan(source_, other), Contains(HasSubstr("steps")));
  other = checked_;
  other.objects[0].bytes += 1;
  EXPECT_THAT(check_plan(source_, other), Contains(HasSubstr("objects")));
}

TEST_F(PlanCheck, SeesTooManyFrames) {
  checked_.capacity_bytes = 4 * page_bytes - 1;
  expect_violation("bytes of frames, capacity");
  checked_.capacity_bytes = 4 * page_bytes;
  checked_.expected.peak_bytes = 3 * page_bytes;
  expect_violation("the forecast says");
}

TEST_F(PlanCheck, SeesMissingOperands) {
  checked_.directives[0].pages = 1;
  expect_violation("object 0 has 1 pages, the step needs 2");
  checked_.directives.erase(checked_.directives.begin() + 5);
  expect_violation("object 1 has 0 pages, the step needs 2");
}

TEST_F(PlanCheck, SeesLostContents) {
  checked_.directives[2].action = verb::drop;
  expect_violation("object 1 is dropped without a copy");
  expect_violation("load of object 1, which has no copy");
}

TEST_F(PlanCheck, SeesNeedlessWrites) {
  checked_.directives[1].action = verb::write_back;
  expect_violation("object 0 is written back, but unchanged");
}

TEST_F(PlanCheck, SeesFramesThatAreThereOrNot) {
  checked_.directives[1] = {1, 0, 2, verb::load};
  expect_violation("load of object 0, which has a frame");
  checked_.directives[1] = {0, 0, 3, verb::shrink};
  expect_violation("cannot shrink from 2 to 3 pages");
  checked_.directives[0] = {0, 0, 2, verb::drop};
  expect_violation("has no frame to give up");
}

TEST_F(PlanCheck, SeesWhatTheExecutorCannotKnow) {
  checked_.directives[6].before = 2;
  checked_.directives.insert(checked_.directives.begin() + 1, {0, 1, 2, verb::load});
  expect_violation("load of object 1, which the executor does not know yet");
  checked_.directives[1] = {0, 3, 1, verb::load};
  expect_violation("load of object 3, which the executor does not know yet");
}

TEST_F(PlanCheck, SeesMovedScratchAndDeadObjects) {
  checked_.directives[1] = {1, 2, 1, verb::load};
  expect_violation("load of scratch object 2");
  checked_.directives[2] = {2, 2, 1, verb::drop};
  expect_violation("drop of object 2, which is dead");
}

TEST_F(PlanCheck, SeesImpossibleRecoveriesAndSizes) {
  checked_.directives[3].action = verb::expand;
  expect_violation("expand of object 0, which does not come back that way");
  checked_.directives[3] = {2, 0, 5, verb::load};
  expect_violation("load of 5 pages of object 0");
}

TEST_F(PlanCheck, SeesDirectivesOutOfPlace) {
  std::swap(checked_.directives[4].before, checked_.directives[1].before);
  expect_violation("not in the order of steps");
  checked_.directives.push_back({9, 0, 1, verb::drop});
  expect_violation("names no step");
  checked_.directives.back() = {3, 9, 1, verb::drop};
  expect_violation("which does not exist");
}

}  // namespace
}  // namespace halocline::memory::plan
