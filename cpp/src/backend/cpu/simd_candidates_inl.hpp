// SPDX-License-Identifier: Apache-2.0
// First candidates of seeded uniform residues (definition: arith/uniform_stream.hpp). Compiled once per
// instruction set (see simd_arith_inl.hpp).
#if defined(HALOCLINE_SIMD_CANDIDATES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HALOCLINE_SIMD_CANDIDATES_INL
#undef HALOCLINE_SIMD_CANDIDATES_INL
#else
#define HALOCLINE_SIMD_CANDIDATES_INL
#endif

#include "backend/cpu/simd_chacha_inl.hpp"
#include "halocline/arith/uniform_stream.hpp"

#if HALOCLINE_SIMD
HWY_BEFORE_NAMESPACE();
namespace halocline::backend::cpu {
namespace HWY_NAMESPACE {

/// The words of `v` that a mask selects, at `to` and up to a vector behind; returns how many they are.
template <typename WordT>
HWY_INLINE std::size_t store_selected(vec<WordT> v, hn::Mask<tag<WordT>> selected, WordT* to) {
  store<WordT>(hn::Compress(v, selected), to);
  return hn::CountTrue(tag<WordT>(), selected);
}

/// Candidates for the `batch_words` words from block `counter` of attempt 0 of a limb on. Bit s of the
/// result: whether any of the `batch_blocks` blocks of set s is rejected, which for primes just below a power
/// of two hardly ever happens, for others nearly always.
template <int Rounds, typename WordT>
HWY_INLINE std::uint32_t sample_batch(WordT* out, const arith::uniform_limb& limb, std::uint32_t counter,
                                      const arith::modulus<WordT>& m) {
  const tag<WordT> d;
  constexpr std::size_t part_words = hn::MaxLanes(tag<WordT>());
  constexpr std::size_t parts = 16 / batch_blocks;  // vectors of a block
  const vec<WordT> largest = broadcast(static_cast<WordT>(m.value - 1));
  const vec<WordT> mask = broadcast(arith::candidate_mask(m));
  std::uint32_t rejected = 0;
  vec32 v[16 * batch_sets];
  chacha_blocks<Rounds, batch_sets>(limb_start{limb, counter, 0}, v);
  HWY_UNROLL(2)
  for (std::size_t set = 0; set < batch_sets; ++set) {
    vec32* const rows = v + 16 * set;
    vec<WordT> highest = hn::Zero(d);
    for (std::size_t part = 0; part < parts; ++part) transpose(rows + part * batch_blocks);
    HWY_UNROLL(16)
    for (std::size_t i = 0; i < 16; ++i) {
      const vec<WordT> candidate = hn::And(hn::BitCast(d, rows[i % parts * batch_blocks + i / parts]), mask);
      highest = hn::Max(highest, candidate);
      store<WordT>(candidate, out + (16 * set + i) * part_words);
    }
    if (!hn::AllFalse(d, hn::Lt(largest, highest))) rejected |= std::uint32_t{1} << set;
  }
  return rejected;
}

}  // namespace HWY_NAMESPACE
}  // namespace halocline::backend::cpu
HWY_AFTER_NAMESPACE();
#endif  // HALOCLINE_SIMD

#endif  // HALOCLINE_SIMD_CANDIDATES_INL
