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
/// (-slots, slots); d and d - slots are the same diagonal, and are added. Each has an entry for every slot.
using diagonal_map = std::map<int, std::vector<std::complex<double>>>;

/// All non-zero generalized diagonals of a dense slots x slots matrix given by rows.
/// @throws invalid_argument unless `matrix` has slots * slots entries
[[nodiscard]] diagonal_map diagonals_of(std::span<const std::complex<double>> matrix, std::uint32_t slots);

/// How a transform is evaluated and how its diagonals are kept.
struct transform_options {
  transform_mode mode = transform_mode::double_hoisted;
  /// Level of the input; nothing means the highest.
  std::optional<unsigned> level;
  /// Slots of the input, a power of two; N/2 unless given.
  std::optional<std::uint32_t> slots;
  std::optional<unsigned> baby_count;  ///< babies of each giant; the cost model chooses unless given
  /// Keep diagonals as integer coefficients (8 bytes each, whatever the level) and expand them at each use:
  /// fewer bytes to hold and to move, one NTT per limb more for each diagonal. Otherwise they are expanded
  /// once.
  bool compact = false;
  /// Each giant has a rotation and a key of its own in double hoisting too; see `transform_shape::direct`.
  bool direct = false;
};

/// How one of several transforms is done; see `transform_options`.
struct transform_way {
  transform_mode mode = transform_mode::double_hoisted;
  std::optional<unsigned> baby_count{};  ///< babies of each giant; the cost model chooses unless given
  bool compact = false;

  bool operator==(const transform_way&) const = default;
};

/// A diagonal of a cell, rotated to the right by its giant step and encoded: NTT form over the primes of the
/// level (and special primes in double hoisting), or coefficients when compact.
struct transform_weight {
  transform_term term;
  ring::poly expanded;
  ckks::compact_plaintext compact;
};

class linear_transform;

/// A matrix of linear maps: output o is the sum over inputs i of cell (o, i) applied to input i. The
/// rotations of each input are hoisted and shared by all outputs, and the sum over inputs is taken before the
/// giant steps, so a dense layer over several ciphertexts, several transforms of one ciphertext, and a
/// convolution all cost as few key switches as their shape allows. Uses one level. Bound to the context it
/// was made with; immutable.
///
/// Diagonals are encoded for one level, at the scale (`transform_plan::weight_scale`) that makes the rescaled
/// result of a ciphertext of canonical scale canonical again; those that are 0 everywhere are left out.
class transform_grid {
 public:
  /// @param cells diagonals of every cell, `cells[o][i]`; an empty map is a zero cell
  /// @throws invalid_argument when rows differ in length or an output has no non-zero cell; for a diagonal
  ///   whose length is not the number of slots, an index out of range, or values
  ///   that the encoder refuses
  /// @throws level_exhausted for level 0
  transform_grid(ckks::evaluator& eval, const std::vector<std::vector<diagonal_map>>& cells,
                 const transform_options& options = {});

  /// All outputs, one level below `level()`. Higher inputs are brought to `level()`.
  /// @throws level_exhausted when an input is below `level()`
  /// @throws invalid_argument for a wrong number of inputs, or one that has other slots or is not
  /// relinearized
  /// @throws scale_mismatch when the scale of an input is not the canonical one
  [[nodiscard]] std::vector<ckks::ciphertext> apply(ckks::evaluator& eval,
                                                    std::span<const ckks::ciphertext* const> inputs) const;

  /// Number of input ciphertexts.
  [[nodiscard]] std::size_t inputs() const noexcept { return inputs_; }
  /// Number of output ciphertexts.
  [[nodiscard]] std::size_t outputs() const noexcept { return cells_.size() / inputs_; }
  /// The split into giant and baby steps, which all cells share.
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
  /// Encoded diagonals of a cell, grouped by giant, ascending; none for a zero cell.
  [[nodiscard]] std::span<const transform_weight> cell(std::size_t output, std::size_t input) const {
    return cells_[output * inputs_ + input];
  }
  /// Babies of every input and giants of every output that non-zero cells use.
  [[nodiscard]] transform_usage usage() const;

 private:
  friend class linear_transform;
  transform_grid(ckks::evaluator& eval, std::span<const diagonal_map* const> cells, std::size_t inputs,
                 const transform_options& options);

  std::size_t inputs_ = 0;
  std::shared_ptr<const transform_plan> plan_;
  std::vector<std::vector<transform_weight>> cells_;  ///< row-major [output][input]
};

/// One linear map: a `transform_grid` of one cell, for one ciphertext. "linear_transform" in traces.
class linear_transform {
 public:
  /// @throws as `transform_grid`, and invalid_argument for no non-zero diagonal
  linear_transform(ckks::evaluator& eval, const diagonal_map& diagonals,
                   const transform_options& options = {});

  /// The transform of `input`, one level below `level()`. Throws as `transform_grid::apply`.
  [[nodiscard]] ckks::ciphertext apply(ckks::evaluator& eval, const ckks::ciphertext& input) const;

  /// The grid of one cell, which has all of these.
  [[nodiscard]] const transform_grid& grid() const noexcept { return grid_; }
  [[nodiscard]] const transform_plan& plan() const noexcept { return grid_.plan(); }
  [[nodiscard]] unsigned level() const noexcept { return grid_.level(); }
  [[nodiscard]] std::vector<std::int64_t> required_rotations() const { return grid_.required_rotations(); }
  [[nodiscard]] std::vector<ckks::key_request> key_requests() const { return grid_.key_requests(); }
  [[nodiscard]] transform_cost cost() const { return grid_.cost(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return grid_.bytes(); }
  [[nodiscard]] std::span<const transform_weight> weights() const { return grid_.cell(0, 0); }

 private:
  transform_grid grid_;
};

/// Requests for rotation keys at one level, ascending by Galois element.
[[nodiscard]] std::vector<ckks::key_request> rotation_requests(const params::parameters& parameters,
                                                               std::span<const std::int64_t> rotations,
                                                               unsigned level);

}  // namespace halocline::circuits
