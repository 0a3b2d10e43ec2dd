// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/device/arith.cuh"
#include "backend/cuda/ntt/ntt_words.cuh"
#include "backend/cuda/retrieval/block_team.cuh"
#include "backend/cuda/retrieval/row_select_params.hpp"
#include "backend/cuda/retrieval/shared_stages.cuh"

/// Body of the kernels of `row_select` with 32-bit multiply-adds.
///
/// Sums of 64 bits are reduced as rarely as possible: with m = floor(2^31 / q), a sum below m q 2^32 has room
/// for floor(m 2^32 / q) products below q^2 before it reaches 2 m q 2^32 <= 2^64, and one conditional
/// subtraction of m q from its high word brings it back. That is 8 products for primes of 30 bits, 32 for 29
/// bits, 512 for 27 bits.
namespace halocline::backend::cuda {

/// Sums of a thread.
template <typename TileT>
struct row_sums {
  std::uint64_t sum[TileT::columns][TileT::selectors];
};

/// What a block computes.
template <typename TileT>
class row_block_work {
 public:
  using tile = TileT;

  HALOCLINE_HOST_DEVICE row_block_work(const row_select_params& p, std::uint32_t block, std::uint32_t* shared)
      : p_(p), shared_(shared) {
    const row_grid grid = row_grid::of(p, TileT{});
    const std::uint32_t rest = block / grid.selector_tiles;
    selector_ = (block - rest * grid.selector_tiles) * TileT::block_selectors;
    point_ = rest / grid.column_tiles;
    column_ = (rest - point_ * grid.column_tiles) * TileT::block_columns;
    prime_ = point_ / ((1U << p.log_n) / TileT::points);
    database_ = p.database + std::size_t{point_} * p.columns * p.rows * TileT::points;
    selectors_ = std::size_t{point_} * p.rows * 2 * TileT::points;
  }
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t steps() const {
    return (p_.rows + TileT::depth - 1) / TileT::depth;
  }
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t prime() const { return prime_; }

  /// Starts to copy the rows of step `s`: a warp copies 512 bytes that follow each other, always the same
  /// part of a column or query. Rows, columns and queries that do not exist are zero.
  HALOCLINE_HOST_DEVICE void fetch(std::uint32_t s, std::uint32_t thread) const {
    std::uint32_t* const stage = stage_of(s);
    const std::uint32_t warp = thread / 32, lane = thread % 32;
    {
      constexpr std::uint32_t parts = TileT::column_words / 128;
      const std::uint32_t word = warp % parts * 128 + lane * 4;
      const bool row = s * TileT::depth + word / TileT::points < p_.rows;
      const std::size_t step = std::size_t{p_.rows} * TileT::points * (TileT::warps / parts);
      const std::uint32_t* from = database_ + s * TileT::column_words + word +
                                  std::size_t{column_ + warp / parts} * p_.rows * TileT::points;
      HALOCLINE_UNROLL
      for (std::uint32_t c = 0; c < TileT::block_columns; c += TileT::warps / parts) {
        const std::uint32_t column = c + warp / parts;
        copy_or_zero(stage + column * TileT::column_words + word, from, row && column_ + column < p_.columns);
        from += step;
      }
    }
    constexpr std::uint32_t parts = TileT::query_words / 128;
    const std::uint32_t word = warp % parts * 128 + lane * 4;
    const bool row = s * TileT::depth + word / (2 * TileT::points) < p_.rows;
    const std::size_t from = selectors_ + s * TileT::query_words + word;
    HALOCLINE_UNROLL
    for (std::uint32_t i = 0; i < TileT::block_selectors / 2; i += TileT::warps / parts) {
      const std::uint32_t query = i + warp / parts, number = selector_ / 2 + query;
      copy_or_zero(stage + TileT::database_words + query * TileT::query_words + word,
                   p_.items[number].selectors + from, row && number < p_.queries);
    }
  }

