// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/ntt/ntt_tile.cuh"
#include "halocline/arith/arith.hpp"
#include "halocline/backend/retrieval_jobs.hpp"

/// Parameters and shapes of the kernels that compute a node of an expansion, or a selection, in one block.
namespace halocline::backend::cuda {

/// Jobs of a launch; one is the nodes of one client.
inline constexpr std::uint32_t fused_jobs = 128;
/// Limbs of a ring.
inline constexpr std::uint32_t fused_limbs = 16;

/// What is known when a kernel is compiled: words per thread 2^e, log2 N (0: any), components whose digits
/// are multiplied; `staged`: twiddles of forward transforms and rows come through shared memory, the rows
/// while a digit is transformed.
template <unsigned words, unsigned log_n, unsigned parts, bool in_shared>
struct fused_shape {
  static constexpr bool staged = in_shared;
  static constexpr unsigned e = words, k = log_n, components = parts;
  static constexpr unsigned size = 1U << e;
  static constexpr unsigned chunks = size / chunk<std::uint32_t>::words;
};

/// Array of polynomials, as `poly_array`.
struct fused_array {
  std::uint32_t* data = nullptr;
  std::size_t stride = 0;  ///< words from one to the next
};

/// `expand_job` (src, dst, monomial, permutation), `select_job` (src is x, other is y) or `select_tree_job`
/// (src is the data).
struct fused_job {
  fused_array dst, src, other, rows;
  const std::uint32_t* monomial = nullptr;
  const std::uint32_t* permutation = nullptr;
  std::uint32_t* points = nullptr;  ///< what the first `turned` children are brought into
  std::uint32_t point_rows = 0;     ///< of that matrix
  std::uint32_t point_block = points_per_block;
  std::uint32_t turned = 0;
  std::uint32_t children = 0;
  std::uint32_t columns = 0, kept = 0, bits = 0;
  std::uint32_t begin = 0;  ///< number of its first node in the launch
};

/// How digit k is taken from an integer x in [-q/2, q/2): (((x + add) >> shift) & mask) - half.
struct fused_digit {
  std::int32_t add, shift, mask, half;
};

/// Digit `k` of a split. With H_j = B/2 (1 + B + ... + B^(j - 1)), k divisions of the specification leave
/// floor((x + H_k) / B^k), of which the remainder after adding B/2 is taken, (x + H_(k+1)) / B^k modulo B.
/// The last digit has what is left, and so has one whose B^(k+1) exceeds 2^31: |x| is less than 2^29.
[[nodiscard]] constexpr fused_digit fused_digit_of(const digit_split& split, unsigned k) {
  const unsigned bits = split.base_bits;
  if (k * bits >= 31) return {0, 0, 0, 0};  // nothing is left
  std::int32_t add = 0;
  for (unsigned j = 0; j < k; ++j) add += std::int32_t{1} << (j * bits + bits - 1);
  const auto shift = static_cast<std::int32_t>(k * bits);
  if (k + 1 == split.digits || (k + 1) * bits > 31) return {add, shift, -1, 0};
  const std::int32_t half = std::int32_t{1} << (bits - 1);
  return {add + (half << shift), shift, 2 * half - 1, half};
}

struct fused_params {
  const arith::modulus<std::uint32_t>* moduli = nullptr;
  const std::uint32_t* roots = nullptr;  ///< as `ring_tables::roots`
  std::uint32_t log_n = 0, limbs = 0;
  std::uint32_t targets = 0;  ///< limbs of the result that a block computes: a divisor of `limbs`
  std::uint32_t digits = 0;   ///< of each limb
  fused_digit digit[8] = {};
  bool inner = false;  ///< blocks of a subtree have room for a ciphertext in shared memory
  std::uint32_t jobs = 0, nodes = 0;
  fused_job job[fused_jobs] = {};

  [[nodiscard]] constexpr std::uint32_t blocks() const noexcept { return nodes * (limbs / targets); }
  /// Number of the job that a node of the launch belongs to.
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t find(std::uint32_t node) const {
    std::uint32_t low = 0, high = jobs;
    while (high - low > 1) {
      const std::uint32_t middle = (low + high) / 2;
      (node < job[middle].begin ? high : low) = middle;
    }
    return low;
  }
};
static_assert(sizeof(fused_params) <= 32764, "parameters of a kernel");

/// Words of shared memory of a block: coefficients of `components` polynomials, an area for the exchanges
/// within transforms, one for their results, one for twiddles and two for a row.
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::uint32_t fused_coefficient_words(unsigned components,
                                                                                    std::uint32_t limbs,
                                                                                    unsigned log_n) {
  return (components * limbs) << log_n;
}
/// @param inner blocks of subtrees: a ciphertext behind all that
[[nodiscard]] constexpr std::uint32_t fused_shared_bytes(unsigned e, unsigned components, std::uint32_t limbs,
                                                         unsigned log_n, bool staged, bool inner = false) {
  return 4 * (fused_coefficient_words(components, limbs, log_n) + exchange_words(log_n, e) +
              ((staged ? 4U : 1U) << log_n) + (inner ? 2 * limbs << log_n : 0));
}

}  // namespace halocline::backend::cuda
