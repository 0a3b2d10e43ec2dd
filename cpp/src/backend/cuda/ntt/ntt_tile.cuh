// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "backend/cuda/ntt/ntt_rounds.cuh"
#include "backend/cuda/ntt/ntt_swizzle.cuh"

/// Sub-transforms of 2^k words that a team of 2^(k - e) threads runs on, 2^e words per thread: rounds of e
/// stages in registers (the first one takes what is left over), exchanges through shared memory between them.
/// Threads synchronize between steps and nowhere else, so that a host test can run the code step by step.
namespace halocline::backend::cuda {

/// One thread of a team. `k`: stages, 0 if not known when compiling. `swizzled`: see ntt_swizzle.cuh.
template <typename WordT, unsigned e, unsigned k, bool near = false, bool swizzled = false,
          typename TableT = twiddle_table<WordT, near>>
struct ntt_thread {
  static_assert(!swizzled || (e == 3 && k >= 8 && sizeof(WordT) == 4));  // log_columns is 0 there
  TableT at;
  const WordT* src;      ///< first word of the sub-transform; the others follow 2^log_stride words apart
  WordT* dst;            ///< where its first result goes, with the same distance
  WordT* shared;         ///< exchange area; word t lies at `place(t)`
  std::uint32_t node;    ///< group of the sub-transform's first stage
  std::uint32_t member;  ///< number of the thread in its team
  unsigned bits;         ///< number of stages
  unsigned log_stride;
  unsigned log_columns;  ///< sub-transforms that lie side by side in the exchange area

  [[nodiscard]] HALOCLINE_HOST_DEVICE unsigned stages() const { return k != 0 ? k : bits; }
  [[nodiscard]] HALOCLINE_HOST_DEVICE unsigned rounds() const { return (stages() + e - 1) / e; }
  /// Bits of a word's number below those that a thread's words differ in, in round `r`.
  [[nodiscard]] HALOCLINE_HOST_DEVICE unsigned below(unsigned r) const {
    return r == 0 ? stages() - e : (rounds() - 1 - r) * e;
  }
  /// Number, in the sub-transform, of the thread's word `i`.
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t position(unsigned r, unsigned i) const {
    const unsigned low = below(r);
    return ((member >> low) << (low + e)) + (member & ((1U << low) - 1)) + (i << low);
  }
  /// Distance in memory between two neighbouring words of a thread.
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::size_t step(unsigned r) const {
    return std::size_t{1} << (below(r) + log_stride);
  }
  /// One word of padding per 2^e keeps most threads of a warp on different banks in every round.
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t place(std::uint32_t t) const {
    return (t + (t >> e)) << log_columns;
  }
  /// Place of the thread's word `i`: where the padding allows, a constant distance from that of word 0, which
  /// costs no instruction.
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t place_of(unsigned r, unsigned i) const {
    const unsigned low = below(r);
    if (k == 0 || (low != 0 && low < e)) return place(position(r, i));
    return place(position(r, 0)) + (((i << low) + ((i << low) >> e)) << log_columns);
  }
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t node_of(unsigned r) const {
    return (node << (stages() - below(r) - e)) + (member >> below(r));
  }
  [[nodiscard]] HALOCLINE_HOST_DEVICE unsigned first_stages() const { return stages() - (rounds() - 1) * e; }

