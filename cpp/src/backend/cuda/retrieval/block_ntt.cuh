// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/elementwise/elementwise_access.cuh"
#include "backend/cuda/ntt/ntt_kernels.cuh"
#include "backend/cuda/retrieval/block_team.cuh"

/// Transforms of whole limbs of N = 2^10 to 2^13 words of 32 bits within one block of threads: rounds of four
/// stages in registers, exchanges through shared memory (see ntt/ntt_tile.cuh). Functions that take a team
/// contain barriers, so all threads of the block call them.
namespace halocline::backend::cuda {

inline constexpr unsigned least_block_ntt = 10, most_block_ntt = 13;

/// Words of a limb that a thread holds, in one of two orders. *Strided*: word i is number thread + i N / 2^e
/// of the limb. *Neighbours*: word i is number thread 2^e + i.
template <unsigned e>
struct block_words {
  std::uint32_t word[1U << e];
};

/// Twiddles of one prime and one direction, in device memory. `log_n`: of the ring.
template <bool inverse>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline twiddle_table<std::uint32_t> twiddles_of(
    const std::uint32_t* roots, std::uint32_t prime, std::uint32_t q, unsigned log_n) {
  const std::size_t n = std::size_t{1} << log_n;
  const std::uint32_t* const own = roots + (4 * std::size_t{prime} + (inverse ? 2 : 0)) * n;
  return {own, own + n, q, lazy_bound(q)};
}

/// Starts to copy the quotients of 2^k twiddles to `table`, which is 16-byte aligned shared memory.
/// `wait_async` and a barrier come before their use.
template <unsigned k, typename TeamT>
HALOCLINE_HOST_DEVICE inline void fetch_quotients(const TeamT& team, std::uint32_t* table,
                                                  const twiddle_table<std::uint32_t>& from,
                                                  std::uint32_t threads) {
  using part = pack<std::uint32_t>;
  team.each([&](std::uint32_t thread) {
    for (std::uint32_t i = thread; i < (1U << k) / part::size; i += threads) {
      load_async(reinterpret_cast<part*>(table)[i], from.quotients + i * part::size);
    }
  });
}

/// The twiddles whose quotients `fetch_quotients` copied to `table`. Not for the last stage of an inverse
/// transform, which needs `from` itself.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline twiddle_table<std::uint32_t, true> near_twiddles(
    const std::uint32_t* table, const twiddle_table<std::uint32_t>& from) {
  return {nullptr, table, from.q, from.bound};
}

/// Transforms of a limb of 2^k words by 2^(k - e) threads. `near`: twiddles from shared memory.
template <unsigned k, bool near = false, unsigned log_words = 4>
struct block_ntt {
  static constexpr unsigned e = log_words;
  static constexpr std::uint32_t n = 1U << k;
  static constexpr std::uint32_t threads = 1U << (k - e);
  static constexpr std::uint32_t exchange = exchange_words(k, e);  ///< words of shared memory
  static constexpr unsigned rounds = (k + e - 1) / e;
  using words = block_words<e>;

  twiddle_table<std::uint32_t, near> at;
  twiddle_table<std::uint32_t> far;  ///< the same in device memory
  std::uint32_t* shared;             ///< `exchange` words, 16-byte aligned

  /// Number in the limb of word i of a thread.
  [[nodiscard]] HALOCLINE_HOST_DEVICE static constexpr std::uint32_t strided(std::uint32_t thread,
                                                                             unsigned i) {
    return thread + (i << (k - e));
  }
  [[nodiscard]] HALOCLINE_HOST_DEVICE static constexpr std::uint32_t neighbour(std::uint32_t thread,
                                                                               unsigned i) {
    return (thread << e) + i;
  }
  /// x mod q for a result of `forward`.
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t reduced(std::uint32_t x) const {
    return reduce_product(reduce_once(x, far.bound), far.q);
  }