  /// Adds the products of step `s`.
  HALOCLINE_HOST_DEVICE void multiply(std::uint32_t s, std::uint32_t thread, row_sums<TileT>& sums) const {
    const std::uint32_t* const stage = stage_of(s);
    const std::uint32_t lane = thread % 32;
    const std::uint32_t* const database = stage + first_column(thread) * TileT::column_words + lane;
    const std::uint32_t* const selectors =
        stage + TileT::database_words + first_selector(thread) / 2 * TileT::query_words + lane;
    HALOCLINE_UNROLL
    for (std::uint32_t r = 0; r < TileT::depth; ++r) {
      std::uint32_t value[TileT::columns], selector[TileT::selectors];
      HALOCLINE_UNROLL
      for (unsigned c = 0; c < TileT::columns; ++c)
        value[c] = database[c * TileT::column_words + r * TileT::points];
      HALOCLINE_UNROLL
      for (unsigned i = 0; i < TileT::selectors; ++i)
        selector[i] = selectors[i / 2 * TileT::query_words + (2 * r + i % 2) * TileT::points];
      HALOCLINE_UNROLL
      for (unsigned c = 0; c < TileT::columns; ++c) {
        HALOCLINE_UNROLL
        for (unsigned i = 0; i < TileT::selectors; ++i)
          sums.sum[c][i] += std::uint64_t{value[c]} * selector[i];
      }
    }
  }
  /// Brings sums below `bound` 2^32, a multiple of q, from below twice that.
  HALOCLINE_HOST_DEVICE static void reduce(row_sums<TileT>& sums, std::uint32_t bound) {
    HALOCLINE_UNROLL
    for (auto& column : sums.sum) {
      HALOCLINE_UNROLL
      for (std::uint64_t& sum : column) {
        const auto high = reduce_once(static_cast<std::uint32_t>(sum >> 32), bound);
        sum = std::uint64_t{high} << 32 | static_cast<std::uint32_t>(sum);
      }
    }
  }
  /// Writes what the thread's sums are modulo q, divided by 2^32: a warp writes 128 bytes at a time.
  HALOCLINE_HOST_DEVICE void store(std::uint32_t thread, const row_sums<TileT>& sums,
                                   const modulus<std::uint32_t>& q) const {
    const std::size_t word = std::size_t{point_} * TileT::points + thread % 32;
    const std::uint32_t column = column_ + first_column(thread);
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < TileT::selectors; ++i) {
      const std::uint32_t selector = selector_ + first_selector(thread) + i;
      if (selector >= 2 * p_.queries) continue;
      const words_of_array& to = p_.items[selector / 2].dst;
      const std::size_t component = selector % 2 == 0 ? 0 : static_cast<std::size_t>(p_.limbs) << p_.log_n;
      HALOCLINE_UNROLL
      for (unsigned c = 0; c < TileT::columns; ++c) {
        if (column + c >= p_.columns) continue;
        const std::uint64_t sum = sums.sum[c][i];
        const auto high = arith::reduce<std::uint32_t>(sum >> 32, q);
        to.at(column + c)[component + word] = arith::montgomery_reduce<std::uint32_t>(
            std::uint64_t{high} << 32 | static_cast<std::uint32_t>(sum), q);
      }
    }
  }

 private:
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t* stage_of(std::uint32_t s) const {
    return shared_ + s % TileT::stages * TileT::stage_words;
  }
  [[nodiscard]] HALOCLINE_HOST_DEVICE static std::uint32_t first_column(std::uint32_t thread) {
    return thread / 32 % TileT::across * TileT::columns;
  }
  [[nodiscard]] HALOCLINE_HOST_DEVICE static std::uint32_t first_selector(std::uint32_t thread) {
    return thread / 32 / TileT::across * TileT::selectors;
  }

  const row_select_params& p_;
  std::uint32_t* shared_;
  const std::uint32_t* database_;  ///< of the block of points
  std::size_t selectors_;          ///< word of the block of points in a query's matrix
  std::uint32_t point_, column_, selector_, prime_;
};

/// Steps after which sums are reduced.
template <typename TileT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t steps_between(std::uint32_t bound, std::uint32_t q) {
  static_assert(TileT::depth <= 8, "primes of 30 bits leave room for 8 products");
  const auto products = static_cast<std::uint32_t>((std::uint64_t{bound / q} << 32) / q);
  return products / TileT::depth;
}

template <typename TileT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void row_select_body(const row_select_params& p, const TeamT& team,
                                                  std::uint32_t block, std::uint32_t* shared) {
  using state = typename TeamT::template state<row_sums<TileT>>;
  const row_block_work<TileT> work(p, block, shared);
  const modulus<std::uint32_t> q = p.moduli[work.prime()];
  const std::uint32_t bound = (1U << 31) / q.value * q.value;
  const std::uint32_t between = steps_between<TileT>(bound, q.value), steps = work.steps();
  state sums(team);
  team.each([&](std::uint32_t t) {
    sums[t] = {};
    HALOCLINE_UNROLL
    for (std::uint32_t s = 0; s + 1 < TileT::stages; ++s) {
      if (s < steps) work.fetch(s, t);
      end_stage();
    }
  });
  for (std::uint32_t first = 0; first < steps; first += between) {
    const std::uint32_t last = steps - first < between ? steps : first + between;
    for (std::uint32_t s = first; s < last; ++s) {
      team.each([&](std::uint32_t) { wait_stages<TileT::stages - 2>(); });
      team.barrier();  // all threads have copied step s, and have done with the step whose place is filled
      team.each([&](std::uint32_t t) {
        if (s + TileT::stages - 1 < steps) work.fetch(s + TileT::stages - 1, t);
        end_stage();
        work.multiply(s, t, sums[t]);
      });
    }
    team.each([&](std::uint32_t t) { work.reduce(sums[t], bound); });
  }
  team.each([&](std::uint32_t t) { work.store(t, sums[t], q); });
}

}  // namespace halocline::backend::cuda
