// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/retrieval/cluster_block.cuh"

/// `expand_node` and `select_pair` in a cluster with a block for each prime: block t makes the coefficients
/// of limb t, reads those of the others, and computes limb t of the result. Between the four phases are the
/// halves of two barriers of the cluster: coefficients are there, and no block reads them any more.
namespace halocline::backend::cuda {

/// What a block has done: transforms, and products that its sums have room for no more.
struct cluster_progress {
  std::uint32_t turn = 0, products = 0;
};

/// Adds the thread's words, below q, times its part of row `term`.
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void cluster_multiply(const cluster_block<ShapeT>& on, std::uint32_t thread,
                                                   fused_state<ShapeT>& own, std::uint32_t term,
                                                   const fused_limb& target) {
  HALOCLINE_UNROLL
  for (unsigned c = 0; c < 2; ++c) {
    const std::uint32_t* const row = fused_row(on, term, c, target);
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < ShapeT::chunks; ++i) {
      const chunk<std::uint32_t> y = fused_words(row, on.number(thread, i));
      HALOCLINE_UNROLL
      for (unsigned j = 0; j < 4; ++j) {
        own.sum[c][4 * i + j] += static_cast<std::uint64_t>(own.x[4 * i + j]) * y.word[j];
      }
    }
  }
}

/// Counts a product, and makes room for the next ones.
template <typename ShapeT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void cluster_count(TeamT& team, cluster_progress& at, const fused_limb& target) {
  if (++at.products < products_per_sum<std::uint32_t>) return;
  team.each_alone([&](std::uint32_t, fused_state<ShapeT>& own) { fused_normalise(own, target); });
  at.products = products_per_reduction<std::uint32_t>;
}

/// Words of a component in NTT form whose digits are multiplied: those of a node, or of y - x of a pair.
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void cluster_load(const cluster_block<ShapeT>& on, std::uint32_t thread,
                                               std::uint32_t component, const fused_limb& limb,
                                               std::uint32_t (&x)[ShapeT::size]) {
  constexpr bool pair = ShapeT::components == 2;
  const std::size_t offset = on.offset(pair ? component : 1, limb.number);
  const std::uint32_t* const src = on.job.src.data + on.node * on.job.src.stride + offset;
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < ShapeT::chunks; ++i) {
    chunk<std::uint32_t> in = fused_words(src, on.number(thread, i));
    if constexpr (pair) {
      const std::uint32_t* const other = on.job.other.data + on.node * on.job.other.stride + offset;
      in = fused_combine<true>(fused_words(other, on.number(thread, i)), in, limb.q.value);
    }
    HALOCLINE_UNROLL
    for (unsigned j = 0; j < 4; ++j) x[4 * i + j] = in.word[j];
  }
}

/// First phase: the block's coefficients. Where limbs have one digit, that modulo its own prime is what is
/// there before the inverse transform.
template <typename ShapeT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void cluster_begin(const cluster_block<ShapeT>& on, TeamT& team,
                                                cluster_progress& at) {
  using state = fused_state<ShapeT>;
  const fused_limb target = on.limb(on.first_target);
  team.each_alone([&](std::uint32_t, state& own) {
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < 2 * ShapeT::size; ++i) own.sum[i / ShapeT::size][i % ShapeT::size] = 0;
  });
  HALOCLINE_NO_UNROLL
  for (std::uint32_t component = 0; component < ShapeT::components; ++component) {
    team.each_alone([&](std::uint32_t thread, state& own) {
      cluster_load(on, thread, component, target, own.x);
      if (on.p.digits == 1) cluster_multiply(on, thread, own, component * on.p.limbs + target.number, target);
    });
    if (on.p.digits == 1) cluster_count<ShapeT>(team, at, target);
    cluster_inverse(on, team, component, target, at.turn++);
  }
}

/// Products of all digits of a component of a limb.
template <typename ShapeT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void cluster_products(const cluster_block<ShapeT>& on, TeamT& team,
                                                   cluster_progress& at, const cluster_source& from,
                                                   std::uint32_t component, std::uint32_t limb) {
  const fused_limb target = on.limb(on.first_target);
  const std::uint32_t first = (component * on.p.limbs + limb) * on.p.digits;
  HALOCLINE_NO_UNROLL
  for (std::uint32_t digit = 0; digit < on.p.digits; ++digit) {
    cluster_forward(on, team, from, digit, target, at.turn++);
    team.each_alone([&](std::uint32_t thread, fused_state<ShapeT>& own) {
      const std::uint32_t q = target.q.value;
      HALOCLINE_UNROLL
      for (unsigned i = 0; i < ShapeT::size; ++i)
        own.x[i] = reduce_once<std::uint32_t>(reduce_once<std::uint32_t>(own.x[i], 2 * q), q);
      cluster_multiply(on, thread, own, first + digit, target);
    });
    cluster_count<ShapeT>(team, at, target);
  }
}

