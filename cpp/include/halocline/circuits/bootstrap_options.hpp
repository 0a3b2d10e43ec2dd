// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "halocline/circuits/linear_transform.hpp"
#include "halocline/ckks/key_set.hpp"

/// How ciphertexts are bootstrapped.
namespace halocline::circuits {

enum class bootstrap_order : unsigned char {
  cts_first,  ///< as above; takes a ciphertext of level 0
  stc_first,  ///< SlotToCoeff, ModRaise, CoeffToSlot, EvalMod: uses `stc_levels` of the input
};

/// What a choice within `bootstrap_transforms::memory_bytes` may count on.
struct bootstrap_room {
  /// What does not fit is loaded at each bootstrap, as plans do: the shortest time is chosen, by a cost model
  /// with a link. Otherwise the least work among what fits, and what takes least where nothing does.
  bool loads = true;
  /// Keys that there are; nothing: any that are asked for. Where they are enough for no choice, the other
  /// options decide.
  std::optional<std::vector<ckks::key_request>> keys{};
  /// Whether keys stay seeded: all of them, or none; nothing: as few as pay. See
  /// `bootstrapper::seeded_keys`.
  std::optional<bool> seeded{};
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
  /// How each matrix is done, the first to be applied first, in place of the mode, `compact` and `baby_count`
  /// of its transform; none: these decide. Of a matrix under the sparse secret only `compact` counts.
  std::vector<transform_way> cts_ways{};
  std::vector<transform_way> stc_ways{};
  /// What keys, diagonals and workspace of the transforms may take: the ways of all matrices are then chosen,
  /// and which keys stay seeded. See `bootstrap_room`. Unless given, and where ways are, the other
  /// options decide.
  std::optional<std::size_t> memory_bytes{};
  bootstrap_room room{};  ///< how `memory_bytes` is used
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

}  // namespace halocline::circuits
