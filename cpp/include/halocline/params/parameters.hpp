// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halocline/arith/window.hpp"
#include "halocline/params/level_table.hpp"
#include "halocline/params/literal.hpp"
#include "halocline/params/security.hpp"

namespace halocline::params {

/// Stable 128-bit hash of everything in a parameter set that changes a ciphertext or a key.
using fingerprint_bytes = std::array<std::uint8_t, 16>;

/// Moduli of sparse-secret encapsulation, see `bootstrap_literal`. Both keys take only as many of the special
/// primes as their noise needs.
struct encapsulation_info {
  arith::window to_sparse;  ///< special primes of the switch to the sparse secret, which is at level 0
  arith::window to_dense;   ///< special primes of the switch back, which is of polynomials below Q_0
  /// Special primes of raised rotation keys (`ckks::raised_rotation_element`), and behind them those whose
  /// product is the scale of the diagonals that are multiplied then. Both are empty where the parameters have
  /// too few special primes for that.
  arith::window raised_special, raised_scale;
  double log2_pq = 0;          ///< of all that is ever encrypted under the sparse secret: Q_0 and `to_sparse`
  security_estimate security;  ///< of the sparse secret with that modulus
};

/// A checked parameter set: immutable, cheap to copy (shared state), safe to share between threads. Two sets
/// are equal when their literals agree in all but `name` and `allow_insecure`.
///
/// Symbols: N ring degree; K special primes with product P; A terminal primes; B main primes; alpha digit
/// size.
class parameters {
 public:
  /// Checks `source`, generates the primes and builds all tables.
  /// @throws invalid_argument a field is out of range or fields do not fit together; the message says what,
  ///         got, expected and how to fix it
  /// @throws insecure_parameters less than 128 bits by the tables of security.hpp and not `allow_insecure`
  [[nodiscard]] static parameters from_literal(const literal& source);

  /// `from_literal(literal::from_json(text))`.
  [[nodiscard]] static parameters from_json(std::string_view text);
  [[nodiscard]] std::string to_json(unsigned indent = 2) const;

  [[nodiscard]] const literal& source() const noexcept;    ///< what it was made from
  [[nodiscard]] const std::string& name() const noexcept;  ///< label, may be empty
  [[nodiscard]] unsigned log_n() const noexcept;           ///< 10..17
  [[nodiscard]] std::size_t n() const noexcept;            ///< ring degree N = 2^log_n
  [[nodiscard]] std::size_t slots() const noexcept;        ///< N / 2 complex slots
  [[nodiscard]] unsigned word_bits() const noexcept;       ///< 32 or 64
  [[nodiscard]] std::size_t word_bytes() const noexcept;   ///< 4 or 8
  [[nodiscard]] std::size_t limb_bytes() const noexcept;   ///< N words

  /// All primes in global order: special P_0..P_{K-1}, terminal T_{A-1}..T_0, main Q_0..Q_{B-1}.
  [[nodiscard]] std::span<const std::uint64_t> primes() const noexcept;
  [[nodiscard]] unsigned prime_count() const noexcept;          ///< K + A + B
  [[nodiscard]] unsigned special_count() const noexcept;        ///< K
  [[nodiscard]] unsigned terminal_count() const noexcept;       ///< A
  [[nodiscard]] unsigned main_count() const noexcept;           ///< B
  [[nodiscard]] arith::window special_window() const noexcept;  ///< [0, K)
  [[nodiscard]] arith::window all_window() const noexcept;      ///< [0, K + A + B)

