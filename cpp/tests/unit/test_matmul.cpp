// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/matmul.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halocline/core/error.hpp"
#include "support/circuit_fixture.hpp"

namespace halocline::test {
namespace {

using circuits::block_matmul;
using circuits::block_options;
using circuits::dense_matrix;
using circuits::matrix_vector;
using circuits::transform_mode;
using circuits::transform_options;
using testing::HasSubstr;
using testing::ThrowsMessage;

// As in test_linear_transform.cpp, where the entries of a row sum to sqrt(2) at most; the final sum of up to
// 64 classes adds their errors, 3 bits more.
constexpr double matmul_bits = 23.0;

/// Random entries in the square [-1, 1] + [-1, 1] i, divided by the number of columns.
dense_matrix random_matrix(const ckks_rig& rig, std::size_t rows, std::size_t columns, std::uint32_t seed) {
  dense_matrix m{rows, columns, rig.random_values(static_cast<std::uint32_t>(rows * columns), seed)};
  for (auto& entry : m.entries) entry /= static_cast<double>(columns);
  return m;
}

complex_vector multiply(const dense_matrix& m, const complex_vector& x) {
  complex_vector y(m.rows);
  for (std::size_t r = 0; r < m.rows; ++r) {
    for (std::size_t c = 0; c < m.columns; ++c) y[r] += m.at(r, c) * x[c];
  }
  return y;
}

void expect_result(ckks_rig& rig, const ckks::ciphertext& y, const complex_vector& expected, unsigned level) {
  EXPECT_EQ(y.level, level);
  EXPECT_NEAR(y.scale / rig.parameters().level(level).scale, 1.0, 1e-9);
  EXPECT_GT(rig.precision(y, expected).worst_bits, matmul_bits);
}

void check_matrix(const std::string& preset, std::size_t rows, std::size_t columns,
                  const transform_options& options) {
  ckks_rig& rig = circuit_rig(preset);
  SCOPED_TRACE(preset + " " + std::to_string(rows) + " x " + std::to_string(columns) + " " +
               to_string(options.mode));
  const std::uint32_t slots = options.slots.value_or(rig.slots());
  const dense_matrix m = random_matrix(rig, rows, columns, 31);
  const complex_vector x = rig.random_values(static_cast<std::uint32_t>(columns), 32);
  const matrix_vector product(rig.eval, m, options);
  exact_keys keys(rig, product.key_requests());
  const ckks::ciphertext input =
      rig.encrypt(circuits::repeat(x, product.input_period(), slots), *options.level);
  const ckks::ciphertext y = product.apply(keys.eval, input);
  expect_result(rig, y, circuits::repeat(multiply(m, x), product.output_period(), slots), *options.level - 1);
}

TEST(MatrixVector, AllShapes) {
  for (const char* preset : {"test-n10-d3", "test-n10-d3-w64"}) {
    const transform_options options = options_for(transform_mode::double_hoisted, 2);
    check_matrix(preset, 16, 16, options);
    check_matrix(preset, 1, 64, options);
    check_matrix(preset, 64, 1, options);
    check_matrix(preset, 5, 100, options);
    check_matrix(preset, 100, 7, options);
    check_matrix(preset, 13, 512, options);
  }
}

TEST(MatrixVector, AllModesAndSparseSlots) {
  for (const transform_mode mode : {transform_mode::naive, transform_mode::bsgs, transform_mode::small_key}) {
    check_matrix("test-n10-d3", 10, 40, options_for(mode, 1));
    check_matrix("test-n10-d3", 10, 60, options_for(mode, 2, 64));
    check_matrix("test-n10-d3", 60, 10, options_for(mode, 2, 64));
  }
}

TEST(MatrixVector, LayersFollowEachOther) {
  ckks_rig& rig = circuit_rig("test-n10-d3");
  const dense_matrix first = random_matrix(rig, 20, 50, 1);
  const dense_matrix second = random_matrix(rig, 6, 20, 2);
  const matrix_vector upper(rig.eval, first, options_for(transform_mode::double_hoisted, 3));
  const matrix_vector lower(rig.eval, second, options_for(transform_mode::double_hoisted, 2));
  ASSERT_EQ(upper.output_period(), lower.input_period());
  std::vector<ckks::key_request> requests = upper.key_requests();
  for (const ckks::key_request& each : lower.key_requests()) requests.push_back(each);
  // A key is limited to the highest level that either layer asks for.
  std::sort(requests.begin(), requests.end(), [](const auto& a, const auto& b) { return a.level < b.level; });
  exact_keys keys(rig, requests);
  const complex_vector x = rig.random_values(50, 3);
  const ckks::ciphertext y =
      lower.apply(keys.eval, upper.apply(keys.eval, rig.encrypt(circuits::repeat(x, 64, rig.slots()), 3)));
  expect_result(rig, y, circuits::repeat(multiply(second, multiply(first, x)), 8, rig.slots()), 1);
}

TEST(MatrixVector, TakesTheShorterSideOfDiagonals) {
  ckks_rig& rig = circuit_rig("test-n10-d3");
  EXPECT_EQ(matrix_vector(rig.eval, random_matrix(rig, 4, 128, 1)).transform().cost().plaintext_products, 4u);
  EXPECT_EQ(matrix_vector(rig.eval, random_matrix(rig, 128, 4, 1)).transform().cost().plaintext_products, 4u);
}

TEST(MatrixVector, AsksForExactlyTheKeysItStates) {
  for (const auto& [rows, columns] : {std::pair{8, 64}, {64, 8}, {16, 16}, {1, 512}}) {
    ghost_rig ghost("test-n10-d3");
    const dense_matrix m = random_matrix(circuit_rig("test-n10-d3"), rows, columns, 4);
    const matrix_vector product(ghost.eval, m, options_for(transform_mode::bsgs, 2));
    (void)product.apply(ghost.eval, ghost.ghost_input(2, 512));
    EXPECT_EQ(ghost.keys.requests(), product.key_requests());
  }
}

/// y[h] of every block in its first slots.
complex_vector block_reference(const std::vector<dense_matrix>& row,
                               const std::vector<complex_vector>& inputs, std::uint32_t block,
                               std::uint32_t slots) {
  complex_vector y(slots);
  for (std::uint32_t begin = 0; begin < slots; begin += block) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      for (std::size_t r = 0; r < row[i].rows; ++r) {
        for (std::size_t c = 0; c < row[i].columns; ++c)
          y[begin + r] += row[i].at(r, c) * inputs[i][begin + c];
      }
    }
  }
  return y;
}

