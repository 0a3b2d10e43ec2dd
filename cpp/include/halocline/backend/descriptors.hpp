// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "halocline/arith/uniform_source.hpp"
#include "halocline/arith/window.hpp"
#include "halocline/memory/buffer.hpp"

/// Batch descriptors of the ring-level operations. They are small values that name buffers, never pointers.
namespace halocline::backend {

using arith::seed_bytes;
using arith::uniform_source;
using arith::window;

/// Limbs of one polynomial inside a buffer: limb i is modulo prime `primes.first + i` and occupies the N
/// words from word (limb + i) * N on. All residues are fully reduced.
///
/// A repeated view keeps one of every 2^log_repeat words, which are equal, so that limbs of N >> log_repeat
/// words follow each other. Such are the NTT points, in bit-reversed order, of a polynomial in
/// X^(2^log_repeat). Only operations that say so take repeated views.
struct limb_view {
  const memory::buffer* data = nullptr;
  std::uint32_t limb = 0;
  window primes;
  unsigned log_repeat = 0;  ///< 0, or `least_log_repeat` to log2(N) - 1

  /// The part of the view that lies in `part`, which must be inside `primes`.
  [[nodiscard]] constexpr limb_view slice(window part) const noexcept {
    return {data, limb + (part.first - primes.first), part, log_repeat};
  }
};

/// A vector of any kernel holds at most this many words, and hence one value of a repeated view.
inline constexpr unsigned least_log_repeat = 4;

/// What kernels must know of a ring. Built once by `ring::context`; all parts are table buffers.
struct ring_tables {
  unsigned log_n = 0;
  unsigned word_bits = 32;  ///< 32 or 64
  std::vector<std::uint64_t> primes;
  /// `arith::modulus<word>` for every prime, in order.
  memory::buffer moduli;
  /// For every prime 4 N words: powers of the smallest primitive 2N-th root psi in bit-reversed order
  /// (entry i is psi^bitrev(i)), their Shoup quotients, the powers of psi^-1 in the same order (entry 0,
  /// which no butterfly uses, holds N^-1), and their Shoup quotients.
  memory::buffer roots;

