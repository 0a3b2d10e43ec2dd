// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "halocline/circuits/dft_matrices.hpp"
#include "halocline/circuits/transform_plan.hpp"
#include "halocline/ckks/key_set.hpp"

/// Chooses how the transforms of a bootstrap are done, so that their keys and diagonals fit the memory that
/// there is.
namespace halocline::circuits::detail {

/// One chain of matrices.
struct chain_shape {
  dft_direction direction = dft_direction::coeff_to_slot;
  std::uint32_t slots = 0;
  std::vector<unsigned> stages{};  ///< of each matrix
  unsigned level = 1;              ///< of the input
  bool from_raised = false;        ///< the first matrix is a `raised_transform`
};

/// A way to do both transforms.
struct transform_choice {
  transform_mode mode = transform_mode::double_hoisted;
  std::optional<unsigned> baby_count{};  ///< what the cost model chooses unless given
  bool compact = false;
  unsigned sum_radix = 2;  ///< see `bootstrap_transforms`
};

/// A way to add up the rotations of a sparse message after ModRaise.
struct sum_choice {
  unsigned radix = 2;
  std::vector<ckks::key_request> others{};  ///< keys that the bootstrap then uses beside the transforms
  double work = 0;                          ///< of the sum, where no transform does it
};

/// What a choice takes.
struct choice_estimate {
  std::size_t key_bytes = 0;  ///< expanded; keys that both transforms use count once
  std::size_t diagonal_bytes = 0;
  std::size_t workspace_bytes = 0;  ///< baby steps, sums and digits of the largest matrix
  double work = 0;                  ///< in NTTs of one limb, see `transform_cost::work`

  [[nodiscard]] std::size_t bytes() const noexcept { return key_bytes + diagonal_bytes + workspace_bytes; }
};

/// @param others keys that the bootstrap uses besides
[[nodiscard]] choice_estimate estimate(const params::parameters& parameters,
                                       const std::vector<chain_shape>& chains,
                                       const std::vector<ckks::key_request>& others,
                                       const transform_choice& choice);

/// The choice with the least work among those that take at most `memory` bytes; where none does, the one that
/// takes fewest.
/// @param sums ways to choose among; none: there is no sum, and no other keys
[[nodiscard]] transform_choice choose_within(const params::parameters& parameters,
                                             const std::vector<chain_shape>& chains,
                                             const std::vector<sum_choice>& sums, std::size_t memory);

}  // namespace halocline::circuits::detail
