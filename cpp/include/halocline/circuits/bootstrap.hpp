// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "halocline/circuits/bootstrap_options.hpp"
#include "halocline/ckks/evaluator.hpp"

/// Bootstrapping: levels for a ciphertext that has none left.
///
///     ModRaise        the coefficients of the message plus Q_0 times small integers, at a high level
///     (sum)           sparse messages: the coefficients that belong to none of its slots are summed away
///     CoeffToSlot     these coefficients in slots
///     EvalMod         takes the integers off
///     SlotToCoeff     back to coefficients
///
/// or with SlotToCoeff first, on the low levels that the message has left.
namespace halocline::circuits {

class coeff_to_slot;
class dft_chain;
class mod1;
class slot_to_coeff;
struct dft_options;

/// What is to be expected of the slots of a result, in bits (-log2 of the absolute error).
struct bootstrap_forecast {
  double mean_bits = 0;
  double worst_bits = 0;  ///< of all slots
};

/// Bootstraps ciphertexts of one number of slots. Made for one context; immutable, and used with any
/// evaluator of that context.
class bootstrapper {
 public:
  /// Encodes both transforms.
  /// @throws invalid_argument for parameters without levels for bootstrapping, slots that are no power of
  ///   two, a failure probability above 2^`log2_failure` unless allowed, or an EvalMod that cannot be had
  /// @throws level_exhausted when the parameters have too few levels; the message says how many are missing
  explicit bootstrapper(ckks::evaluator& eval, const bootstrap_options& options = {});

  /// The same message at `output_level()` with the canonical scale.
  ///
  /// The input may have any scale within a factor of two of the canonical one at its level: what it is off by
  /// is part of the constants of EvalMod, or of the way to level 0, and is corrected exactly.
  /// @throws missing_key naming all keys that are missing
  /// @throws level_exhausted for a level below `input_level()`, scale_mismatch for a scale that is far off,
  ///   invalid_argument for another number of slots
  [[nodiscard]] ckks::ciphertext bootstrap(ckks::evaluator& eval, const ckks::ciphertext& input) const;
  /// Several at once, step by step: each key is needed once for all of them.
  [[nodiscard]] std::vector<ckks::ciphertext> bootstrap(
      ckks::evaluator& eval, std::span<const ckks::ciphertext* const> inputs) const;

  /// How it was made, with what was left to choose filled in, but for `double_angles`, `baby_count`,
  /// `memory_bytes` and ways that were neither given nor chosen.
  [[nodiscard]] const bootstrap_options& options() const noexcept { return options_; }
  [[nodiscard]] std::uint32_t slots() const noexcept { return *options_.slots; }  ///< of inputs and results
  /// Least level of an input: 0, or the levels of SlotToCoeff when that comes first.
  [[nodiscard]] unsigned input_level() const noexcept;
  [[nodiscard]] unsigned output_level() const noexcept;  ///< of results
  /// Level to which the modulus is raised, `depth()` above that of results.
  [[nodiscard]] unsigned raised_level() const noexcept { return raised_level_ - offset_; }
  [[nodiscard]] unsigned depth() const noexcept { return raised_level() - output_level(); }
  /// Keys that `bootstrap` uses, ascending by Galois element, each with the highest level of its use.
  [[nodiscard]] std::vector<ckks::key_request> key_requests() const;
  /// Of a choice within `memory_bytes`, elements of the keys that it expects to stay seeded, ascending.
  [[nodiscard]] const std::vector<std::uint64_t>& seeded_keys() const noexcept { return seeded_keys_; }
  /// log2 of the probability that some coefficient leaves the range of EvalMod, whatever the message.
  [[nodiscard]] double log2_failure_probability() const noexcept { return log2_failure_; }
  /// Estimate for messages in the unit disc, from what dominates: the noise of rescaling in EvalMod and in
  /// the result, and what EvalMod is off by.
  [[nodiscard]] bootstrap_forecast forecast() const;
  /// What a coefficient of 1 of the message, or a slot of 1 with SlotToCoeff first, is of Q_0 in EvalMod.
  [[nodiscard]] double unit_fraction() const;
  /// Its parts, of classes that the library keeps to itself.
  [[nodiscard]] const circuits::mod1& eval_mod() const noexcept { return *mod1_; }
  [[nodiscard]] const dft_chain& coeff_to_slot() const noexcept;
  [[nodiscard]] const dft_chain& slot_to_coeff() const noexcept;
  /// Bytes of the encoded diagonals of both transforms.
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  [[nodiscard]] unsigned cts_levels() const noexcept { return *options_.transforms.cts_levels; }
  [[nodiscard]] unsigned stc_levels() const noexcept { return *options_.transforms.stc_levels; }
  using ciphertexts = std::vector<ckks::ciphertext>;
  void choose_mod1(const params::parameters& parameters);
  void choose_levels();
  [[nodiscard]] unsigned levels_after() const noexcept;
  [[nodiscard]] bool joins() const noexcept { return options_.order == bootstrap_order::cts_first; }
  [[nodiscard]] bool unpacks() const noexcept;
  [[nodiscard]] dft_options cts_options() const;
  [[nodiscard]] dft_options stc_options() const;
  [[nodiscard]] unsigned usual_radix() const;
  void choose_transforms();
  [[nodiscard]] double eval_mod_work() const;
  [[nodiscard]] std::vector<ckks::rotation_stage> sums(unsigned radix) const;
  [[nodiscard]] std::vector<ckks::key_request> keys_beside_transforms(unsigned radix) const;
  void make_transforms(ckks::evaluator& eval);
  void make_unpack(ckks::evaluator& eval, double factor);
  [[nodiscard]] double noise_of_one(double rounding) const;
  void require_keys(ckks::evaluator& eval) const;
  [[nodiscard]] ckks::ciphertext prepared(ckks::evaluator& eval, const ckks::ciphertext& input) const;
  [[nodiscard]] ciphertexts once(ckks::evaluator& eval, const ciphertexts& inputs) const;
  [[nodiscard]] ciphertexts raised(ckks::evaluator& eval, const ciphertexts& inputs) const;
  [[nodiscard]] std::vector<ciphertexts> slots_of(ckks::evaluator& eval, ciphertexts inputs) const;
  [[nodiscard]] ciphertexts take_integers_off(ckks::evaluator& eval, std::vector<ciphertexts> parts,
                                              std::span<const double> factors) const;
  void refine(ckks::evaluator& eval, const ciphertexts& inputs, ciphertexts& results) const;

  bootstrap_options options_;
  params::parameters parameters_;
  unsigned offset_ = 0;  ///< of lowered levels: `params::parameters::lowered_offset`
  unsigned raised_level_ = 0;
  unsigned message_level_ = 0;  ///< of what EvalMod gives, less the offset
  double log2_failure_ = 0;
  double enlarged_ = 1;  ///< what inputs are multiplied by
  double reduced_ = 1;   ///< what results of EvalMod are multiplied by
  std::vector<std::uint64_t> seeded_keys_;
  std::shared_ptr<const circuits::mod1> mod1_;
  std::shared_ptr<const circuits::coeff_to_slot> cts_;
  std::shared_ptr<const circuits::slot_to_coeff> stc_;
  std::shared_ptr<const linear_transform> unpack_;  ///< where `unpacks()`
};

}  // namespace halocline::circuits
