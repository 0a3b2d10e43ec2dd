// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/key_routes.hpp"

#include <gtest/gtest.h>

#include "halocline/core/error.hpp"
#include "support/ckks_fixture.hpp"

namespace halocline::ckks {
namespace {

std::map<std::uint64_t, key_use> uses_of(const params::parameters& parameters) {
  std::map<std::uint64_t, key_use> uses;
  uses[parameters.galois_element(1)] = {40, 40, 3};
  uses[parameters.galois_element(4)] = {30, 10, 2};
  uses[parameters.galois_element(5)] = {1, 1, 2};   // 4 + 1
  uses[parameters.galois_element(2)] = {1, 1, 3};   // 1 + 1
  uses[parameters.galois_element(-3)] = {2, 2, 1};  // no two hot steps add up to it
  uses[parameters.galois_element(8)] = {2, 1, 2};   // 4 + 4, but once hoisted
  uses[parameters.conjugation_element()] = {1, 1, 1};
  return uses;
}

TEST(KeyRoutes, AreSuggestedForRareLoneRotationsWhereTheyPay) {
  const params::parameters parameters = params::preset("test-n10-d3");
  const key_routes routes = suggest_routes(parameters, uses_of(parameters), {1.0, 3.0});
  ASSERT_EQ(routes.size(), 2U);
  EXPECT_TRUE(routes.contains(parameters.galois_element(5)));
  EXPECT_TRUE(routes.contains(parameters.galois_element(2)));
  EXPECT_NO_THROW(check_routes(parameters, routes));
  EXPECT_TRUE(suggest_routes(parameters, uses_of(parameters), {3.0, 1.0}).empty());
}

TEST(KeyRoutes, UseOnlyKeysThatReachTheLevel) {
  const params::parameters parameters = params::preset("test-n10-d3");
  std::map<std::uint64_t, key_use> uses = uses_of(parameters);
  uses[parameters.galois_element(5)].level = 3;
  EXPECT_FALSE(suggest_routes(parameters, uses, {1.0, 3.0}).contains(parameters.galois_element(5)));
}

TEST(KeyRoutes, AreRefusedWhenTheyLeadElsewhere) {
  const params::parameters parameters = params::preset("test-n10-d3");
  const auto element = [&](int step) { return parameters.galois_element(step); };
  EXPECT_THROW(check_routes(parameters, {{element(5), {}}}), invalid_argument);
  EXPECT_THROW(check_routes(parameters, {{element(5), {element(4), element(2)}}}), invalid_argument);
  EXPECT_THROW(check_routes(parameters,
                            {{element(5), {element(4), element(1)}}, {element(4), {element(2), element(2)}}}),
               invalid_argument);
}

TEST(KeyRoutes, AreMadeOfReducedRotationsOnly) {
  const params::parameters parameters = params::preset("test-n10-d3");
  const auto element = [&](int step) { return parameters.galois_element(step); };
  const std::uint64_t order = 2 * parameters.n();
  const auto refused = [&](const key_routes& routes) {
    EXPECT_THROW(check_routes(parameters, routes), invalid_argument);
  };
  EXPECT_NO_THROW(check_routes(parameters, {{element(2), {element(1), element(1)}}}));
  EXPECT_NO_THROW(check_routes(parameters, {{element(1), {element(-4), element(5)}}}));
  refused({{element(2), {element(1), element(1), relinearization_element}}});
  refused({{element(2), {encapsulation_element, element(1)}}});
  refused({{element(2), {element(1), element(1) + order}}});
  refused({{element(2) + order, {element(1), element(1)}}});
  refused({{element(2), {parameters.conjugation_element(), order - element(2)}}});
  refused({{element(2), {order - element(1), order - element(1)}}});
  refused({{1, {element(3), element(-3)}}});
  refused({{parameters.conjugation_element(), {element(1)}}});
  refused({{element(2), {element(2)}}});
  refused({{element(17), std::vector<std::uint64_t>(17, element(1))}});
  refused({{element(2), {0, element(2)}}});
}

TEST(KeyRoutes, NeedTheKeysOfTheirParts) {
  test::ckks_rig rig("test-n10-d3", {1, 4});
  const auto element = [&](int step) { return rig.parameters().galois_element(step); };
  EXPECT_THROW(rig.eval.set_routes({{element(3), {element(1), element(2)}}}), invalid_argument);
}

TEST(KeyRoutes, RotateWithoutTheKey) {
  test::ckks_rig rig("test-n10-d3", {1, 4});
  const auto values = rig.random_values(rig.slots(), 1);
  const ciphertext x =
      rig.encryptor.encrypt(rig.encoder.encode(values, 2, rig.parameters().level(2).scale), rig.secret);
  EXPECT_THROW((void)rig.eval.rotate(x, 5), missing_key);
  const auto element = [&](int step) { return rig.parameters().galois_element(step); };
  rig.eval.set_routes({{element(5), {element(4), element(1)}}});
  const auto routed = rig.encoder.decode(rig.decryptor.decrypt(rig.eval.rotate(x, 5), rig.secret));
  auto expected = values;
  std::rotate(expected.begin(), expected.begin() + 5, expected.end());
  // Two key switches on a fresh encryption of 30 bits.
  EXPECT_GE(measure_precision(routed, expected).worst_bits, 18.0);
  EXPECT_EQ(rig.eval.lone_rotations().at(element(5)), 2U);
}

}  // namespace
}  // namespace halocline::ckks
