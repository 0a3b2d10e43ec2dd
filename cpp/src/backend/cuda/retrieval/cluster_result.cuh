// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/retrieval/cluster_block.cuh"

/// Results of the blocks of a cluster: from the sums of threads, through shared memory, to device memory.
namespace halocline::backend::cuda {

/// Whether a node's children become rows of points: then threads write words, not chunks.
template <typename ShapeT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline bool cluster_turns(const cluster_block<ShapeT>& on) {
  return ShapeT::components == 1 && on.job.turned > 0;
}

/// Place of word `j` in a sum's area: neighbours of a thread, and every fourth word, lie on different banks.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t cluster_place(std::uint32_t j) {
  return j + (j >> 5);
}

/// Sums of both components of a thread, divided by 2^32, to shared memory; the first one of an expansion with
/// the node's first component.
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void cluster_keep(const cluster_block<ShapeT>& on, std::uint32_t thread,
                                               const fused_state<ShapeT>& own, const fused_limb& target) {
  HALOCLINE_UNROLL
  for (unsigned c = 0; c < 2; ++c) {
    const std::uint32_t* const src =
        on.job.src.data + on.node * on.job.src.stride + on.offset(0, target.number);
    const std::uint32_t first = thread * ShapeT::size;
    std::uint32_t* const to = on.area(c) + (cluster_turns(on) ? first : cluster_place(first));
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < ShapeT::chunks; ++i) {
      chunk<std::uint32_t> sum = fused_reduce(own, c, i, target.q);
      if (ShapeT::components == 1 && c == 0)
        sum = fused_combine<false>(sum, fused_words(src, on.number(thread, i)), target.q.value);
      HALOCLINE_UNROLL
      for (unsigned j = 0; j < 4; ++j) to[4 * i + j] = sum.word[j];
    }
  }
}

/// Four words of both children. @param sum that of the component, in the order of the children
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void cluster_children(const cluster_block<ShapeT>& on, std::uint32_t component,
                                                   std::uint32_t number, const fused_limb& target,
                                                   chunk<std::uint32_t> sum) {
  const modulus<std::uint32_t>& q = target.q;
  const std::size_t offset = on.offset(component, target.number);
  const std::uint32_t* const src = on.job.src.data + on.node * on.job.src.stride + offset;
  std::uint32_t* const even = on.job.dst.data + 2 * on.node * on.job.dst.stride + offset;
  const chunk<std::uint32_t> a = fused_words(src, number);
  const chunk<std::uint32_t> monomial = fused_words(on.job.monomial + on.offset(0, target.number), number);
  chunk<std::uint32_t> low, high;
  HALOCLINE_UNROLL
  for (unsigned j = 0; j < 4; ++j) {
    low.word[j] = reduce_once<std::uint32_t>(a.word[j] + sum.word[j], q.value);
    const std::uint64_t product =
        static_cast<std::uint64_t>(a.word[j] + q.value - sum.word[j]) * monomial.word[j];
    high.word[j] = arith::montgomery_reduce<std::uint32_t>(product, q);
  }
  reinterpret_cast<chunk<std::uint32_t>*>(even)[number] = low;
  if (2 * on.node + 1 < on.job.children)
    reinterpret_cast<chunk<std::uint32_t>*>(even + on.job.dst.stride)[number] = high;
}

/// Results of an expansion.
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void cluster_expanded(const cluster_block<ShapeT>& on, std::uint32_t thread,
                                                   const fused_limb& target) {
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < ShapeT::chunks; ++i) {
    const std::uint32_t number = on.moved_chunk(thread, i);
    const chunk<std::uint32_t> order = fused_words(on.job.permutation, number);
    HALOCLINE_UNROLL
    for (unsigned c = 0; c < 2; ++c) {
      chunk<std::uint32_t> sum;
      HALOCLINE_UNROLL
      for (unsigned j = 0; j < 4; ++j) sum.word[j] = on.area(c)[cluster_place(order.word[j])];
      cluster_children(on, c, number, target, sum);
    }
  }
}

/// Results of a selection.
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void cluster_selected(const cluster_block<ShapeT>& on, std::uint32_t thread,
                                                   const fused_limb& target) {
  HALOCLINE_UNROLL
  for (unsigned c = 0; c < 2; ++c) {
    const std::size_t offset = on.offset(c, target.number);
    const std::uint32_t* const x = on.job.src.data + on.node * on.job.src.stride + offset;
    std::uint32_t* const dst = on.job.dst.data + on.node * on.job.dst.stride + offset;
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < ShapeT::chunks; ++i) {
      const std::uint32_t number = on.moved_chunk(thread, i);
      chunk<std::uint32_t> sum;
      HALOCLINE_UNROLL
      for (unsigned j = 0; j < 4; ++j) sum.word[j] = on.area(c)[cluster_place(4 * number) + j];
      reinterpret_cast<chunk<std::uint32_t>*>(dst)[number] =
          fused_combine<false>(sum, fused_words(x, number), target.q.value);
    }
  }
}

}  // namespace halocline::backend::cuda
