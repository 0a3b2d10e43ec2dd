// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace halocline::params {

/// Distribution of the secret key's coefficients.
enum class secret_kind : std::uint8_t {
  ternary,  ///< uniform in {-1, 0, 1}
  sparse,   ///< exactly `hamming_weight` coefficients are +1 or -1, the others 0
};

/// Distribution with its weight.
struct secret_distribution {
  secret_kind kind = secret_kind::ternary;
  std::uint32_t hamming_weight = 0;  ///< number of nonzero coefficients when sparse, 0 when ternary

  bool operator==(const secret_distribution&) const = default;
};

/// Consecutive levels with one scale.
struct level_group {
  double bits = 0;      ///< scale 2^bits; a rescale divides by about this
  unsigned levels = 0;  ///< how many

  bool operator==(const level_group&) const = default;
};

/// What a set needs to be bootstrapped: levels above `literal::depth`, which only a raised ciphertext passes
/// through (CoeffToSlot on top, EvalMod below), and the sparse secret of sparse-secret encapsulation
/// (Bossuat, Troncoso-Pastoriza and Hubaux, ePrint 2022/024).
struct bootstrap_literal {
  level_group eval_mod{60, 8};            ///< the levels next above `literal::depth`
  level_group coeff_to_slot{50, 3};       ///< the highest levels
  unsigned slot_to_coeff_levels = 3;      ///< levels up to `literal::depth` that SlotToCoeff takes of each
                                          ///< bootstrapping; `depth` counts them
  unsigned ephemeral_weight = 32;         ///< Hamming weight of the sparse secret; 0: no encapsulation, the
                                          ///< modulus is raised under the main secret
  unsigned ephemeral_special_primes = 2;  ///< special primes that the key for the sparse secret has besides
                                          ///< the primes of level 0; 0 without encapsulation

  bool operator==(const bootstrap_literal&) const = default;
};

/// A parameter set as users write it: public, unchecked, serialisable. `parameters::from_literal` checks it.
/// Sizes of moduli are base-2 logarithms and may be fractional where they are doubles.
struct literal {
  /// Version of the JSON form; raised when a field changes its meaning.
  static constexpr unsigned schema_version = 1;

  std::string name;         ///< label for messages and files; no part of the fingerprint
  unsigned log_n = 14;      ///< ring degree N = 2^log_n, 10..17
  unsigned word_bits = 32;  ///< 32: rational rescaling (level_table.hpp); 64: one prime for each level
  double scale_bits = 40;   ///< target scale 2^scale_bits; a rescale divides by about this
  double base_bits = 60;    ///< bits of the modulus of level 0
  unsigned depth = 7;       ///< number of multiplications of a fresh ciphertext, and its level
  double main_bits = 30;    ///< 32-bit words: main primes lie just below 2^main_bits; 0 for 64-bit words
  double terminal_bits =
      20;  ///< 32-bit words: terminal primes lie around 2^terminal_bits; 0 for 64-bit words
  unsigned special_primes = 1;  ///< K, number of special primes; P is their product
  double special_bits = 30;     ///< special primes lie just below 2^special_bits
  unsigned digit_size = 1;      ///< alpha, number of primes in a key-switching digit; a digit's product may
                                ///< exceed P by at most one bit
  secret_distribution secret;
  double error_stddev = 3.2;      ///< standard deviation of the discrete Gaussian error
  unsigned galois_generator = 5;  ///< 5, or 3 for SEAL's slot order
  bool allow_insecure = false;    ///< accept less than 128 bits of security (tests only)
  /// Absent: no levels above `depth`, and the set cannot be bootstrapped.
  std::optional<bootstrap_literal> bootstrapping;

  /// JSON object with all fields and "schema"; "bootstrapping" only when it is there. Numbers round-trip
  /// exactly.
  [[nodiscard]] std::string to_json(unsigned indent = 2) const;

  /// Reads what `to_json` writes. Fields that are absent keep their defaults, except "schema" and "log_n",
  /// which must be present; for 64-bit words main_bits and terminal_bits default to 0.
  /// @throws corrupt_data when `text` is no JSON (with line and column) or longer than `max_json_bytes`
  /// @throws invalid_argument on an unknown field (named), a field of the wrong kind, or an unknown schema
  [[nodiscard]] static literal from_json(std::string_view text);

  static constexpr std::size_t max_json_bytes = 65536;

  bool operator==(const literal&) const = default;
};

}  // namespace halocline::params
