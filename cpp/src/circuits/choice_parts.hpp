// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halocline/circuits/dft_matrices.hpp"
#include "halocline/circuits/linear_transform.hpp"
#include "halocline/ckks/key_set.hpp"

/// What the matrices of a bootstrap take, each done in one way.
namespace halocline::circuits::detail {

/// One chain of matrices.
struct chain_shape {
  dft_direction direction = dft_direction::coeff_to_slot;
  std::uint32_t slots = 0;
  std::vector<unsigned> stages{};  ///< of each matrix
  unsigned level = 1;              ///< of the input
  bool from_raised = false;        ///< the first matrix is a `raised_transform`
  bool packed = false;             ///< see `dft_parts`
};

/// One matrix of a chain: butterflies with half-lengths from `shortest` to `longest`; the unit matrix if 0.
struct matrix_shape {
  std::uint32_t shortest, longest;
  std::uint32_t slots;    ///< of the transform
  std::uint32_t entries;  ///< of a diagonal, that number of slots or half of it
  int rotated;            ///< what is added to the indices of its diagonals, see `rotation_behind`
  std::uint32_t period;   ///< after which the values of a diagonal repeat themselves
  unsigned level;
  bool raised;
};

/// Matrices of a chain, the first to be applied first.
[[nodiscard]] std::vector<matrix_shape> matrices_of(const chain_shape& chain);

/// Whether its diagonals can be kept as coefficients: not where their values repeat, which are small anyway.
[[nodiscard]] bool can_be_compact(const params::parameters& parameters, const matrix_shape& matrix);

/// Shape of the transform of a matrix with these diagonals. Where the way does not say how many baby steps
/// there are, so few that the transform takes at most 4 % more work than with those of a plan: each has a key
/// of its own, which takes memory.
[[nodiscard]] transform_shape shape_of(const params::parameters& parameters, std::span<const int> diagonals,
                                       const transform_way& way, unsigned level, std::uint32_t slots);

/// A key and how often it is used.
struct key_use {
  std::uint64_t galois_element = 1;
  unsigned level = 0;
  double uses = 1;
};

/// What one matrix takes; keys ascend by element.
struct matrix_part {
  std::vector<key_use> keys{};
  std::vector<std::uint64_t> joined{};  ///< elements of the keys of `key_dot`, which takes no seeded ones
  std::size_t diagonal_bytes = 0;
  std::size_t workspace_bytes = 0;  ///< baby steps, sums and digits
  double work = 0;                  ///< in NTTs of one limb, see `transform_cost::work`
  // More where some key of `key_dot` is seeded: products with all of them are then written and read again.
  std::size_t written_bytes = 0;  ///< of workspace
  double written_work = 0;
};

/// @param sum_radix of the sums that follow a raised matrix
[[nodiscard]] matrix_part part_of(const params::parameters& parameters, const matrix_shape& matrix,
                                  const transform_way& way, unsigned sum_radix);

/// Bytes of a key with both halves.
[[nodiscard]] std::size_t key_bytes(const params::parameters& parameters, const ckks::key_request& request);

}  // namespace halocline::circuits::detail
