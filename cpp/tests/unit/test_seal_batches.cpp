// SPDX-License-Identifier: Apache-2.0
// Lists and matrices of SEAL ciphertexts: what single operations give, which test_seal_evaluator.cpp compares
// with the rules of SEAL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "halocline/backend/registry.hpp"
#include "halocline/params/primes.hpp"
#include "halocline/seal/evaluator.hpp"
#include "support/message_of.hpp"
#include "support/seal_samples.hpp"

namespace halocline::seal {
namespace {

namespace format = seal_format;
constexpr std::uint64_t degree = 1024;
constexpr std::uint32_t levels = 3;
constexpr double scale = 1 << 20;

class SealBatches : public testing::Test {
 protected:
  SealBatches() {
    for (std::uint32_t i = 0; i < 3; ++i) {
      left.push_back(uniform_ciphertext(ctx, 2, levels, scale, 2 * i));
      right.push_back(uniform_ciphertext(ctx, 2, levels, scale, 2 * i + 1));
    }
  }
  [[nodiscard]] static std::vector<const ciphertext*> list(const std::vector<ciphertext>& of) {
    std::vector<const ciphertext*> made;
    for (const ciphertext& each : of) made.push_back(&each);
    return made;
  }
  void expect_equal(const std::vector<ciphertext>& made, const std::vector<ciphertext>& expected,
                    const char* what) {
    ASSERT_EQ(made.size(), expected.size()) << what;
    for (std::size_t i = 0; i < made.size(); ++i) {
      EXPECT_EQ(store(ctx, made[i]), store(ctx, expected[i])) << what << ", ciphertext " << i;
    }
  }
  /// `each(i)` is what operation i of the list should give.
  void expect_each(const std::vector<ciphertext>& made, const std::function<ciphertext(std::size_t)>& each,
                   const char* what) {
    std::vector<ciphertext> expected;
    for (std::size_t i = 0; i < left.size(); ++i) expected.push_back(each(i));
    expect_equal(made, expected, what);
  }

