// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "halocline/circuits/dft_matrices.hpp"
#include "halocline/circuits/linear_transform.hpp"
#include "halocline/circuits/raised_transform.hpp"

/// CoeffToSlot and SlotToCoeff on ciphertexts: `dft_matrices` as linear transforms, one level each, and the
/// way between complex coefficients w and the real ones that they are made of.
namespace halocline::circuits {

/// What the slots on the side of the coefficients hold. w_j = a_j + i a_(j+n) has the coefficients a of a
/// polynomial with n slots, in bit-reversed order.
enum class dft_parts : unsigned char {
  whole,     ///< w itself, complex: one ciphertext of n slots
  separate,  ///< the real and the imaginary parts of w: two ciphertexts of n slots
  packed,    ///< both behind each other in 2n slots of one ciphertext; for sparse messages, n < N/2
  real,      ///< the real parts only: enough where the slots of the message are real; one ciphertext
};

/// How a transform is made.
struct dft_options {
  std::optional<std::uint32_t> slots;  ///< n, a power of two; N/2 unless given
  std::optional<unsigned> level;       ///< of the input; the highest unless given
  unsigned matrices = 3;               ///< matrices, and levels: 1 to log2(slots)
  dft_parts parts = dft_parts::separate;
  double factor = 1.0;  ///< the result is multiplied by this, positive
  /// Factors of the single matrices besides, in the order in which they are applied; none: 1 each. Where
  /// scales change from level to level they decide how much the noise between two matrices counts.
  std::vector<double> shares;
  transform_mode mode = transform_mode::double_hoisted;  ///< `small_key`: a few keys instead of many
  bool compact = false;                                  ///< see `transform_options::compact`
  std::optional<unsigned> baby_count{};                  ///< see `transform_options::baby_count`
  /// How each matrix is done, in place of `mode`, `compact` and `baby_count`; none: these for all.
  std::vector<transform_way> ways{};
  /// CoeffToSlot only: the first matrix is a `raised_transform`, which takes no level, and which sums the
  /// rotations that leave the slots of a sparse message alone.
  bool from_raised = false;
  std::optional<unsigned> sum_radix{};  ///< of that sum, see `raised_transform`
  /// Stages of each matrix, see `dft_matrices`; those of `dft_stages` unless given.
  std::vector<unsigned> stages{};
};

/// Stages of the matrices: those that are given, else those of `dft_stages`.
[[nodiscard]] std::vector<unsigned> stages_of(dft_direction direction, const dft_options& options);

/// How each matrix is done: as `ways` say, else all of them alike.
[[nodiscard]] std::vector<transform_way> ways_of(const dft_options& options);

/// A chain of linear transforms and its options; base of both directions. Immutable.
class dft_chain {
 public:
  /// Levels taken, one for each matrix but a raised one.
  [[nodiscard]] unsigned levels() const noexcept { return static_cast<unsigned>(transforms_.size()); }
  /// Level of the input.
  [[nodiscard]] unsigned level() const noexcept { return options_.level.value_or(0); }
  /// How it was made, with slots and level filled in.
  [[nodiscard]] const dft_options& options() const noexcept { return options_; }
  /// The matrices, the first to be applied first, without a raised one.
  [[nodiscard]] std::span<const linear_transform> transforms() const noexcept { return transforms_; }
  /// Keys that `apply` uses, ascending by Galois element, each at the highest level of its use.
  [[nodiscard]] std::vector<ckks::key_request> key_requests() const;
  /// Bytes of the encoded diagonals.
  [[nodiscard]] std::size_t bytes() const noexcept;

 protected:
  dft_chain(ckks::evaluator& eval, const dft_options& options, dft_direction direction);
  /// Applies all matrices to each value, one matrix after the other.
  void apply_all(ckks::evaluator& eval, std::vector<ckks::ciphertext>& values) const;

  dft_options options_;
  std::optional<raised_transform> raised_;  ///< applied before the others
  std::vector<linear_transform> transforms_;
  std::vector<ckks::key_request> extra_keys_;  ///< of conjugation and of the sum of both halves
};

/// Moves the coefficients of a message into slots: one ciphertext, or two when `separate`. The message may
/// have coefficients beyond those of n slots in no other place; see `bootstrapper` for how they get there.
class coeff_to_slot : public dft_chain {
 public:
  /// @throws invalid_argument for a bad number of slots or matrices, `packed` with N/2 slots, or a Galois
  ///   generator other than 5, whose slots are no Fourier transform in this order
  /// @throws level_exhausted when the level is below the number of matrices
  coeff_to_slot(ckks::evaluator& eval, const dft_options& options);

  /// @throws as `linear_transform::apply`
  [[nodiscard]] std::vector<ckks::ciphertext> apply(ckks::evaluator& eval,
                                                    const ckks::ciphertext& input) const;
  /// Several at once, matrix by matrix.
  [[nodiscard]] std::vector<std::vector<ckks::ciphertext>> apply_batch(
      ckks::evaluator& eval, std::vector<ckks::ciphertext> inputs) const;
  /// The same of ciphertexts under the sparse secret, for transforms made with `from_raised`.
  [[nodiscard]] std::vector<std::vector<ckks::ciphertext>> apply_raised(
      ckks::evaluator& eval, std::span<const ckks::raised_ciphertext> inputs) const;

 private:
  [[nodiscard]] std::vector<std::vector<ckks::ciphertext>> split(ckks::evaluator& eval,
                                                                 std::vector<ckks::ciphertext> inputs) const;
};

/// The inverse: coefficients of a message from slots. `real` assumes that the imaginary parts belong to a
/// message with real slots.
class slot_to_coeff : public dft_chain {
 public:
  /// Throws as `coeff_to_slot`.
  slot_to_coeff(ckks::evaluator& eval, const dft_options& options);

  /// @param parts what `coeff_to_slot::apply` gives: one ciphertext, or two when `separate`
  /// @throws invalid_argument for another number; otherwise as `linear_transform::apply`
  [[nodiscard]] ckks::ciphertext apply(ckks::evaluator& eval, std::span<const ckks::ciphertext> parts) const;
  /// Several at once, matrix by matrix.
  [[nodiscard]] std::vector<ckks::ciphertext> apply_batch(
      ckks::evaluator& eval, std::vector<std::vector<ckks::ciphertext>> inputs) const;
  /// The same of ciphertexts that are already the sum of their first part and i times the second one.
  [[nodiscard]] std::vector<ckks::ciphertext> apply_joined(ckks::evaluator& eval,
                                                           std::vector<ckks::ciphertext> inputs) const;

 private:
  void check_entering(const ckks::ciphertext& each) const;
};

}  // namespace halocline::circuits
