// SPDX-License-Identifier: Apache-2.0
// Seeded uniform residues under stream_rule::chacha20_retry. Compiled once per instruction
// set (see simd_arith_inl.hpp).
#if defined(HALOCLINE_SIMD_RETRY_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HALOCLINE_SIMD_RETRY_INL
#undef HALOCLINE_SIMD_RETRY_INL
#else
#define HALOCLINE_SIMD_RETRY_INL
#endif

#include "backend/cpu/simd_candidates_inl.hpp"
#include "halocline/arith/uniform_stream.hpp"

#if HALOCLINE_SIMD
HWY_BEFORE_NAMESPACE();
namespace halocline::backend::cpu {
namespace HWY_NAMESPACE {

/// Words of a limb that are expanded before their rejected candidates are looked at: enough to fill the lanes
/// of a second attempt when a few per cent are rejected.
constexpr std::size_t region_words = 1024;

/// Places of rejected candidates within a region.
template <typename WordT>
struct rejected_list {
  std::size_t count = 0;
  // The last vector that is appended may reach beyond the region.
  HWY_ALIGN WordT positions[region_words + hn::MaxLanes(tag<WordT>())];

  /// Lists those of `size` candidates, counted from `place` on, in ascending order.
  HWY_INLINE void append(const WordT* candidates, std::size_t place, std::size_t size, WordT q) {
    const tag<WordT> d;
    const vec<WordT> largest = broadcast(static_cast<WordT>(q - 1));
    for (std::size_t i = 0; i < size; i += hn::MaxLanes(tag<WordT>())) {
      const vec<WordT> places = hn::Iota(d, static_cast<WordT>(place + i));
      count += store_selected<WordT>(places, hn::Lt(largest, load(candidates + i)), positions + count);
    }
  }
};

/// One more attempt for the rejected positions [begin, end), which lie in at most `batch_blocks` blocks.
/// Keeps those that are rejected again at the front of the list from `kept` on and returns the new end of
/// that front.
template <typename WordT>
std::size_t retry_batch(WordT* region, const arith::uniform_limb& limb, std::uint32_t attempt,
                        const std::uint32_t* counters, WordT* positions, std::size_t begin, std::size_t end,
                        std::size_t kept, const arith::modulus<WordT>& m) {
  constexpr std::size_t per_block = arith::words_per_block<WordT>;
  HWY_ALIGN std::uint32_t words[16 * batch_blocks];
  vec32 v[16];
  lane_start start;
  for (std::size_t lane = 0; lane < batch_blocks; ++lane) start.set(lane, limb, counters[lane], attempt);
  chacha_blocks<20, 1>(start, v);
  for (std::size_t w = 0; w < 16; ++w) store<std::uint32_t>(v[w], words + w * batch_blocks);
  for (std::size_t i = begin, lane = 0; i < end; ++i) {
    const WordT position = positions[i];
    if (i != begin && position / per_block != positions[i - 1] / per_block) ++lane;
    const std::size_t word = position % per_block * (sizeof(WordT) / 4);
    WordT candidate = words[word * batch_blocks + lane];
    if constexpr (sizeof(WordT) == 8) {
      candidate |= static_cast<WordT>(words[(word + 1) * batch_blocks + lane]) << 32;
    }
    candidate &= arith::candidate_mask(m);
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
HWY_NOINLINE void retry_rejected(WordT* region, const arith::uniform_limb& limb, std::uint32_t first_counter,
                                 const arith::modulus<WordT>& m, rejected_list<WordT>& rejected) {
  constexpr std::size_t per_block = arith::words_per_block<WordT>;
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
void expand_retry(WordT* out, const arith::uniform_limb& limb, std::size_t begin, std::size_t count,
                  const arith::modulus<WordT>& m) {
  constexpr std::size_t batch = batch_words<WordT>;
  rejected_list<WordT> rejected;
  for (std::size_t done = 0; done < count; done += region_words) {
    const std::size_t size = HWY_MIN(region_words, count - done);
    const auto counter = static_cast<std::uint32_t>((begin + done) / arith::words_per_block<WordT>);
    HWY_ALIGN WordT tail[batch];
    rejected.count = 0;
    for (std::size_t at = 0; at < size; at += batch) {
      const auto block = static_cast<std::uint32_t>(counter + at / arith::words_per_block<WordT>);
      const bool whole = size - at >= batch;
      WordT* const to = whole ? out + done + at : tail;
      const std::uint32_t some = sample_batch<20>(to, limb, block, m);
      const std::size_t words = HWY_MIN(batch, size - at);
      if (some != 0) rejected.append(to, at, words, m.value);
      for (std::size_t i = 0; !whole && i < words; ++i) out[done + at + i] = tail[i];
    }
    retry_rejected(out + done, limb, counter, m, rejected);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace halocline::backend::cpu
HWY_AFTER_NAMESPACE();
#endif  // HALOCLINE_SIMD

#endif  // HALOCLINE_SIMD_RETRY_INL
