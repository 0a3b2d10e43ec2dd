// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "halocline/backend/descriptors.hpp"

/// Batch descriptors of private retrieval: operations on arrays of polynomials modulo all L primes of a ring
/// with 32-bit words. One job covers an array, because a batch of queries has hundreds of thousands of
/// polynomials.
namespace halocline::backend {

/// Polynomials in a buffer: number i has the L limbs from limb `first + i * stride` on. Where a ciphertext
/// array is asked for, number i is the first polynomial of ciphertext i, and the second one follows it.
struct poly_array {
  const memory::buffer* data = nullptr;
  std::uint32_t first = 0;   ///< limb where the first polynomial begins
  std::uint32_t stride = 0;  ///< limbs from one to the next: at least those that one has

  /// From number `skipped` on.
  [[nodiscard]] constexpr poly_array from(std::uint32_t skipped) const noexcept {
    return {data, first + skipped * stride, stride};
  }
};

/// dst_i = f(src_i) for i < count; dst may be src.
struct array_job {
  poly_array dst;
  poly_array src;
  std::uint32_t count = 0;
};

/// dst_i = a_i - b_i for i < count, both polynomials of each ciphertext; dst may be a or b.
struct array_sub_job {
  poly_array dst;  ///< ciphertexts, as a and b
  poly_array a;
  poly_array b;
  std::uint32_t count = 0;
};

/// dst_i = factors[l] * src_i on limb l, both polynomials of each ciphertext; dst may be src.
struct array_scale_job {
  poly_array dst;  ///< ciphertexts, as src
  poly_array src;
  std::uint32_t count = 0;
  std::vector<std::uint64_t> factors;  ///< residues, one for each prime
};

/// How residues are split (`pir::gadget`): x modulo q_l, taken in [-q_l/2, q_l/2), is the sum over k < digits
/// of d_k B^k with B = 2^base_bits, where all digits but the last lie in [-B/2, B/2) and the last one has
/// what is left. The remainder modulo B is taken first: d_0 = ((x + B/2) mod B) - B/2.
struct digit_split {
  unsigned digits = 1;     ///< for each prime, 1 to 8
  unsigned base_bits = 0;  ///< 3 to 30
};

/// The digits of polynomials in coefficient form, as residues modulo all primes (coefficient form): digit k
/// of the residues modulo prime l of src_i is polynomial (i L + l) digits + k of dst, which shares nothing
/// with src.
struct split_job {
  poly_array dst;
  poly_array src;
  std::uint32_t count = 0;
  digit_split split;
};

/// Products of digits with rows of encryptions:
/// sum_i[c] = (sum over r < terms of digit_(i terms + r) * row_r[c]) / 2^32 + plus_i[c] for i < count and the
/// components c = 0, 1, and dst_i[c][j] = sum_i[c][j], or sum_i[c][permutation[j]] where there is a
/// permutation. All in NTT form. dst shares nothing with the operands, unless without permutation dst_i[c] is
/// plus_i[c].
struct digit_product_job {
  poly_array dst;           ///< ciphertexts
  poly_array digits;        ///< count * terms polynomials
  poly_array rows;          ///< ciphertexts, Montgomery form (times 2^32); the same for all i
  std::uint32_t terms = 0;  ///< 1 to 64
  std::uint32_t count = 0;
  poly_array plus0{};                           ///< polynomials; without data: zero
  poly_array plus1{};                           ///< the same
  const memory::buffer* permutation = nullptr;  ///< as that of `automorphism_job`
};

/// Both children of nodes of an expansion: dst_(2 i) = src_i + turned_i and dst_(2 i + 1) = (src_i -
/// turned_i) * monomial / 2^32, for those of them with numbers below `children`. NTT form. dst shares nothing
/// with src or turned.
struct children_job {
  poly_array dst;  ///< ciphertexts, as src and turned
  poly_array src;  ///< (children + 1) / 2 of them
  poly_array turned;
  poly_array monomial;  ///< one polynomial, Montgomery form
  std::uint32_t children = 0;
};

/// Points that follow each other in a matrix of points, unless it is point-major.
inline constexpr std::uint32_t points_per_block = 32;

/// Polynomials in NTT form in the order in which `row_select` reads them: points j of limb l of row r, for j
/// in block b of `block` points, are the words from ((l N / block + b) rows + r) block on. With blocks of
/// `points_per_block` points vectors and warps have a point in each lane. With blocks of one point the matrix
/// is *point-major*: the rows of a point follow each other, as products of matrices read them.
struct point_matrix {
  const memory::buffer* data = nullptr;
  std::uint32_t rows = 0;
  std::uint32_t block = points_per_block;  ///< or 1
};

/// A level of an expansion at once. Equals, for each src_i with (c0, c1): `array_intt`, `split_digits` and
/// `array_ntt` of c1, `digit_product` of these with `rows`, plus c0 on the first component, under the
/// permutation, and `expand_children` of src_i and that. The first `turned` children go to `points` instead,
/// as `turn_points` would bring them: component c of child j is row 2 j + c. Child `turned` is dst_0 then.
struct expand_job {
  poly_array dst;   ///< ciphertexts, as src, with which it shares nothing; none where all are turned
  poly_array src;   ///< (children + 1) / 2 of them, NTT form
  poly_array rows;  ///< L * split.digits ciphertexts, at most 64, Montgomery form
  poly_array monomial;
  const memory::buffer* permutation = nullptr;
  std::uint32_t children = 0;
  digit_split split;
  point_matrix points{};     ///< at least 2 * turned rows; shares nothing with what is read, or with dst
  std::uint32_t turned = 0;  ///< at most `children`
};

/// Selections between ciphertexts by an encrypted bit: dst_i = x_i + bit * (y_i - x_i). Equals, for the
/// difference of both, `array_intt`, `split_digits` and `array_ntt` of each component, and `digit_product` of
/// the digits of the first component and then of the second one, with `rows`, plus x_i. dst may be x.
struct select_job {
  poly_array dst;  ///< ciphertexts, as x and y, NTT form
  poly_array x;
  poly_array y;
  poly_array rows;  ///< 2 L * split.digits ciphertexts, at most 64, Montgomery form
  std::uint32_t count = 0;
  digit_split split;
};

/// Selections by several bits, in place: `select_pair` by one bit after the other, from the most significant
/// one on. Bit b lets ciphertext j meet ciphertext j + kept 2^b, where there is one, and has the rows from
/// number 2 L digits b on. The first `kept` ciphertexts are the result; the others are not defined then.
struct select_tree_job {
  poly_array data;  ///< `columns` ciphertexts, NTT form
  poly_array rows;  ///< bits * 2 L split.digits ciphertexts, for each bit at most 64; Montgomery form
  std::uint32_t columns = 0;  ///< more than kept 2^(bits - 1), at most kept 2^bits
  std::uint32_t kept = 0;
  unsigned bits = 2;  ///< 1 to `most_tree_bits`
  digit_split split;
};
inline constexpr unsigned most_tree_bits = 3;  ///< levels that a kernel takes

/// Row `first + i * step` of dst = src_i for i < count.
struct turn_job {
  point_matrix dst;
  std::uint32_t first = 0;
  std::uint32_t step = 1;
  poly_array src;
  std::uint32_t count = 0;
};

/// What one query asks of a `row_select_job`.
struct row_query {
  point_matrix selectors;  ///< 2 * rows rows: component c of the ciphertext of row r is row 2 r + c
  poly_array dst;          ///< `columns` ciphertexts
};

/// dst_j[c] = (sum over r < rows of selector_r[c] * database_(j rows + r)) / 2^32 for each column j and each
/// query: products of matrices, one for each prime and point. Database and selectors have equal blocks.
struct row_select_job {
  point_matrix database;  ///< columns * rows rows, Montgomery form: row r of column j is row j * rows + r
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::vector<row_query> queries;
};

/// dst_i = the ciphertexts of src (coefficient form) rounded to smaller moduli: word j of component c of
/// ciphertext i is round(x 2^bits[c] / q) mod 2^bits[c] for the coefficient x in [0, q), computed as
/// (sum over l of floor(y_l 2^64 / q_l) + 2^(63 - bits[c])) mod 2^64 / 2^(64 - bits[c]) with y_l = x (q /
/// q_l)^-1 mod q_l. The sum is too small by less than L, so for L <= 2^(64 - bits[c]) + 1 that is within one
/// of the exact rounding.
struct round_answer_job {
  const memory::buffer* dst = nullptr;  ///< 64-bit words: 2 N for each ciphertext, from word 2 N first on
  std::uint32_t first = 0;
  poly_array src;
  std::uint32_t count = 0;
  unsigned bits[2] = {0, 0};  ///< 1 to 63
};

/// Plaintexts from bytes: coefficient j of dst_i is factor_l times the `bits` bits from bit j * bits on
/// (least significant bits of bytes first) of the `bytes` bytes at offset + i * stride of src, zero bits
/// behind them, taken in [-2^(bits - 1), 2^(bits - 1)). Coefficient form.
struct unpack_job {
  poly_array dst;
  const memory::buffer* src = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t stride = 0;
  std::uint32_t bytes = 0;  ///< at most N * bits / 8
  std::uint32_t count = 0;
  unsigned bits = 0;                   ///< 2 to 32
  std::vector<std::uint64_t> factors;  ///< residues, one for each prime
};

}  // namespace halocline::backend
