// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/convert/convert.cuh"

/// Base conversion of 32-bit words with integer matrix instructions (mma.m16n8k32, unsigned bytes).
///
/// The four bytes of y_i are four entries of a row of the left matrix, so the words y_i are its registers as
/// they are. The right matrix has, for source i, byte a of y and target t, the four bytes b of F[t][i] 2^(8a)
/// mod p_t, F being the factors of the table. Sums S_b over sources and a are exact in 32 bits, and
/// sum_b S_b 2^(8b) < 2^48 is the sum of all products modulo p_t: one Montgomery reduction is left. v takes
/// the place of one more source.
///
/// A warp converts 32 coefficients. Row g (g + 8) of the left matrix m is coefficient 4g + 2m (4g + 2m + 1),
/// and the columns of a pair of right matrices are bytes 0, 1 (2, 3) of four targets, so that thread 4g + c
/// ends up with whole sums of target c for the coefficients 4g ... 4g + 3, which it stores together.
namespace halocline::backend::cuda {

/// Targets of a block; further ones are for other blocks (blockIdx.z).
inline constexpr std::uint32_t mma_targets = 48;
/// Coefficients of a warp.
inline constexpr std::uint32_t mma_coefficients = 32;
/// Sources of one step, v included.
inline constexpr std::uint32_t mma_step = 8;
/// Most steps: sums of more would not fit.
inline constexpr std::uint32_t mma_max_steps = 4;

/// What a block keeps in shared memory for `steps` steps.
template <unsigned steps>
struct mma_shared {
  struct source {
    const std::uint32_t* data;
    std::uint32_t q, inverse, quotient, reciprocal;
  };
  struct target {
    std::uint32_t* data;  ///< nullptr: none
    std::uint32_t q, neg_inv;
  };
  /// Registers of the right matrices by group of four targets, step, thread: two matrices of two.
  alignas(16) std::uint32_t right[mma_targets / 4][steps][32][4];
  target targets[mma_targets];
  source sources[steps * mma_step];
};

/// y of the four coefficients of a thread: its registers of the left matrices, [step][half of the step].
template <unsigned steps>
struct mma_left {
  std::uint32_t y[steps][2][4];
};

/// Byte `b` of each of four words, as one word.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t gather_bytes(const std::uint32_t* words,
                                                                      unsigned b) {
  std::uint32_t packed = 0;
  for (unsigned a = 0; a < 4; ++a) packed |= (words[a] >> (8 * b) & 0xff) << (8 * a);
  return packed;
}

/// Fills the right matrices for target `t` of the block and source `i`.
template <unsigned steps>
HALOCLINE_HOST_DEVICE inline void mma_fill_right(const convert_params<std::uint32_t>& p,
                                                 const coordinates& at, std::uint32_t first_target,
                                                 std::uint32_t t, std::uint32_t i,
                                                 mma_shared<steps>& shared) {
  const auto& job = p.jobs.items[at.block_y];
  std::uint32_t shifted[4] = {};
  if (first_target + t < job.targets && i <= job.sources) {
    const auto limb = limb_of(p, job.target_view, job.end_view, first_target + t);
    const modulus<std::uint32_t> q = p.moduli[limb.prime];
    const std::size_t row = job.first_target + first_target + t;
    shifted[0] = job.table[3 * job.sources + row * (job.sources + 1) + i];
    for (unsigned a = 1; a < 4; ++a) {
      shifted[a] = arith::reduce<std::uint32_t>(static_cast<std::uint64_t>(shifted[a - 1]) << 8, q);
    }
  }
  for (unsigned b = 0; b < 4; ++b) {
    const std::uint32_t column = 2 * (t % 4) + b % 2;
    const std::uint32_t thread = 4 * column + i % 4;
    shared.right[t / 4][i / mma_step][thread][b / 2 * 2 + i / 4 % 2] = gather_bytes(shifted, b);
  }
}

/// Fills shared memory for the targets [first_target, first_target + mma_targets).
template <unsigned steps>
HALOCLINE_HOST_DEVICE inline void mma_fill(const convert_params<std::uint32_t>& p, const coordinates& at,
                                           std::uint32_t first_target, mma_shared<steps>& shared) {
  const auto& job = p.jobs.items[at.block_y];
  constexpr std::uint32_t slots = steps * mma_step;
  const std::uint32_t left = job.targets - first_target;
  const std::uint32_t groups = ((left < mma_targets ? left : mma_targets) + 3) / 4;
  for (std::uint32_t e = at.thread; e < groups * 4 * slots; e += at.threads) {
    mma_fill_right<steps>(p, at, first_target, e / slots, e % slots, shared);
  }
  for (std::uint32_t t = at.thread; t < mma_targets; t += at.threads) {
    shared.targets[t] = {nullptr, 1, 1};
    if (t >= left) continue;
    const auto limb = limb_of(p, job.target_view, job.end_view, first_target + t);
    shared.targets[t] = {limb.data, p.moduli[limb.prime].value, p.moduli[limb.prime].neg_inv};
  }
  for (std::uint32_t i = at.thread; i < slots; i += at.threads) {
    shared.sources[i] = {nullptr, 1, 0, 0, 0};
    if (i >= job.sources) continue;
    const auto limb = limb_of(p, job.source_view, job.target_view, i);
    shared.sources[i] = {limb.data, p.moduli[limb.prime].value, job.table[i], job.table[job.sources + i],
                         job.table[2 * job.sources + i]};
  }
}

