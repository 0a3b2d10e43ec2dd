// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "halocline/circuits/linear_transform.hpp"

/// The transform between the slots and the coefficients of a polynomial as a product of sparse matrices, in
/// the clear.
///
/// A polynomial with n slots has 2n real coefficients a_j, or n complex ones w_j = a_j + i a_(j+n), and slot
/// k is sum_j w_j zeta^(j 5^k), zeta = exp(2 pi i / 4n): a Cooley-Tukey butterfly for each of the log2(n)
/// stages. A stage with half-length h has the diagonals 0, h and -h, the product of g neighbouring stages at
/// most 2^(g+1) - 1 of them (Chen, Chillotti, Song, ePrint 2018/1043; Han, Hhan, Cheon, ePrint 2018/1073). w
/// is in bit-reversed order: the operations between the two directions work slot by slot, so no permutation
/// is needed.
namespace halocline::circuits {

/// Which way.
enum class dft_direction : unsigned char {
  coeff_to_slot,  ///< w, bit-reversed, from the slots: the inverse transform
  slot_to_coeff,  ///< the slots from w in bit-reversed order
};

/// Numbers of stages that each of `matrices` matrices unites, in the order in which they are applied. They
/// differ by one at most; the longer ones are on the side of half-length n/2, whose diagonals coincide.
/// @throws invalid_argument unless 1 <= matrices <= max(1, log2(slots)) and slots is a power of two
[[nodiscard]] std::vector<unsigned> dft_stages(dft_direction direction, std::uint32_t slots,
                                               unsigned matrices);

/// The matrices, the first to be applied first; their product is the transform times `factor`, of which each
/// gets an equal share. Indices are in (-slots/2, slots/2].
/// @throws invalid_argument as `dft_stages`, or unless factor is positive and finite
[[nodiscard]] std::vector<diagonal_map> dft_matrices(dft_direction direction, std::uint32_t slots,
                                                     unsigned matrices, double factor = 1.0);
/// The same for other numbers of stages than those of `dft_stages`.
/// @throws invalid_argument unless they sum to log2(slots) and are positive; the first may be 0: a unit
/// matrix
[[nodiscard]] std::vector<diagonal_map> dft_matrices(dft_direction direction, std::uint32_t slots,
                                                     std::span<const unsigned> stages, double factor);

/// Slots to the left by which a chain rotates what matrix `matrix` gives, and the next one takes: the
/// shortest half-length of the longer of the two. A matrix of half-lengths s to l has diagonals from -(2 l -
/// s) to 2 l - s; with this, from 0 or s on, so that giant steps go one way and need one key. The matrix that
/// wraps around makes up for it. 0 behind the last.
/// @param stages of all matrices
[[nodiscard]] std::int64_t rotation_behind(dft_direction direction, std::span<const unsigned> stages,
                                           std::size_t matrix);

/// The matrix that acts on both halves of 2n slots as `matrix` acts on n: each diagonal twice.
[[nodiscard]] diagonal_map doubled(const diagonal_map& matrix);

/// diag(rows) * matrix: row i of the matrix times rows[i].
void scale_rows(diagonal_map& matrix, std::span<const std::complex<double>> rows);

/// matrix * diag(columns): what the matrix gives for an input multiplied by `columns`.
void scale_columns(diagonal_map& matrix, std::span<const std::complex<double>> columns);

/// Place of index i of n values in bit-reversed order.
[[nodiscard]] std::uint32_t bit_reversed(std::uint32_t index, std::uint32_t count) noexcept;

}  // namespace halocline::circuits
