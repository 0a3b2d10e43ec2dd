// SPDX-License-Identifier: Apache-2.0
// ChaCha20 and seeded uniform residues, many blocks at once (definition: ring/uniform_stream.hpp). Compiled once per
// instruction set (see simd_arith_inl.hpp).
#if defined(HALOCLINE_SIMD_CHACHA_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HALOCLINE_SIMD_CHACHA_INL
#undef HALOCLINE_SIMD_CHACHA_INL
#else
#define HALOCLINE_SIMD_CHACHA_INL
#endif

#include "backend/cpu/kernel_set.hpp"
#include "backend/cpu/simd_arith_inl.hpp"
#include "backend/cpu/simd_ntt_stages_inl.hpp"
#include "halocline/ring/uniform_stream.hpp"

#if HALOCLINE_SIMD
HWY_BEFORE_NAMESPACE();
namespace halocline::backend::cpu {
namespace HWY_NAMESPACE {

/// Blocks that are computed together: one per 32-bit lane.
constexpr std::size_t batch_blocks = hn::MaxLanes(tag<std::uint32_t>());
template <typename WordT>
constexpr std::size_t batch_words = batch_blocks * ring::words_per_block<WordT>;

/// The polynomial of a uniform stream that a limb belongs to.
struct uniform_limb {
  ring::chacha_key key;
  std::uint32_t stream, prime;
};

HWY_INLINE void quarter_round(vec32& a, vec32& b, vec32& c, vec32& d) {
  a = hn::Add(a, b); d = hn::RotateRight<16>(hn::Xor(d, a));
  c = hn::Add(c, d); b = hn::RotateRight<20>(hn::Xor(b, c));
  a = hn::Add(a, b); d = hn::RotateRight<24>(hn::Xor(d, a));
  c = hn::Add(c, d); b = hn::RotateRight<25>(hn::Xor(b, c));
}

/// Word w of blocks counter, counter + 1, ... in v[w].
HWY_INLINE void chacha_blocks(const uniform_limb& limb, std::uint32_t counter, std::uint32_t attempt, vec32* v) {
  const tag<std::uint32_t> d;
  const auto start = [&](std::size_t w) HWY_ATTR {
    constexpr std::uint32_t constants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    if (w < 4) return broadcast(constants[w]);
    if (w < 12) return broadcast(limb.key.words[w - 4]);
    if (w == 12) return hn::Iota(d, counter);
    return broadcast(w == 13 ? limb.stream : w == 14 ? limb.prime : attempt);
  };
  HWY_UNROLL(16)
  for (std::size_t w = 0; w < 16; ++w) v[w] = start(w);
  for (int round = 0; round < 10; ++round) {
    HWY_UNROLL(4)
    for (std::size_t i = 0; i < 4; ++i) quarter_round(v[i], v[4 + i], v[8 + i], v[12 + i]);
    HWY_UNROLL(4)
    for (std::size_t i = 0; i < 4; ++i) {
      quarter_round(v[i], v[4 + (i + 1) % 4], v[8 + (i + 2) % 4], v[12 + (i + 3) % 4]);
    }
  }
  HWY_UNROLL(16)
  for (std::size_t w = 0; w < 16; ++w) v[w] = hn::Add(v[w], start(w));
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

/// Masked candidates of one attempt for the words of `batch_blocks` blocks. Returns whether all are residues.
template <typename WordT>
bool sample_batch(WordT* out, const uniform_limb& limb, std::uint32_t counter, std::uint32_t attempt,
                  const ring::modulus<WordT>& m) {
  const tag<WordT> d;
  constexpr std::size_t part_words = batch_blocks * 4 / sizeof(WordT);  // words of a vector
  const vec<WordT> q = broadcast(m.value);
  const vec<WordT> mask = broadcast(ring::candidate_mask(m));
  vec32 v[16];
  chacha_blocks(limb, counter, attempt, v);
  auto accepted = hn::Eq(q, q);
  HWY_UNROLL(4)
  for (std::size_t part = 0; part < 16 / batch_blocks; ++part) {
    transpose(v + part * batch_blocks);
    HWY_UNROLL(16)
    for (std::size_t b = 0; b < batch_blocks; ++b) {
      const vec<WordT> candidate = hn::And(hn::BitCast(d, v[part * batch_blocks + b]), mask);
      accepted = hn::And(accepted, hn::Lt(candidate, q));
      store<WordT>(candidate, out + b * ring::words_per_block<WordT> + part * part_words);
    }
  }
  return hn::AllTrue(d, accepted);
}

/// Replaces the rejected candidates of a batch that begins at word `first` of the limb.
template <typename WordT>
HWY_NOINLINE void resample_rejected(WordT* batch, const uniform_limb& limb, std::size_t first,
                                    const ring::modulus<WordT>& m) {
  constexpr std::size_t few = 8;  // a batch costs about as much as eight single blocks
  HWY_ALIGN WordT next[batch_words<WordT>];
  for (std::uint32_t attempt = 1;; ++attempt) {
    std::size_t rejected = 0;
    for (std::size_t i = 0; i < batch_words<WordT>; ++i) rejected += batch[i] >= m.value ? 1 : 0;
    if (rejected <= few) {
      for (std::size_t i = 0; i < batch_words<WordT>; ++i) {
        if (batch[i] >= m.value) {
          batch[i] = ring::uniform_word(limb.key, limb.stream, limb.prime, first + i, m, attempt);
        }
      }
      return;
    }
    const auto counter = static_cast<std::uint32_t>(first / ring::words_per_block<WordT>);
    sample_batch(next, limb, counter, attempt, m);
    for (std::size_t i = 0; i < batch_words<WordT>; ++i) {
      if (batch[i] >= m.value) batch[i] = next[i];
    }
  }
}

/// Words [begin, begin + count) of a limb into `out`; begin is a multiple of the words of a block.
template <typename WordT>
void expand_uniform(WordT* out, const uniform_limb& limb, std::size_t begin, std::size_t count,
                    const ring::modulus<WordT>& m) {
  HWY_ALIGN WordT tail[batch_words<WordT>];
  for (std::size_t done = 0; done < count; done += batch_words<WordT>) {
    const bool whole = count - done >= batch_words<WordT>;
    WordT* const batch = whole ? out + done : tail;
    const auto counter = static_cast<std::uint32_t>((begin + done) / ring::words_per_block<WordT>);
    if (!sample_batch(batch, limb, counter, 0, m)) resample_rejected(batch, limb, begin + done, m);
    if (!whole) {
      for (std::size_t i = 0; i < count - done; ++i) out[done + i] = tail[i];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace halocline::backend::cpu
HWY_AFTER_NAMESPACE();
#endif  // HALOCLINE_SIMD

#endif  // HALOCLINE_SIMD_CHACHA_INL
