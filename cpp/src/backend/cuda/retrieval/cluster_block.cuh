// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/retrieval/cluster_params.hpp"
#include "backend/cuda/retrieval/fused_node.cuh"

/// A block of a cluster: the coefficients of its limb, which the other blocks read, and transforms with one
/// barrier of the block each.
///
/// A team has two more barriers than that of a block alone: `each(group, body)` ends with a barrier of
/// `group` neighbouring threads, and `arrive` and `wait` are the two halves of a barrier of the cluster.
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
  /// Number of the i-th chunk of a thread's words in NTT form.
  [[nodiscard]] HALOCLINE_HOST_DEVICE static std::uint32_t number(std::uint32_t thread, unsigned i) {
    return thread * ShapeT::chunks + i;
  }
};

/// The block with number `block` of a launch. @param of_blocks null on a device
template <typename ShapeT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline cluster_block<ShapeT> cluster_find(
    const fused_params& p, std::uint32_t block, std::uint32_t* shared,
    const std::uint32_t* const* of_blocks) {
  const unsigned log_n = ShapeT::k != 0 ? ShapeT::k : p.log_n;
  const std::uint32_t node = block / p.limbs;
  const fused_job& job = p.job[p.find(node)];
  std::uint32_t* const exchange = shared + (ShapeT::components << log_n);
  std::uint32_t* const second = exchange + exchange_words(log_n, ShapeT::e);
  return {{p, job, node - job.begin, block % p.limbs, reinterpret_cast<std::int32_t*>(shared), exchange,
           second, nullptr, nullptr, nullptr},
          second + exchange_words(log_n, ShapeT::e),
          of_blocks};
}

/// Sixteen bytes of the shared memory of block `rank` of the cluster; `own` is their place in this block.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline chunk<std::uint32_t> cluster_read(
    [[maybe_unused]] const std::uint32_t* own, [[maybe_unused]] const std::uint32_t* const* of_blocks,
    [[maybe_unused]] std::uint32_t offset, std::uint32_t rank) {
  chunk<std::uint32_t> out{};
#if defined(__CUDA_ARCH__)
#if __CUDA_ARCH__ >= 900
  std::uint32_t at;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(at)
      : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(own + offset))), "r"(rank));
  asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(out.word[0]), "=r"(out.word[1]), "=r"(out.word[2]), "=r"(out.word[3])
               : "r"(at)
               : "memory");
#endif
#else
  out = *reinterpret_cast<const chunk<std::uint32_t>*>(of_blocks[rank] + offset);
#endif
  return out;
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

/// Transforms a digit modulo the block's prime. The words are in the threads' registers, below four times the
/// prime; nothing is waited for at the end.
template <typename ShapeT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void cluster_forward(const cluster_block<ShapeT>& on, TeamT& team,
                                                  const cluster_source& from, std::uint32_t digit,
                                                  const fused_limb& target, std::uint32_t turn) {
  using state = fused_state<ShapeT>;
  const auto first = on.forward(0, target, on.exchange);
  const unsigned rounds = first.rounds();
  const auto begin = [&](std::uint32_t thread, state& own) {
    const fused_digit rule = on.p.digit[digit];
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < ShapeT::chunks; ++i) {
      const chunk<std::uint32_t> in = cluster_coefficients(on, thread, from, i);
      HALOCLINE_UNROLL
      for (unsigned j = 0; j < 4; ++j) {
        const auto x = static_cast<std::int32_t>(in.word[j]);
        const auto part =
            static_cast<std::uint32_t>((((x + rule.add) >> rule.shift) & rule.mask) - rule.half);
        own.x[4 * i + j] = reduce_once<std::uint32_t>(part, 0 - target.q.value);
      }
    }
    on.forward(thread, target, on.area(turn)).forward_loaded(0, own.x);
  };
  if (rounds > 1) {
    team.each(1U << first.below(0), begin);
  } else {
    team.each_alone(begin);
  }
  HALOCLINE_UNROLL
  for (unsigned s = 1; s < rounds; ++s) {
    const auto step = [&](std::uint32_t thread, state& own) {
      on.forward(thread, target, on.area(turn)).forward_loaded(s, own.x);
    };
    if (s + 1 < rounds) {
      team.each(1U << first.below(s), step);
    } else {
      team.each_alone(step);
    }
  }
}

}  // namespace halocline::backend::cuda
