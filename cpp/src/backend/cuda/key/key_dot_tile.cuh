// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/key/key_dot.cuh"

/// Weighted sums of key products whose operands go through shared memory: tiles, and where their operands
/// are. The hardware copies keys and digits of the next terms there while threads multiply those of this one,
/// so as many bytes are under way as shared memory holds, whatever the threads do. A block has a tile of
/// consecutive words of a limb. An automorphism maps aligned tiles onto aligned tiles, so a term needs one
/// piece of each operand.
namespace halocline::backend::cuda {

/// What a block does: at most `most_sums` sums, `words_each` words of each by a thread (1 or 2), keys in
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
  std::uint32_t entry;  ///< first one of the table of its automorphism; 0, that of the identity, without one
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

/// Where the words of a thread come from: as many aligned words from `first` on, in this order or the other
/// one.
template <typename ShapeT>
struct key_dot_order {
  std::uint32_t first;
  bool swapped;

  HALOCLINE_HOST_DEVICE key_dot_order(const key_dot_info& term, std::uint32_t word, std::uint32_t log_words) {
    const std::uint32_t from = galois_map{term.entry, log_words}(word);
    first = from & ~(ShapeT::words - 1);
    swapped = first != from;
  }
  HALOCLINE_HOST_DEVICE void apply(typename ShapeT::word (&of)[ShapeT::words]) const {
    if constexpr (ShapeT::words == 2) {
      const typename ShapeT::word a = of[0], b = of[1];
      of[0] = swapped ? b : a;
      of[1] = swapped ? a : b;
    }
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

}  // namespace halocline::backend::cuda
