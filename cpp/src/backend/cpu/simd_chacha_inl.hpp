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

/// Blocks that one set of 16 vectors computes: one per 32-bit lane.
constexpr std::size_t batch_blocks = hn::MaxLanes(tag<std::uint32_t>());
/// Sets that are computed together, because the rounds of one are a chain of dependent operations: as many as the
/// registers hold.
constexpr std::size_t batch_sets = HALOCLINE_SIMD_AVX512 ? 2 : 1;
/// Words of all sets.
template <typename WordT>
constexpr std::size_t batch_words = batch_sets * batch_blocks * ring::words_per_block<WordT>;

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
HWY_INLINE void chacha_blocks(const uniform_limb& limb, const vec32* counters, std::uint32_t attempt, vec32* v) {
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

/// Words of a limb that are expanded before their rejected candidates are looked at: enough to fill the lanes of a
/// second attempt when a few per cent are rejected.
constexpr std::size_t region_words = 1024;

/// Positions of rejected candidates within a region.
template <typename WordT>
struct rejected_list {
  std::size_t count = 0;
  // The last vector that is appended may reach beyond the region.
  HWY_ALIGN WordT positions[region_words + hn::MaxLanes(tag<WordT>())];

  HWY_INLINE void append(vec<WordT> where, hn::Mask<tag<WordT>> rejected) {
    const tag<WordT> d;
    store<WordT>(hn::Compress(where, rejected), positions + count);
    count += hn::CountTrue(d, rejected);
  }
  /// Forgets the positions from `size` on.
  HWY_INLINE void drop_from(std::size_t size) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (positions[i] < size) positions[kept++] = positions[i];
    }
    count = kept;
  }
};

/// First candidates for the `batch_words` words from block `counter` of the limb on, which is where `position` of
/// the region lies.
template <typename WordT>
void sample_batch(WordT* out, const uniform_limb& limb, std::uint32_t counter, std::size_t position,
                  const ring::modulus<WordT>& m, rejected_list<WordT>& rejected) {
  const tag<WordT> d;
  constexpr std::size_t part_words = hn::MaxLanes(tag<WordT>());
  const vec<WordT> largest = broadcast(static_cast<WordT>(m.value - 1));
  const vec<WordT> mask = broadcast(ring::candidate_mask(m));
  const vec<WordT> first = hn::Iota(d, static_cast<WordT>(position));
  vec32 counters[batch_sets];
  for (std::size_t s = 0; s < batch_sets; ++s) {
    counters[s] = hn::Iota(tag<std::uint32_t>(), static_cast<std::uint32_t>(counter + s * batch_blocks));
  }
  vec32 v[16 * batch_sets];
  chacha_blocks<batch_sets>(limb, counters, 0, v);
  HWY_UNROLL(4)
  for (std::size_t square = 0; square < 16 * batch_sets / batch_blocks; ++square) {
    vec32* const rows = v + square * batch_blocks;
    transpose(rows);
    constexpr std::size_t parts = 16 / batch_blocks;  // squares of a set
    HWY_UNROLL(16)
    for (std::size_t b = 0; b < batch_blocks; ++b) {
      const std::size_t block = square / parts * batch_blocks + b;
      const std::size_t at = block * ring::words_per_block<WordT> + square % parts * part_words;
      const vec<WordT> candidate = hn::And(hn::BitCast(d, rows[b]), mask);
      rejected.append(hn::Add(first, hn::Set(d, static_cast<WordT>(at))), hn::Lt(largest, candidate));
      store<WordT>(candidate, out + at);
    }
  }
}

