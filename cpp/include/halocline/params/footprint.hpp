// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halocline/params/parameters.hpp"

namespace halocline::params {

/// Bytes of the objects of a parameter set, payload only (no allocator slack, no container headers). W is the
/// bytes of a limb (N words), |l| the number of primes of level l, KL(l) = `parameters::key_limbs(l)`.
/// Members that take a level throw invalid_argument when it is above the highest.
class footprint {
 public:
  explicit footprint(parameters p) : params_(std::move(p)) {}

  /// components |l| W. A fresh or relinearized ciphertext has 2 components, an unrelinearized product 3.
  [[nodiscard]] std::size_t ciphertext(unsigned level, unsigned components = 2) const;
  /// |l| W + 32: a fresh symmetric ciphertext at rest, component 1 kept as its seed.
  [[nodiscard]] std::size_t ciphertext_seeded(unsigned level) const;
  /// |l| W.
  [[nodiscard]] std::size_t plaintext(unsigned level) const;
  /// 8 N: signed 64-bit coefficients, expanded to limbs when used.
  [[nodiscard]] std::size_t plaintext_compact() const;

  /// Digits of a key limited to `level`: those that share a prime with some level up to `level`.
  [[nodiscard]] unsigned key_digits(unsigned level) const;
  /// One relinearization, Galois or conjugation key for levels up to `level`: 2 key_digits KL W.
  [[nodiscard]] std::size_t evaluation_key(unsigned level) const;
  /// The same at rest with the uniform half as a seed: key_digits (KL W + 32).
  [[nodiscard]] std::size_t evaluation_key_seeded(unsigned level) const;
  /// The encapsulation key for ModRaise to levels up to `level`: for each of the |0| primes of level 0 a
  /// digit of 2 (|0| + K') W, K' the special primes with the sparse secret, and one of 2 (KL - K + K'') W; 0
  /// for parameters without. Seeded: half of it, and 32 for each digit.
  [[nodiscard]] std::size_t encapsulation_key(unsigned level, bool seeded = false) const;
  /// Keys for distinct Galois elements of `rotations` (0 needs none), and relinearization and conjugation if
  /// wanted.
  [[nodiscard]] std::size_t key_set(std::span<const std::int64_t> rotations, bool relinearization,
                                    bool conjugation, unsigned level, bool seeded = false) const;

  /// 2 (A + B) W: it serves every level, and a lower one may use terminals that the highest does not.
  [[nodiscard]] std::size_t public_key() const;
  /// 8 N (coefficients) + (K + A + B) W (NTT form).
  [[nodiscard]] std::size_t secret_key() const;
  /// Per prime 4 N words of roots and 6 words of modulus constants (backend/descriptors.hpp).
  [[nodiscard]] std::size_t ring_tables() const;
  /// Permutation of one Galois element: 4 N.
  [[nodiscard]] std::size_t permutation() const;

  /// Scratch of one key switch at `level`: the input in coefficient form (|l| W), every digit over the
  /// extended basis (digits(l) (|l| + K) W) and the two accumulators (2 (|l| + K) W), digits(l) the digits
  /// that meet the window.
  [[nodiscard]] std::size_t key_switch_workspace(unsigned level) const;
  /// Digits that share a prime with the window of `level`.
  [[nodiscard]] unsigned active_digits(unsigned level) const;

  /// The parameters it calculates for.
  [[nodiscard]] const parameters& of() const noexcept { return params_; }

 private:
  parameters params_;
};

}  // namespace halocline::params
