// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cuda/ntt/ntt_converted.cuh"
#include "backend/cuda/ntt/ntt_kernels.cuh"
#include "backend/cuda/ntt/ntt_tuning.hpp"

/// Both phases of a transform in one cluster of blocks: a block has 2^12 words in its shared memory, columns
/// in the first phase and rows in the second, and blocks write what they computed in the first phase to where
/// it is needed in the second. So words pass the second-level cache once each way. For host and device; parts
/// between two barriers are functions of their own.
namespace halocline::backend::cuda {

/// Words per thread 2^e, log2 N, and the arithmetic.
template <unsigned words, unsigned log_n, template <typename, bool> typename TableT>
struct cluster_shape {
  static constexpr unsigned e = words, n = log_n;
  static constexpr unsigned column_bits = n - row_stages;         ///< stages of the columns
  static constexpr unsigned c = cluster_log_words - column_bits;  ///< log2 of a block's columns
  static constexpr unsigned log_rows = cluster_log_words - row_stages;
  static constexpr unsigned blocks = 1U << (n - cluster_log_words);
  static constexpr unsigned threads = 1U << (cluster_log_words - e);
  static constexpr std::uint32_t shared_words = exchange_words(row_stages, e) << log_rows;
  static_assert(((1U << column_bits) + (1U << (column_bits - e))) << c <= shared_words);
  template <typename WordT, bool near>
  using table = TableT<WordT, near>;
};

/// A thread of a block of a cluster.
template <bool inverse, typename S, unsigned sources, typename WordT, typename ParamsT>
struct cluster_thread {
  using table_type = typename S::template table<WordT, false>;
  static constexpr unsigned words = 1U << S::e;
  static constexpr unsigned column_rounds = (S::column_bits + S::e - 1) / S::e;
  static constexpr unsigned row_rounds = (row_stages + S::e - 1) / S::e;

  const ParamsT& params;
  std::uint32_t poly, rank, thread;
  ntt_place<WordT, table_type> place;
  ntt_thread<WordT, S::e, S::column_bits, false, false, table_type> column;
  ntt_thread<WordT, S::e, row_stages, false, false, table_type> row;
  first_words<sources, WordT, ParamsT> first;

  HALOCLINE_HOST_DEVICE cluster_thread(const ParamsT& of, std::uint32_t limb, std::uint32_t number,
                                       std::uint32_t block, std::uint32_t t, WordT* shared)
      : params(of),
        poly(number),
        rank(block),
        thread(t),
        place(find_limb<inverse, S::n, S::template table>(of, of.groups.find(limb), limb, number)),
        column(column_thread<S::e, S::column_bits, S::c, S::n>(of, place, block, t, shared)),
        row(row_thread<S::e, row_stages, S::n>(of, place, block << S::log_rows, t, shared)),
        first(of, place, number) {}

  [[nodiscard]] HALOCLINE_HOST_DEVICE bool used() const { return has_poly(params, place.group, poly); }
  /// Number of the thread's row in its block.
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t own_row() const { return thread >> (row_stages - S::e); }

  /// After the columns of a forward transform: a thread has neighbouring rows of one column. `remote(rank,
  /// offset, word)` writes a word of the exchange area of block `rank`.
  template <typename RemoteT>
  HALOCLINE_HOST_DEVICE void send_rows(const WordT (&x)[words], const RemoteT& remote) const {
    const std::uint32_t at = row.place((rank << S::c) + (thread & ((1U << S::c) - 1)));
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < words; ++i) {
      const std::uint32_t to = column.position(column.rounds() - 1, i);
      remote(to >> S::log_rows, (to & ((1U << S::log_rows) - 1)) * exchange_words(row_stages, S::e) + at,
             x[i]);
    }
  }
  /// After the rows of an inverse transform: a thread has words of one row, 2^(row_stages - e) apart.
  template <typename RemoteT>
  HALOCLINE_HOST_DEVICE void send_columns(const WordT (&x)[words], const RemoteT& remote) const {
    const std::uint32_t at = column.place((rank << S::log_rows) + own_row());
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < words; ++i) {
      const std::uint32_t to = row.position(0, i);
      remote(to >> S::c, at + (to & ((1U << S::c) - 1)), x[i]);
    }
  }
};

/// A forward transform. TeamT has `alone(body)`, which calls body(thread, x) for the threads of a block;
/// `each(body)`, which waits for the block after it; `each_in_row(body)`, which waits for the threads of a
/// row; `arrive` and `wait`, the halves of a barrier of the cluster; and `put()`, what a thread sends words
/// with.
template <typename TeamT>
HALOCLINE_HOST_DEVICE inline void cluster_forward_transform(TeamT& team) {
  constexpr unsigned rounds = TeamT::thread_type::column_rounds, row_rounds = TeamT::thread_type::row_rounds;
  HALOCLINE_UNROLL
  for (unsigned s = 0; s < rounds; ++s) {
    if (s + 1 < rounds) {
      team.each([&](const auto& on, auto& x) {
        if (s == 0) on.first.load(on.column, x);
        on.column.forward_loaded(s, x);
      });
    } else {
      team.alone([&](const auto& on, auto& x) {
        if (s == 0) {
          on.first.load(on.column, x);
        } else {
          on.column.get(s, x);
        }
      });
      team.arrive();  // this thread has read what other blocks are about to write over
      team.alone([&](const auto& on, auto& x) { on.column.forward(s, x); });
    }
  }
  team.wait();
  team.alone([&](const auto& on, auto& x) { on.send_rows(x, team.put()); });
  team.arrive();
  team.wait();
  HALOCLINE_UNROLL
  for (unsigned s = 0; s < row_rounds; ++s) {
    team.each_in_row([&](const auto& on, auto& x) {
      if (s == 0) on.row.get(0, x);
      on.row.forward_loaded(s, x);
    });
  }
  team.each_in_row([&](const auto& on, auto& x) { on.row.put_neighbours(x); });
  team.alone([&](const auto& on, auto&) { store_results(on.params, on.place, on.poly, on.row); });
}

/// An inverse transform.
template <typename TeamT>
HALOCLINE_HOST_DEVICE inline void cluster_inverse_transform(TeamT& team) {
  constexpr unsigned rounds = TeamT::thread_type::column_rounds, row_rounds = TeamT::thread_type::row_rounds;
  team.each_in_row([](const auto& on, auto&) { on.row.load_chunks(); });
  team.each_in_row([](const auto& on, auto& x) { on.row.get_neighbours(x); });
  HALOCLINE_UNROLL
  for (unsigned s = 0; s + 1 < row_rounds; ++s) {
    team.each_in_row([&](const auto& on, auto& x) { on.row.template inverse_step<false>(s, x); });
  }
  team.alone([](const auto& on, auto& x) { on.row.get(0, x); });
  team.arrive();
  team.alone([](const auto& on, auto& x) { on.row.template inverse<false>(0, x); });
  team.wait();
  team.alone([&](const auto& on, auto& x) { on.send_columns(x, team.put()); });
  team.arrive();
  team.wait();
  HALOCLINE_UNROLL
  for (unsigned s = 0; s < rounds; ++s) {
    team.each([&](const auto& on, auto& x) {
      if (s == 0) on.column.get(rounds - 1, x);
      on.column.template inverse_step<true>(s, x);
    });
  }
  team.alone([](const auto& on, auto& x) { on.column.store(0, x); });
}

}  // namespace halocline::backend::cuda
