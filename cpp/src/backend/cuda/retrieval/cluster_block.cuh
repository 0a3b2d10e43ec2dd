// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/retrieval/cluster_params.hpp"
#include "backend/cuda/retrieval/cluster_read.cuh"
#include "backend/cuda/retrieval/fused_node.cuh"
#include "backend/cuda/retrieval/lazy_rounds.cuh"

/// A block of a cluster: the coefficients of its limb, which the other blocks read, and transforms with one
/// barrier of the block each.
///
/// A team has more barriers than that of a block alone: `each(group, body)` ends with a barrier of `group`
/// neighbouring threads. Two barriers of the cluster come in halves. `ready` (a barrier of the block too) and
/// `wait_ready`: coefficients of all blocks are there. `read` and `wait_read`: no block reads those of this
/// one.
namespace halocline::backend::cuda {

template <typename ShapeT>
struct cluster_block : fused_block<ShapeT> {
  std::uint32_t* cache;                   ///< coefficients of another block's limb
  const std::uint32_t* const* of_blocks;  ///< on the host: shared memory of the cluster's blocks

  /// Area for the exchanges of transform number `turn`: two take turns, so that a thread may begin a
  /// transform while others end the one before. They end the one before that ahead of the last barrier of the
  /// block.
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t* area(std::uint32_t turn) const {
    return turn % 2 == 0 ? this->exchange : this->results;
  }
  /// Words before the i-th chunk of a thread's coefficients of a component. Only threads of one number use
  /// them, in all blocks; so chunks lie as is best for banks.
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t place(std::uint32_t thread, std::uint32_t component,
                                                          unsigned i) const {
    return (component << this->log_n()) + 4 * (i * this->threads() + thread);
  }
  /// Threads of a warp.
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t warp() const {
    return this->threads() < 32 ? this->threads() : 32;
  }
  /// Number of the i-th chunk that a thread copies: a warp copies the chunks that it uses, side by side.
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t copied(std::uint32_t thread, unsigned i) const {
    const std::uint32_t lane = thread % warp();
    return (thread - lane) * ShapeT::chunks + i * warp() + lane;
  }
  /// Chunk `number` of a component of a row, in shared memory: neighbours of a thread lie on different banks.
  [[nodiscard]] HALOCLINE_HOST_DEVICE chunk<std::uint32_t>* row_chunk(unsigned component,
                                                                      std::uint32_t number) const {
    return reinterpret_cast<chunk<std::uint32_t>*>(this->rows + (component << this->log_n())) +
           (number ^ ((number >> 3) & (ShapeT::chunks - 1)));
  }
  /// Number of the i-th chunk of a thread's words in NTT form.
  [[nodiscard]] HALOCLINE_HOST_DEVICE static std::uint32_t number(std::uint32_t thread, unsigned i) {
    return thread * ShapeT::chunks + i;
  }
};

/// Block `rank` of the cluster of a node of a launch. @param of_blocks null on a device
template <typename ShapeT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline cluster_block<ShapeT> cluster_find(
    const fused_params& p, std::uint32_t node, std::uint32_t rank, std::uint32_t* shared,
    const std::uint32_t* const* of_blocks) {
  const unsigned log_n = ShapeT::k != 0 ? ShapeT::k : p.log_n;
  const fused_job& job = p.job[p.find(node)];
  std::uint32_t* const coefficients = shared + cluster_barrier_words;
  std::uint32_t* const exchange = coefficients + (ShapeT::components << log_n);
  std::uint32_t* const second = exchange + exchange_words(log_n, ShapeT::e);
  std::uint32_t* const rows = second + exchange_words(log_n, ShapeT::e);
  return {{p, job, node - job.begin, rank, reinterpret_cast<std::int32_t*>(coefficients), exchange, second,
           nullptr, rows, nullptr},
          rows + (2U << log_n),
          of_blocks};
}

/// Coefficients of a component of the block's limb, in [-q/2, q/2). A thread has its words in NTT form in
/// registers before, and its coefficients in shared memory after it; nothing is waited for at the end.
template <typename ShapeT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void cluster_inverse(const cluster_block<ShapeT>& on, TeamT& team,
                                                  std::uint32_t component, const fused_limb& limb,
                                                  std::uint32_t turn) {
  using state = fused_state<ShapeT>;
  const auto first = on.inverse(0, limb, on.exchange);
  const unsigned rounds = first.rounds();
  HALOCLINE_UNROLL
  for (unsigned s = 0; s + 1 < rounds; ++s) {
    team.each(1U << first.below(rounds - 2 - s), [&](std::uint32_t thread, state& own) {
      on.inverse(thread, limb, on.area(turn)).template inverse_step<true>(s, own.x);
    });
  }
  team.each_alone([&](std::uint32_t thread, state& own) {
    on.inverse(thread, limb, on.area(turn)).template inverse_step<true>(rounds - 1, own.x);
    const std::uint32_t q = limb.q.value;
    auto* const to = reinterpret_cast<std::uint32_t*>(on.coefficients);
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < ShapeT::chunks; ++i) {
      chunk<std::uint32_t> out;
      HALOCLINE_UNROLL
      for (unsigned j = 0; j < 4; ++j) {
        const std::uint32_t x = own.x[4 * i + j];
        out.word[j] = x - (x > q / 2 ? q : 0);
      }
      *reinterpret_cast<chunk<std::uint32_t>*>(to + on.place(thread, component, i)) = out;
    }
  });
}

