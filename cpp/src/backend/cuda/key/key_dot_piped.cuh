// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/key/key_dot.cuh"

/// Weighted sums of key products whose operands go through shared memory. The hardware copies keys and digits
/// of the next terms there while threads multiply those of this one, so as many bytes are under way as shared
/// memory holds, whatever the threads do. A block has a tile of consecutive words of a limb. An automorphism
/// maps aligned tiles onto aligned tiles, so a term needs one piece of each operand.
namespace halocline::backend::cuda {

/// What a block does: at most `most_sums` sums, `words_each` words of each by a thread (1, 2 or 4), keys in
/// steps of `keys_at_once`, each in a room of its own.
template <typename WordT, unsigned most_sums, unsigned words_each, unsigned thread_count, unsigned room_count,
          unsigned keys_at_once>
struct key_dot_shape {
  using word = WordT;
  static constexpr unsigned sums = most_sums;
  static constexpr unsigned words = words_each;
  static constexpr unsigned threads = thread_count;  ///< that multiply
  static constexpr unsigned tile = words * threads;
  static constexpr unsigned step = keys_at_once;
  static constexpr unsigned stages = room_count / step;
  static constexpr unsigned room_words = 3 * tile;  ///< a digit and both halves of its key
};

/// A tile of a launch.
template <typename WordT>
struct key_dot_tile {
  const typename key_dot_params<WordT>::job& job;
  std::uint32_t local;  ///< limb of the job
  std::uint32_t limb;   ///< of the launch
  std::uint32_t first;  ///< word of the limb
};

/// Tile `index` of all; those of a limb follow each other, because they read the same digits.
template <typename ShapeT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline key_dot_tile<typename ShapeT::word> key_dot_tile_at(
    const key_dot_params<typename ShapeT::word>& p, std::uint32_t index) {
  const std::uint32_t tiles = p.words / ShapeT::tile, limb = index / tiles;
  const std::uint32_t number = p.jobs.find(limb);
  return {p.jobs.items[number], limb - p.jobs.begin[number], limb, index % tiles * ShapeT::tile};
}

template <typename ShapeT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t key_dot_tiles(
    const key_dot_params<typename ShapeT::word>& p) {
  return p.words / ShapeT::tile * p.jobs.limbs;
}

/// What a block needs to know of a term all the time.
struct alignas(16) key_dot_info {
  std::uint32_t
      entry;  ///< first one of the table of its automorphism; 0 without one, of which that is the map
  std::uint32_t keys;
  std::uint32_t first_key;
  std::uint32_t plus;
};

template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline key_dot_info key_dot_info_of(const key_dot_params<WordT>& p,
                                                                        std::uint32_t term) {
  const auto& of = p.all.term_list[term];
  return {of.permutation == nullptr ? 0 : *of.permutation, of.keys, of.first_key, of.plus};
}

/// First word of the tile from which the automorphism of a term brings a tile.
template <typename ShapeT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t key_dot_source_tile(
    const key_dot_params<typename ShapeT::word>& p, const key_dot_info& term, std::uint32_t first) {
  return galois_map{term.entry, p.log_words}(first) & ~(ShapeT::tile - 1);
}

/// Where a piece of a room comes from: 0 the digit, 1 and 2 the halves of the key. `key`: of the term.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline const WordT* key_dot_piece(const key_dot_params<WordT>& p,
                                                                      const key_dot_tile<WordT>& tile,
                                                                      const key_dot_info& term,
                                                                      std::uint32_t key, unsigned piece,
                                                                      std::uint32_t from) {
  if (piece == 0) {
    return p.digit_list[tile.job.first_digit + key] + static_cast<std::size_t>(tile.local) * p.words + from;
  }
  const auto& halves = p.all.key_list[term.first_key + key];
  return (piece == 1 ? halves.b : halves.a) +
         static_cast<std::size_t>(tile.job.first_prime + tile.local) * p.words + from;
}

/// Words of a thread.
template <typename ShapeT>
struct alignas(sizeof(typename ShapeT::word) * ShapeT::words) key_dot_words {
  typename ShapeT::word word[ShapeT::words];
};

