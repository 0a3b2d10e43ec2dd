// SPDX-License-Identifier: Apache-2.0
// Sums of double-width products and their reduction. Compiled once per instruction set (see
// simd_arith_inl.hpp).
#if defined(HALOCLINE_SIMD_WIDE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HALOCLINE_SIMD_WIDE_INL
#undef HALOCLINE_SIMD_WIDE_INL
#else
#define HALOCLINE_SIMD_WIDE_INL
#endif

#include "backend/cpu/simd_arith_inl.hpp"

#if HALOCLINE_SIMD
HWY_BEFORE_NAMESPACE();
namespace halocline::backend::cpu {
namespace HWY_NAMESPACE {

/// Most products of residues (or of other words below 2^30 or 2^61) that one sum may hold: with q < 2^30, 12
/// q^2 plus the Montgomery multiple 2^32 q stays below 2^64, and its reduction below 4q; 64-bit words have
/// more room.
constexpr std::size_t max_products = 12;

/// One double-width unsigned integer per word lane, 0 at first. (Constructors are written out throughout:
/// those that the compiler adds are not compiled for the instruction set.)
template <typename WordT>
struct wide_sum;

/// 64-bit sums of the even and of the odd lanes.
template <>
struct wide_sum<std::uint32_t> {
  vec64 even, odd;

  HWY_INLINE wide_sum() : even(hn::Zero(tag<std::uint64_t>())), odd(even) {}
  HWY_INLINE wide_sum(vec64 even_lanes, vec64 odd_lanes) : even(even_lanes), odd(odd_lanes) {}

  HWY_INLINE void add_product(vec32 a, vec32 b) {
    even = hn::Add(even, mul_even(a, b));
    odd = hn::Add(odd, mul_even(odd_lanes(a), odd_lanes(b)));
  }
  /// For a constant b, equal in all lanes.
  HWY_INLINE void add_scaled(vec32 a, vec32 b) {
    even = hn::Add(even, mul_even(a, b));
    odd = hn::Add(odd, mul_even(odd_lanes(a), b));
  }
};

/// 128-bit sums in two vectors.
template <>
struct wide_sum<std::uint64_t> {
  vec64 high, low;

  HWY_INLINE wide_sum() : high(hn::Zero(tag<std::uint64_t>())), low(high) {}
  HWY_INLINE wide_sum(vec64 high_words, vec64 low_words) : high(high_words), low(low_words) {}

  HWY_INLINE void add_product(vec64 a, vec64 b) {
    const vec64 product_low = mul_low(a, b);
    low = hn::Add(low, product_low);
    const vec64 carry =
        hn::VecFromMask(tag<std::uint64_t>(), hn::Lt(low, product_low));  // all ones: minus one
    high = hn::Sub(hn::Add(high, mul_high(a, b)), carry);
  }
  HWY_INLINE void add_scaled(vec64 a, vec64 b) { add_product(a, b); }
};

/// z mod q for z < 2 q 2^bits, like `arith::reduce`; the quotient estimate is at most three too small.
template <typename WordT>
struct barrett_prime;

template <>
struct barrett_prime<std::uint32_t> {
  vec32 q, q2, reciprocal;
  int shift;

  HWY_INLINE explicit barrett_prime(const arith::modulus<std::uint32_t>& m)
      : q(broadcast(m.value)),
        q2(broadcast(2 * m.value)),
        reciprocal(broadcast(m.barrett << (31 - m.bits))),  // so that the quotient is the high word
        shift(static_cast<int>(m.bits) - 1) {}

  HWY_INLINE vec32 reduce(const wide_sum<std::uint32_t>& z) const {
    const vec32 even = as32(hn::ShiftRightSame(z.even, shift));
    const vec32 odd = as32(hn::ShiftRightSame(z.odd, shift));
    const vec32 quotient = merge_high(mul_even(even, reciprocal), mul_even(odd, reciprocal));
    const vec32 rest = hn::Sub(merge_low(z.even, z.odd), mul_low(quotient, q));
    return subtract_once(subtract_once(rest, q2), q);
  }
};

template <>
struct barrett_prime<std::uint64_t> {
  vec64 q, q2, reciprocal;
  int shift;

  HWY_INLINE explicit barrett_prime(const arith::modulus<std::uint64_t>& m)
      : q(broadcast(m.value)),
        q2(broadcast(2 * m.value)),
        reciprocal(broadcast(m.barrett << (63 - m.bits))),
        shift(static_cast<int>(m.bits) - 1) {}

  HWY_INLINE vec64 reduce(const wide_sum<std::uint64_t>& z) const {
    const vec64 top = hn::Or(hn::ShiftRightSame(z.low, shift), hn::ShiftLeftSame(z.high, 64 - shift));
    const vec64 rest = hn::Sub(z.low, mul_low(mul_high(top, reciprocal), q));
    return subtract_once(subtract_once(rest, q2), q);
  }
};

/// z 2^-w mod q for sums of up to `max_products` products, like `arith::montgomery_reduce`.
template <typename WordT>
struct montgomery_prime;

template <>
struct montgomery_prime<std::uint32_t> {
  vec32 q, q2, neg_inv;

  HWY_INLINE explicit montgomery_prime(const arith::modulus<std::uint32_t>& m)
      : q(broadcast(m.value)), q2(broadcast(2 * m.value)), neg_inv(broadcast(m.neg_inv)) {}

  /// Result in [0, 4q).
  HWY_INLINE vec32 reduce_lazy(const wide_sum<std::uint32_t>& z) const {
    return merge_high(fold(z.even), fold(z.odd));
  }
  HWY_INLINE vec32 reduce(const wide_sum<std::uint32_t>& z) const {
    return subtract_once(subtract_once(reduce_lazy(z), q2), q);
  }

 private:
  HWY_INLINE vec64 fold(vec64 z) const { return hn::Add(z, mul_even(mul_even(as32(z), neg_inv), as64(q))); }
};

template <>
struct montgomery_prime<std::uint64_t> {
  vec64 q, q2, neg_inv;

  HWY_INLINE explicit montgomery_prime(const arith::modulus<std::uint64_t>& m)
      : q(broadcast(m.value)), q2(broadcast(2 * m.value)), neg_inv(broadcast(m.neg_inv)) {}

  HWY_INLINE vec64 reduce_lazy(const wide_sum<std::uint64_t>& z) const {
    // The low words add up to 2^64 unless both are zero.
    const tag<std::uint64_t> d;
    const vec64 carry = hn::IfThenElseZero(hn::Ne(z.low, hn::Zero(d)), hn::Set(d, 1));
    return hn::Add(hn::Add(z.high, carry), mul_high(mul_low(z.low, neg_inv), q));
  }
  HWY_INLINE vec64 reduce(const wide_sum<std::uint64_t>& z) const {
    return subtract_once(subtract_once(reduce_lazy(z), q2), q);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace halocline::backend::cpu
HWY_AFTER_NAMESPACE();
#endif  // HALOCLINE_SIMD

#endif  // HALOCLINE_SIMD_WIDE_INL
