// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/matmul.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "circuits/block_pattern.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::circuits {
namespace {

using complex = std::complex<double>;

void require_consistent(const dense_matrix& matrix) {
  HALOCLINE_EXPECTS(matrix.entries.size() == matrix.rows * matrix.columns, invalid_argument,
                    "matrix: ", matrix.entries.size(), " entries for ", matrix.rows, " rows and ",
                    matrix.columns, " columns");
}

std::uint32_t slots_of(const ckks::evaluator& eval, const transform_options& options) {
  return options.slots.value_or(static_cast<std::uint32_t>(eval.context().parameters().slots()));
}

std::uint32_t padded(std::size_t count) {
  return static_cast<std::uint32_t>(std::bit_ceil(std::max<std::size_t>(count, 1)));
}

/// diagonal_k[i] = M[i mod R, (i + k) mod C], k < min(R, C).
diagonal_map hybrid_diagonals(const dense_matrix& matrix, std::uint32_t slots) {
  require_consistent(matrix);
  HALOCLINE_EXPECTS(matrix.rows > 0 && matrix.columns > 0, invalid_argument, "matrix: no entries");
  const std::uint32_t rows = padded(matrix.rows);
  const std::uint32_t columns = padded(matrix.columns);
  HALOCLINE_EXPECTS(std::max(rows, columns) <= slots, invalid_argument, "matrix: ", matrix.rows, " x ",
                    matrix.columns, " does not fit ", slots,
                    " slots; split it or take parameters with more slots");
  diagonal_map result;
  for (std::uint32_t k = 0; k < std::min(rows, columns); ++k) {
    std::vector<complex> diagonal(slots);
    for (std::uint32_t i = 0; i < slots; ++i) {
      const std::uint32_t row = i % rows;
      const std::uint32_t column = (i + k) % columns;
      if (row < matrix.rows && column < matrix.columns) diagonal[i] = matrix.at(row, column);
    }
    result.emplace(static_cast<int>(k), std::move(diagonal));
  }
  return result;
}

/// Diagonals of a matrix within every block, its columns in groups of `group_rows` below each other: entry
/// (h, c) stands in row h + group_rows * (c / group_rows).
diagonal_map block_diagonals(const dense_matrix& matrix, std::uint32_t block, std::uint32_t slots,
                             std::uint32_t group_rows, std::uint32_t groups) {
  detail::block_patterns patterns;
  for (std::size_t h = 0; h < matrix.rows; ++h) {
    for (std::size_t c = 0; c < matrix.columns; ++c) {
      if (matrix.at(h, c) == complex{}) continue;
      const std::size_t row = groups == 1 ? h : h + group_rows * (c / group_rows);
      std::vector<complex>& pattern = patterns[static_cast<int>(c) - static_cast<int>(row)];
      pattern.resize(block);
      pattern[row] = matrix.at(h, c);
    }
  }
  return detail::spread(patterns, block, slots);
}

/// Requests of a transform at `level` and of an inner sum one level lower.
std::vector<ckks::key_request> with_inner_sum(const params::parameters& parameters,
                                              std::vector<ckks::key_request> requests, std::uint32_t stride,
                                              std::uint32_t count, unsigned level) {
  std::map<std::uint64_t, unsigned> levels;
  for (const ckks::key_request& each : requests) levels[each.galois_element] = each.level;
  for (std::uint32_t length = 1; length < count; length *= 2) {
    levels.try_emplace(parameters.galois_element(std::int64_t{stride} * length), level - 1);
  }
  requests.clear();
  for (const auto& [element, highest] : levels) requests.push_back({element, highest});
  return requests;
}

/// Shape that all matrices of a block product share.
struct block_shape {
  std::uint32_t group_rows = 1;
  std::uint32_t groups = 1;
};

block_shape shape_of(const std::vector<std::vector<dense_matrix>>& matrices, const block_options& options) {
  std::size_t rows = 0;
  std::size_t columns = 0;
  for (const auto& list : matrices) {
    for (const dense_matrix& matrix : list) {
      require_consistent(matrix);
      HALOCLINE_EXPECTS(matrix.rows <= options.block && matrix.columns <= options.block, invalid_argument,
                        "matrix: ", matrix.rows, " x ", matrix.columns, " does not fit a block of ",
                        options.block, " slots");
      rows = std::max(rows, matrix.rows);
      columns = std::max(columns, matrix.columns);
    }
  }
  block_shape shape;
  shape.group_rows = padded(rows);
  if (options.fold && shape.group_rows < padded(columns)) shape.groups = padded(columns) / shape.group_rows;
  return shape;
}

transform_grid make_grid(ckks::evaluator& eval, const std::vector<std::vector<dense_matrix>>& matrices,
                         const block_options& options) {
  const std::uint32_t slots = slots_of(eval, options.transform);
  HALOCLINE_EXPECTS(std::has_single_bit(options.block) && options.block <= slots, invalid_argument,
                    "block product: block of ", options.block, " slots; expected a power of two up to ",
                    slots);
  const block_shape shape = shape_of(matrices, options);
  std::vector<std::vector<diagonal_map>> cells;
  for (const auto& list : matrices) {
    cells.emplace_back();
    for (const dense_matrix& matrix : list) {
      cells.back().push_back(block_diagonals(matrix, options.block, slots, shape.group_rows, shape.groups));
    }
  }
  return {eval, cells, options.transform};
}

}  // namespace