  [[nodiscard]] unsigned max_level() const noexcept;  ///< number of multiplications of a fresh ciphertext
  /// Highest level of all: max_level() and the levels that only bootstrapping uses.
  [[nodiscard]] unsigned top_level() const noexcept;
  /// Row l of the level table, or of a lowered one (`lowered_offset`).
  /// @throws invalid_argument unless `has_level(l)`
  [[nodiscard]] const level_info& level(unsigned l) const;
  /// Whether l is at most top_level(), or belongs to lowered levels.
  [[nodiscard]] bool has_level(unsigned l) const noexcept;
  /// Lowered levels, for bootstraps that raise no further than results at message level m need: o + 0 .. o +
  /// m have the primes of levels 0..m, and the levels of EvalMod and CoeffToSlot follow at o + m + 1 instead
  /// of max_level() + 1, with fewer primes. The numbers lie above top_level() and exist inside bootstraps
  /// only: no file or plan of keys has them.
  /// @returns o; 0 for m = max_level(); nothing where there are none: without bootstrapping, with m above
  ///   max_level(), with 64-bit words, whose primes each have the size of their own level, and where some
  ///   modulus is no sum of whole primes
  [[nodiscard]] std::optional<unsigned> lowered_offset(unsigned m) const noexcept;
  /// The lowest level up to top_level() whose keys serve level l: l itself, unless it is a lowered one.
  /// @throws invalid_argument unless `has_level(l)`
  [[nodiscard]] unsigned key_level(unsigned l) const;
  /// The scale 2^scale_bits that was asked for; level(l).scale is within a quarter of a bit of it up to
  /// max_level(), and above as near to 2^(bits of its group).
  [[nodiscard]] double target_scale() const noexcept;
  /// Q_0, the modulus that bootstrapping raises, rounded to a double.
  [[nodiscard]] double base_modulus() const noexcept;
  /// What bootstrapping needs; nothing for sets that cannot be bootstrapped.
  [[nodiscard]] const std::optional<bootstrap_literal>& bootstrapping() const noexcept;
  /// Nothing without bootstrapping, or when the modulus is raised under the main secret.
  [[nodiscard]] const std::optional<encapsulation_info>& encapsulation() const noexcept;
  /// Whether `encapsulation()` has primes for raised rotation keys (`ckks::raised_rotation_element`).
  [[nodiscard]] bool has_raised_keys() const noexcept;
  /// Returns only where there are such primes.
  /// @param caller begins the message: what the keys were wanted for
  /// @throws invalid_argument unless `has_raised_keys()`
  void require_raised_keys(std::string_view caller) const;

  [[nodiscard]] unsigned digit_size() const noexcept;   ///< alpha
  [[nodiscard]] unsigned digit_count() const noexcept;  ///< dnum = ceil((A + B) / alpha)
  /// Primes of digit j: the j-th run of alpha primes (the last may be shorter) of [K, K + A + B). At a level
  /// only the part inside its window is nonzero; a digit may miss the window altogether.
  /// @throws invalid_argument when j >= digit_count()
  [[nodiscard]] arith::window digit(unsigned j) const;
  /// Length of the prefix of the primes that a key usable at all levels up to l has: the window of no level
  /// up to l ends later.
  /// @throws invalid_argument unless `has_level(l)`
  [[nodiscard]] unsigned key_limbs(unsigned l) const;

  [[nodiscard]] const secret_distribution& secret() const noexcept;  ///< of the secret key's coefficients
  [[nodiscard]] double error_stddev() const noexcept;                ///< of the discrete Gaussian error

  [[nodiscard]] unsigned galois_generator() const noexcept;  ///< 5 or 3
  /// generator^k mod 2N for a left rotation by k slots; k is taken modulo N/2, so negative k rotate to the
  /// right.
  [[nodiscard]] std::uint64_t galois_element(std::int64_t rotation) const noexcept;
  [[nodiscard]] std::uint64_t conjugation_element() const noexcept;  ///< 2N - 1

  [[nodiscard]] double log2_q() const noexcept;  ///< of the modulus of the highest level of all
  [[nodiscard]] double log2_p() const noexcept;  ///< of the product of the special primes
  [[nodiscard]] double log2_pq()
      const noexcept;  ///< of the product of all primes: keys live over all of them
  [[nodiscard]] const security_estimate& security() const noexcept;  ///< main secret: bits, bound and source
  /// Of the weaker secret: the main one, or the sparse one of encapsulation.
  [[nodiscard]] double security_bits() const noexcept;

  /// BLAKE2b of the canonical JSON without name and allow_insecure, and of the primes.
  [[nodiscard]] const fingerprint_bytes& fingerprint() const noexcept;

  friend bool operator==(const parameters& a, const parameters& b) noexcept {
    return a.data_ == b.data_ || a.fingerprint() == b.fingerprint();
  }

 private:
  struct data;
  explicit parameters(std::shared_ptr<const data> d) noexcept : data_(std::move(d)) {}

  std::shared_ptr<const data> data_;
};

}  // namespace halocline::params
