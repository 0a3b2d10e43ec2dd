// SPDX-License-Identifier: Apache-2.0
// Ordinary operations at the levels that only bootstrapping uses, and across the borders of their groups.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/ckks_fixture.hpp"

namespace halocline::ckks {
namespace {

using test::ckks_rig;
using test::complex_vector;

class LevelGroups : public ::testing::TestWithParam<const char*> {
 protected:
  LevelGroups() {
    for (const std::uint64_t element : {relinearization_element, parameters.galois_element(1)}) {
      rig.keys.add(rig.generator.make_evaluation_key(rig.secret, {element, parameters.top_level()}));
    }
  }

  [[nodiscard]] static complex_vector times(complex_vector a, const complex_vector& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] *= b[i];
    return a;
  }

  ckks_rig rig{GetParam()};
  const params::parameters& parameters = rig.parameters();
  complex_vector x = rig.random_values(rig.slots(), 1);
  complex_vector y = rig.random_values(rig.slots(), 2);
};

// Canonical times canonical is canonical within a group, and has the arrival scale below a border.
TEST_P(LevelGroups, ProductsArriveWithTheScaleOfTheirGroup) {
  for (unsigned level = 1; level <= parameters.top_level(); ++level) {
    const ciphertext product = rig.eval.multiply(rig.encrypt(x, level), rig.encrypt(y, level));
    const params::level_info& below = parameters.level(level - 1);
    EXPECT_EQ(product.level, level - 1);
    EXPECT_NEAR(product.scale / below.arrival_scale, 1, 0x1p-40) << level;
    if (below.use == parameters.level(level).use) {
      EXPECT_EQ(product.scale, below.scale) << level;
    }
    EXPECT_GT(rig.precision(product, times(x, y)).worst_bits, level <= parameters.max_level() ? 18 : 25)
        << level;
  }
}

TEST_P(LevelGroups, OtherOperationsWorkAtEveryLevel) {
  for (unsigned level = parameters.max_level() + 1; level <= parameters.top_level(); ++level) {
    const ciphertext a = rig.encrypt(x, level);
    complex_vector sum = x;
    complex_vector rotated = x;
    std::rotate(rotated.begin(), rotated.begin() + 1, rotated.end());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += y[i] + 0.5;
    const ciphertext added = rig.eval.add_constant(rig.eval.add(a, rig.encrypt(y, level)), 0.5);
    EXPECT_GT(rig.precision(added, sum).worst_bits, 25) << level;
    EXPECT_GT(rig.precision(rig.eval.rotate(a, 1), rotated).worst_bits, 25) << level;
    const ciphertext scaled = rig.eval.multiply_values(a, y);
    EXPECT_EQ(scaled.scale, parameters.level(level - 1).scale) << level;
    EXPECT_GT(rig.precision(scaled, times(x, y)).worst_bits, 18) << level;
  }
}

// drop_level keeps the message and ends at the canonical scale, whatever groups lie between.
TEST_P(LevelGroups, DroppingCrossesBorders) {
  const ciphertext high = rig.encrypt(x, parameters.top_level());
  for (unsigned level = 0; level < parameters.top_level(); ++level) {
    const ciphertext low = rig.eval.drop_level(high, level);
    EXPECT_EQ(low.scale, parameters.level(level).scale) << level;
    EXPECT_GT(rig.precision(low, x).worst_bits, 18) << level;
  }
}

INSTANTIATE_TEST_SUITE_P(WordBits, LevelGroups, ::testing::Values("test-n11-boot", "test-n11-boot64"),
                         [](const auto& each) {
                           return std::string(each.param).find("64") == std::string::npos ? "w32" : "w64";
                         });

}  // namespace
}  // namespace halocline::ckks