template <typename ShapeT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline key_dot_words<ShapeT> key_dot_read(
    const typename ShapeT::word* from) {
  return *reinterpret_cast<const key_dot_words<ShapeT>*>(from);
}

/// Where the words of a thread come from: aligned words from `first` on, in another order. The places of an
/// entry and of the next ones within aligned groups differ in their highest mirrored bits, of which the
/// automorphism makes `start` plus multiples of g, modulo the number of words.
template <typename ShapeT>
struct key_dot_order {
  std::uint32_t first, start, factor;

  HALOCLINE_HOST_DEVICE key_dot_order(const key_dot_info& term, std::uint32_t word, std::uint32_t log_words) {
    const std::uint32_t element = 2 * mirrored(term.entry, log_words) + 1;
    const std::uint32_t mapped = mirrored(element * (2 * mirrored(word, log_words) + 1) >> 1, log_words);
    first = mapped & ~(ShapeT::words - 1);
    start = mapped & (ShapeT::words - 1);
    factor = element;
  }
  /// Brings the words of the source into the order of the result.
  HALOCLINE_HOST_DEVICE void apply(typename ShapeT::word (&of)[ShapeT::words]) const {
    if constexpr (ShapeT::words == 2) swap_if(start != 0, of[0], of[1]);
    if constexpr (ShapeT::words == 4) {
      // Words 0, 2, 1, 3 are numbers 0 to 3 of the mirrored order, and `start` is mirrored.
      const bool backwards = (factor & 2) != 0;
      swap_if(backwards, of[2], of[3]);  // numbers 1 and 3 of a turn by -1
      const unsigned turn = (start >> 1 & 1) | (start << 1 & 2);
      rotate_if((backwards ? 4 - turn : turn) & 1, of);
      const bool half = ((backwards ? 4 - turn : turn) & 2) != 0;
      swap_if(half, of[0], of[1]);
      swap_if(half, of[2], of[3]);
    }
  }

 private:
  using word = typename ShapeT::word;
  HALOCLINE_HOST_DEVICE static void swap_if(bool swapped, word& a, word& b) {
    const word first = a, second = b;
    a = swapped ? second : first;
    b = swapped ? first : second;
  }
  /// Number k becomes what number k + 1 was.
  HALOCLINE_HOST_DEVICE static void rotate_if(bool rotated, word (&of)[ShapeT::words]) {
    const word a = of[0], b = of[2], c = of[1], d = of[3];
    of[0] = rotated ? b : a;
    of[2] = rotated ? c : b;
    of[1] = rotated ? d : c;
    of[3] = rotated ? a : d;
  }
};

/// Sums of products.
template <typename ShapeT>
using key_dot_products = double_word<typename ShapeT::word>[2][ShapeT::words];

/// What a thread has for all terms of a tile.
template <typename ShapeT>
struct key_dot_thread {
  using word = typename ShapeT::word;
  const key_dot_params<word>& p;
  const key_dot_tile<word>& tile;
  modulus<word> q;
  std::uint32_t first;  ///< word of the limb
  std::uint32_t weight_limb;
  const word* plus[2];  ///< limbs of the addends, nullptr without
  key_dot_products<ShapeT> total[ShapeT::sums];
};

/// What a thread reads for a term besides digits and keys.
template <typename ShapeT>
struct key_dot_beside {
  key_dot_words<ShapeT> weight[ShapeT::sums];
  key_dot_words<ShapeT> plus[2];
};

/// Asks for it; nothing here waits. A repeated weight has one word for all of a thread (`least_log_repeat`).
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
    const std::uint32_t at = of.weight_limb * (of.p.words >> repeat) + (of.first >> repeat);
    if (repeat == 0) {
      to.weight[s] = key_dot_read<ShapeT>(weights + at);
    } else {
      const typename ShapeT::word same = weights[at];
      HALOCLINE_UNROLL
      for (unsigned r = 0; r < ShapeT::words; ++r) to.weight[s].word[r] = same;
    }
  }
  HALOCLINE_UNROLL
  for (unsigned h = 0; h < 2; ++h) {
    to.plus[h] = {};
    if ((info.plus >> h & 1) != 0 && of.plus[h] != nullptr) {
      to.plus[h] = key_dot_read<ShapeT>(of.plus[h] + from);
    }
  }
}

