// SPDX-License-Identifier: Apache-2.0
// Linear maps of ciphertexts under the sparse secret, and the keys that they use.
#include "halocline/circuits/raised_transform.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "halocline/ckks/key_generator.hpp"
#include "halocline/core/error.hpp"
#include "support/circuit_fixture.hpp"

namespace halocline::test {
namespace {

using circuits::diagonal_map;
using circuits::raised_transform;
using ckks::raised_rotation_element;
using ckks::raised_rotation_of;
using testing::HasSubstr;
using testing::ThrowsMessage;

ckks_rig& rig(const char* preset) {
  static std::map<std::string, std::unique_ptr<ckks_rig>> made;
  std::unique_ptr<ckks_rig>& found = made[preset];
  if (!found) {
    found = std::make_unique<ckks_rig>(preset);
    found->eval.set_mode(ckks::maintenance::automatic);
  }
  return *found;
}

class RaisedTransform : public testing::TestWithParam<const char*> {
 protected:
  ckks_rig& r = rig(GetParam());
  const params::parameters& parameters = r.parameters();
  unsigned top = parameters.top_level();
  complex_vector values = r.random_values(r.slots(), 1);
  ckks::ciphertext low = r.encrypt(values, 0);

  [[nodiscard]] std::vector<ckks::key_request> with_encapsulation(std::vector<ckks::key_request> keys) const {
    keys.insert(keys.begin(), {ckks::encapsulation_element, top});
    return keys;
  }

  /// The transform of the raised ciphertext.
  [[nodiscard]] ckks::ciphertext apply(const raised_transform& map, exact_keys& keys) const {
    const ckks::ciphertext* const one[] = {&low};
    return std::move(map.apply(keys.eval, keys.eval.raise_sparse(one, top)).front());
  }
};

// The same integers I come out of mod_raise, because the sparse secret and the switch to it are the same.
// Slots are then some Q_0 / scale = 2^10 times 30 in size; the rotation under the main secret errs by its own
// switch.
TEST_P(RaisedTransform, EqualsAMapBehindModRaise) {
  diagonal_map map;
  for (const int d : {-3, 0, 1, 64}) map[d] = r.random_values(r.slots(), static_cast<std::uint32_t>(90 + d));
  for (const bool compact : {false, true}) {
    const raised_transform raised(r.eval, map, top, compact);
    circuits::transform_options options;
    options.mode = circuits::transform_mode::bsgs;
    options.level = top;
    const circuits::linear_transform after(r.eval, map, options);
    auto requests = with_encapsulation(after.key_requests());
    const auto more = raised.key_requests();
    requests.insert(requests.end(), more.begin(), more.end());
    exact_keys keys(r, requests);
    const ckks::ciphertext y = apply(raised, keys);
    EXPECT_EQ(y.level, top);
    EXPECT_EQ(y.scale, low.scale);
    ckks::ciphertext x = keys.eval.mod_raise(low, top);
    x.scale = parameters.level(top).scale;
    const complex_vector expected = r.decrypt(after.apply(keys.eval, x));
    ckks::ciphertext scaled = ckks::clone(r.eval.context(), y);
    scaled.scale = x.scale;
    const complex_vector found = r.decrypt(scaled);
    double largest = 0, error = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      largest = std::max(largest, std::abs(expected[i]));
      error = std::max(error, std::abs(found[i] - expected[i]));
    }
    EXPECT_GT(largest, 0);
    // Entries of the diagonals are rounded to some 2^-35 at least, summed over N coefficients.
    EXPECT_LT(error, largest * std::exp2(-24)) << compact;
  }
}

// A sparse message behind ModRaise has other coefficients too, which the sum of rotations cancels.
TEST_P(RaisedTransform, FewSlotsGetTheSumOfRotations) {
  for (const std::uint32_t slots : {4U, 64U}) {
    const ckks::ciphertext sparse = r.encrypt(r.random_values(slots, 5), 0);
    ASSERT_EQ(sparse.slots, slots);
    diagonal_map map{{0, r.random_values(slots, 91)}, {1, r.random_values(slots, 92)}};
    const raised_transform raised(r.eval, map, top, slots == 4U);
    EXPECT_GT(raised.count(), map.size());  // rotations are taken with the diagonals
    circuits::transform_options options;
    options.level = top;
    options.slots = slots;
    const circuits::linear_transform after(r.eval, map, options);
    auto requests = with_encapsulation(after.key_requests());
    std::set<std::uint64_t> asked;
    for (const ckks::key_request& each : requests) asked.insert(each.galois_element);
    const auto more = raised.key_requests();
    for (const ckks::key_request& each : more) {
      if (asked.insert(each.galois_element).second) requests.push_back(each);
    }
    for (std::uint32_t step = slots; step < r.slots(); step *= 2) {
      const std::uint64_t element = parameters.galois_element(step);
      if (asked.insert(element).second) requests.push_back({element, top});
    }
    exact_keys keys(r, requests);
    const ckks::ciphertext* const one[] = {&sparse};
    ckks::ciphertext y = std::move(raised.apply(keys.eval, keys.eval.raise_sparse(one, top)).front());
    EXPECT_EQ(y.slots, slots);
    ckks::ciphertext x = keys.eval.mod_raise(sparse, top);
    for (std::uint32_t step = slots; step < r.slots(); step *= 2) {
      x = keys.eval.add(x, keys.eval.rotate(x, step));
    }
    x.scale = y.scale = parameters.level(top).scale;
    const complex_vector expected = r.decrypt(after.apply(keys.eval, x));
    const complex_vector found = r.decrypt(y);
    ASSERT_EQ(found.size(), expected.size());
    double largest = 0, error = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      largest = std::max(largest, std::abs(expected[i]));
      error = std::max(error, std::abs(found[i] - expected[i]));
    }
    EXPECT_GT(largest, 0);
    EXPECT_LT(error, largest * std::exp2(-24));  // as above
  }
}

