// SPDX-License-Identifier: Apache-2.0
// Vector forms of arith/arith.hpp. Compiled once per instruction set through foreach_target.h, hence the
// toggling guard instead of `#pragma once`.
#if defined(HALOCLINE_SIMD_ARITH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HALOCLINE_SIMD_ARITH_INL
#undef HALOCLINE_SIMD_ARITH_INL
#else
#define HALOCLINE_SIMD_ARITH_INL
#endif

#include <cstddef>
#include <cstdint>

#include "halocline/arith/modulus.hpp"
#include "hwy/highway.h"

/// Whether the instruction set being compiled gets vector kernels.
#undef HALOCLINE_SIMD
#define HALOCLINE_SIMD (HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)
/// Whether it is AVX-512 (or better): 32 registers, masks, 64-bit minimum and product.
#undef HALOCLINE_SIMD_AVX512
#define HALOCLINE_SIMD_AVX512 (HWY_TARGET == HWY_AVX3)

#if HALOCLINE_SIMD
HWY_BEFORE_NAMESPACE();
namespace halocline::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename WordT>
using tag = hn::ScalableTag<WordT>;
template <typename WordT>
using vec = hn::Vec<tag<WordT>>;
using vec32 = vec<std::uint32_t>;
using vec64 = vec<std::uint64_t>;

HWY_INLINE vec64 as64(vec32 v) { return hn::BitCast(tag<std::uint64_t>(), v); }
HWY_INLINE vec32 as32(vec64 v) { return hn::BitCast(tag<std::uint32_t>(), v); }

template <typename WordT>
HWY_INLINE vec<WordT> broadcast(WordT x) {
  return hn::Set(tag<WordT>(), x);
}
template <typename WordT>
HWY_INLINE vec<WordT> load(const WordT* from) {
  return hn::LoadU(tag<WordT>(), from);
}
template <typename WordT>
HWY_INLINE void store(vec<WordT> v, WordT* to) {
  hn::StoreU(v, tag<WordT>(), to);
}

/// Odd 32-bit lanes moved to the even places below them (the odd places are zero).
HWY_INLINE vec32 odd_lanes(vec32 v) { return as32(hn::ShiftRight<32>(as64(v))); }

/// x - bound where that is not negative, x elsewhere. 32-bit: any x; 64-bit: x < bound + 2^63, bound < 2^63.
HWY_INLINE vec32 subtract_once(vec32 x, vec32 bound) { return hn::Min(x, hn::Sub(x, bound)); }
HWY_INLINE vec64 subtract_once(vec64 x, vec64 bound) {
#if HALOCLINE_SIMD_AVX512
  return hn::Min(x, hn::Sub(x, bound));
#else
  const hn::RebindToSigned<tag<std::uint64_t>> di;
  const auto rest = hn::BitCast(di, hn::Sub(x, bound));
  return hn::BitCast(tag<std::uint64_t>(),
                     hn::IfThenElse(hn::MaskFromVec(hn::BroadcastSignBit(rest)), hn::BitCast(di, x), rest));
#endif
}

/// 64-bit products of the even 32-bit lanes.
HWY_INLINE vec64 mul_even(vec32 a, vec32 b) { return hn::MulEven(a, b); }
HWY_INLINE vec64 mul_even(vec64 a, vec64 b) { return hn::MulEven(as32(a), as32(b)); }

/// Upper halves of 64-bit lanes as 32-bit lanes: those of `even` at even places, those of `odd` at odd
/// places.
HWY_INLINE vec32 merge_high(vec64 even, vec64 odd) { return hn::OddEven(as32(odd), hn::DupOdd(as32(even))); }
/// The same for lower halves.
HWY_INLINE vec32 merge_low(vec64 even, vec64 odd) { return hn::OddEven(hn::DupEven(as32(odd)), as32(even)); }

/// Low words of products.
HWY_INLINE vec32 mul_low(vec32 a, vec32 b) { return hn::Mul(a, b); }
HWY_INLINE vec64 mul_low(vec64 a, vec64 b) {
#if HALOCLINE_SIMD_AVX512
  return hn::Mul(a, b);
#else
  const vec64 cross = hn::Add(mul_even(a, hn::ShiftRight<32>(b)), mul_even(hn::ShiftRight<32>(a), b));
  return hn::Add(mul_even(a, b), hn::ShiftLeft<32>(cross));
#endif
}

