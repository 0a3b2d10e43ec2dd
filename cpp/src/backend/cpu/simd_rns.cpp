// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/simd_config.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/simd_rns.cpp"
#include "hwy/foreach_target.h"
// Highway needs foreach_target.h before everything else.
#include "backend/cpu/scalar_rns.hpp"
#include "backend/cpu/simd_kernels.hpp"
#include "backend/cpu/simd_wide_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace halocline::backend::cpu {
namespace HWY_NAMESPACE {

#if HALOCLINE_SIMD

template <typename WordT>
constexpr std::size_t lanes = hn::MaxLanes(tag<WordT>());

/// Vectors of coefficients that share one load of a conversion constant.
constexpr std::size_t columns = 4;

/// Words for the intermediate y_i and v of a block: half of a first-level data cache, and a whole step of
/// columns for the largest number of sources.
template <typename WordT>
constexpr std::size_t scratch_words = HWY_MAX((std::size_t{1} << 14) / sizeof(WordT),
                                              (scalar::max_sources + 1) * columns * lanes<WordT>);

/// v = floor(z / 2^shift) of a sum z of y_i times reciprocals, as words.
HWY_INLINE vec32 quotient_word(const wide_sum<std::uint32_t>& z) {
  constexpr int shift = reciprocal_shift(32);
  const vec64 odd = hn::ShiftLeft<32>(hn::ShiftRight<shift>(z.odd));
  return as32(hn::Or(hn::ShiftRight<shift>(z.even), odd));
}
HWY_INLINE vec64 quotient_word(const wide_sum<std::uint64_t>& z) {
  constexpr int shift = reciprocal_shift(64);
  static_assert(shift > 64);
  return hn::ShiftRight<shift - 64>(z.high);
}

/// The sum that begins at 2^(s-1), one half.
HWY_INLINE wide_sum<std::uint32_t> one_half(tag<std::uint32_t>) {
  const vec64 half = broadcast(std::uint64_t{1} << (reciprocal_shift(32) - 1));
  return {half, half};
}
HWY_INLINE wide_sum<std::uint64_t> one_half(tag<std::uint64_t> d) {
  return {broadcast(std::uint64_t{1} << (reciprocal_shift(64) - 65)), hn::Zero(d)};
}

/// y_0, ..., y_{k-1}, v of words [begin, begin + count), each `stride` words apart in `scratch`.
template <typename WordT>
void convert_sources(WordT* scratch, std::size_t stride, const WordT* const* src, std::size_t begin,
                     std::size_t count, const conversion<WordT>& c) {
  for (std::size_t j = 0; j < count; j += lanes<WordT>) {
    wide_sum<WordT> fraction = one_half(tag<WordT>());
    for (std::size_t i = 0; i < c.sources; ++i) {
      const lazy_prime<WordT> f(*c.source_moduli[i]);
      const vec<WordT> y = f.finish_product(f.mul_paired(load(src[i] + begin + j), broadcast(c.inverses[i]),
                                                         broadcast(c.inverse_quotients[i])));
      fraction.add_scaled(y, broadcast(c.reciprocals[i]));
      store<WordT>(y, scratch + i * stride + j);
    }
    store<WordT>(quotient_word(fraction), scratch + c.sources * stride + j);
  }
}

/// sum_i factors_i * scratch_i mod p for `Columns` vectors.
template <std::size_t Columns, typename WordT>
HWY_INLINE void convert_columns(WordT* dst, const WordT* scratch, std::size_t stride, const WordT* factors,
                                std::size_t terms, const montgomery_prime<WordT>& p) {
  vec<WordT> result[Columns];
  for (std::size_t first = 0; first < terms; first += max_products) {
    wide_sum<WordT> z[Columns];
    const std::size_t end = HWY_MIN(terms, first + max_products);
    for (std::size_t i = first; i < end; ++i) {
      const vec<WordT> factor = broadcast(factors[i]);
      HWY_UNROLL(8)
      for (std::size_t k = 0; k < Columns; ++k) {
        z[k].add_scaled(load(scratch + i * stride + k * lanes<WordT>), factor);
      }
    }
    HWY_UNROLL(8)
    for (std::size_t k = 0; k < Columns; ++k) {
      const vec<WordT> part = p.reduce(z[k]);
      result[k] = first == 0 ? part : subtract_once(hn::Add(result[k], part), p.q);
    }
  }
  HWY_UNROLL(8)
  for (std::size_t k = 0; k < Columns; ++k) store<WordT>(result[k], dst + k * lanes<WordT>);
}

template <typename WordT>
void base_convert(WordT* const* dst, const WordT* const* src, word_range range, const conversion<WordT>& c) {
  constexpr std::size_t step = columns * lanes<WordT>;
  if (range.count % lanes<WordT> != 0) return scalar::base_convert(dst, src, range, c);
  HWY_ALIGN WordT scratch[scratch_words<WordT>];
  const std::size_t terms = c.sources + 1;
  const std::size_t block = scratch_words<WordT> / terms / step * step;
  for (std::size_t done = 0; done < range.count; done += block) {
    const std::size_t count = HWY_MIN(block, range.count - done);
    const std::size_t begin = range.begin + done;
    convert_sources(scratch, block, src, begin, count, c);
    for (std::size_t t = 0; t < c.targets; ++t) {
      const montgomery_prime<WordT> p(*c.target_moduli[t]);
      const WordT* const factors = c.factors + t * terms;
      WordT* const out = dst[t] + begin;
      std::size_t j = 0;
      for (; j + step <= count; j += step) {
        convert_columns<columns>(out + j, scratch + j, block, factors, terms, p);
      }
      for (; j < count; j += lanes<WordT>) convert_columns<1>(out + j, scratch + j, block, factors, terms, p);
    }
  }
}

/// Constants of the encoding modulo one prime: x = sum_i x_i 2^(w i) with the sign bit of x flipped, which
/// adds 2^63 (or 2^127) to the value.
template <typename WordT>
struct encoding {
  montgomery_prime<WordT> p;
  vec<WordT> r[4];     ///< 2^(w (i + 1)) mod q
  vec<WordT> flipped;  ///< q - 2^(64 words - 1) mod q