struct block_case {
  std::string preset;
  std::uint32_t block;
  std::size_t rows;
  std::size_t columns;
  bool fold;
  transform_mode mode;
};

void check_blocks(const block_case& c) {
  ckks_rig& rig = circuit_rig(c.preset);
  SCOPED_TRACE(c.preset + " block " + std::to_string(c.block) + " rows " + std::to_string(c.rows) + " " +
               to_string(c.mode));
  std::vector<std::vector<dense_matrix>> matrices(2);
  for (std::uint32_t i = 0; i < 3; ++i) {
    matrices[0].push_back(random_matrix(rig, c.rows, c.columns, 10 + i));
    matrices[1].push_back(i == 1 ? dense_matrix{} : random_matrix(rig, c.rows, c.columns, 20 + i));
  }
  block_options options{c.block, c.fold, options_for(c.mode, 2)};
  const block_matmul product(rig.eval, matrices, options);
  EXPECT_EQ(product.folded(), c.fold && std::bit_ceil(c.rows) < std::bit_ceil(c.columns));
  exact_keys keys(rig, product.key_requests());
  std::vector<complex_vector> x;
  std::vector<ckks::ciphertext> encrypted;
  for (std::uint32_t i = 0; i < 3; ++i) {
    x.push_back(rig.random_values(rig.slots(), 40 + i));
    encrypted.push_back(rig.encrypt(x.back(), 2));
  }
  const ckks::ciphertext* const inputs[] = {&encrypted[0], &encrypted[1], &encrypted[2]};
  const std::vector<ckks::ciphertext> y = product.apply(keys.eval, inputs);
  ASSERT_EQ(y.size(), 2u);
  for (std::size_t o = 0; o < 2; ++o) {
    EXPECT_NEAR(y[o].scale / rig.parameters().level(1).scale, 1.0, 1e-9);
    complex_vector expected = block_reference(matrices[o], x, c.block, rig.slots());
    complex_vector computed = rig.decrypt(y[o]);
    if (product.folded()) {  // slots behind the rows are of no meaning
      for (std::size_t i = 0; i < expected.size(); ++i) {
        if (i % c.block >= c.rows) expected[i] = computed[i] = 0.0;
      }
    }
    EXPECT_GT(ckks::measure_precision(computed, expected).worst_bits, matmul_bits);
  }
}

