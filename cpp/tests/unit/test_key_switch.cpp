// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/key_switch.hpp"

#include <gtest/gtest.h>

#include "halocline/ckks/context.hpp"
#include "halocline/core/error.hpp"
#include "support/ckks_fixture.hpp"
#include "support/residues.hpp"
#include "support/turned_poly.hpp"

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
    return words(test::turned_poly(*rig.ctx, p, element));
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

/// Products of two polynomials with two keys, each with addends of its own: the sum of what `key_products`
/// gives, also where something is there already.
TEST_P(KeyProduct, SumsProductsThatAreNotWritten) {
  const ciphertext second = rig.encrypt(rig.random_values(rig.slots(), 4));
  const rns::raised_digits others =
      rns::mod_up(rig.ctx->ring(), rig.ctx->converter(), second.parts[1].chain());
  const std::uint64_t one = rig.parameters().galois_element(1);
  const poly_pair extended = key_product(*rig.ctx, others, key);
  for (const bool whole : {false, true}) {
    std::vector<joined_product> products(3);
    products[0] = {&digits, &key, {}, {}};
    products[1] = {&others, &rig.keys.get(one, input.level), {}, {}};
    products[2] = {&digits, &key, {}, {}};
    products[2].options.galois_element = element;
    products[0].options.galois_element = element;
    products[1].options.galois_element = one;
    for (std::size_t i = 0; i < products.size(); ++i) {
      product_options& options = products[i].options;
      if (whole) {
        options.extended0 = i == 1 ? &extended.second : &extended.first;
      } else if (i != 2) {
        options.plus0 = (i == 0 ? input : second).parts[0].chain();
      }
    }
    poly_pair total;
    key_product_sum(*rig.ctx, products, total);
    const std::vector<std::uint64_t> once[] = {words(total.first), words(total.second)};
    key_products(*rig.ctx, products);
    for (const auto component : {&poly_pair::first, &poly_pair::second}) {
      for (std::size_t i = 1; i < products.size(); ++i) {
        for (std::size_t v = 0; v < 2; ++v) {
          const backend::limb_view to = (products[0].total.*component).views()[v];
          const backend::binary_job sum{to, to, (products[i].total.*component).views()[v]};
          rig.ctx->device().add(rig.ctx->tables(), {&sum, 1});
        }
      }
    }
    EXPECT_EQ(once[0], words(products[0].total.first));
    EXPECT_EQ(once[1], words(products[0].total.second));
    for (joined_product& each : products) each.total = {};
    key_product_sum(*rig.ctx, products, total);  // added to what is there
    std::vector<backend::binary_job> twice;
    poly_pair again;
    key_product_sum(*rig.ctx, products, again);
    for (const auto component : {&poly_pair::first, &poly_pair::second}) {
      for (std::size_t v = 0; v < 2; ++v) {
        const backend::limb_view to = (again.*component).views()[v];
        twice.push_back({to, to, to});
      }
    }
    rig.ctx->device().add(rig.ctx->tables(), twice);
    EXPECT_EQ(words(total.first), words(again.first));
    EXPECT_EQ(words(total.second), words(again.second));
  }
}

TEST_P(KeyProduct, SumsOfProductsRefuseWhatDoesNotGoTogether) {
  std::vector<joined_product> products(2);
  for (joined_product& each : products) each = {&digits, &key, {}, {}};
  poly_pair total;
  EXPECT_THROW(key_product_sum(*rig.ctx, {}, total), invalid_argument);
  const poly_pair other = key_product(*rig.ctx, digits, key);
  products[1].options.extended0 = &other.first;
  EXPECT_THROW(key_product_sum(*rig.ctx, products, total), invalid_argument);
  EXPECT_FALSE(total.first);
  products[1].options.extended0 = nullptr;
  total = make_pair(*rig.ctx, {}, digits.chain, object_class::scratch, "test");
  EXPECT_THROW(key_product_sum(*rig.ctx, products, total), invalid_argument);
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