  /// x: strided, below 4q; becomes the transform in neighbours, below 4q. No thread may still read `shared`
  /// when it begins, and some may when it returns.
  template <typename TeamT, typename StateT>
  HALOCLINE_HOST_DEVICE void forward(const TeamT& team, StateT& x) const {
    HALOCLINE_UNROLL
    for (unsigned s = 0; s < rounds; ++s) {
      if (s != 0) team.barrier();
      team.each([&](std::uint32_t t) { member(t).forward_loaded(s, x[t].word); });
    }
  }
  /// x: neighbours, below 2q; becomes the inverse transform, strided, fully reduced. `shared` as in
  /// `forward`.
  template <typename TeamT, typename StateT>
  HALOCLINE_HOST_DEVICE void inverse(const TeamT& team, StateT& x) const {
    HALOCLINE_UNROLL
    for (unsigned s = 0; s < rounds; ++s) {
      if (s != 0) team.barrier();
      team.each([&](std::uint32_t t) { inverse_step(s, t, x[t].word); });
    }
  }

  /// Reads a limb, strided: a warp reads 128 bytes at a time.
  HALOCLINE_HOST_DEVICE void load_strided(const std::uint32_t* from, std::uint32_t thread, words& x) const {
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < 1U << e; ++i) x.word[i] = from[strided(thread, i)];
  }
  HALOCLINE_HOST_DEVICE void store_strided(std::uint32_t* to, std::uint32_t thread, const words& x) const {
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < 1U << e; ++i) to[strided(thread, i)] = x.word[i];
  }
  /// Reads a limb into neighbours, 16 bytes at a time, through `shared` (as in `forward`).
  template <typename TeamT, typename StateT>
  HALOCLINE_HOST_DEVICE void load_neighbours(const TeamT& team, const std::uint32_t* from, StateT& x) const {
    team.each([&](std::uint32_t t) {
      auto on = member(t);
      on.src = from;
      on.load_chunks();
    });
    team.barrier();
    team.each([&](std::uint32_t t) { member(t).get_neighbours(x[t].word); });
  }
  /// Writes a limb that is in neighbours, 16 bytes at a time, through `shared` (as in `forward`):
  /// `finish(number of the chunk, chunk)` of each chunk of four words.
  template <typename TeamT, typename StateT, typename FinishT>
  HALOCLINE_HOST_DEVICE void store_neighbours(const TeamT& team, std::uint32_t* to, StateT& x,
                                              const FinishT& finish) const {
    team.each([&](std::uint32_t t) { member(t).put_neighbours(x[t].word); });
    team.barrier();
    team.each([&](std::uint32_t t) {
      auto on = member(t);
      on.dst = to;
      on.store_chunks(finish);
    });
  }

 private:
  [[nodiscard]] HALOCLINE_HOST_DEVICE ntt_thread<std::uint32_t, e, k, near> member(std::uint32_t t) const {
    return {at, nullptr, nullptr, shared, 1, t, k, 0, 0};
  }
  HALOCLINE_HOST_DEVICE void inverse_step(unsigned s, std::uint32_t t, std::uint32_t (&x)[1U << e]) const {
    const auto on = member(t);
    const unsigned r = rounds - 1 - s;
    if (r != 0) return on.template inverse_step<false>(s, x);
    if (s != 0) on.get(0, x);
    constexpr unsigned count = k - (rounds - 1) * e;
    if constexpr (count > 3) inverse_stage<e, 3>(x, at, 1);
    if constexpr (count > 2) inverse_stage<e, 2>(x, at, 1);
    if constexpr (count > 1) inverse_stage<e, 1>(x, at, 1);
    last_inverse_stage<e>(x, far);  // its factor 1/N is only there
  }
};

/// Transforms with twiddles from device memory.
template <unsigned k, unsigned e = 4>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline block_ntt<k, false, e> far_block_ntt(
    const twiddle_table<std::uint32_t>& at, std::uint32_t* shared) {
  return {at, at, shared};
}
/// Transforms with the quotients at `table` (see `fetch_quotients`).
template <unsigned k, unsigned e = 4>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline block_ntt<k, true, e> near_block_ntt(
    const twiddle_table<std::uint32_t>& at, const std::uint32_t* table, std::uint32_t* shared) {
  return {near_twiddles(table, at), at, shared};
}

}  // namespace halocline::backend::cuda
