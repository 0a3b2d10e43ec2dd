// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/retrieval/cluster_result.cuh"

/// `expand_node` and `select_pair` in a cluster with a block for each prime: block t makes the coefficients
/// of limb t, reads those of the others, and computes limb t of the result. Between the four phases are the
/// halves of two barriers of the cluster: coefficients are there, and no block reads them any more.
namespace halocline::backend::cuda {

/// What a block has done: transforms, and products that its sums have room for no more.
struct cluster_progress {
  std::uint32_t turn = 0, products = 0;
};

/// Begins to copy row `term` to shared memory; the warp has used the one before.
template <typename ShapeT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void cluster_fetch(const cluster_block<ShapeT>& on, TeamT& team,
                                                std::uint32_t term, const fused_limb& target) {
  team.each(on.warp(), [](std::uint32_t, fused_state<ShapeT>&) {});
  team.each_alone([&](std::uint32_t thread, fused_state<ShapeT>&) {
    HALOCLINE_UNROLL
    for (unsigned c = 0; c < 2; ++c) {
      const std::uint32_t* const row = fused_row(on, term, c, target);
      HALOCLINE_UNROLL
      for (unsigned i = 0; i < ShapeT::chunks; ++i) {
        const std::uint32_t number = on.copied(thread, i);
        load_async(*reinterpret_cast<pack<std::uint32_t>*>(on.row_chunk(c, number)), row + 4 * number);
      }
    }
  });
}

/// Adds the threads' words, below 2^31, times their parts of the row that was fetched.
template <typename ShapeT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void cluster_multiply(const cluster_block<ShapeT>& on, TeamT& team) {
  team.each(on.warp(), [](std::uint32_t, fused_state<ShapeT>&) { wait_async(); });
  team.each_alone([&](std::uint32_t thread, fused_state<ShapeT>& own) {
    HALOCLINE_UNROLL
    for (unsigned c = 0; c < 2; ++c) {
      HALOCLINE_UNROLL
      for (unsigned i = 0; i < ShapeT::chunks; ++i) {
        const chunk<std::uint32_t> y = read_chunk(on.row_chunk(c, on.number(thread, i)));
        HALOCLINE_UNROLL
        for (unsigned j = 0; j < 4; ++j) {
          own.sum[c][4 * i + j] += static_cast<std::uint64_t>(own.x[4 * i + j]) * y.word[j];
        }
      }
    }
  });
}

/// Counts a product, and makes room for the next ones.
template <typename ShapeT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void cluster_count(TeamT& team, cluster_progress& at, const fused_limb& target) {
  if (++at.products < cluster_products_per_sum) return;
  team.each_alone([&](std::uint32_t, fused_state<ShapeT>& own) { fused_normalise(own, target); });
  at.products = cluster_products_per_reduction;
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
    const bool single = on.p.digits == 1;
    if (single) cluster_fetch(on, team, component * on.p.limbs + target.number, target);
    team.each_alone(
        [&](std::uint32_t thread, state& own) { cluster_load(on, thread, component, target, own.x); });
    if (single) {
      cluster_multiply(on, team);
      cluster_count<ShapeT>(team, at, target);
    }
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
    cluster_fetch(on, team, first + digit, target);
    cluster_forward(on, team, from, digit, target, at.turn++);
    cluster_multiply(on, team);
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

/// Products of limb `each` behind the block's own one. The own one (0) is the second phase, before the
/// barrier of the cluster; the others are the third one. Blocks begin with different limbs, so that they read
/// from different blocks.
template <typename ShapeT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void cluster_limb(const cluster_block<ShapeT>& on, TeamT& team,
                                               cluster_progress& at, std::uint32_t each) {
  if (each == 0 && on.p.digits == 1) return;
  const std::uint32_t sum = on.first_target + each, limb = sum < on.p.limbs ? sum : sum - on.p.limbs;
  HALOCLINE_NO_UNROLL
  for (std::uint32_t component = 0; component < ShapeT::components; ++component) {
    const auto* const own = reinterpret_cast<const std::uint32_t*>(on.coefficients);
    cluster_source source{each == 0 ? own : nullptr, component, limb};
    if (each != 0 && on.p.digits > 1) source = cluster_copy(on, team, source);
    cluster_products(on, team, at, source, component, limb);
  }
}

/// Fourth phase: the result.
template <typename ShapeT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void cluster_end(const cluster_block<ShapeT>& on, TeamT& team) {
  using state = fused_state<ShapeT>;
  const fused_limb target = on.limb(on.first_target);
  team.each(on.threads(), [](std::uint32_t, state&) {});  // the last transform's exchanges have ended
  team.read();
  team.each(on.threads(), [&](std::uint32_t thread, state& own) { cluster_keep(on, thread, own, target); });
  team.each_alone([&](std::uint32_t thread, state&) {
    if constexpr (ShapeT::components == 1) {
      if (fused_quads(on)) return fused_write_quads(on, thread, target, {on.area(0), on.area(1)});
      if (!cluster_turns(on)) return cluster_expanded(on, thread, target);
      HALOCLINE_NO_UNROLL
      for (unsigned c = 0; c < 2; ++c) fused_children(on, thread, c, target, on.area(c));
    } else {
      cluster_selected(on, thread, target);
    }
  });
}

/// All nodes of a cluster, for block `block` of the launch.
template <typename ShapeT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void cluster_nodes(const fused_params& p, std::uint32_t block,
                                                std::uint32_t* shared, const std::uint32_t* const* of_blocks,
                                                TeamT& team) {
  const std::uint32_t first = block / p.limbs * p.run;
  const std::uint32_t end = first + p.run < p.nodes ? first + p.run : p.nodes;
  cluster_progress at;
  HALOCLINE_NO_UNROLL
  for (std::uint32_t node = first; node < end; ++node) {
    const auto on = cluster_find<ShapeT>(p, node, block % p.limbs, shared, of_blocks);
    at.products = 0;
    cluster_begin(on, team, at);
    team.ready();
    HALOCLINE_NO_UNROLL
    for (std::uint32_t each = 0; each < p.limbs; ++each) {
      if (each == 1) team.wait_ready();
      cluster_limb(on, team, at, each);
    }
    cluster_end(on, team);
    team.wait_read();
    team.each(on.threads(), [](std::uint32_t, fused_state<ShapeT>&) {});  // the result has left shared memory
  }
}

}  // namespace halocline::backend::cuda
