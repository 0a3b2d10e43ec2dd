// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/key_switch.hpp"

#include <gtest/gtest.h>

#include "halocline/ckks/context.hpp"
#include "halocline/core/error.hpp"
#include "support/ckks_fixture.hpp"
#include "support/residues.hpp"

namespace halocline::ckks {
namespace {

using memory::object_class;
using test::words_of;

class KeyProduct : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] std::vector<std::uint64_t> words(const ring::poly& p) {
    std::vector<std::uint64_t> result = words_of(*rig.ctx, p.special());
    const std::vector<std::uint64_t> chain = words_of(*rig.ctx, p.chain());
    result.insert(result.end(), chain.begin(), chain.end());
    return result;
  }
  [[nodiscard]] std::vector<std::uint64_t> turned(const ring::poly& p, std::uint64_t element) {
    const turned_poly turn{&p, element};
    return words(apply_automorphisms(*rig.ctx, {&turn, 1}, object_class::scratch, "test").front());
  }

  test::ckks_rig rig{GetParam(), {1, 5}};
  const ciphertext input = rig.encrypt(rig.random_values(rig.slots(), 3));
  const std::uint64_t element = rig.parameters().galois_element(5);
  const evaluation_key& key = rig.keys.get(element, input.level);
  const rns::raised_digits digits =
      rns::mod_up(rig.ctx->ring(), rig.ctx->converter(), input.parts[1].chain());
};

TEST_P(KeyProduct, AppliesAnAutomorphismInTheSamePass) {
  const backend::limb_view plus0 = input.parts[0].chain(), plus1 = input.parts[1].chain();
  const poly_pair plain = key_product(*rig.ctx, digits, key, plus0, plus1);
  product_options options;
  options.plus0 = plus0;
  options.plus1 = plus1;
  options.galois_element = element;
  const poly_pair pair = key_product(*rig.ctx, digits, key, options);
  EXPECT_EQ(words(pair.first), turned(plain.first, element));
  EXPECT_EQ(words(pair.second), turned(plain.second, element));
}

TEST_P(KeyProduct, AddsAPolynomialOverAllPrimesAsItIs) {
  const poly_pair plain = key_product(*rig.ctx, digits, key);
  const poly_pair other =
      key_product(*rig.ctx, digits, rig.keys.get(rig.parameters().galois_element(1), input.level));
  product_options options;
  options.extended0 = &other.first;
  options.galois_element = element;
  const poly_pair pair = key_product(*rig.ctx, digits, key, options);
  for (std::size_t v = 0; v < 2; ++v) {
    const backend::binary_job sum{plain.first.views()[v], plain.first.views()[v], other.first.views()[v]};
    rig.ctx->device().add(rig.ctx->tables(), {&sum, 1});
  }
  EXPECT_EQ(words(pair.first), turned(plain.first, element));
  EXPECT_EQ(words(pair.second), turned(plain.second, element));
}

TEST_P(KeyProduct, RefusesAddendsThatExcludeEachOther) {
  const poly_pair other = key_product(*rig.ctx, digits, key);
  product_options options;
  options.extended0 = &other.first;
  options.plus0 = input.parts[0].chain();
  EXPECT_THROW((void)key_product(*rig.ctx, digits, key, options), invalid_argument);
  options.plus0 = {};
  options.extended0 = &input.parts[0];
  EXPECT_THROW((void)key_product(*rig.ctx, digits, key, options), invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(WordBits, KeyProduct, ::testing::Values("test-n10-d3", "test-n10-d3-w64"),
                         [](const auto& each) {
                           return std::string(each.param).find("64") == std::string::npos ? "w32" : "w64";
                         });

}  // namespace
}  // namespace halocline::ckks
