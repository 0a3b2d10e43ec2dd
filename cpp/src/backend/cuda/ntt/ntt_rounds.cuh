// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/ntt/ntt_words.cuh"

/// Register-level parts of the transforms, for host and device: a thread holds 2^e words and runs up to e
/// stages on them. Values stay lazily reduced (Harvey): in [0, 2b) going forward, in [0, b) going back, with
/// the bound b = 2q in 32-bit words and 4q in 64-bit words.
///
/// Twiddles form a binary tree in `ring_tables::roots`: the butterfly group with number `node` of one stage
/// has the groups 2 node and 2 node + 1 below it in the next stage, and entry `node` is its twiddle. So a
/// thread whose words belong to one node finds those of j stages on in the entries (node << j) + h.
namespace halocline::backend::cuda {

/// Whether tables in shared memory hold only quotients. For a twiddle w with the quotient w' = floor(w 2^bits
/// / q), w 2^bits = w' q + rest with 0 < rest < q, so w is one more than the high word of w' q; and x w = x
/// (w - 1) + x costs nothing more than x w does. That halves the bytes of twiddles for one product each,
/// which is dear in 64-bit words.
template <typename WordT>
inline constexpr bool quotients_suffice = sizeof(WordT) == 4;

/// Table of one prime and one direction; `in_shared`: in the block's shared memory.
template <typename WordT, bool in_shared = false>
struct twiddle_table {
  static constexpr bool near = in_shared;
  const WordT* roots;
  const WordT* quotients;
  WordT q;
  WordT bound;  ///< lazy_bound(q)
};

/// Sets what depends on the prime.
template <bool inverse, bool near, typename WordT>
HALOCLINE_HOST_DEVICE inline void set_prime(twiddle_table<WordT, near>& at,
                                            const arith::modulus<WordT>& prime) {
  at.q = prime.value;
  at.bound = lazy_bound(at.q);
}
/// The same prime with twiddles in shared memory.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline twiddle_table<WordT, true> near_table(const twiddle_table<WordT>& at,
                                                                   const WordT* roots,
                                                                   const WordT* quotients) {
  return {roots, quotients, at.q, at.bound};
}

/// Twiddles of one stage, less one where the table holds only quotients.
template <unsigned j, typename WordT, bool near>
HALOCLINE_HOST_DEVICE inline void read_twiddles(WordT (&w)[1U << j], WordT (&quotient)[1U << j],
                                                const twiddle_table<WordT, near>& at, std::uint32_t node) {
  constexpr unsigned groups = 1U << j;
  const std::size_t first = static_cast<std::size_t>(node) << j;
  read_table<near, groups>(quotient, at.quotients + first);
  if constexpr (near && quotients_suffice<WordT>) {
    HALOCLINE_UNROLL
    for (unsigned h = 0; h < groups; ++h) w[h] = mul_high(quotient[h], at.q);
  } else {
    read_table<near, groups>(w, at.roots + first);
  }
}

/// x times a twiddle that `read_twiddles` read, in [0, lazy_bound(q)).
template <bool near, typename WordT>
HALOCLINE_HOST_DEVICE inline WordT times(WordT x, WordT w, WordT quotient,
                                         const twiddle_table<WordT, near>& at) {
  if constexpr (near && quotients_suffice<WordT>) return x * w + x - mul_high_lazy(x, quotient) * at.q;
  return mul_lazy(x, w, quotient, at.q);
}
/// x times any w.
template <bool near, typename WordT>
HALOCLINE_HOST_DEVICE inline WordT times_plain(WordT x, WordT w, WordT quotient,
                                               const twiddle_table<WordT, near>& at) {
  return mul_lazy(x, w, quotient, at.q);
}
/// What a forward butterfly does to the word that it does not multiply, and an inverse one to the sum.
template <bool near, typename WordT>
HALOCLINE_HOST_DEVICE inline WordT before_sum(WordT x, const twiddle_table<WordT, near>& at) {
  return reduce_once<WordT>(x, at.bound);
}
template <bool near, typename WordT>
HALOCLINE_HOST_DEVICE inline WordT after_sum(WordT x, const twiddle_table<WordT, near>& at) {
  return reduce_once<WordT>(x, at.bound);
}
/// What an inverse round of `count` stages ends with.
template <unsigned e, unsigned count, bool near, typename WordT>
HALOCLINE_HOST_DEVICE inline void end_round(WordT (&)[1U << e], const twiddle_table<WordT, near>&) {}
/// Full reduction of a result of a forward transform.
template <bool near, typename WordT>
HALOCLINE_HOST_DEVICE inline WordT reduce_result(WordT x, const twiddle_table<WordT, near>& at) {
  return reduce_product(reduce_once<WordT>(x, at.bound), at.q);
}