  context ctx{test::thousand_parameters(), backend::make_backend("cpu"), true};
  evaluator one{ctx};
  batch_evaluator all{ctx};
  switch_key_set relin = uniform_keys(ctx, {0, 1}, 7);
  switch_key_set galois =
      uniform_keys(ctx, {galois_element(degree, -1), galois_element(degree, 4), 2 * degree - 1}, 8);
  std::vector<ciphertext> left, right;
};

TEST_F(SealBatches, ListsGiveWhatSingleOperationsGive) {
  const auto a = list(left), b = list(right);
  expect_each(
      all.negate(a), [&](auto i) { return one.negate(left[i]); }, "negate");
  expect_each(
      all.add(a, b), [&](auto i) { return one.add(left[i], right[i]); }, "add");
  expect_each(
      all.sub(a, b), [&](auto i) { return one.sub(left[i], right[i]); }, "sub");
  expect_each(
      all.multiply(a, b), [&](auto i) { return one.multiply(left[i], right[i]); }, "multiply");
  expect_each(
      all.square(a), [&](auto i) { return one.square(left[i]); }, "square");
  expect_each(
      all.rescale_to_next(a), [&](auto i) { return one.rescale_to_next(left[i]); }, "rescale");
  expect_each(
      all.mod_switch_to_next(a), [&](auto i) { return one.mod_switch_to_next(left[i]); }, "switch");
  expect_each(
      all.rotate_vector(a, 3, galois), [&](auto i) { return one.rotate_vector(left[i], 3, galois); },
      "rotate, with two keys");
  expect_each(
      all.complex_conjugate(a, galois), [&](auto i) { return one.complex_conjugate(left[i], galois); },
      "conjugate");
  const std::vector<ciphertext> products = all.multiply(list(all.square(a)), b);  // four polynomials
  std::vector<ciphertext> expected;
  for (const ciphertext& each : products) expected.push_back(one.relinearize(each, relin));
  expect_equal(all.relinearize(list(products), relin), expected, "relinearize");
  EXPECT_TRUE(all.relinearize({}, relin).empty() && all.add({}, {}).empty());
}

/// One prime at a time, and two, of which the first pass has the special one.
TEST_F(SealBatches, GroupsOfPrimesGiveTheSameIntegers) {
  const std::vector<ciphertext> products = all.multiply(list(left), list(right));
  const std::vector<ciphertext> whole = all.relinearize(list(products), relin);
  const std::size_t digits = products.size() * levels * degree * sizeof(std::uint64_t);
  const std::vector<ciphertext> turned = all.complex_conjugate(list(left), galois);
  for (const std::uint32_t group : {1U, 2U, 3U, 4U}) {
    for (const bool joined : {false, true}) {
      ctx.set_switching(group * digits, joined);
      EXPECT_EQ(ctx.switch_group(products.size() * levels, levels + 1), group);
      expect_equal(all.relinearize(list(products), relin), whole, "relinearize");
      expect_equal(all.complex_conjugate(list(left), galois), turned, "conjugate");
    }
  }
  ctx.set_switching(0, false);
  EXPECT_EQ(ctx.switch_group(1, levels + 1), 1U);
}

TEST_F(SealBatches, MatrixProductsAreSumsOfProducts) {
  // 3 by 1 times 1 by 3, then 1 by 3 times 3 by 1.
  ciphertext_matrix outer =
      all.multiply(all.make_matrix(list(left), 3, 1), all.make_matrix(list(right), 1, 3));
  const std::vector<std::uint32_t> numbers{0, 1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<ciphertext> expected;
  for (const std::uint32_t i : numbers) expected.push_back(one.multiply(left[i / 3], right[i % 3]));
  expect_equal(all.entries(outer, numbers), expected, "outer product");
  const ciphertext_matrix row = all.make_matrix(list(left), 1, 3),
                          column = all.make_matrix(list(right), 3, 1);
  ciphertext_matrix inner = all.multiply(row, column);
  ciphertext sum = one.add(one.add(expected[0], expected[4]), expected[8]);
  EXPECT_EQ(store(ctx, all.entries(inner, std::vector<std::uint32_t>{0})[0]), store(ctx, sum));
  all.add_product(inner, row, column);
  sum = one.add(sum, sum);
  EXPECT_EQ(store(ctx, all.entries(inner, std::vector<std::uint32_t>{0})[0]), store(ctx, sum));
  EXPECT_THROW((void)all.multiply(row, row), invalid_argument);
  EXPECT_THROW((void)all.multiply(inner, row), invalid_argument);
  EXPECT_THROW(all.add_product(outer, row, column), invalid_argument);
  outer.scale = inner.scale = 1.0;
  EXPECT_THROW(all.add_product(inner, row, column), scale_mismatch);
  EXPECT_THROW((void)all.entries(inner, std::vector<std::uint32_t>{1}), invalid_argument);
  EXPECT_THROW((void)all.make_matrix(list(left), 2, 2), invalid_argument);
  EXPECT_THROW((void)all.make_matrix(list(expected), 3, 3), invalid_argument);
}

TEST_F(SealBatches, ListsThatDoNotFitAreRefused) {
  const auto a = list(left);
  EXPECT_THAT(test::message_of<invalid_argument>([&] {
                (void)all.add(a, {a.data(), 2});
              }),
              testing::HasSubstr("lists of 3 and 2 operands"));
  left[1] = one.mod_switch_to_next(left[1]);
  EXPECT_THAT(test::message_of<invalid_argument>([&] { (void)all.negate(a); }),
              testing::HasSubstr("make a batch of each kind"));
  EXPECT_THROW((void)uniform_ciphertext(ctx, 1, 1, 1.0, 0), invalid_argument);
  EXPECT_THROW((void)uniform_ciphertext(ctx, 2, levels + 1, 1.0, 0), invalid_argument);
}

}  // namespace
}  // namespace halocline::seal
