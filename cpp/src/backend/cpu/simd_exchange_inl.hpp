// SPDX-License-Identifier: Apache-2.0
// Shuffles between two vectors, from which transforms and transpositions are made, and of one, from which
// automorphisms are made. Compiled once per instruction set (see simd_arith_inl.hpp).
#if defined(HALOCLINE_SIMD_EXCHANGE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HALOCLINE_SIMD_EXCHANGE_INL
#undef HALOCLINE_SIMD_EXCHANGE_INL
#else
#define HALOCLINE_SIMD_EXCHANGE_INL
#endif

#include "backend/cpu/simd_arith_inl.hpp"

#if HALOCLINE_SIMD
HWY_BEFORE_NAMESPACE();
namespace halocline::backend::cpu {
namespace HWY_NAMESPACE {

/// Exchanges the odd runs of `Half` lanes of x with the even runs of y: a transposition, its own inverse.
template <std::size_t Half, typename WordT>
HWY_INLINE void exchange_runs(vec<WordT>& x, vec<WordT>& y) {
  const tag<WordT> d;
  constexpr std::size_t vector_bytes = hn::MaxLanes(tag<WordT>()) * sizeof(WordT);
  constexpr std::size_t run_bytes = Half * sizeof(WordT);
  const vec<WordT> a = x, b = y;
  if constexpr (run_bytes == 8) {
    const tag<std::uint64_t> d64;
    x = hn::BitCast(d, hn::InterleaveLower(d64, hn::BitCast(d64, a), hn::BitCast(d64, b)));
    y = hn::BitCast(d, hn::InterleaveUpper(d64, hn::BitCast(d64, a), hn::BitCast(d64, b)));
  } else if constexpr (run_bytes == 4) {
    x = hn::OddEven(hn::DupEven(b), a);
    y = hn::OddEven(b, hn::DupOdd(a));
  } else if constexpr (2 * run_bytes == vector_bytes) {
    x = hn::ConcatLowerLower(d, b, a);
    y = hn::ConcatUpperUpper(d, b, a);
  } else {
    static_assert(run_bytes == 16);
    x = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
    y = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
  }
}

HWY_INLINE vec32 load_indices(const std::uint32_t* from, tag<std::uint32_t>) { return load(from); }
HWY_INLINE vec64 load_indices(const std::uint32_t* from, tag<std::uint64_t> d) {
  const hn::Rebind<std::uint32_t, tag<std::uint64_t>> narrow;
  return hn::PromoteTo(d, hn::LoadU(narrow, from));
}

/// The words src[permutation[i] mod count] for the indices i of a vector, `count` being a power of two. The
/// permutation maps aligned blocks of any power of two onto such blocks, so they are a shuffle of one vector.
template <typename WordT>
HWY_INLINE vec<WordT> load_permuted(const WordT* src, const std::uint32_t* permutation, std::size_t count) {
  const tag<WordT> d;
  constexpr std::size_t mask = hn::MaxLanes(tag<WordT>()) - 1;
  const vec<WordT> block = load(src + (*permutation & (count - 1) & ~mask));
  const vec<WordT> within = broadcast(static_cast<WordT>(mask));
  return hn::TableLookupLanes(block, hn::IndicesFromVec(d, hn::And(load_indices(permutation, d), within)));
}

}  // namespace HWY_NAMESPACE
}  // namespace halocline::backend::cpu
HWY_AFTER_NAMESPACE();
#endif  // HALOCLINE_SIMD

#endif  // HALOCLINE_SIMD_EXCHANGE_INL