  /// Ring degree N, bytes of a word, bytes of a limb (N words).
  [[nodiscard]] std::size_t n() const noexcept { return std::size_t{1} << log_n; }
  [[nodiscard]] std::size_t word_bytes() const noexcept { return word_bits / 8; }
  [[nodiscard]] std::size_t limb_bytes() const noexcept { return n() * word_bytes(); }
};

/// dst = f(src); dst and src span the same primes; dst may be src itself. In a copy, dst may be a repeated
/// view (and then not src): what it keeps of src.
struct unary_job {
  limb_view dst;
  limb_view src;
};

/// dst = f(a, b); all span the same primes; dst may be a or b.
struct binary_job {
  limb_view dst;
  limb_view a;
  limb_view b;
};

/// Constant of one limb, for the NTT domain: `low` applies to the first N/2 points and `high` to the others.
/// In the bit-reversed order X^(N/2) is +I on the first half and -I on the second (I^2 = -1 mod q), so the
/// pair (a + b I, a - b I) is the complex constant a + b i, and a real constant has low == high.
struct scalar_pair {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// dst = src (op) scalars[i] on limb i; both span the same primes; dst may be src.
struct scalar_job {
  limb_view dst;
  limb_view src;
  std::vector<scalar_pair> scalars;  ///< one per limb, reduced
};

struct conversion_table;

/// Most sources of a conversion that `ntt_linear_combine` does itself.
inline constexpr std::uint32_t max_joined_sources = 4;

/// dst = factor_a[i] * a + factor_b[i] * b on limb i; dst may be a or b. Residue constants, one per limb.
/// Where all factors of a are 0, a may be any limbs, also those that the operation destroys.
struct linear_job {
  limb_view dst;
  limb_view a;
  limb_view b;
  std::vector<std::uint64_t> factor_a;
  std::vector<std::uint64_t> factor_b;
  /// In `ntt_linear_combine`: with a table, b is no operand but the base conversion of `from`, the sources of
  /// the table (coefficient form, at most `max_joined_sources` limbs), to the primes of dst, which are
  /// consecutive targets of it. dst is then not a, unless all factors of a are 0.
  std::vector<limb_view> from{};
  const conversion_table* conversion = nullptr;
};

/// dst = sum_i a[i] * b[i] (added to dst when `accumulate`); all span the same primes; dst is none of them.
/// Each b may be a repeated view.
struct dot_job {
  limb_view dst;
  std::vector<limb_view> a;
  std::vector<limb_view> b;
  bool accumulate = false;
};

/// (d0, d1, d2) = (a0 b0, a0 b1 + a1 b0, a1 b1); outputs are none of the inputs unless each output view
/// equals an input of the same index.
struct tensor_job {
  limb_view d0, d1, d2;
  limb_view a0, a1, b0, b1;
};

/// dst[j] = src[permutation[j]] on every limb (NTT domain); dst is not src. Only for tables of Galois
/// automorphisms: kernels use that these map every aligned block of 2^b entries onto such a block
/// (bit-reversed points of one block agree modulo a power of two in their exponents, and so do their images).
struct automorphism_job {
  limb_view dst;
  limb_view src;
  /// N values of 32 bits, a table made by `ring::context::permutation`.
  const memory::buffer* permutation = nullptr;
};

/// dst = X^exponent * src modulo X^N + 1 (coefficient form): coefficients move up by `exponent` places, and
/// those that pass X^N come back negated. Both span the same primes; dst shares no limb with src.
struct shift_job {
  limb_view dst;
  limb_view src;
  std::uint32_t exponent = 0;  ///< below 2N; X^N is -1
};

/// Binary point of the fixed-point reciprocals of a base conversion. Chosen so that 2^s / d fits a word for
/// every allowed prime (above 2^19 for 32-bit words, above 2^26 for 64-bit words) and a sum of 64 terms does
/// not overflow.
[[nodiscard]] constexpr unsigned reciprocal_shift(unsigned word_bits) noexcept {
  return word_bits == 32 ? 51 : 89;
}

/// Constants of one base conversion from D = d_0 ... d_{k-1} to the primes p_t.
struct conversion_table {
  std::vector<std::uint32_t> sources;  ///< prime indices of d_i, in any order
  std::vector<std::uint32_t> targets;  ///< prime indices of p_t
  /// Words, in this order: k values (D / d_i)^-1 mod d_i, times the scale of the conversion if it has one,
  /// and their k Shoup quotients; k fixed-point reciprocals floor(2^s / d_i), s =
  /// `reciprocal_shift(word_bits)`; then for every target t the k + 1 residues D / d_0, ..., D / d_{k-1}, -D
  /// mod p_t, in Montgomery form (times 2^w mod p_t). k <= 64.
  memory::buffer data;
};

/// Base conversion of coefficients: for each coefficient with residues x_i, let y_i = x_i (D/d_i)^-1 mod d_i,
/// v = floor((sum_i y_i * reciprocal_i + 2^(s-1)) / 2^s), and dst_t = sum_i y_i (D/d_i) - v D mod p_t: the
/// centred representative in [-D/2, D/2) up to the rounding of the fixed-point reciprocals.
struct convert_job {
  std::vector<limb_view> src;  ///< coefficient form; their primes, concatenated, are the sources
  std::vector<limb_view> dst;  ///< coefficient form; their primes, concatenated, are the targets
  const conversion_table* table = nullptr;
};

/// dst = residues of signed integers (coefficient form, not transformed).
struct encode_job {
  limb_view dst;
  /// Signed integers, little endian two's complement, of 1 (64 bits) or 2 (128 bits) 64-bit words each.
  const memory::buffer* coefficients = nullptr;
  unsigned words = 1;
  /// There are N >> log_stride of them, number i the coefficient of X^(i << log_stride); the others are 0.
  unsigned log_stride = 0;
};

/// dst = uniform residues of a seeded stream: limb of prime index i depends only on seed, stream, i and q_i.
struct uniform_job {
  limb_view dst;
  uniform_source source;
};

}  // namespace halocline::backend