/// One more attempt for the rejected positions [begin, end), which lie in at most `batch_blocks` blocks. Keeps those
/// that are rejected again at the front of the list from `kept` on and returns the new end of that front.
template <typename WordT>
std::size_t retry_batch(WordT* region, const uniform_limb& limb, std::uint32_t attempt, const std::uint32_t* counters,
                        WordT* positions, std::size_t begin, std::size_t end, std::size_t kept,
                        const ring::modulus<WordT>& m) {
  constexpr std::size_t per_block = ring::words_per_block<WordT>;
  HWY_ALIGN std::uint32_t words[16 * batch_blocks];
  vec32 v[16];
  const vec32 lane_counters = load(counters);
  chacha_blocks<1>(limb, &lane_counters, attempt, v);
  for (std::size_t w = 0; w < 16; ++w) store<std::uint32_t>(v[w], words + w * batch_blocks);
  for (std::size_t i = begin, lane = 0; i < end; ++i) {
    const WordT position = positions[i];
    if (i != begin && position / per_block != positions[i - 1] / per_block) ++lane;
    const std::size_t word = position % per_block * (sizeof(WordT) / 4);
    WordT candidate = words[word * batch_blocks + lane];
    if constexpr (sizeof(WordT) == 8) {
      candidate |= static_cast<WordT>(words[(word + 1) * batch_blocks + lane]) << 32;
    }
    candidate &= ring::candidate_mask(m);
    if (candidate < m.value) {
      region[position] = candidate;
    } else {
      positions[kept++] = position;
    }
  }
  return kept;
}

/// Further attempts for the rejected words of a region whose first block is `first_counter`.
template <typename WordT>
HWY_NOINLINE void retry_rejected(WordT* region, const uniform_limb& limb, std::uint32_t first_counter,
                                 const ring::modulus<WordT>& m, rejected_list<WordT>& rejected) {
  constexpr std::size_t per_block = ring::words_per_block<WordT>;
  WordT* const positions = rejected.positions;
  for (std::uint32_t attempt = 1; rejected.count != 0; ++attempt) {
    std::size_t kept = 0;
    for (std::size_t begin = 0; begin < rejected.count;) {
      HWY_ALIGN std::uint32_t counters[batch_blocks] = {};
      std::size_t end = begin, lanes = 0;
      for (; end < rejected.count; ++end) {  // neighbours in one block share a lane
        const auto counter = static_cast<std::uint32_t>(first_counter + positions[end] / per_block);
        if (lanes != 0 && counters[lanes - 1] == counter) continue;
        if (lanes == batch_blocks) break;
        counters[lanes++] = counter;
      }
      const std::size_t next = end;
      kept = retry_batch(region, limb, attempt, counters, positions, begin, end, kept, m);
      begin = next;
    }
    rejected.count = kept;
  }
}

/// Words [begin, begin + count) of a limb into `out`; begin is a multiple of the words of a block.
template <typename WordT>
void expand_uniform(WordT* out, const uniform_limb& limb, std::size_t begin, std::size_t count,
                    const ring::modulus<WordT>& m) {
  constexpr std::size_t batch = batch_words<WordT>;
  rejected_list<WordT> rejected;
  for (std::size_t done = 0; done < count; done += region_words) {
    const std::size_t size = HWY_MIN(region_words, count - done);
    const auto counter = static_cast<std::uint32_t>((begin + done) / ring::words_per_block<WordT>);
    HWY_ALIGN WordT tail[batch];
    rejected.count = 0;
    for (std::size_t at = 0; at < size; at += batch) {
      const auto block = static_cast<std::uint32_t>(counter + at / ring::words_per_block<WordT>);
      if (size - at >= batch) {
        sample_batch(out + done + at, limb, block, at, m, rejected);
        continue;
      }
      sample_batch(tail, limb, block, at, m, rejected);
      for (std::size_t i = at; i < size; ++i) out[done + i] = tail[i - at];
      rejected.drop_from(size);
    }
    retry_rejected(out + done, limb, counter, m, rejected);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace halocline::backend::cpu
HWY_AFTER_NAMESPACE();
#endif  // HALOCLINE_SIMD

#endif  // HALOCLINE_SIMD_CHACHA_INL
