// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "halocline/circuits/transform_plan.hpp"
#include "halocline/ckks/evaluator.hpp"

namespace halocline::circuits {

/// Generalized diagonals of a linear map on slots: y[i] = sum_d diagonals[d][i] * x[(i + d) mod slots], d in
/// (-slots, slots). Each has one entry for every slot.
using diagonal_map = std::map<int, std::vector<std::complex<double>>>;

/// All non-zero generalized diagonals of a dense slots x slots matrix given by rows.
/// @throws invalid_argument unless `matrix` has slots * slots entries
[[nodiscard]] diagonal_map diagonals_of(std::span<const std::complex<double>> matrix, std::uint32_t slots);

/// How a transform is evaluated and how its diagonals are kept.
struct transform_options {
  transform_mode mode = transform_mode::double_hoisted;
  /// Level of the input; nothing means the highest.
  std::optional<unsigned> level;
  /// Slots of the input, a power of two; 0 means N/2.
  std::uint32_t slots = 0;
  unsigned baby_count = 0;  ///< babies of each giant; 0 lets the cost model choose
  /// Keep diagonals as integer coefficients (8 bytes each, whatever the level) and expand them at each use:
  /// fewer bytes to hold and to move, one NTT per limb more for each diagonal. Otherwise they are expanded
  /// once.
  bool compact = false;
};

/// One linear map with its diagonals encoded for one level, at the scale (`transform_plan::weight_scale`)
/// that makes the rescaled result of a ciphertext of canonical scale canonical again. Uses one level. Bound
/// to the context it was made with; immutable.
class linear_transform {
 public:
  /// Encodes `diagonals`; those that are 0 everywhere are left out.
  /// @throws invalid_argument for no non-zero diagonal, a diagonal whose length is not the number of slots,
  ///   an index out of range, or values that the encoder refuses
  /// @throws level_exhausted for level 0
  linear_transform(ckks::evaluator& eval, const diagonal_map& diagonals,
                   const transform_options& options = {});

  /// The same with a plan made elsewhere, for transforms that share their inputs' rotations.
  linear_transform(ckks::evaluator& eval, const diagonal_map& diagonals,
                   std::shared_ptr<const transform_plan> plan, bool compact);

  /// The transform of `input`, one level below `level()`. A higher input is brought to `level()`.
  /// @throws level_exhausted when the input is below `level()`
  /// @throws invalid_argument when the input has other slots or is not relinearized
  /// @throws scale_mismatch when the input's scale is not the canonical one
  [[nodiscard]] ckks::ciphertext apply(ckks::evaluator& eval, const ckks::ciphertext& input) const;

  /// The split into giant and baby steps.
  [[nodiscard]] const transform_plan& plan() const noexcept { return *plan_; }
  /// Level of the input.
  [[nodiscard]] unsigned level() const noexcept { return plan_->level(); }
  /// Rotations whose keys `apply` uses, distinct and ascending.
  [[nodiscard]] std::vector<std::int64_t> required_rotations() const;
  /// Keys that `apply` uses, ascending by Galois element, all at `level()`.
  [[nodiscard]] std::vector<ckks::key_request> key_requests() const;
  /// What `apply` costs.
  [[nodiscard]] transform_cost cost() const;
  /// Bytes of the encoded diagonals.
  [[nodiscard]] std::size_t bytes() const noexcept;

  /// A diagonal rotated to the right by its giant step: NTT form over the primes of the level (and special
  /// primes in double hoisting), or coefficients when compact.
  struct weight {
    transform_term term;
    ring::poly expanded;
    ckks::compact_plaintext compact;
  };
  /// Encoded diagonals, grouped by giant, ascending.
  [[nodiscard]] std::span<const weight> weights() const noexcept { return weights_; }

 private:
  std::shared_ptr<const transform_plan> plan_;
  std::vector<weight> weights_;
};

/// A matrix of linear maps: output o is the sum over inputs i of cell (o, i) applied to input i. The
/// rotations of each input are hoisted and shared by all outputs, and the sum over inputs is taken before the
/// giant steps, so a dense layer over several ciphertexts, several transforms of one ciphertext, and a
/// convolution all cost as few key switches as their shape allows. Uses one level. Bound to the context it
/// was made with; immutable.
class transform_grid {
 public:
  /// @param cells diagonals of every cell, `cells[o][i]`; an empty map is a zero cell
  /// @throws invalid_argument when rows differ in length or an output has no non-zero cell; otherwise as
  ///   `linear_transform`
  transform_grid(ckks::evaluator& eval, const std::vector<std::vector<diagonal_map>>& cells,
                 const transform_options& options = {});

  /// All outputs. Throws as `linear_transform::apply`, and invalid_argument for a wrong number of inputs.
  [[nodiscard]] std::vector<ckks::ciphertext> apply(ckks::evaluator& eval,
                                                    std::span<const ckks::ciphertext* const> inputs) const;

  /// Number of input ciphertexts.
  [[nodiscard]] std::size_t inputs() const noexcept { return inputs_; }
  /// Number of output ciphertexts.
  [[nodiscard]] std::size_t outputs() const noexcept { return cells_.size() / inputs_; }
  /// The split that all cells share.
  [[nodiscard]] const transform_plan& plan() const noexcept { return *plan_; }
  /// Level of the inputs.
  [[nodiscard]] unsigned level() const noexcept { return plan_->level(); }
  /// Rotations whose keys `apply` uses, distinct and ascending.
  [[nodiscard]] std::vector<std::int64_t> required_rotations() const;
  /// Keys that `apply` uses, ascending by Galois element, all at `level()`.
  [[nodiscard]] std::vector<ckks::key_request> key_requests() const;
  /// What `apply` costs.
  [[nodiscard]] transform_cost cost() const;
  /// Bytes of the encoded diagonals.
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  [[nodiscard]] std::vector<const linear_transform*> view() const;

  std::size_t inputs_ = 0;
  std::shared_ptr<const transform_plan> plan_;
  std::vector<std::optional<linear_transform>> cells_;  ///< row-major [output][input]
};

/// Requests for rotation keys at one level, ascending by Galois element.
[[nodiscard]] std::vector<ckks::key_request> rotation_requests(const params::parameters& parameters,
                                                               std::span<const std::int64_t> rotations,
                                                               unsigned level);

}  // namespace halocline::circuits