/// High words of products.
HWY_INLINE vec32 mul_high(vec32 a, vec32 b) {
  return merge_high(mul_even(a, b), mul_even(odd_lanes(a), odd_lanes(b)));
}
HWY_INLINE vec64 mul_high(vec64 a, vec64 b) {
  const vec64 a1 = hn::ShiftRight<32>(a);
  const vec64 b1 = hn::ShiftRight<32>(b);
  const vec64 low_mask = broadcast<std::uint64_t>(0xffffffffU);
  const vec64 middle = hn::Add(mul_even(a1, b), hn::ShiftRight<32>(mul_even(a, b)));
  const vec64 cross = hn::Add(mul_even(a, b1), hn::And(middle, low_mask));
  return hn::Add(hn::Add(mul_even(a1, b1), hn::ShiftRight<32>(middle)), hn::ShiftRight<32>(cross));
}

/// Lazy arithmetic modulo one prime. Values stay in [0, 2 B) and products in [0, B], where B = 2q for 32-bit
/// words (Harvey 2014) and B = 4q for 64-bit words: there the quotient estimate drops partial products and
/// may be two too small, which the three free bits of a 61-bit prime pay for.
template <typename WordT>
struct lazy_prime;

template <>
struct lazy_prime<std::uint32_t> {
  vec32 q, bound;

  HWY_INLINE explicit lazy_prime(const arith::modulus<std::uint32_t>& m)
      : q(broadcast(m.value)), bound(broadcast(2 * m.value)) {}

  /// x * w in [0, B) for any x; w_quotient is the Shoup quotient of w, equal in both lanes of each pair.
  HWY_INLINE vec32 mul_paired(vec32 x, vec32 w, vec32 w_quotient) const {
    const vec32 high = merge_high(mul_even(x, w_quotient), mul_even(odd_lanes(x), w_quotient));
    return hn::Sub(mul_low(x, w), mul_low(high, q));
  }
  /// The same for a factor of its own in every lane.
  HWY_INLINE vec32 mul(vec32 x, vec32 w, vec32 w_quotient) const {
    const vec32 high = mul_high(x, w_quotient);
    return hn::Sub(mul_low(x, w), mul_low(high, q));
  }
  /// [0, 2B) to [0, B).
  HWY_INLINE vec32 reduce(vec32 x) const { return subtract_once(x, bound); }
  /// [0, B] to [0, q).
  HWY_INLINE vec32 finish_product(vec32 x) const { return subtract_once(x, q); }
};

template <>
struct lazy_prime<std::uint64_t> {
  vec64 q, q2, bound;

  HWY_INLINE explicit lazy_prime(const arith::modulus<std::uint64_t>& m)
      : q(broadcast(m.value)), q2(broadcast(2 * m.value)), bound(broadcast(4 * m.value)) {}

  HWY_INLINE vec64 mul(vec64 x, vec64 w, vec64 w_quotient) const {
    const vec64 x1 = hn::ShiftRight<32>(x);
    const vec64 w1 = hn::ShiftRight<32>(w_quotient);
    const vec64 cross =
        hn::Add(hn::ShiftRight<32>(mul_even(x, w1)), hn::ShiftRight<32>(mul_even(x1, w_quotient)));
    const vec64 high = hn::Add(mul_even(x1, w1), cross);
    return hn::Sub(mul_low(x, w), mul_low(high, q));
  }
  HWY_INLINE vec64 mul_paired(vec64 x, vec64 w, vec64 w_quotient) const { return mul(x, w, w_quotient); }
  HWY_INLINE vec64 reduce(vec64 x) const { return subtract_once(x, bound); }
  HWY_INLINE vec64 finish_product(vec64 x) const { return subtract_once(subtract_once(x, q2), q); }
};

/// A factor and its Shoup quotient in every lane.
template <typename WordT>
struct factor {
  vec<WordT> value, quotient;
};

template <typename WordT>
HWY_INLINE factor<WordT> broadcast_factor(WordT value, WordT quotient) {
  return {broadcast(value), broadcast(quotient)};
}

}  // namespace HWY_NAMESPACE
}  // namespace halocline::backend::cpu
HWY_AFTER_NAMESPACE();
#endif  // HALOCLINE_SIMD

#endif  // HALOCLINE_SIMD_ARITH_INL