  HWY_INLINE encoding(const arith::modulus<WordT>& m, unsigned words) : p(m) {
    WordT power = m.r;
    for (auto& each : r) {
      each = broadcast(power);
      power = arith::mul_mod(power, m.r, m);
    }
    flipped = broadcast(arith::negate_mod(arith::pow_mod<WordT>(2, 64 * words - 1, m), m));
  }

  /// Residue of x_low + x_high 2^w, times 2^(w first).
  HWY_INLINE vec<WordT> residue(vec<WordT> low, vec<WordT> high, unsigned first) const {
    wide_sum<WordT> z;
    z.add_scaled(low, r[first]);
    z.add_scaled(high, r[first + 1]);
    return p.reduce(z);
  }
  HWY_INLINE vec<WordT> sum(vec<WordT> a, vec<WordT> b) const { return subtract_once(hn::Add(a, b), p.q); }
};

HWY_INLINE vec32 encode_vector(const encoding<std::uint32_t>& e, const std::uint64_t* from, unsigned words) {
  const tag<std::uint32_t> d;
  const vec32 sign = broadcast(std::uint32_t{1} << 31);
  const auto* const halves = reinterpret_cast<const std::uint32_t*>(from);
  vec32 x0, x1, x2, x3;
  if (words == 1) {
    hn::LoadInterleaved2(d, halves, x0, x1);
    return e.sum(e.residue(x0, hn::Xor(x1, sign), 0), e.flipped);
  }
  hn::LoadInterleaved4(d, halves, x0, x1, x2, x3);
  const vec32 low = e.residue(x0, x1, 0);
  return e.sum(e.sum(low, e.residue(x2, hn::Xor(x3, sign), 2)), e.flipped);
}

HWY_INLINE vec64 encode_vector(const encoding<std::uint64_t>& e, const std::uint64_t* from, unsigned words) {
  const tag<std::uint64_t> d;
  const vec64 sign = broadcast(std::uint64_t{1} << 63);
  if (words == 1) return e.sum(e.residue(hn::Xor(load(from), sign), hn::Zero(d), 0), e.flipped);
  vec64 x0, x1;
  hn::LoadInterleaved2(d, from, x0, x1);
  return e.sum(e.residue(x0, hn::Xor(x1, sign), 0), e.flipped);
}

template <typename WordT>
void encode_expand(WordT* dst, const std::uint64_t* coefficients, unsigned words, std::size_t count,
                   const arith::modulus<WordT>& m) {
  if (count % lanes<WordT> != 0) return scalar::encode_expand(dst, coefficients, words, count, m);
  const encoding<WordT> e(m, words);
  for (std::size_t i = 0; i < count; i += lanes<WordT>) {
    store<WordT>(encode_vector(e, coefficients + i * words, words), dst + i);
  }
}

template <typename WordT>
void fill(kernel_set<WordT>& kernels) {
  kernels.base_convert = base_convert<WordT>;
  kernels.encode_expand = encode_expand<WordT>;
}

#else

template <typename WordT>
void fill(kernel_set<WordT>&) {}

#endif  // HALOCLINE_SIMD

void fill_rns32(kernel_set<std::uint32_t>& kernels) { fill(kernels); }
void fill_rns64(kernel_set<std::uint64_t>& kernels) { fill(kernels); }

}  // namespace HWY_NAMESPACE
}  // namespace halocline::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halocline::backend::cpu {

HWY_EXPORT(fill_rns32);
HWY_EXPORT(fill_rns64);

void add_rns_kernels(kernel_set<std::uint32_t>& kernels) { HWY_DYNAMIC_DISPATCH(fill_rns32)(kernels); }
void add_rns_kernels(kernel_set<std::uint64_t>& kernels) { HWY_DYNAMIC_DISPATCH(fill_rns64)(kernels); }

}  // namespace halocline::backend::cpu
#endif  // HWY_ONCE
