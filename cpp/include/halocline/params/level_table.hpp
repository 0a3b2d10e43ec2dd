// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "halocline/arith/window.hpp"
#include "halocline/params/literal.hpp"

/// Which primes make up the modulus of each level, and the scale that belongs to it.
///
/// 64-bit words: level l has the primes Q_0..Q_l; a rescale drops Q_l.
///
/// 32-bit words, rational rescaling: primes have only two sizes, main (M bits, just below 2^30) and terminal
/// (T bits). Level l needs base_bits + l scale_bits = t T + m M bits; t is the smallest count of terminals
/// for which m is a whole number, so a rescale drops some primes and takes others up again. With 40-bit
/// scale, M = 30 and T = 20 the steps cycle: from t = 2 to 0 drop two terminals; from 0 to 1 drop two mains
/// and add a terminal; from 1 to 2 the same (see docs/concepts/parameters.md, which also says why T = 20 and
/// not 25). The idea of a small fixed set of terminal primes is from Cheddar (arXiv 2407.13055, section on
/// the prime system).
///
/// Prime order, the index space of every window: [special P_0..P_{K-1}, terminal T_{A-1}..T_0, main
/// Q_0..Q_{B-1}]. Every level is a contiguous window of it, and what a key limited to a level needs is a
/// prefix.
namespace halocline::params {

/// Numbers of primes that a level uses: the terminals T_{t-1}..T_0 and the mains Q_0..Q_{m-1}.
struct level_shape {
  unsigned terminals = 0;
  unsigned mains = 0;

  bool operator==(const level_shape&) const = default;
};

/// What a level is for.
enum class level_use : std::uint8_t {
  message,        ///< 0..depth: everything but the steps of bootstrapping below
  eval_mod,       ///< EvalMod of bootstrapping
  coeff_to_slot,  ///< CoeffToSlot of bootstrapping
};

/// "message", "eval_mod", "coeff_to_slot".
[[nodiscard]] std::string_view level_use_name(level_use use) noexcept;

/// Size of one level before primes are chosen.
struct level_target {
  level_use use = level_use::message;
  double scale_bits = 0;    ///< of the canonical scale
  double modulus_bits = 0;  ///< of the modulus
};

/// Targets of all levels, bottom-up: 0..depth, then the groups that only bootstrapping uses. Level l needs
/// `scale_bits` of its group more than level l - 1.
[[nodiscard]] std::vector<level_target> level_targets(const literal& source);

/// The shape with the fewest terminals for a modulus of `bits` bits, of the main and terminal primes of a
/// literal with 32-bit words; nothing when it is no sum of whole primes.
[[nodiscard]] std::optional<level_shape> shape_of_level(double bits, const literal& source);

/// Shapes of all levels.
/// @throws invalid_argument when some level is no sum of whole primes; names the level and a base that would
/// do
[[nodiscard]] std::vector<level_shape> plan_levels(const literal& source);

/// One row of the level table.
struct level_info {
  arith::window q;  ///< primes of the level's modulus Q_l
  level_use use = level_use::message;
  double scale = 0;          ///< canonical scale, see `make_level_table`
  double arrival_scale = 0;  ///< scale of a rescaled product of two canonical ciphertexts of level l + 1:
                             ///< equals `scale` unless level l + 1 belongs to another group
  double log2_modulus = 0;   ///< log2 of Q_l
  unsigned terminals = 0;    ///< how many of the primes are terminals (they come first in the window)
  unsigned mains = 0;        ///< how many are mains
  std::vector<std::uint32_t>
      dropped;  ///< primes of this level that level l - 1 lacks; ascending, empty at level 0
  std::vector<std::uint32_t>
      added;  ///< primes of level l - 1 that this level lacks; ascending, empty at level 0
};

/// Windows, canonical scales and rescale steps of all levels.
///
/// The canonical scales are s_0 = `scale_zero` and s_l = sqrt(s_{l-1} Q_l / Q_{l-1}), computed bottom-up in
/// long double, so that the product of two ciphertexts of level l with scale s_l rescales to scale s_l^2
/// Q_{l-1}/Q_l = s_{l-1}, exactly that of level l - 1. (Kim, Papadimitriou and Polyakov, ePrint 2020/1118,
/// run the same relation downwards, where a deviation doubles at each level; upwards it halves.)
///
/// Where a group begins the relation starts anew, from an arrival scale of 2^(bits of the group) at the level
/// below it: no product is meant to be canonical on both sides of a border. What crosses one is multiplied by
/// a plaintext or constant whose scale is chosen for that, or has its scale reinterpreted.
/// @param primes all primes in global order
/// @param special K
/// @param terminal_count A
[[nodiscard]] std::vector<level_info> make_level_table(std::span<const std::uint64_t> primes,
                                                       unsigned special, unsigned terminal_count,
                                                       std::span<const level_shape> shapes,
                                                       std::span<const level_target> targets);

}  // namespace halocline::params