std::vector<complex> repeat(std::span<const complex> values, std::uint32_t period, std::uint32_t slots) {
  HALOCLINE_EXPECTS(period > 0 && slots % period == 0 && values.size() <= period, invalid_argument,
                    "repeat: ", values.size(), " values with period ", period, " in ", slots,
                    " slots; the period must divide the slots and hold the values");
  std::vector<complex> result(slots);
  for (std::uint32_t begin = 0; begin < slots; begin += period) {
    std::copy(values.begin(), values.end(), result.begin() + begin);
  }
  return result;
}

matrix_vector::matrix_vector(ckks::evaluator& eval, const dense_matrix& matrix,
                             const transform_options& options)
    : input_period_(padded(matrix.columns)),
      output_period_(padded(matrix.rows)),
      transform_(eval, hybrid_diagonals(matrix, slots_of(eval, options)), options) {}

ckks::ciphertext matrix_vector::apply(ckks::evaluator& eval, const ckks::ciphertext& x) const {
  const backend::scoped_operation named("matrix_vector");
  ckks::ciphertext y = transform_.apply(eval, x);
  if (output_period_ >= input_period_) return y;
  return eval.inner_sum(y, output_period_, input_period_ / output_period_);
}

std::vector<ckks::key_request> matrix_vector::key_requests() const {
  return with_inner_sum(transform_.plan().parameters(), transform_.key_requests(), output_period_,
                        input_period_ / output_period_, transform_.level());
}

block_matmul::block_matmul(ckks::evaluator& eval, const std::vector<std::vector<dense_matrix>>& matrices,
                           const block_options& options)
    : group_rows_(shape_of(matrices, options).group_rows),
      groups_(shape_of(matrices, options).groups),
      grid_(make_grid(eval, matrices, options)) {}

std::vector<ckks::ciphertext> block_matmul::apply(ckks::evaluator& eval,
                                                  std::span<const ckks::ciphertext* const> inputs) const {
  std::vector<ckks::ciphertext> outputs = grid_.apply(eval, inputs);
  if (groups_ == 1) return outputs;
  for (ckks::ciphertext& each : outputs) each = eval.inner_sum(each, group_rows_, groups_);
  return outputs;
}

std::vector<ckks::key_request> block_matmul::key_requests() const {
  return with_inner_sum(grid_.plan().parameters(), grid_.key_requests(), group_rows_, groups_, grid_.level());
}

}  // namespace halocline::circuits
