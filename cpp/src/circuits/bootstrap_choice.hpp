// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "circuits/choice_parts.hpp"
#include "halocline/circuits/bootstrap_options.hpp"

/// Chooses how the transforms of a bootstrap are done, so that their keys and diagonals fit the memory that
/// there is, or that little must be loaded.
namespace halocline::circuits::detail {

/// A way to do all transforms.
struct transform_choice {
  std::vector<std::vector<transform_way>> ways{};  ///< of the matrices of each chain
  unsigned sum_radix = 2;                          ///< see `bootstrap_transforms`
  std::vector<std::uint64_t> seeded{};             ///< elements of keys that stay seeded, ascending
};

/// A way to add up the rotations of a sparse message after ModRaise.
struct sum_choice {
  unsigned radix = 2;
  std::vector<ckks::key_request> others{};  ///< keys that the bootstrap then uses beside the transforms
  double work = 0;                          ///< of all that no transform does
};

/// What there is room for.
struct choice_limits {
  std::size_t memory = 0;
  bootstrap_room room{};
};

/// What a choice takes.
struct choice_estimate {
  std::size_t key_bytes = 0;         ///< as they are kept; keys that several transforms use count once
  std::size_t expandable_bytes = 0;  ///< of these, halves that seeds can bring back
  std::size_t diagonal_bytes = 0;
  std::size_t workspace_bytes = 0;  ///< baby steps, sums and digits of the largest matrix
  double work = 0;  ///< in NTTs of one limb, see `transform_cost::work`, with the expansion of seeds

  [[nodiscard]] std::size_t bytes() const noexcept { return key_bytes + diagonal_bytes + workspace_bytes; }
};

/// @param sum the keys and the work besides; its radix is that of the choice
[[nodiscard]] choice_estimate estimate(const params::parameters& parameters,
                                       const std::vector<chain_shape>& chains, const sum_choice& sum,
                                       const transform_choice& choice);

/// How long a choice takes within `memory` bytes, in the unit of work: what does not fit is loaded each time,
/// or expanded from seeds, mostly while something else is computed. Never more with more memory. An H200 is
/// assumed; the ratio of computing and loading is that of other cards within a factor of two.
[[nodiscard]] double loading_time(const params::parameters& parameters, const choice_estimate& taken,
                                  std::size_t memory);

/// Whether everything fits with matrices done as they are without limits, no key is to stay seeded, and all
/// keys are there: then nothing needs to be chosen.
[[nodiscard]] bool fits_unchanged(const params::parameters& parameters,
                                  const std::vector<chain_shape>& chains, const sum_choice& sum,
                                  const choice_limits& limits);

/// The best choice within limits: see `bootstrap_room`. More memory never makes it slower. The search is
/// deterministic: it improves uniform choices matrix by matrix for several sizes of memory, which do not
/// depend on the limits, and takes the best of all results.
/// @param sums ways to choose among; none: there is no sum, and no other keys
/// @return nothing where the keys of the room are enough for no choice
[[nodiscard]] std::optional<transform_choice> choose_within(const params::parameters& parameters,
                                                            const std::vector<chain_shape>& chains,
                                                            const std::vector<sum_choice>& sums,
                                                            const choice_limits& limits);

}  // namespace halocline::circuits::detail
