// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "halocline/circuits/linear_transform.hpp"

namespace halocline::circuits {

/// A plain matrix, by rows.
struct dense_matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<std::complex<double>> entries;  ///< rows * columns

  /// One entry.
  [[nodiscard]] std::complex<double> at(std::size_t row, std::size_t column) const {
    return entries[row * columns + column];
  }
};

/// `values`, padded with zeros to `period`, over and over in `slots` slots: how vectors enter `matrix_vector`
/// and patterns that hold for every block are written.
/// @throws invalid_argument unless there are at most `period` values and `period` divides `slots`
[[nodiscard]] std::vector<std::complex<double>> repeat(std::span<const std::complex<double>> values,
                                                       std::uint32_t period, std::uint32_t slots);

/// y = M x for one encrypted vector and a plain matrix of any shape.
///
/// With R and C the numbers of rows and columns, each rounded up to a power of two: slot i of the input holds
/// x[i mod C] (`repeat` with period C), slot i of the result holds y[i mod R], so that layers follow each
/// other without any repacking. Takes min(R, C) diagonals, diagonal_k[i] = M[i mod R, (i + k) mod C], instead
/// of R + C: for R < C each sums the columns of one residue class, and log2(C / R) rotations add the classes
/// (the hybrid of Juvekar, Vaikuntanathan, Chandrakasan, "GAZELLE", USENIX Security 2018, on the diagonals of
/// Halevi and Shoup, CRYPTO 2014). Uses one level. Bound to the context it was made with; immutable.
class matrix_vector {
 public:
  /// @throws invalid_argument for a matrix without entries or with the wrong number of them, one that is 0,
  ///   or one with more rows or columns than slots; otherwise as `linear_transform`
  matrix_vector(ckks::evaluator& eval, const dense_matrix& matrix, const transform_options& options = {});

  /// Throws as `linear_transform::apply`.
  [[nodiscard]] ckks::ciphertext apply(ckks::evaluator& eval, const ckks::ciphertext& x) const;

  [[nodiscard]] std::uint32_t input_period() const noexcept { return input_period_; }    ///< C
  [[nodiscard]] std::uint32_t output_period() const noexcept { return output_period_; }  ///< R
  /// The diagonals, without the final sum.
  [[nodiscard]] const linear_transform& transform() const noexcept { return transform_; }
  /// Keys of `apply`, ascending by Galois element: those of the diagonals at the input's level, those of the
  /// final sum one level lower.
  [[nodiscard]] std::vector<ckks::key_request> key_requests() const;

 private:
  std::uint32_t input_period_;
  std::uint32_t output_period_;
  linear_transform transform_;
};

/// The same small matrices applied to every block of `block` slots: one ciphertext holds slots / block
/// independent vectors. Output o of each block is sum_i M[o][i] x_i over the inputs i.
struct block_options {
  std::uint32_t block = 0;  ///< slots of a block, a power of two
  /// Where all matrices have at most R < C rows (powers of two, C columns), split the columns into C / R
  /// groups that stand below each other in the block, and add the groups by log2(C / R) rotations: 2 R - 1
  /// diagonals instead of R + C - 1. What this leaves in the slots from R on of each block mixes neighbouring
  /// blocks and must be ignored: multiply it by zero (a following layer does) before results are handed out.
  bool fold = true;
  transform_options transform;
};

/// Uses one level. Bound to the context it was made with; immutable.
class block_matmul {
 public:
  /// @param matrices `matrices[o][i]`, each with at most `block` rows and columns; one without rows is zero
  /// @throws invalid_argument for a matrix that is too large or inconsistent, or a block that does not divide
  ///   the slots; otherwise as `transform_grid`
  block_matmul(ckks::evaluator& eval, const std::vector<std::vector<dense_matrix>>& matrices,
               const block_options& options);

  /// One result for each row of matrices: y[h] of block b in slot b * block + h, for h below the number of
  /// rows. Slots behind are 0, or of no meaning when `folded()`. Throws as `transform_grid::apply`.
  [[nodiscard]] std::vector<ckks::ciphertext> apply(ckks::evaluator& eval,
                                                    std::span<const ckks::ciphertext* const> inputs) const;

  /// Whether slots behind the results hold values of no meaning.
  [[nodiscard]] bool folded() const noexcept { return groups_ > 1; }
  /// The diagonals, without the final sums.
  [[nodiscard]] const transform_grid& grid() const noexcept { return grid_; }
  /// As of `matrix_vector`.
  [[nodiscard]] std::vector<ckks::key_request> key_requests() const;

 private:
  std::uint32_t group_rows_;  ///< R
  std::uint32_t groups_;      ///< C / R, 1 when not folded
  transform_grid grid_;
};

}  // namespace halocline::circuits