TEST(BlockMatmul, EveryBlockGetsTheSameMatrices) {
  for (const char* preset : {"test-n10-d3", "test-n10-d3-w64"}) {
    check_blocks({preset, 64, 30, 64, true, transform_mode::double_hoisted});
    check_blocks({preset, 64, 30, 64, false, transform_mode::double_hoisted});
    check_blocks({preset, 16, 16, 16, true, transform_mode::small_key});
    check_blocks({preset, 32, 3, 20, true, transform_mode::bsgs});
    check_blocks({preset, 8, 8, 2, true, transform_mode::naive});
  }
  check_blocks(
      {"test-n10-d3", 512, 3, 40, false, transform_mode::double_hoisted});  // one block: indices wrap
  check_blocks({"test-n10-d3", 512, 512, 2, true, transform_mode::bsgs});
}

TEST(BlockMatmul, FoldingHalvesTheDiagonalsOfTheDigitsLayer) {
  // The hidden layer of the digits network: 32 rows, 64 columns for each of 4 channels, in blocks of 64.
  ckks_rig& rig = circuit_rig("test-n10-d3");
  std::vector<std::vector<dense_matrix>> matrices(1);
  for (std::uint32_t i = 0; i < 4; ++i) matrices[0].push_back(random_matrix(rig, 32, 64, i));
  const block_matmul folded(rig.eval, matrices, {64, true, options_for(transform_mode::double_hoisted, 2)});
  const block_matmul plain(rig.eval, matrices, {64, false, options_for(transform_mode::double_hoisted, 2)});
  EXPECT_EQ(folded.grid().cost().plaintext_products, 4u * 63u);
  EXPECT_EQ(plain.grid().cost().plaintext_products, 4u * 95u);
  EXPECT_LT(folded.grid().cost().work, plain.grid().cost().work);
}

TEST(BlockMatmul, AsksForExactlyTheKeysItStates) {
  for (const transform_mode mode :
       {transform_mode::bsgs, transform_mode::double_hoisted, transform_mode::small_key}) {
    ghost_rig ghost("test-n10-d3");
    const dense_matrix m = random_matrix(circuit_rig("test-n10-d3"), 10, 30, 4);
    const block_matmul product(ghost.eval, {{m, m}}, {32, true, options_for(mode, 3)});
    const ckks::ciphertext x = ghost.ghost_input(3, 512);
    const ckks::ciphertext* const inputs[] = {&x, &x};
    (void)product.apply(ghost.eval, inputs);
    EXPECT_EQ(ghost.keys.requests(), product.key_requests());
  }
}

TEST(MatmulErrors, SayWhatIsWrong) {
  ckks_rig& rig = circuit_rig("test-n10-d3");
  const auto vector_of = [&](const dense_matrix& m) { matrix_vector(rig.eval, m); };
  EXPECT_THAT(
      [&] {
        vector_of({2, 2, complex_vector(3)});
      },
      ThrowsMessage<invalid_argument>(HasSubstr("3 entries")));
  EXPECT_THAT([&] { vector_of({0, 0, {}}); }, ThrowsMessage<invalid_argument>(HasSubstr("no entries")));
  EXPECT_THAT(
      [&] {
        vector_of({2, 2, complex_vector(4)});
      },
      ThrowsMessage<invalid_argument>(HasSubstr("0 everywhere")));
  EXPECT_THAT(
      [&] {
        vector_of({1, 513, complex_vector(513, 1.0)});
      },
      ThrowsMessage<invalid_argument>(HasSubstr("does not fit 512 slots")));
  const auto block_of = [&](std::uint32_t block) {
    block_matmul(rig.eval, {{random_matrix(rig, 5, 9, 1)}}, {block, true, {}});
  };
  EXPECT_THAT([&] { block_of(8); }, ThrowsMessage<invalid_argument>(HasSubstr("5 x 9 does not fit")));
  EXPECT_THAT([&] { block_of(24); }, ThrowsMessage<invalid_argument>(HasSubstr("power of two")));
  EXPECT_THAT([&] { (void)circuits::repeat(complex_vector(5), 4, 16); },
              ThrowsMessage<invalid_argument>(HasSubstr("5 values")));
  EXPECT_THAT([&] { (void)circuits::repeat(complex_vector(5), 6, 16); },
              ThrowsMessage<invalid_argument>(HasSubstr("period 6")));
}

}  // namespace
}  // namespace halocline::test
