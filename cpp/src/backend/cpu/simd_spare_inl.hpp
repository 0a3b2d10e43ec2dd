// SPDX-License-Identifier: Apache-2.0
// Seeded uniform residues under stream_rule::chacha8_spare. Compiled once per instruction
// set (see simd_arith_inl.hpp).
#if defined(HALOCLINE_SIMD_SPARE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HALOCLINE_SIMD_SPARE_INL
#undef HALOCLINE_SIMD_SPARE_INL
#else
#define HALOCLINE_SIMD_SPARE_INL
#endif

#include "backend/cpu/simd_candidates_inl.hpp"
#include "halocline/arith/uniform_stream.hpp"

#if HALOCLINE_SIMD
HWY_BEFORE_NAMESPACE();
namespace halocline::backend::cpu {
namespace HWY_NAMESPACE {

/// Replaces the words above `largest`, of a whole number of vectors, by those at `from`, both in order.
template <typename WordT>
HWY_INLINE void replace_rejected(WordT* words, std::size_t count, vec<WordT> largest, const WordT* from) {
  const tag<WordT> d;
  constexpr std::size_t step = hn::MaxLanes(tag<WordT>());
  for (std::size_t i = 0; i < count; i += step) {
    const vec<WordT> candidate = load(words + i);
    const auto rejected = hn::Lt(largest, candidate);
#if HALOCLINE_SIMD_AVX512
    if constexpr (sizeof(WordT) == 4) {
      store<WordT>({_mm512_mask_expandloadu_epi32(candidate.raw, rejected.raw, from)}, words + i);
    } else {
      store<WordT>({_mm512_mask_expandloadu_epi64(candidate.raw, rejected.raw, from)}, words + i);
    }
    from += hn::CountTrue(d, rejected);
#else
    std::uint8_t bits[8] = {};
    static_cast<void>(hn::StoreMaskBits(d, rejected, bits));
    for (std::uint32_t left = bits[0], lane = 0; left != 0; left >>= 1, ++lane) {
      if (left % 2 != 0) words[i + lane] = *from++;
    }
#endif
  }
}

/// Expands limbs of one modulus. Groups with rejected words wait until there are as many as lanes, and then
/// each gets a block of spare words in a lane of its own.
template <typename WordT>
class spare_queue {
 public:
  explicit spare_queue(const arith::modulus<WordT>& m)
      : m_(m), largest_(broadcast(static_cast<WordT>(m.value - 1))) {
    for (std::size_t i = 0; i < batch_blocks; ++i) waiting_[i].slot = i;
  }

  /// Words [begin, begin + count) of a limb into `out`, complete after `finish`. `begin` is a multiple of the
  /// words of a group, and so is `count` unless they are all words of the limb, and at least a vector. `out`
  /// and `limb` must stay until then.
  void expand(WordT* out, const arith::uniform_limb& limb, std::size_t begin, std::size_t count) {
    constexpr std::size_t batch = batch_words<WordT>, set_words = batch / batch_sets;
    std::size_t group = 0;
    bool pending = false;
    for (std::size_t at = 0; at < count;) {
      HWY_ALIGN WordT tail[batch];
      const bool whole = count - at >= batch;
      const auto counter = static_cast<std::uint32_t>((begin + at) / per_block);
      const std::uint32_t some = sample_batch<rounds>(whole ? out + at : tail, limb, counter, m_);
      for (std::size_t i = at; !whole && i < count; ++i) out[i] = tail[i - at];
      for (std::size_t set = 0; set < batch_sets && at < count; ++set, at += set_words) {
        pending |= (some >> set & 1) != 0;
        const std::size_t end = HWY_MIN(at + set_words, count);
        if ((begin + end) % per_group != 0 && end != count) continue;
        if (pending) add(out + group, end - group, limb, (begin + group) / per_group);
        pending = false;
        group = end;
      }
    }
  }
  /// Replaces what is rejected so far.
  void finish() {
    while (groups_ != 0) draw();
  }

