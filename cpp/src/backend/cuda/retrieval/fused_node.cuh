// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/retrieval/fused_children.cuh"
#include "backend/cuda/retrieval/fused_products.cuh"

/// Blocks of the fused kernels: all of a node for some limbs of the result.
namespace halocline::backend::cuda {

[[nodiscard]] HALOCLINE_HOST_DEVICE inline chunk<std::uint32_t> fused_words(const std::uint32_t* from,
                                                                            std::uint32_t number) {
  return read_chunk(reinterpret_cast<const chunk<std::uint32_t>*>(from) + number);
}

/// a + b, or a - b, modulo q.
template <bool subtract>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline chunk<std::uint32_t> fused_combine(chunk<std::uint32_t> a,
                                                                              const chunk<std::uint32_t>& b,
                                                                              std::uint32_t q) {
  HALOCLINE_UNROLL
  for (unsigned j = 0; j < 4; ++j) {
    a.word[j] = subtract_once<std::uint32_t>(a.word[j] + (subtract ? q - b.word[j] : b.word[j]), q);
  }
  return a;
}

/// `expand_node` of a block's node and limbs.
template <typename ShapeT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void fused_expand(const fused_block<ShapeT>& on, TeamT& team) {
  using state = fused_state<ShapeT>;
  const std::uint32_t* const src = on.job.src.data + on.node * on.job.src.stride;
  HALOCLINE_NO_UNROLL
  for (std::uint32_t limb = 0; limb < on.p.limbs; ++limb) {
    const std::uint32_t* const from = src + on.offset(1, limb);
    fused_inverse(on, team, 0, on.limb(limb),
                  [&](std::uint32_t number) { return fused_words(from, number); });
  }
  HALOCLINE_NO_UNROLL
  for (std::uint32_t number = on.first_target; number < on.first_target + on.p.targets; ++number) {
    const fused_limb target = on.limb(number);
    fused_products(on, team, target, [&](std::uint32_t, std::uint32_t i) {
      return fused_words(src + on.offset(1, number), i);
    });
    const auto keep = [&](std::uint32_t thread, const state& own, unsigned c, std::uint32_t* to) {
      HALOCLINE_UNROLL
      for (unsigned i = 0; i < ShapeT::chunks; ++i) {
        const std::uint32_t moved = on.moved_chunk(thread, i);
        chunk<std::uint32_t> sum = fused_reduce(own, c, i, target.q);
        if (c == 0)
          sum = fused_combine<false>(sum, fused_words(src + on.offset(0, number), moved), target.q.value);
        reinterpret_cast<chunk<std::uint32_t>*>(to)[moved] = sum;
      }
    };
    team.each([&](std::uint32_t thread, state& own) { keep(thread, own, 0, on.exchange); });
    team.each([&](std::uint32_t thread, state& own) {
      keep(thread, own, 1, on.results);
      if (!fused_quads(on)) fused_children(on, thread, 0, target, on.exchange);
    });
    team.each_alone([&](std::uint32_t thread, state&) {
      if (fused_quads(on)) {
        fused_write_quads(on, thread, target, {on.exchange, on.results});
      } else {
        fused_children(on, thread, 1, target, on.results);
      }
    });
  }
}

/// A selection: ciphertexts in device or shared memory, and the number of the bit's first row. dst may be x
/// or y: each thread writes the chunks that it has read, once every coefficient is known.
struct fused_pair {
  const std::uint32_t* x;
  const std::uint32_t* y;
  std::uint32_t* dst;
  std::uint32_t first_row;
};

/// A selection in a block, all limbs.
template <typename ShapeT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void fused_choose(const fused_block<ShapeT>& on, TeamT& team,
                                               const fused_pair& of) {
  using state = fused_state<ShapeT>;
  const auto difference = [&](std::size_t offset, std::uint32_t q, std::uint32_t number) {
    return fused_combine<true>(fused_words(of.y + offset, number), fused_words(of.x + offset, number), q);
  };
  HALOCLINE_NO_UNROLL
  for (std::uint32_t each = 0; each < 2 * on.p.limbs; ++each) {
    const std::uint32_t component = each / on.p.limbs;
    const fused_limb limb = on.limb(each % on.p.limbs);
    const std::size_t offset = on.offset(component, limb.number);
    fused_inverse(on, team, component, limb,
                  [&](std::uint32_t number) { return difference(offset, limb.q.value, number); });
  }
  HALOCLINE_NO_UNROLL
  for (std::uint32_t number = 0; number < on.p.limbs; ++number) {
    const fused_limb target = on.limb(number);
    fused_products(
        on, team, target,
        [&](std::uint32_t component, std::uint32_t i) {
          return difference(on.offset(component, number), target.q.value, i);
        },
        of.first_row);
    team.each_alone([&](std::uint32_t thread, state& own) {
      HALOCLINE_UNROLL
      for (unsigned c = 0; c < 2; ++c) {
        const std::size_t offset = on.offset(c, number);
        HALOCLINE_UNROLL
        for (unsigned i = 0; i < ShapeT::chunks; ++i) {
          const std::uint32_t moved = on.moved_chunk(thread, i);
          const chunk<std::uint32_t> sum = fused_reduce(own, c, i, target.q);
          reinterpret_cast<chunk<std::uint32_t>*>(of.dst + offset)[moved] =
              fused_combine<false>(sum, fused_words(of.x + offset, moved), target.q.value);
        }
      }
    });
  }
}

/// `select_pair` of a block's pair.
template <typename ShapeT, typename TeamT>
HALOCLINE_HOST_DEVICE inline void fused_select(const fused_block<ShapeT>& on, TeamT& team) {
  const fused_job& job = on.job;
  fused_choose(on, team,
               {job.src.data + on.node * job.src.stride, job.other.data + on.node * job.other.stride,
                job.dst.data + on.node * job.dst.stride, 0});
}

}  // namespace halocline::backend::cuda