/// Copies a thread's coefficients of another block, which it needs for several digits.
template <typename ShapeT, typename TeamT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline cluster_source cluster_copy(const cluster_block<ShapeT>& on,
                                                                       TeamT& team,
                                                                       const cluster_source& from) {
  team.each_alone([&](std::uint32_t thread, fused_state<ShapeT>&) {
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < ShapeT::chunks; ++i) {
      *reinterpret_cast<chunk<std::uint32_t>*>(on.cache + on.place(thread, 0, i)) =
          cluster_coefficients(on, thread, from, i);
    }
  });
  return {on.cache, 0, 0};
}

/// Products of limbs: the block's own one in the second phase, before the barrier of the cluster, and the
/// others in the third one. Blocks begin with different limbs, so that they read from different blocks.
template <typename ShapeT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void cluster_limbs(const cluster_block<ShapeT>& on, TeamT& team,
                                                cluster_progress& at, bool others) {
  if (!others && on.p.digits == 1) return;
  const std::uint32_t from = others ? 1 : 0, to = others ? on.p.limbs : 1;
  HALOCLINE_NO_UNROLL
  for (std::uint32_t each = from; each < to; ++each) {
    const std::uint32_t sum = on.first_target + each, limb = sum < on.p.limbs ? sum : sum - on.p.limbs;
    HALOCLINE_NO_UNROLL
    for (std::uint32_t component = 0; component < ShapeT::components; ++component) {
      const auto* const own = reinterpret_cast<const std::uint32_t*>(on.coefficients);
      cluster_source source{others ? nullptr : own, component, limb};
      if (others && on.p.digits > 1) source = cluster_copy(on, team, source);
      cluster_products(on, team, at, source, component, limb);
    }
  }
}

/// Sums of both components to shared memory in the order of their points; the first component of an expansion
/// with that of the node.
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void cluster_keep(const cluster_block<ShapeT>& on, std::uint32_t thread,
                                               const fused_state<ShapeT>& own, const fused_limb& target) {
  HALOCLINE_UNROLL
  for (unsigned c = 0; c < 2; ++c) {
    const std::uint32_t* const src =
        on.job.src.data + on.node * on.job.src.stride + on.offset(c, target.number);
    auto* const to = reinterpret_cast<chunk<std::uint32_t>*>(on.area(c));
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < ShapeT::chunks; ++i) {
      chunk<std::uint32_t> sum = fused_reduce(own, c, i, target.q);
      if (c == 0 || ShapeT::components == 2)
        sum = fused_combine<false>(sum, fused_words(src, on.number(thread, i)), target.q.value);
      to[on.number(thread, i)] = sum;
    }
  }
}

/// Fourth phase: the result.
template <typename ShapeT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void cluster_end(const cluster_block<ShapeT>& on, TeamT& team) {
  using state = fused_state<ShapeT>;
  const fused_limb target = on.limb(on.first_target);
  team.each(on.threads(), [](std::uint32_t, state&) {});  // the last transform's exchanges have ended
  team.each(on.threads(), [&](std::uint32_t thread, state& own) { cluster_keep(on, thread, own, target); });
  team.each_alone([&](std::uint32_t thread, state&) {
    if constexpr (ShapeT::components == 1) {
      if (fused_quads(on)) return fused_write_quads(on, thread, target, {on.area(0), on.area(1)});
    }
    HALOCLINE_UNROLL
    for (unsigned c = 0; c < 2; ++c) {
      if constexpr (ShapeT::components == 1) {
        fused_children(on, thread, c, target, on.area(c));
      } else {
        auto* const to = reinterpret_cast<chunk<std::uint32_t>*>(
            on.job.dst.data + on.node * on.job.dst.stride + on.offset(c, target.number));
        HALOCLINE_UNROLL
        for (unsigned i = 0; i < ShapeT::chunks; ++i) {
          const std::uint32_t moved = on.moved_chunk(thread, i);
          to[moved] = fused_words(on.area(c), moved);
        }
      }
    }
  });
}

}  // namespace halocline::backend::cuda