/// One stage of a forward round: 2^j groups of 2^(e - j) words each. TableT: `twiddle_table`, or
/// `lean_table`.
template <unsigned e, unsigned j, typename WordT, typename TableT>
HALOCLINE_HOST_DEVICE inline void forward_stage(WordT (&x)[1U << e], const TableT& at, std::uint32_t node) {
  constexpr unsigned groups = 1U << j, half = 1U << (e - 1 - j);
  const WordT bound = at.bound;
  WordT w[groups], quotient[groups];
  read_twiddles<j>(w, quotient, at, node);
  HALOCLINE_UNROLL
  for (unsigned h = 0; h < groups; ++h) {
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < half; ++i) {
      WordT& low = x[2 * h * half + i];
      WordT& high = x[2 * h * half + half + i];
      const WordT a = before_sum(low, at);
      const WordT b = times(high, w[h], quotient[h], at);
      low = a + b;
      high = a + bound - b;
    }
  }
}

/// One stage of an inverse round.
template <unsigned e, unsigned j, typename WordT, typename TableT>
HALOCLINE_HOST_DEVICE inline void inverse_stage(WordT (&x)[1U << e], const TableT& at, std::uint32_t node) {
  constexpr unsigned groups = 1U << j, half = 1U << (e - 1 - j);
  const WordT bound = at.bound;
  WordT w[groups], quotient[groups];
  read_twiddles<j>(w, quotient, at, node);
  HALOCLINE_UNROLL
  for (unsigned h = 0; h < groups; ++h) {
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < half; ++i) {
      WordT& low = x[2 * h * half + i];
      WordT& high = x[2 * h * half + half + i];
      const WordT a = low, b = high;
      low = after_sum<TableT::near, WordT>(a + b, at);
      high = times<TableT::near, WordT>(a + bound - b, w[h], quotient[h], at);
    }
  }
}

/// The first `stages` stages of a round of 2^e words whose group is `node`.
template <unsigned e, unsigned stages, typename WordT, typename TableT>
HALOCLINE_HOST_DEVICE inline void forward_round(WordT (&x)[1U << e], const TableT& at, std::uint32_t node) {
  forward_stage<e, 0>(x, at, node);
  if constexpr (stages > 1) forward_stage<e, 1>(x, at, node);
  if constexpr (stages > 2) forward_stage<e, 2>(x, at, node);
  if constexpr (stages > 3) forward_stage<e, 3>(x, at, node);
}

/// Undoes `forward_round`, but for the factor 2^stages.
template <unsigned e, unsigned stages, typename WordT, typename TableT>
HALOCLINE_HOST_DEVICE inline void inverse_round(WordT (&x)[1U << e], const TableT& at, std::uint32_t node) {
  if constexpr (stages > 3) inverse_stage<e, 3>(x, at, node);
  if constexpr (stages > 2) inverse_stage<e, 2>(x, at, node);
  if constexpr (stages > 1) inverse_stage<e, 1>(x, at, node);
  inverse_stage<e, 0>(x, at, node);
  end_round<e, stages>(x, at);
}

/// The last stage of an inverse transform, with the factor 1/N; results are fully reduced. Its twiddle times
/// 1/N is not in the table, so the pair is made here: a quotient floor(a b 2^w / q) - k 2^w of a product is
/// b a' + floor(b r / q) for the quotient a' of a and the rest r = a 2^w - a' q.
template <unsigned e, typename WordT, typename TableT>
HALOCLINE_HOST_DEVICE inline void last_inverse_stage(WordT (&x)[1U << e], const TableT& at) {
  constexpr bool near = TableT::near;
  constexpr unsigned half = 1U << (e - 1);
  const WordT q = at.q, bound = at.bound;
  WordT scale[2], quotient[2];
  read_table<near, 2>(scale, at.roots);
  read_table<near, 2>(quotient, at.quotients);
  const WordT a = scale[1], b = scale[0];
  const WordT rest = WordT{0} - quotient[1] * q;
  const WordT estimate = mul_high(rest, quotient[0]);
  const WordT more = rest * b - estimate * q >= q ? 1 : 0;
  const WordT w = reduce_product(mul_lazy(a, b, quotient[0], q), q);
  const WordT w_quotient = b * quotient[1] + estimate + more;
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < half; ++i) {
    const WordT low = x[i], high = x[half + i];
    x[i] = reduce_product(times_plain<near, WordT>(low + high, scale[0], quotient[0], at), q);
    x[half + i] = reduce_product(times_plain<near, WordT>(low + bound - high, w, w_quotient, at), q);
  }
}

}  // namespace halocline::backend::cuda