/// In matrices thread 4g + c holds source or target c and the coefficients 4g ... 4g + 3. To memory the same
/// registers go from and to thread 8c + g, so that eight neighbouring threads move one line: in the order of
/// the matrices every line would be touched by four groups of threads, with a quarter of the bandwidth.
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::uint32_t mma_memory_lane(std::uint32_t matrix_lane) {
  return 8 * (matrix_lane % 4) + matrix_lane / 4;
}
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::uint32_t mma_matrix_lane(std::uint32_t memory_lane) {
  return 4 * (memory_lane % 8) + memory_lane / 8;
}

/// What thread `lane`, in the order of memory, reads of the 32 coefficients from `base` on.
template <unsigned steps>
HALOCLINE_HOST_DEVICE inline void mma_load(const mma_shared<steps>& shared, std::uint32_t lane,
                                           std::size_t base, pack<std::uint32_t> (&x)[2 * steps]) {
  const cache_policy policy = make_policy(cache_hint::normal);
  HALOCLINE_UNROLL
  for (unsigned h = 0; h < 2 * steps; ++h) {
    x[h] = pack<std::uint32_t>{};
    const auto* const data = shared.sources[4 * h + lane / 8].data;
    if (data != nullptr) x[h] = load<std::uint32_t>(data + base + lane % 8 * 4, policy);
  }
}

/// y of what thread `lane`, in the order of matrices, holds; adds y times reciprocal to the fractions.
template <unsigned steps>
HALOCLINE_HOST_DEVICE inline void mma_scale(const mma_shared<steps>& shared, std::uint32_t lane,
                                            const pack<std::uint32_t> (&x)[2 * steps], mma_left<steps>& left,
                                            std::uint64_t* fraction) {
  for (unsigned h = 0; h < 2 * steps; ++h) {
    const auto source = shared.sources[4 * h + lane % 4];
    for (unsigned j = 0; j < 4; ++j) {
      const auto estimate =
          static_cast<std::uint32_t>((static_cast<std::uint64_t>(x[h].word[j]) * source.quotient) >> 32);
      const std::uint32_t lazy = x[h].word[j] * source.inverse - estimate * source.q;
      const std::uint32_t y = subtract_once<std::uint32_t>(lazy, source.q);
      left.y[h / 2][h % 2][j] = y;
      fraction[j] += static_cast<std::uint64_t>(y) * source.reciprocal;
    }
  }
}

/// Puts v, from the fractions summed over all sources, where it belongs.
template <unsigned steps>
HALOCLINE_HOST_DEVICE inline void mma_round(std::uint32_t sources, std::uint32_t lane,
                                            const std::uint64_t* fraction, mma_left<steps>& left) {
  constexpr unsigned shift = reciprocal_shift(32);
  for (unsigned h = 0; h < 2 * steps; ++h) {
    if (4 * h + lane % 4 != sources) continue;
    for (unsigned j = 0; j < 4; ++j) {
      left.y[h / 2][h % 2][j] =
          static_cast<std::uint32_t>((fraction[j] + (std::uint64_t{1} << (shift - 1))) >> shift);
    }
  }
}

/// Sums of a thread after the last step: [left matrix][right matrix][register].
using mma_sums = std::uint32_t[2][2][4];

/// Residues of the four coefficients of a thread, from its sums.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline pack<std::uint32_t> mma_reduce(const mma_sums& sums,
                                                                          std::uint32_t q,
                                                                          std::uint32_t neg_inv) {
  pack<std::uint32_t> result;
  for (unsigned j = 0; j < 4; ++j) {
    const auto& low = sums[j / 2][0];
    const auto& high = sums[j / 2][1];
    const unsigned r = 2 * (j % 2);
    const std::uint64_t z =
        (low[r] + (low[r + 1] << 8)) + (static_cast<std::uint64_t>(high[r] + (high[r + 1] << 8)) << 16);
    const std::uint32_t m = static_cast<std::uint32_t>(z) * neg_inv;
    const auto lazy = static_cast<std::uint32_t>((z + static_cast<std::uint64_t>(m) * q) >> 32);
    result.word[j] = subtract_once<std::uint32_t>(lazy, q);
  }
  return result;
}

}  // namespace halocline::backend::cuda
