// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/key_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/core/error.hpp"
#include "support/message_of.hpp"
#include "support/residues.hpp"

namespace halocline::ckks {
namespace {

using ::testing::HasSubstr;

TEST(DescribeKey, NamesRelinearizationConjugationAndTheShorterWayRound) {
  for (const unsigned generator : {3U, 5U}) {
    const params::parameters parameters = test::with_generator("test-n10-d3", generator);
    EXPECT_EQ(describe_key(parameters, relinearization_element), "relinearization key");
    EXPECT_EQ(describe_key(parameters, parameters.conjugation_element()), "conjugation key");
    for (const std::int64_t step : {1, 5, -1, -100, 255, 256, -255}) {
      EXPECT_EQ(describe_key(parameters, parameters.galois_element(step)),
                "rotation key for step " + std::to_string(step));
    }
    EXPECT_EQ(describe_key(parameters, parameters.galois_element(300)), "rotation key for step -212");
  }
  const params::parameters parameters = params::preset("test-n10-d3");
  EXPECT_EQ(describe_key(parameters, 2048 - 5), "Galois key for element 2043");
}

class MemoryKeySetTest : public ::testing::Test {
 protected:
  std::shared_ptr<context> ctx = test::make_test_context(params::preset("test-n10-d3"));
  const params::parameters& parameters = ctx->parameters();
  ring::random_source random{backend::seed_bytes{1}};
  key_generator generator{*ctx, random};
  secret_key secret = generator.make_secret_key();
  memory_key_set keys{parameters};

  void add(std::uint64_t element, unsigned level) {
    keys.add(generator.make_evaluation_key(secret, {element, level}));
  }
  std::string problem(std::uint64_t element, unsigned level) {
    return test::message_of<missing_key>([&] { (void)keys.get(element, level); });
  }
};

TEST_F(MemoryKeySetTest, HandsOutWhatWasAdded) {
  add(parameters.galois_element(1), 3);
  add(relinearization_element, 2);
  EXPECT_EQ(keys.get(relinearization_element, 2).level, 2U);
  EXPECT_EQ(keys.get(relinearization_element, 0).galois_element, 1U);
  EXPECT_TRUE(keys.contains(parameters.galois_element(1), 3));
  EXPECT_FALSE(keys.contains(relinearization_element, 3));
  EXPECT_FALSE(keys.contains(parameters.galois_element(2), 0));
  const std::vector<key_request> expected{{1, 2}, {parameters.galois_element(1), 3}};
  EXPECT_EQ(keys.list(), expected);
  EXPECT_EQ(keys.bytes(), keys.get(1, 0).bytes() + keys.get(parameters.galois_element(1), 0).bytes());
  add(relinearization_element, 3);
  EXPECT_TRUE(keys.contains(relinearization_element, 3));
  EXPECT_EQ(keys.keys().size(), 2U);
}

TEST_F(MemoryKeySetTest, SaysWhichKeyIsMissingAndHowToAddIt) {
  EXPECT_THAT(problem(parameters.galois_element(5), 1),
              testing::StartsWith("rotation key for step 5 missing; add 5 to rotations. A ghost run"));
  EXPECT_THAT(problem(parameters.galois_element(-2), 1),
              testing::StartsWith("rotation key for step -2 missing; add -2 to rotations. "));
  EXPECT_THAT(problem(relinearization_element, 0), HasSubstr("relinearization key missing"));
  EXPECT_THAT(problem(parameters.conjugation_element(), 0), HasSubstr("conjugation key missing"));
  EXPECT_THAT(problem(2043, 0), HasSubstr("Galois key for element 2043 missing"));
  add(parameters.galois_element(5), 1);
  EXPECT_THAT(
      problem(parameters.galois_element(5), 3),
      testing::StartsWith(
          "rotation key for step 5 is for levels up to 1, needed at level 3; generate it for level 3. "));
}

TEST_F(MemoryKeySetTest, RefusesKeysOfAnotherShape) {
  const auto refused = [&](evaluation_key key) {
    return test::message_of<invalid_argument>([&] { keys.add(std::move(key)); });
  };
  const auto make = [&] { return generator.make_evaluation_key(secret, {5, 1}); };
  evaluation_key key = make();
  key.level = 3;
  EXPECT_THAT(refused(std::move(key)), HasSubstr("made for other parameters"));
  key = make();
  key.level = 4;
  EXPECT_THAT(refused(std::move(key)), HasSubstr("highest level is 3"));
  key = make();
  key.galois_element = 4;
  EXPECT_THAT(refused(std::move(key)), HasSubstr("must be odd"));
  key = make();
  key.digits.pop_back();
  EXPECT_THAT(refused(std::move(key)), HasSubstr("rotation key for step 1 does not have"));
  key = make();
  key.digits[0].a = ctx->runtime().allocate(8, memory::object_class::evaluation_key, "test");
  EXPECT_THAT(refused(std::move(key)), HasSubstr("made for other parameters"));
  EXPECT_TRUE(keys.list().empty());
}

}  // namespace
}  // namespace halocline::ckks
