// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "halocline/circuits/linear_transform.hpp"

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

enum class bootstrap_order : unsigned char {
  cts_first,  ///< as above; takes a ciphertext of level 0
  stc_first,  ///< SlotToCoeff, ModRaise, CoeffToSlot, EvalMod: uses `stc_levels` of the input
};
/// How CoeffToSlot and SlotToCoeff are done.
struct bootstrap_transforms {
  /// Levels that each takes; what the parameters are made for unless given, fewer where few slots need no
  /// more.
  std::optional<unsigned> cts_levels;
  std::optional<unsigned> stc_levels;
  transform_mode cts_mode = transform_mode::double_hoisted;  ///< `small_key`: a few keys instead of many
  transform_mode stc_mode = transform_mode::double_hoisted;
  bool compact = false;  ///< diagonals of both transforms as coefficients: see `transform_options::compact`
  /// Babies of each giant in both transforms, see `transform_options::baby_count`: fewer need fewer keys and
  /// more time. Both transforms then use the same rotations.
  std::optional<unsigned> baby_count;
  /// What keys, diagonals and workspace of the transforms may take: modes, `compact` and `baby_count` are
  /// then chosen, for the least work among what fits by estimate. Where nothing fits, what takes least is
  /// chosen, and plans move the rest. Unless given, the other options decide.
  std::optional<std::size_t> memory_bytes;
  /// The first matrix of CoeffToSlot is applied to the ciphertext while it is under the sparse secret, with
  /// keys of one digit, and takes no level: CoeffToSlot has one matrix more, and smaller ones. For 4 slots
  /// and more. Off by default: see the note on patents at `raised_transform`.
  bool from_sparse = false;
  /// Rotations that are added with one decomposition in the sum of sparse messages: a power of two from 2 to
  /// 64. More need more keys. Unless given, 2 with small keys, else what the cost model chooses.
  std::optional<unsigned> sum_radix{};
  /// Stages of each matrix of CoeffToSlot, summing to log2(slots). Unless given even numbers, but 0 for the
  /// first one with `from_sparse` and up to 2^11 slots, which then only adds rotations.
  std::vector<unsigned> cts_stages{};
};

/// How the integers are taken off; see `mod1_options` for the three before the last.
struct bootstrap_eval_mod {
  /// Bound for the integers; the least that `log2_failure` allows unless given.
  std::optional<double> range;
  double log2_failure = -32;  ///< log2 of the probability with which a bootstrap may fail
  /// Accept parameters, or a `range`, that fail more often.
  bool allow_failure = false;
  /// Coefficients of messages are at most this in magnitude; those of a message with slots of magnitude 1
  /// never exceed 1, those of a random one are about 1 / (2 sqrt(slots)).
  double message_bound = 1;
  /// Approximate ratio of such a coefficient to Q_0; the input is multiplied by a power of two accordingly. A
  /// larger ratio loses less to noise, but the sine of EvalMod has a relative error of (2 pi fraction)^2 / 6
  /// there. Unless given, 2^-10, and 2^-13 with SlotToCoeff first, where slots of magnitude 1 and not small
  /// coefficients are reduced.
  std::optional<double> fraction;
  double tolerance = 0x1p-41;
  std::optional<unsigned> double_angles;
  unsigned arcsine_degree = 0;
  /// At most so many ciphertexts go through EvalMod together, 1 to 64; one with a real and an imaginary part
  /// counts twice. Results are the same integers, from fewer and larger calls of the backend; memory for
  /// EvalMod grows with it. Unless given, 2 on devices with a cache, which are GPUs, and 1 on others.
  std::optional<unsigned> together{};
};

/// Meta-BTS (Bae, Cheon, Cho, Kim, Kim, ePrint 2022/1167): several bootstraps, each but the first of what the
/// previous ones have left as an error, 2^bits times larger. More than one take one level more.
struct bootstrap_iterations {
  unsigned count = 1;
  /// At least 1; what the forecast says that one bootstrap reaches, less a margin, unless given.
  std::optional<unsigned> bits;
};

/// How ciphertexts are bootstrapped.
struct bootstrap_options {
  std::optional<std::uint32_t> slots;  ///< a power of two; N/2 unless given
  bootstrap_order order = bootstrap_order::cts_first;
  bool real_only = false;  ///< messages have real slots: imaginary parts are lost, and half of the work
  /// Level of results, the most there is unless given. The lower it is, the fewer primes every step has.
  /// Below the highest of messages, `stc_first` runs EvalMod once for sparse complex ones instead of twice.
  std::optional<unsigned> output_level{};
  bootstrap_transforms transforms{};
  bootstrap_eval_mod eval_mod{};
  bootstrap_iterations iterations{};
};

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
  /// How it was made, with what was left to choose filled in, but for `double_angles`, `baby_count` and
  /// `memory_bytes`.
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
  void choose_sum();
  void choose_transforms();
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
  std::shared_ptr<const circuits::mod1> mod1_;
  std::shared_ptr<const circuits::coeff_to_slot> cts_;
  std::shared_ptr<const circuits::slot_to_coeff> stc_;
  std::shared_ptr<const linear_transform> unpack_;  ///< where `unpacks()`
};

}  // namespace halocline::circuits