/// Where a thread's coefficients are: in block `rank`, or at `local` of its own block where that is not null.
struct cluster_source {
  const std::uint32_t* local;
  std::uint32_t component, rank;
};

/// A thread's chunk of coefficients.
template <typename ShapeT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline chunk<std::uint32_t> cluster_coefficients(
    const cluster_block<ShapeT>& on, std::uint32_t thread, const cluster_source& from, unsigned i) {
  const std::uint32_t offset = on.place(thread, from.component, i);
  if (from.local != nullptr)
    return read_chunk(reinterpret_cast<const chunk<std::uint32_t>*>(from.local + offset));
  return cluster_read(reinterpret_cast<const std::uint32_t*>(on.coefficients), on.of_blocks, offset,
                      from.rank);
}

/// A thread's words of a digit, in [0, q).
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void cluster_digit(const cluster_block<ShapeT>& on, std::uint32_t thread,
                                                const cluster_source& from, std::uint32_t digit,
                                                std::uint32_t q, std::uint32_t (&x)[ShapeT::size]) {
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < ShapeT::chunks; ++i) {
    const chunk<std::uint32_t> in = cluster_coefficients(on, thread, from, i);
    HALOCLINE_UNROLL
    for (unsigned j = 0; j < 4; ++j) x[4 * i + j] = in.word[j];
  }
  if (on.p.digits > 1) {
    const fused_digit rule = on.p.digit[digit];
    HALOCLINE_UNROLL
    for (std::uint32_t& each : x) {
      const auto word = static_cast<std::int32_t>(each);
      each = static_cast<std::uint32_t>((((word + rule.add) >> rule.shift) & rule.mask) - rule.half);
    }
  }
  HALOCLINE_UNROLL
  for (std::uint32_t& each : x) each = reduce_once<std::uint32_t>(each, 0 - q);  // each + q where negative
}

/// Transforms a digit modulo the block's prime. The words are in the threads' registers, below 2^31; nothing
/// is waited for at the end.
template <typename ShapeT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void cluster_forward(const cluster_block<ShapeT>& on, TeamT& team,
                                                  const cluster_source& from, std::uint32_t digit,
                                                  const fused_limb& target, std::uint32_t turn) {
  using state = fused_state<ShapeT>;
  const auto first = on.forward(0, target, on.exchange);
  const unsigned rounds = first.rounds();
  lazy_words<ShapeT::headroom> bound{target.q.value};
  HALOCLINE_UNROLL
  for (unsigned s = 0; s < rounds; ++s) {
    const lazy_words<ShapeT::headroom> before = bound;
    bound.pass(s == 0 ? first.first_stages() : ShapeT::e);
    const auto step = [&](std::uint32_t thread, state& own) {
      const auto at = on.forward(thread, target, on.area(turn));
      if (s == 0) {
        cluster_digit(on, thread, from, digit, target.q.value, own.x);
      } else {
        at.get(s, own.x);
      }
      lazy_round<ShapeT::e>(own.x, at.at, at.node_of(s), s == 0 ? at.first_stages() : ShapeT::e, before);
      if (s + 1 < rounds) {
        at.put(s, own.x);
      } else {
        HALOCLINE_UNROLL
        for (std::uint32_t& each : own.x) each = reduce_once<std::uint32_t>(each, bound.step());
      }
    };
    if (s + 1 < rounds) {
      team.each(1U << first.below(s), step);
    } else {
      team.each_alone(step);
    }
  }
}

}  // namespace halocline::backend::cuda
