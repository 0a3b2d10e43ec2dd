// SPDX-License-Identifier: Apache-2.0
// ChaCha20, many blocks at once. Compiled once per instruction set (see simd_arith_inl.hpp).
#if defined(HALOCLINE_SIMD_CHACHA_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HALOCLINE_SIMD_CHACHA_INL
#undef HALOCLINE_SIMD_CHACHA_INL
#else
#define HALOCLINE_SIMD_CHACHA_INL
#endif

#include "backend/cpu/kernel_set.hpp"
#include "backend/cpu/simd_arith_inl.hpp"
#include "backend/cpu/simd_exchange_inl.hpp"
#include "halocline/ring/uniform_stream.hpp"

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
constexpr std::size_t batch_words = batch_sets* batch_blocks* ring::words_per_block<WordT>;

/// The polynomial of a uniform stream that a limb belongs to.
struct uniform_limb {
  ring::chacha_key key;
  std::uint32_t stream, prime;
};

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

/// One of the 16 words from which the blocks with the given counters start.
HWY_INLINE vec32 start_word(const uniform_limb& limb, vec32 counters, std::uint32_t attempt, std::size_t w) {
  constexpr std::uint32_t constants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  if (w < 4) return broadcast(constants[w]);
  if (w < 12) return broadcast(limb.key.words[w - 4]);
  if (w == 12) return counters;
  return broadcast(w == 13 ? limb.stream : w == 14 ? limb.prime : attempt);
}

/// Word w of the blocks with counters[s] in v[16 s + w].
template <std::size_t Sets>
HWY_INLINE void chacha_blocks(const uniform_limb& limb, const vec32* counters, std::uint32_t attempt,
                              vec32* v) {
  HWY_UNROLL(32)
  for (std::size_t i = 0; i < 16 * Sets; ++i) v[i] = start_word(limb, counters[i / 16], attempt, i % 16);
  for (int round = 0; round < 10; ++round) {
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
  for (std::size_t i = 0; i < 16 * Sets; ++i) {
    v[i] = hn::Add(v[i], start_word(limb, counters[i / 16], attempt, i % 16));
  }
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