template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void key_dot_bound(key_dot_products<ShapeT>& sum,
                                                const modulus<typename ShapeT::word>& q) {
  HALOCLINE_UNROLL
  for (unsigned h = 0; h < 2; ++h) {
    HALOCLINE_UNROLL
    for (unsigned r = 0; r < ShapeT::words; ++r) sum[h][r] = normalise<typename ShapeT::word>(sum[h][r], q);
  }
}

/// Adds the products of `keys` keys, whose operands are in rooms from `room` on. `at`: word of the tile.
template <typename ShapeT, unsigned keys>
HALOCLINE_HOST_DEVICE inline void key_dot_add_rooms(const typename ShapeT::word* room, std::uint32_t at,
                                                    key_dot_products<ShapeT>& sum) {
  using word = typename ShapeT::word;
  key_dot_words<ShapeT> of[keys][3];
  HALOCLINE_UNROLL
  for (unsigned g = 0; g < keys; ++g) {
    HALOCLINE_UNROLL
    for (unsigned piece = 0; piece < 3; ++piece) {
      of[g][piece] = key_dot_read<ShapeT>(room + g * ShapeT::room_words + piece * ShapeT::tile + at);
    }
  }
  HALOCLINE_UNROLL
  for (unsigned g = 0; g < keys; ++g) {
    HALOCLINE_UNROLL
    for (unsigned r = 0; r < ShapeT::words; ++r) {
      sum[0][r] += static_cast<double_word<word>>(of[g][0].word[r]) * of[g][1].word[r];
      sum[1][r] += static_cast<double_word<word>>(of[g][0].word[r]) * of[g][2].word[r];
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

/// All terms of a tile for a thread. `info(term)`; `next()`: rooms of the next step, once they are filled;
/// `done()`: they have been read.
template <typename ShapeT, typename InfoT, typename NextT, typename DoneT>
HALOCLINE_HOST_DEVICE inline void key_dot_tile_body(const key_dot_params<typename ShapeT::word>& p,
                                                    const key_dot_tile<typename ShapeT::word>& tile,
                                                    std::uint32_t thread, const InfoT& info,
                                                    const NextT& next, const DoneT& done) {
  using word = typename ShapeT::word;
  const std::size_t limb = static_cast<std::size_t>(tile.local) * p.words;
  const auto plus = [&](unsigned h) {
    return tile.job.plus[h] == nullptr ? nullptr : tile.job.plus[h] + limb;
  };
  key_dot_thread<ShapeT> of{p,
                            tile,
                            p.moduli[tile.job.first_prime + tile.local],
                            tile.first + ShapeT::words * thread,
                            tile.job.weight_limb + tile.local,
                            {plus(0), plus(1)},
                            {}};
  key_dot_info later = info(0);
  key_dot_order<ShapeT> later_order(later, of.first, p.log_words);
  key_dot_beside<ShapeT> later_beside;
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
    const std::uint32_t at = order.first & (ShapeT::tile - 1);
    for (std::uint32_t k = 0; k < now.keys; k += ShapeT::step) {
      if (k != 0) key_dot_bound<ShapeT>(sum, of.q);
      const word* room = next();
      if (now.keys - k >= ShapeT::step) {
        key_dot_add_rooms<ShapeT, ShapeT::step>(room, at, sum);
      } else {
        for (std::uint32_t g = k; g < now.keys; ++g, room += ShapeT::room_words) {
          key_dot_add_rooms<ShapeT, 1>(room, at, sum);
        }
      }
      done();
      if (k != 0) key_dot_bound<ShapeT>(sum, of.q);
    }
    key_dot_add_term(of, now, order, beside, sum);
  }
  key_dot_write(of);
}

}  // namespace halocline::backend::cuda