 private:
  static constexpr int rounds = arith::stream_rounds(stream_rule::chacha8_spare);
  static constexpr std::size_t per_block = arith::words_per_block<WordT>;
  static constexpr std::size_t per_group = arith::words_per_group<WordT>;

  struct waiting_group {
    std::size_t slot = 0;  ///< of its spare words
    const arith::uniform_limb* limb = nullptr;
    WordT* words = nullptr;
    std::size_t count = 0;
    std::uint32_t number = 0, attempts = 0;
    std::size_t rejected = 0, spare = 0;
  };

  void add(WordT* words, std::size_t count, const arith::uniform_limb& limb, std::size_t number) {
    const tag<WordT> d;
    std::size_t rejected = 0;
    for (std::size_t i = 0; i < count; i += hn::MaxLanes(tag<WordT>())) {
      rejected += hn::CountTrue(d, hn::Lt(largest_, load(words + i)));
    }
    if (rejected == 0) return;  // only words behind the end of the limb are
    while (groups_ == batch_blocks) draw();
    waiting_group& added = waiting_[groups_++];
    added = {added.slot, &limb, words, count, static_cast<std::uint32_t>(number), 0, rejected, 0};
  }

  /// Gives a block of spare words to as many of the groups as there are lanes; several to those that miss
  /// more words than a block has. Completes the groups that have enough then.
  HWY_NOINLINE void draw() {
    const tag<WordT> d;
    lane_start start;
    std::size_t owner[batch_blocks];
    std::size_t used = 0;
    for (std::size_t g = 0; g < groups_ && used < batch_blocks; ++g) {
      waiting_group& group = waiting_[g];
      const std::size_t wanted = (group.rejected - group.spare) / per_block + 1;
      for (std::size_t i = 0; i < wanted && used < batch_blocks; ++i) {
        owner[used] = g;
        start.set(used++, *group.limb, group.number, ++group.attempts);
      }
    }
    for (std::size_t lane = used; lane < batch_blocks; ++lane) start.set(lane, *waiting_[0].limb, 0, 0);
    vec32 v[16];
    chacha_blocks<rounds, 1>(start, v);
    constexpr std::size_t parts = 16 / batch_blocks;
    for (std::size_t part = 0; part < parts; ++part) transpose(v + part * batch_blocks);
    const vec<WordT> mask = broadcast(arith::candidate_mask(m_));
    for (std::size_t i = 0; i < used * parts; ++i) {
      waiting_group& group = waiting_[owner[i / parts]];
      if (group.spare >= group.rejected) continue;
      const vec<WordT> word = hn::And(hn::BitCast(d, v[i % parts * batch_blocks + i / parts]), mask);
      WordT* const to = spare_[group.slot] + group.spare;
      group.spare += store_selected<WordT>(word, hn::Not(hn::Lt(largest_, word)), to);
    }
    complete();
  }

  /// Removes the groups that have enough spare words.
  void complete() {
    for (std::size_t g = groups_; g-- != 0;) {
      waiting_group& group = waiting_[g];
      if (group.spare < group.rejected) continue;
      replace_rejected(group.words, group.count, largest_, spare_[group.slot]);
      std::swap(group, waiting_[--groups_]);
    }
  }

  const arith::modulus<WordT>& m_;
  vec<WordT> largest_;
  std::size_t groups_ = 0;
  waiting_group waiting_[batch_blocks];
  // A vector that is stored may reach beyond the words that are needed.
  HWY_ALIGN WordT spare_[batch_blocks][per_group + 2 * hn::MaxLanes(tag<WordT>())];
};

}  // namespace HWY_NAMESPACE
}  // namespace halocline::backend::cpu
HWY_AFTER_NAMESPACE();
#endif  // HALOCLINE_SIMD

#endif  // HALOCLINE_SIMD_SPARE_INL
