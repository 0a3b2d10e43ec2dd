// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/ntt/ntt_rounds.cuh"

/// Arithmetic of transforms whose primes are so small that sums need hardly any reduction: below 2^56 in
/// 64-bit words, as SEAL's default primes are. For host and device.
///
/// Going forward a butterfly adds less than 4q to a word, so words that begin below 8q are below 76q after 17
/// stages, which is below 2^64: nothing is reduced before the end. Going back sums double. A round of up to
/// four stages begins with words below 8q and ends with words below 128q; the quarter of them that may exceed
/// 8q then is reduced, with a quotient of a few bits.
namespace halocline::backend::cuda {

/// `twiddle_table` of such a prime. `bound`: what differences are kept positive with, 4q forward and 128q
/// back.
template <typename WordT, bool in_shared = false>
struct lean_table : twiddle_table<WordT, in_shared> {
  WordT negative;            ///< 2^64 - q: sums of products come out of the multiplier
  std::uint32_t reciprocal;  ///< at most 2^(23 + shift) / q, and less than three below it
  std::uint32_t shift;       ///< leaves 16 bits of a word below 128q
};

/// -q, in a way that a compiler does not turn into subtractions again.
HALOCLINE_HOST_DEVICE inline std::uint64_t negated(std::uint64_t q) {
  std::uint64_t negative = 0 - q;
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+l"(negative));
#endif
  return negative;
}

/// Sets what depends on the prime.
template <bool inverse, bool near, typename WordT>
HALOCLINE_HOST_DEVICE inline void set_prime(lean_table<WordT, near>& at, const arith::modulus<WordT>& prime) {
  static_assert(sizeof(WordT) == 8);
  const auto bits = static_cast<std::uint32_t>(prime.bits < 16 ? 16 : prime.bits);
  at.q = prime.value;
  at.bound = lazy_bound(inverse ? prime.value << 5 : prime.value);
  at.negative = negated(prime.value);
  at.reciprocal = (1U << 30) / (static_cast<std::uint32_t>(prime.value >> (bits - 16)) + 1);
  at.shift = bits - 9;
}

template <typename WordT>
HALOCLINE_HOST_DEVICE inline lean_table<WordT, true> near_table(const lean_table<WordT>& at,
                                                                const WordT* roots, const WordT* quotients) {
  return {{roots, quotients, at.q, at.bound}, at.negative, at.reciprocal, at.shift};
}

/// The same residue below 2q, of a word below 128q. The quotient is less than 1.02 too small.
template <bool near, typename WordT>
HALOCLINE_HOST_DEVICE inline WordT reduce_sum(WordT x, const lean_table<WordT, near>& at) {
  const std::uint32_t quotient = (static_cast<std::uint32_t>(x >> at.shift) * at.reciprocal) >> 23;
  return x + quotient * at.negative;
}

template <bool near, typename WordT>
HALOCLINE_HOST_DEVICE inline WordT before_sum(WordT x, const lean_table<WordT, near>&) {
  return x;
}
template <bool near, typename WordT>
HALOCLINE_HOST_DEVICE inline WordT after_sum(WordT x, const lean_table<WordT, near>&) {
  return x;
}
template <bool near, typename WordT>
HALOCLINE_HOST_DEVICE inline WordT times(WordT x, WordT w, WordT quotient,
                                         const lean_table<WordT, near>& at) {
  return x * w + mul_high_lazy(x, quotient) * at.negative;
}
template <bool near, typename WordT>
HALOCLINE_HOST_DEVICE inline WordT times_plain(WordT x, WordT w, WordT quotient,
                                               const lean_table<WordT, near>& at) {
  return times(x, w, quotient, at);
}

/// Reduces the words that `count` stages back from words below 8q may have brought beyond that: those that
/// have been in three sums since their last product, or in no product.
template <unsigned e, unsigned count, bool near, typename WordT>
HALOCLINE_HOST_DEVICE inline void end_round(WordT (&x)[1U << e], const lean_table<WordT, near>& at) {
  constexpr unsigned grown = 1U << (count == 1 ? e - 1 : e - 2);
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < grown; ++i) x[i] = reduce_sum(x[i], at);
}

/// Full reduction of a result of a forward transform.
template <bool near, typename WordT>
HALOCLINE_HOST_DEVICE inline WordT reduce_result(WordT x, const lean_table<WordT, near>& at) {
  return reduce_once<WordT>(reduce_sum(x, at), at.q);
}

}  // namespace halocline::backend::cuda
