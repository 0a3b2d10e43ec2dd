// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/retrieval/fused_block.cuh"

/// Children of a node of an expansion: where they go, as ciphertexts or as rows of a matrix of points.
namespace halocline::backend::cuda {

/// Where a limb goes. Blocks of points follow each other in an array of polynomials, and stand `block` words
/// apart in a matrix of points, where a warp writes 128 bytes that follow each other as well, or points
/// `spread` words apart.
struct fused_place {
  std::uint32_t* data;
  std::size_t block = points_per_block;
  std::uint32_t spread = 1;

  /// The i-th word of a thread, which is number i * threads + thread of the limb.
  template <typename ShapeT>
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t& at(const fused_block<ShapeT>& on, std::uint32_t thread,
                                                        unsigned i) const {
    if constexpr (ShapeT::k != 0) {  // whole blocks of points lie between the words of a thread
      constexpr std::uint32_t step = (1U << (ShapeT::k - ShapeT::e)) / points_per_block;
      static_assert(step > 0);
      return data[thread / points_per_block * block + thread % points_per_block * spread +
                  i * (step * block)];
    } else {
      const std::uint32_t j = i * on.threads() + thread;
      return data[j / points_per_block * block + j % points_per_block * spread];
    }
  }
};

/// Place of a component of a child, for a target.
template <typename ShapeT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline fused_place fused_child(const fused_block<ShapeT>& on,
                                                                   std::uint32_t child,
                                                                   std::uint32_t component,
                                                                   std::uint32_t target) {
  const fused_job& job = on.job;
  if (child >= job.turned)
    return {job.dst.data + (child - job.turned) * job.dst.stride + on.offset(component, target)};
  const std::size_t limb = static_cast<std::size_t>(job.point_rows) << on.log_n();
  return {job.points + target * limb + (2 * child + component) * job.point_block,
          static_cast<std::size_t>(job.point_rows) * points_per_block,
          job.point_block == 1 ? job.point_rows : 1};
}

/// Whether the four rows of a node's children follow each other for each point, in 16 aligned bytes.
template <typename ShapeT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline bool fused_quads(const fused_block<ShapeT>& on) {
  const fused_job& job = on.job;
  return job.point_block == 1 && job.point_rows % 4 == 0 && 2 * on.node + 1 < job.turned;
}

/// Writes both components of both children where they are `fused_quads`.
/// @param turned the sums of both components before their permutation
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void fused_write_quads(const fused_block<ShapeT>& on, std::uint32_t thread,
                                                    const fused_limb& target,
                                                    const std::uint32_t* const (&turned)[2]) {
  const modulus<std::uint32_t>& q = target.q;
  const std::uint32_t* const src = on.job.src.data + on.node * on.job.src.stride;
  const std::uint32_t* const monomial = on.job.monomial + on.offset(0, target.number);
  const std::size_t limb = static_cast<std::size_t>(on.job.point_rows) << on.log_n();
  std::uint32_t* const dst = on.job.points + target.number * limb + 4 * on.node;
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < ShapeT::size; ++i) {
    const std::uint32_t j = i * on.threads() + thread, from = on.job.permutation[j], factor = monomial[j];
    chunk<std::uint32_t> out;
    HALOCLINE_UNROLL
    for (unsigned c = 0; c < 2; ++c) {
      const std::uint32_t a = src[on.offset(c, target.number) + j], b = turned[c][from];
      out.word[c] = subtract_once<std::uint32_t>(a + b, q.value);
      const std::uint64_t product = static_cast<std::uint64_t>(a + q.value - b) * factor;
      out.word[2 + c] = arith::montgomery_reduce<std::uint32_t>(product, q);
    }
    *reinterpret_cast<chunk<std::uint32_t>*>(dst + static_cast<std::size_t>(j) * on.job.point_rows) = out;
  }
}

/// Writes one component of both children; `turned` has the sums before their permutation.
template <typename ShapeT>
HALOCLINE_HOST_DEVICE inline void fused_children(const fused_block<ShapeT>& on, std::uint32_t thread,
                                                 std::uint32_t component, const fused_limb& target,
                                                 const std::uint32_t* turned) {
  const modulus<std::uint32_t>& q = target.q;
  const std::size_t offset = on.offset(component, target.number);
  const std::uint32_t* const src = on.job.src.data + on.node * on.job.src.stride + offset;
  const std::uint32_t* const monomial = on.job.monomial + on.offset(0, target.number);
  const fused_place even = fused_child(on, 2 * on.node, component, target.number);
  const bool second = 2 * on.node + 1 < on.job.children;
  // Without a second child its place is not used, and may be in no array.
  const fused_place odd = fused_child(on, 2 * on.node + (second ? 1 : 0), component, target.number);
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < ShapeT::size; ++i) {
    const std::uint32_t j = i * on.threads() + thread;
    const std::uint32_t a = src[j], b = turned[on.job.permutation[j]];
    even.at(on, thread, i) = subtract_once<std::uint32_t>(a + b, q.value);
    if (!second) continue;
    const std::uint64_t product = static_cast<std::uint64_t>(a + q.value - b) * monomial[j];
    odd.at(on, thread, i) = arith::montgomery_reduce<std::uint32_t>(product, q);
  }
}

}  // namespace halocline::backend::cuda
