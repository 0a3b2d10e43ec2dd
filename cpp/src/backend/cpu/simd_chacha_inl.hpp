// SPDX-License-Identifier: Apache-2.0
// ChaCha, many blocks at once. Compiled once per instruction set (see simd_arith_inl.hpp).
#if defined(HALOCLINE_SIMD_CHACHA_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HALOCLINE_SIMD_CHACHA_INL
#undef HALOCLINE_SIMD_CHACHA_INL
#else
#define HALOCLINE_SIMD_CHACHA_INL
#endif

#include "backend/cpu/kernel_set.hpp"
#include "backend/cpu/simd_arith_inl.hpp"
#include "backend/cpu/simd_exchange_inl.hpp"
#include "halocline/arith/uniform_stream.hpp"

#if HALOCLINE_SIMD
HWY_BEFORE_NAMESPACE();
namespace halocline::backend::cpu {
namespace HWY_NAMESPACE {

/// Blocks that one set of 16 vectors computes: one per 32-bit lane.
constexpr std::size_t batch_blocks = hn::MaxLanes(tag<std::uint32_t>());
/// Sets that are computed together, because the rounds of one are a chain of dependent operations: as many as
/// the registers hold.
constexpr std::size_t batch_sets = HALOCLINE_SIMD_AVX512 ? 2 : 1;
/// Words of all sets.
template <typename WordT>
constexpr std::size_t batch_words = batch_sets* batch_blocks* arith::words_per_block<WordT>;

HWY_INLINE void quarter_round(vec32& a, vec32& b, vec32& c, vec32& d) {
  a = hn::Add(a, b);
  d = hn::RotateRight<16>(hn::Xor(d, a));
  c = hn::Add(c, d);
  b = hn::RotateRight<20>(hn::Xor(b, c));
  a = hn::Add(a, b);
  d = hn::RotateRight<24>(hn::Xor(d, a));
  c = hn::Add(c, d);
  b = hn::RotateRight<25>(hn::Xor(b, c));
}

/// The 16 words from which blocks of one limb with consecutive counters start.
struct limb_start {
  const arith::uniform_limb& limb;
  std::uint32_t counter;  ///< of the first block
  std::uint32_t attempt;

  HWY_INLINE vec32 operator()(std::size_t set, std::size_t w) const {
    constexpr std::uint32_t constants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    if (w < 4) return broadcast(constants[w]);
    if (w < 12) return broadcast(limb.key.words[w - 4]);
    if (w == 12) {
      return hn::Iota(tag<std::uint32_t>(), static_cast<std::uint32_t>(counter + set * batch_blocks));
    }
    return broadcast(w == 13 ? limb.stream : w == 14 ? limb.prime : attempt);
  }
};

/// Those of blocks that have nothing in common, one lane each.
struct lane_start {
  HWY_ALIGN std::uint32_t words[16][batch_blocks];

  HWY_INLINE vec32 operator()(std::size_t, std::size_t w) const { return load(words[w]); }
  HWY_INLINE void set(std::size_t lane, const arith::uniform_limb& limb, std::uint32_t counter,
                      std::uint32_t attempt) {
    constexpr std::uint32_t constants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    for (std::size_t w = 0; w < 4; ++w) words[w][lane] = constants[w];
    for (std::size_t w = 0; w < 8; ++w) words[4 + w][lane] = limb.key.words[w];
    words[12][lane] = counter;
    words[13][lane] = limb.stream;
    words[14][lane] = limb.prime;
    words[15][lane] = attempt;
  }
};

/// Word w of the blocks of set s in v[16 s + w], from the start words start(s, w).
template <int Rounds, std::size_t Sets, typename StartT>
HWY_INLINE void chacha_blocks(const StartT& start, vec32* v) {
  HWY_UNROLL(32)
  for (std::size_t i = 0; i < 16 * Sets; ++i) v[i] = start(i / 16, i % 16);
  for (int round = 0; round < Rounds; round += 2) {
    HWY_UNROLL(8)
    for (std::size_t i = 0; i < 4 * Sets; ++i) {
      vec32* const set = v + i / 4 * 16;
      quarter_round(set[i % 4], set[4 + i % 4], set[8 + i % 4], set[12 + i % 4]);
    }
    HWY_UNROLL(8)
    for (std::size_t i = 0; i < 4 * Sets; ++i) {
      vec32* const set = v + i / 4 * 16;
      quarter_round(set[i % 4], set[4 + (i + 1) % 4], set[8 + (i + 2) % 4], set[12 + (i + 3) % 4]);
    }
  }
  HWY_UNROLL(32)
  for (std::size_t i = 0; i < 16 * Sets; ++i) v[i] = hn::Add(v[i], start(i / 16, i % 16));
}

/// Transposes a square of vectors: lane j of vector i becomes lane i of vector j.
template <std::size_t Run = batch_blocks / 2>
HWY_INLINE void transpose(vec32* v) {
  HWY_UNROLL(8)
  for (std::size_t i = 0; i < batch_blocks / 2; ++i) {
    const std::size_t left = i / Run * 2 * Run + i % Run;
    exchange_runs<Run, std::uint32_t>(v[left], v[left + Run]);
  }
  if constexpr (Run > 1) transpose<Run / 2>(v);
}

}  // namespace HWY_NAMESPACE
}  // namespace halocline::backend::cpu
HWY_AFTER_NAMESPACE();
#endif  // HALOCLINE_SIMD

#endif  // HALOCLINE_SIMD_CHACHA_INL