  HALOCLINE_HOST_DEVICE void load(unsigned r, WordT (&x)[1U << e]) const {
    const WordT* const from = src + (static_cast<std::size_t>(position(r, 0)) << log_stride);
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < 1U << e; ++i) x[i] = from[i * step(r)];
  }
  HALOCLINE_HOST_DEVICE void store(unsigned r, const WordT (&x)[1U << e]) const {
    WordT* const to = dst + (static_cast<std::size_t>(position(r, 0)) << log_stride);
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < 1U << e; ++i) to[i * step(r)] = x[i];
  }
  HALOCLINE_HOST_DEVICE void put(unsigned r, const WordT (&x)[1U << e]) const {
    if constexpr (swizzled) {
      put_swizzled(shared, position(r, 0), below(r), x);
    } else {
      HALOCLINE_UNROLL
      for (unsigned i = 0; i < 1U << e; ++i) shared[place_of(r, i)] = x[i];
    }
  }
  HALOCLINE_HOST_DEVICE void get(unsigned r, WordT (&x)[1U << e]) const {
    if constexpr (swizzled) {
      get_swizzled(shared, position(r, 0), below(r), x);
    } else {
      HALOCLINE_UNROLL
      for (unsigned i = 0; i < 1U << e; ++i) x[i] = shared[place_of(r, i)];
    }
  }

  /// Butterflies of round `r` on the thread's words.
  HALOCLINE_HOST_DEVICE void forward(unsigned r, WordT (&x)[1U << e]) const {
    const std::uint32_t group = node_of(r);
    const unsigned count = r == 0 ? first_stages() : e;
    if (count == e) {
      forward_round<e, e>(x, at, group);
    } else if (count == 1) {
      forward_round<e, 1>(x, at, group);
    } else if (e > 2 && count == 2) {
      forward_round<e, 2>(x, at, group);
    } else if constexpr (e > 3) {
      forward_round<e, 3>(x, at, group);
    }
  }
  /// Butterflies of round `r` of an inverse transform; `last` adds the factor 1/N to its last stage.
  template <bool last>
  HALOCLINE_HOST_DEVICE void inverse(unsigned r, WordT (&x)[1U << e]) const {
    const unsigned count = r == 0 ? first_stages() : e;
    if (count == e) {
      inverse_stages<last, e>(r, x);
    } else if (count == 1) {
      inverse_stages<last, 1>(r, x);
    } else if (e > 2 && count == 2) {
      inverse_stages<last, 2>(r, x);
    } else if constexpr (e > 3) {
      inverse_stages<last, 3>(r, x);
    }
  }
  template <bool last, unsigned count>
  HALOCLINE_HOST_DEVICE void inverse_stages(unsigned r, WordT (&x)[1U << e]) const {
    const std::uint32_t group = node_of(r);
    if (last && r == 0) {
      if constexpr (count > 3) inverse_stage<e, 3>(x, at, group);
      if constexpr (count > 2) inverse_stage<e, 2>(x, at, group);
      if constexpr (count > 1) inverse_stage<e, 1>(x, at, group);
      last_inverse_stage<e>(x, at);
    } else {
      inverse_round<e, count>(x, at, group);
    }
  }

  /// Step `s` of the rounds of a forward transform, which begins with a load; steps 0 to rounds() - 1. The
  /// results stay in x.
  HALOCLINE_HOST_DEVICE void forward_step(unsigned s, WordT (&x)[1U << e]) const {
    if (s == 0) load(0, x);
    forward_loaded(s, x);
  }
  /// The same where step 0 finds its words in x.
  HALOCLINE_HOST_DEVICE void forward_loaded(unsigned s, WordT (&x)[1U << e]) const {
    if (s != 0) get(s, x);
    forward(s, x);
    if (s + 1 < rounds()) put(s, x);
  }
  /// Step `s` of the rounds of an inverse transform; steps 0 to rounds() - 1. Step 0 finds its words in x.
  template <bool last>
  HALOCLINE_HOST_DEVICE void inverse_step(unsigned s, WordT (&x)[1U << e]) const {
    const unsigned r = rounds() - 1 - s;
    if (s != 0) get(r, x);
    inverse<last>(r, x);
    if (r != 0) put(r, x);
  }

  // Contiguous sub-transforms: a thread's words are neighbours before the first inverse and after the last
  // forward round, but a warp must move 16 bytes side by side. They change places through the exchange area,
  // in chunks of 16 bytes whose number is permuted so that both sides are free of bank conflicts.

  static constexpr unsigned chunks = (1U << e) / chunk<WordT>::words;  ///< per thread
  [[nodiscard]] HALOCLINE_HOST_DEVICE chunk<WordT>* chunk_place(std::uint32_t c) const {
    return reinterpret_cast<chunk<WordT>*>(shared) + (c ^ ((c >> 3) & (chunks - 1)));
  }
  /// Number, in the sub-transform, of the i-th chunk that the thread moves.
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t moved_chunk(unsigned i) const {
    return (i << (stages() - e)) | member;
  }
  HALOCLINE_HOST_DEVICE void put_neighbours(const WordT (&x)[1U << e]) const {
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < chunks; ++i) {
      chunk<WordT> out;
      HALOCLINE_UNROLL
      for (unsigned j = 0; j < chunk<WordT>::words; ++j) out.word[j] = x[i * chunk<WordT>::words + j];
      *chunk_place(member * chunks + i) = out;
    }
  }
  HALOCLINE_HOST_DEVICE void get_neighbours(WordT (&x)[1U << e]) const {
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < chunks; ++i) {
      const chunk<WordT> in = read_chunk<WordT>(chunk_place(member * chunks + i));
      HALOCLINE_UNROLL
      for (unsigned j = 0; j < chunk<WordT>::words; ++j) x[i * chunk<WordT>::words + j] = in.word[j];
    }
  }
  HALOCLINE_HOST_DEVICE void load_chunks() const {
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < chunks; ++i) {
      *chunk_place(moved_chunk(i)) = read_chunk(reinterpret_cast<const chunk<WordT>*>(src) + moved_chunk(i));
    }
  }
  /// Stores `finish(number of the chunk, chunk)` for every chunk that the thread moves.
  template <typename FinishT>
  HALOCLINE_HOST_DEVICE void store_chunks(const FinishT& finish) const {
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < chunks; ++i) {
      const std::uint32_t c = moved_chunk(i);
      reinterpret_cast<chunk<WordT>*>(dst)[c] = finish(c, read_chunk<WordT>(chunk_place(c)));
    }
  }
};

/// Words of the exchange area of one sub-transform of 2^k words (a multiple of 16 bytes).
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::uint32_t exchange_words(unsigned k, unsigned e) {
  return ((1U << k) + (1U << (k - e)) + 3) & ~3U;
}

}  // namespace halocline::backend::cuda