TEST_P(RaisedTransform, SeededKeysAndBatchesGiveTheSame) {
  const raised_transform map(r.eval, {{0, r.random_values(r.slots(), 5)}, {7, values}}, top, false);
  const auto requests = with_encapsulation(map.key_requests());
  exact_keys keys(r, requests);
  const ckks::ciphertext other = r.encrypt(r.random_values(r.slots(), 6), 0);
  const ckks::ciphertext* const both[] = {&low, &other};
  const auto together = map.apply(keys.eval, keys.eval.raise_sparse(both, top));
  ASSERT_EQ(together.size(), 2U);
  EXPECT_EQ(r.decrypt(together[0]), r.decrypt(apply(map, keys)));
}

TEST_P(RaisedTransform, KeysHaveOneDigitAndNames) {
  const std::uint64_t g = parameters.galois_element(5);
  const std::uint64_t element = raised_rotation_element(parameters, g);
  EXPECT_EQ(element, 2 * g);
  EXPECT_EQ(raised_rotation_of(parameters, element), g);
  EXPECT_EQ(raised_rotation_of(parameters, raised_rotation_element(parameters, 1)), 1U);
  EXPECT_EQ(raised_rotation_element(parameters, 1), ckks::largest_key_element(parameters));
  for (const std::uint64_t other :
       {g, ckks::encapsulation_element, std::uint64_t{4}, 4 * parameters.n() + 6}) {
    EXPECT_EQ(raised_rotation_of(parameters, other), std::nullopt) << other;
  }
  EXPECT_TRUE(ckks::is_key_element(parameters, element));
  EXPECT_FALSE(ckks::is_key_element(parameters, 4));
  EXPECT_EQ(ckks::describe_key(parameters, element), "raised rotation key for step 5");
  const auto layout = ckks::key_layout(parameters, {element, top});
  ASSERT_EQ(layout.size(), 1U);
  const auto low_layout = ckks::key_layout(parameters, {element, parameters.max_level() + 1});
  EXPECT_EQ(low_layout.front().special.first, layout.front().special.first);
  EXPECT_LT(low_layout.front().chain.count, layout.front().chain.count);
  EXPECT_EQ(layout.front().special.end(), layout.front().chain.first);
}

TEST_P(RaisedTransform, BadInputIsRefused) {
  const auto make = [&](const diagonal_map& map) {
    return [&, map] { (void)raised_transform(r.eval, map, top, false); };
  };
  EXPECT_THAT(make({}), ThrowsMessage<invalid_argument>(HasSubstr("all diagonals are 0")));
  EXPECT_THAT(make({{0, complex_vector(4, 1.0)}, {1, complex_vector(8, 1.0)}}),
              ThrowsMessage<invalid_argument>(HasSubstr("has 8 entries")));
  EXPECT_THAT(make({{0, complex_vector(3, 1.0)}}),
              ThrowsMessage<invalid_argument>(HasSubstr("diagonals of 3 entries")));
  const raised_transform map(r.eval, {{2, values}}, top, false);
  const ckks::ciphertext* const one[] = {&low};
  exact_keys none(r, with_encapsulation({}));
  EXPECT_THAT([&] { (void)map.apply(none.eval, none.eval.raise_sparse(one, top)); },
              ThrowsMessage<missing_key>(HasSubstr("raised rotation key for step 2")));
  exact_keys keys(r, with_encapsulation(map.key_requests()));
  EXPECT_THAT([&] { (void)map.apply(keys.eval, keys.eval.raise_sparse(one, top - 1)); },
              ThrowsMessage<invalid_argument>(HasSubstr("made for level")));
}

INSTANTIATE_TEST_SUITE_P(WordBits, RaisedTransform, testing::Values("test-n12-boot"));

TEST(RaisedTransformPrimes, ParametersWithTooFewSpecialPrimesRefuse) {
  const params::parameters few = params::preset("FTa-boot");
  EXPECT_EQ(few.encapsulation()->raised_special.count, 0U);
  const std::uint64_t element = raised_rotation_element(few, few.galois_element(1));
  EXPECT_FALSE(ckks::is_key_element(few, element));
  EXPECT_THAT(
      [&] {
        (void)ckks::key_layout(few, {element, few.top_level()});
      },
      ThrowsMessage<invalid_argument>(HasSubstr("too few special primes")));
  const params::parameters enough = params::preset("n16-boot");
  EXPECT_EQ(enough.encapsulation()->raised_special.end(), enough.encapsulation()->raised_scale.first);
  EXPECT_EQ(enough.encapsulation()->raised_scale.end(), enough.special_count());
}

}  // namespace
}  // namespace halocline::test
