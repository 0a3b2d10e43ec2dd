// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/key_plan.hpp"

#include <gtest/gtest.h>

#include "halocline/core/error.hpp"
#include "halocline/params/footprint.hpp"
#include "support/residues.hpp"

namespace halocline::ckks {
namespace {

TEST(RecordingKeySet, RemembersEachKeyWithTheHighestLevel) {
  const auto ghost = test::make_test_context(params::preset("test-n11-d8"), "ghost");
  recording_key_set keys(*ghost);
  EXPECT_TRUE(keys.requests().empty());
  EXPECT_TRUE(keys.contains(5, 8));
  const evaluation_key& first = keys.get(25, 2);
  (void)keys.get(relinearization_element, 4);
  const evaluation_key& second = keys.get(25, 7);
  (void)keys.get(25, 3);
  EXPECT_EQ(&first, &second);
  const std::vector<key_request> expected{{1, 4}, {25, 7}};
  EXPECT_EQ(keys.requests(), expected);
  EXPECT_EQ(keys.list(), expected);
}

TEST(RecordingKeySet, GivesKeysOfTheRightShape) {
  const auto ghost = test::make_test_context(params::preset("test-n11-d8"), "ghost");
  recording_key_set keys(*ghost);
  const evaluation_key& key = keys.get(5, 1);
  EXPECT_EQ(key.galois_element, 5U);
  EXPECT_EQ(key.bytes(), params::footprint(ghost->parameters()).evaluation_key(8));
  for (const evaluation_key_digit& digit : key.digits) {
    EXPECT_EQ(digit.b.cls(), memory::object_class::evaluation_key);
    EXPECT_EQ(digit.a.cls(), memory::object_class::evaluation_key);
  }
}

TEST(RecordingKeySet, RefusesRealContextsAndLevelsThatDoNotExist) {
  const auto real = test::make_test_context(params::preset("test-n10-d3"));
  EXPECT_THROW(recording_key_set{*real}, invalid_argument);
  const auto ghost = test::make_test_context(params::preset("test-n10-d3"), "ghost");
  recording_key_set keys(*ghost);
  EXPECT_THROW((void)keys.get(5, 4), invalid_argument);
  EXPECT_TRUE(keys.requests().empty());
}

}  // namespace
}  // namespace halocline::ckks
