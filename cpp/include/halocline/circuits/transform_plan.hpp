// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "halocline/params/parameters.hpp"

namespace halocline::circuits {

/// How the rotations of a linear transform y = sum_d diagonal_d * rotate(x, d) are organised. Every diagonal
/// is written d = giant + baby, so that
///
///     y = sum_giant rotate(sum_baby rotate(diagonal_d, -giant) * rotate(x, baby), giant)
///
/// (baby-step giant-step; Halevi and Shoup, "Faster homomorphic linear transformations in HElib", CRYPTO
/// 2018). Double hoisting and small keys rotate sums by Horner's rule, from the outermost giants towards 0:
/// no more rotations than if each were rotated by itself, and one key in either direction where giants follow
/// each other without gaps.
enum class transform_mode : unsigned char {
  /// Only baby steps: one hoisted rotation for each diagonal. Wins for few diagonals, or when many outputs
  /// share an input. A key for each diagonal.
  naive,
  /// Babies hoisted, a full key switch for each giant, whose sum is rotated by itself: the textbook way, with
  /// a key for each baby and each giant. Keeps everything over the primes of the level: least workspace.
  bsgs,
  /// Babies stay multiplied by P over special + chain primes, so that a baby costs no division, a giant one
  /// division of one polynomial, and the whole sum one division that rescales as well (double hoisting;
  /// Bossuat, Mouchet, Troncoso-Pastoriza, Hubaux, ePrint 2020/1203, algorithm 6). Fastest where memory
  /// suffices.
  double_hoisted,
  /// Babies walk by repeated rotation with one key, giants by single steps with one more in either direction:
  /// two or three keys, at the price of a full key switch for each step (the minimal key-switching idea of
  /// ARK, arXiv 2205.00922, section on Min-KS).
  small_key,
};

/// Name of a mode as options and messages spell it.
[[nodiscard]] const char* to_string(transform_mode mode) noexcept;

/// One diagonal in a plan: diagonal = giant * giant_step + baby * baby_step modulo the number of slots.
struct transform_term {
  int diagonal = 0;  ///< unwrapped index, in (-slots, slots)
  int giant = 0;     ///< number of giant steps
  int baby = 0;      ///< number of baby steps
};

/// What a transform with several inputs and outputs uses of a plan: sorted, distinct step numbers.
struct transform_usage {
  std::vector<std::vector<int>> babies;  ///< for every input
  std::vector<std::vector<int>> giants;  ///< for every output
  std::size_t products = 0;              ///< diagonals in all cells together
};

/// What an evaluation costs.
struct transform_cost {
  std::size_t key_switches = 0;    ///< products with a key
  std::size_t decompositions = 0;  ///< ModUps; hoisting shares one between several key switches
  std::size_t divisions = 0;  ///< polynomials divided by P (ModDowns), the last pair of each output included
  std::size_t plaintext_products = 0;  ///< diagonals multiplied
  std::size_t keys = 0;                ///< distinct rotation keys
  /// Arithmetic in units of one NTT of one limb: an elementwise pass over a limb counts 2 / log2 N (N
  /// products against N/2 log2 N butterflies), a base conversion one pass for each pair of source and target
  /// limb.
  double work = 0;
};

/// What a plan is made for.
struct transform_shape {
  transform_mode mode = transform_mode::double_hoisted;
  unsigned level = 1;       ///< of the input; the result is one lower
  std::uint32_t slots = 0;  ///< power of two, at most N/2
  /// Babies of each giant, at least 1; the cost model chooses unless given.
  std::optional<unsigned> baby_count{};
  std::size_t inputs = 1;   ///< input ciphertexts that need all babies
  std::size_t outputs = 1;  ///< output ciphertexts that need all giants
  /// Babies of double hoisting count what they cost within `ckks::key_dot`: more of them, and more keys, are
  /// then best. Bootstraps are chosen so; other transforms have the fewer keys of babies that are written.
  bool joined = false;
  /// In double hoisting, each sum of a giant is rotated by itself, with a key of its own as in `bsgs`, and
  /// not by Horner's rule: as many key switches and more keys, but they do not wait for each other, so that a
  /// GPU makes all of them at once.
  bool direct = false;
};

/// The split of a set of diagonals into giant and baby steps, chosen by a cost model. Pure data, immutable.
class transform_plan {
 public:
  /// Splits `diagonals` (any integers in (-slots, slots); d and d - slots are the same diagonal).
  ///
  /// The indices are unwrapped at their widest gap, so that a band around 0 stays a band, and divided by
  /// their greatest common divisor, so that strided transforms (Fourier stages) take strided steps.
  /// @throws invalid_argument for no diagonals, an index out of range or given twice, a level that does not
  ///   exist, or a number of slots that is no power of two up to N/2
  /// @throws level_exhausted for level 0, which leaves nothing to rescale
  transform_plan(params::parameters parameters, std::span<const int> diagonals, const transform_shape& shape);

