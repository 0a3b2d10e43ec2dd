// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/key/key_dot_tile.cuh"

/// Weighted sums of key products whose operands go through shared memory: what a thread computes.
namespace halocline::backend::cuda {

/// What a thread reads for a term besides digits and keys.
template <typename ShapeT>
struct key_dot_beside {
  key_dot_words<ShapeT> weight[ShapeT::sums];
  key_dot_words<ShapeT> plus[2];
};

/// Asks for it; nothing here waits. The words of a thread have the same value of a repeated weight
/// (`least_log_repeat`), and are read one by one all the same: another load into the same register, or a copy
/// of it, would wait for the first one.
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void key_dot_read_beside(const key_dot_thread<ShapeT>& of, std::uint32_t term,
                                                      const key_dot_info& info, std::uint32_t from,
                                                      key_dot_beside<ShapeT>& to) {
  const auto& all = of.p.all;
  HALOCLINE_UNROLL
  for (unsigned s = 0; s < ShapeT::sums; ++s) {
    to.weight[s] = {};
    if (s >= all.sums) continue;
    const std::uint32_t number = s * all.terms + term, repeat = all.repeats[number];
    const typename ShapeT::word* const weights = all.weights[number];
    if (weights == nullptr) continue;
    const typename ShapeT::word* const at =
        weights + of.weight_limb * (of.p.words >> repeat) + (of.first >> repeat);
    HALOCLINE_UNROLL
    for (unsigned r = 0; r < ShapeT::words; ++r) to.weight[s].word[r] = at[repeat == 0 ? r : 0];
  }
  HALOCLINE_UNROLL
  for (unsigned h = 0; h < 2; ++h) {
    to.plus[h] = {};
    if ((info.plus >> h & 1) != 0 && of.plus[h] != nullptr) {
      to.plus[h] = key_dot_read<ShapeT>(of.plus[h] + from);
    }
  }
}

/// Adds the addends of a term to its sum, and the term with its weights to all sums of the thread.
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void key_dot_add_term(key_dot_thread<ShapeT>& of, const key_dot_info& info,
                                                   const key_dot_order<ShapeT>& order,
                                                   const key_dot_beside<ShapeT>& beside,
                                                   key_dot_products<ShapeT>& sum) {
  using word = typename ShapeT::word;
  HALOCLINE_UNROLL
  for (unsigned h = 0; h < 2; ++h) {
    if ((info.plus >> h & 1) != 0) {
      const word factor = of.p.factor[of.tile.limb];
      HALOCLINE_UNROLL
      for (unsigned r = 0; r < ShapeT::words; ++r) {
        sum[h][r] += static_cast<double_word<word>>(beside.plus[h].word[r]) * factor;
        sum[h][r] = normalise<word>(sum[h][r], of.q);
      }
    }
    word product[ShapeT::words];
    HALOCLINE_UNROLL
    for (unsigned r = 0; r < ShapeT::words; ++r) {
      product[r] = arith::montgomery_reduce<word>(sum[h][r], of.q);
    }
    order.apply(product);
    HALOCLINE_UNROLL
    for (unsigned s = 0; s < ShapeT::sums; ++s) {
      HALOCLINE_UNROLL
      for (unsigned r = 0; r < ShapeT::words; ++r) {
        of.total[s][h][r] += static_cast<double_word<word>>(product[r]) * beside.weight[s].word[r];
      }
    }
  }
}

/// Writes the words of a thread.
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void key_dot_write(key_dot_thread<ShapeT>& of) {
  using word = typename ShapeT::word;
  const auto& job = of.tile.job;
  HALOCLINE_UNROLL
  for (unsigned s = 0; s < ShapeT::sums; ++s) {
    if (s >= of.p.all.sums) continue;
    key_dot_bound<ShapeT>(of.total[s], of.q);
    HALOCLINE_UNROLL
    for (unsigned h = 0; h < 2; ++h) {
      word* const dst = job.dst[s][h] + static_cast<std::size_t>(of.tile.local) * of.p.words + of.first;
      key_dot_words<ShapeT> result, before{};
      const bool adds = (job.accumulate >> s & 1) != 0;
      if (adds) before = key_dot_read<ShapeT>(dst);
      HALOCLINE_UNROLL
      for (unsigned r = 0; r < ShapeT::words; ++r) {
        const word made = reduce_wide<word>(of.total[s][h][r], of.q);
        result.word[r] = subtract_once<word>(made + before.word[r], of.q.value);
      }
      *reinterpret_cast<key_dot_words<ShapeT>*>(dst) = result;
    }
  }
}

/// The sum of a term whose keys are in rooms of the next steps. `at`: word of the tile.
template <typename ShapeT, typename NextT, typename DoneT>
HALOCLINE_HOST_DEVICE inline void key_dot_add_keys(const key_dot_thread<ShapeT>& of, std::uint32_t keys,
                                                   std::uint32_t at, const NextT& next, const DoneT& done,
                                                   key_dot_products<ShapeT>& sum) {
  for (std::uint32_t k = 0; k < keys; k += ShapeT::step) {
    if (k != 0) key_dot_bound<ShapeT>(sum, of.q);
    const typename ShapeT::word* room = next();
    if (keys - k >= ShapeT::step) {
      key_dot_add_rooms<ShapeT, ShapeT::step>(room, at, sum);
    } else {
      for (std::uint32_t g = k; g < keys; ++g, room += ShapeT::room_words) {
        key_dot_add_rooms<ShapeT, 1>(room, at, sum);
      }
    }
    done();
    if (k != 0) key_dot_bound<ShapeT>(sum, of.q);
  }
}

/// What a thread begins with, whose first word is `tile.first + words * thread`.
template <typename ShapeT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline key_dot_thread<ShapeT> key_dot_begin(
    const key_dot_params<typename ShapeT::word>& p, const key_dot_tile<typename ShapeT::word>& tile,
    std::uint32_t thread) {
  const std::size_t limb = static_cast<std::size_t>(tile.local) * p.words;
  const auto& plus = tile.job.plus;
  return {p,
          tile,
          p.moduli[tile.job.first_prime + tile.local],
          tile.first + ShapeT::words * thread,
          tile.job.weight_limb + tile.local,
          {plus[0] == nullptr ? nullptr : plus[0] + limb, plus[1] == nullptr ? nullptr : plus[1] + limb},
          {}};
}

/// All terms of a tile for a thread. `info(term)`; `next()`: rooms of the next step, once they are filled;
/// `done()`: they have been read.
template <typename ShapeT, typename InfoT, typename NextT, typename DoneT>
HALOCLINE_HOST_DEVICE inline void key_dot_tile_body(const key_dot_params<typename ShapeT::word>& p,
                                                    const key_dot_tile<typename ShapeT::word>& tile,
                                                    std::uint32_t thread, const InfoT& info,
                                                    const NextT& next, const DoneT& done) {
  using word = typename ShapeT::word;
  key_dot_thread<ShapeT> of = key_dot_begin<ShapeT>(p, tile, thread);
  key_dot_info later = info(0);
  key_dot_order<ShapeT> later_order(later, of.first, p.log_words);
  key_dot_beside<ShapeT> later_beside;  // asked for a term ahead
  key_dot_read_beside(of, 0, later, later_order.first, later_beside);
  std::uint32_t unreduced = 0;
  for (std::uint32_t t = 0; t < p.all.terms; ++t) {
    if (unreduced++ == key_dot_between<word>) {
      unreduced = 1;
      HALOCLINE_UNROLL
      for (unsigned s = 0; s < ShapeT::sums; ++s) key_dot_bound<ShapeT>(of.total[s], of.q);
    }
    const key_dot_info now = later;
    const key_dot_order<ShapeT> order = later_order;
    const key_dot_beside<ShapeT> beside = later_beside;
    if (t + 1 < p.all.terms) {
      later = info(t + 1);
      later_order = key_dot_order<ShapeT>(later, of.first, p.log_words);
      key_dot_read_beside(of, t + 1, later, later_order.first, later_beside);
    }
    key_dot_products<ShapeT> sum = {};
    key_dot_add_keys(of, now.keys, order.first & (ShapeT::tile - 1), next, done, sum);
    key_dot_add_term(of, now, order, beside, sum);
  }
  key_dot_write(of);
}

}  // namespace halocline::backend::cuda