  /// What the plan was made for.
  [[nodiscard]] const params::parameters& parameters() const noexcept { return parameters_; }
  /// What the plan was made for.
  [[nodiscard]] const transform_shape& shape() const noexcept { return shape_; }
  /// How rotations are organised.
  [[nodiscard]] transform_mode mode() const noexcept { return shape_.mode; }
  /// Level of the input.
  [[nodiscard]] unsigned level() const noexcept { return shape_.level; }
  /// Slots of the input.
  [[nodiscard]] std::uint32_t slots() const noexcept { return shape_.slots; }
  /// Scale of the encoded diagonals: with s_l the canonical scale and Q_l the modulus of level l, s_(l-1) Q_l
  /// / (Q_(l-1) s_l), so that a rescaled product with a canonical ciphertext is canonical.
  [[nodiscard]] double weight_scale() const;
  [[nodiscard]] int baby_step() const noexcept { return baby_step_; }    ///< slots, positive
  [[nodiscard]] int giant_step() const noexcept { return giant_step_; }  ///< slots, a multiple of baby_step
  /// All diagonals, ascending by unwrapped index.
  [[nodiscard]] std::span<const transform_term> terms() const noexcept { return terms_; }
  /// @throws invalid_argument when the plan was not made for this diagonal
  [[nodiscard]] const transform_term& term(int diagonal) const;

  /// Rotation of `count` steps of `step` slots, in (-slots/2, slots/2].
  [[nodiscard]] std::int64_t rotation(int count, int step) const noexcept;
  /// Giants in the order in which Horner's rule adds their sums: from the highest down to the least above 0,
  /// from the lowest up to the largest below 0, and 0. `giants` ascend.
  [[nodiscard]] static std::vector<int> walk(std::span<const int> giants);
  /// Whether each sum goes to 0 by one rotation.
  [[nodiscard]] bool is_direct() const noexcept {
    return mode() == transform_mode::bsgs || (mode() == transform_mode::double_hoisted && shape_.direct);
  }
  /// Where the sum at position `at` of that order goes: to the next giant on the same side of 0, or to 0.
  /// Always to 0 in direct plans.
  [[nodiscard]] int next(std::span<const int> order, std::size_t at) const;
  /// Rotations, in giant steps, that bring the sum of giant `from` to giant `to`: one, or in small-key mode
  /// single steps as long as there is another giant to come (`to` is not 0).
  [[nodiscard]] std::vector<int> turns(int from, int to) const;
  /// Usage of one input and one output that need every term.
  [[nodiscard]] transform_usage full_usage() const;
  /// Rotations that an evaluation with this usage asks keys for: distinct, not 0, ascending, in (-slots/2,
  /// slots/2].
  [[nodiscard]] std::vector<std::int64_t> required_rotations(const transform_usage& usage) const;
  [[nodiscard]] transform_cost cost(const transform_usage& usage) const;

 private:
  void split(int baby_count);
  [[nodiscard]] int choose_baby_count() const;
  /// All rotations of the sums of these giants.
  [[nodiscard]] std::vector<std::int64_t> giant_rotations(std::span<const int> giants) const;
  [[nodiscard]] std::size_t rotating(std::span<const int> counts, int step) const;

  params::parameters parameters_;
  transform_shape shape_;
  int baby_step_ = 1;
  int giant_step_ = 1;
  std::vector<transform_term> terms_;
  std::vector<int> unwrapped_;  ///< ascending
};

}  // namespace halocline::circuits
