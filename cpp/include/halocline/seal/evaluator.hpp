// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "halocline/seal/context.hpp"
#include "halocline/seal/objects.hpp"

namespace halocline::seal {

/// CKKS operations with exactly the residues that SEAL 4.x computes from the same ciphertexts and keys: one
/// prime per digit, one special prime, digits read as integers in [0, q), SEAL's rounding.
/// docs/dev/seal_plan.md has the formulas. Results are new objects. Not thread-safe.
///
/// All throw invalid_argument for operands of another context or of different levels, and scale_mismatch for
/// scales that differ where they must not, or a result whose scale exceeds its modulus.
class evaluator {
 public:
  explicit evaluator(context& of) noexcept : ctx_(&of) {}

  /// -a.
  [[nodiscard]] ciphertext negate(const ciphertext& a);
  /// Operands may have different numbers of polynomials.
  [[nodiscard]] ciphertext add(const ciphertext& a, const ciphertext& b);
  [[nodiscard]] ciphertext sub(const ciphertext& a, const ciphertext& b);
  [[nodiscard]] ciphertext add_plain(const ciphertext& a, const plaintext& b);
  [[nodiscard]] ciphertext sub_plain(const ciphertext& a, const plaintext& b);
  [[nodiscard]] ciphertext multiply_plain(const ciphertext& a, const plaintext& b);
  /// The product has size(a) + size(b) - 1 polynomials; 16 at most.
  [[nodiscard]] ciphertext multiply(const ciphertext& a, const ciphertext& b);
  [[nodiscard]] ciphertext square(const ciphertext& a);
  /// To two polynomials. @throws missing_key that names the power of the secret
  [[nodiscard]] ciphertext relinearize(const ciphertext& a, const switch_key_set& keys);
  /// The same with the keys of powers 2, 3, ... in a list; nullptr for one that is not there.
  [[nodiscard]] ciphertext relinearize(const ciphertext& a, std::span<const switch_key* const> keys);
  /// Divides by the last prime and drops it; the scale too. @throws level_exhausted with one prime left
  [[nodiscard]] ciphertext rescale_to_next(const ciphertext& a);
  /// Drops the last prime. @throws level_exhausted with one prime left
  [[nodiscard]] ciphertext mod_switch_to_next(const ciphertext& a);
  [[nodiscard]] plaintext mod_switch_to_next(const plaintext& a);
  /// X -> X^element. @throws missing_key; invalid_argument unless the element is odd and below 2N, and the
  /// ciphertext has two polynomials
  [[nodiscard]] ciphertext apply_galois(const ciphertext& a, std::uint64_t element,
                                        const switch_key_set& keys);
  /// The same with the key of the element.
  [[nodiscard]] ciphertext apply_galois(const ciphertext& a, std::uint64_t element, const switch_key& key);
  /// Rotates slots to the left by `steps`, to the right by negative ones; |steps| < N/2. Without the key of
  /// the element, one rotation for each digit of the non-adjacent form of `steps`, lowest first.
  [[nodiscard]] ciphertext rotate_vector(const ciphertext& a, std::int64_t steps, const switch_key_set& keys);
  [[nodiscard]] ciphertext complex_conjugate(const ciphertext& a, const switch_key_set& keys);
  /// Coefficients, and back: for programs that read them. All other operations expect the NTT form.
  [[nodiscard]] polynomials transform_from_ntt(const polynomials& a);
  [[nodiscard]] polynomials transform_to_ntt(const polynomials& a);

 private:
  [[nodiscard]] polynomials transform(const polynomials& a, bool forward);
  [[nodiscard]] ciphertext combine(const ciphertext& a, const ciphertext& b, bool subtract);
  [[nodiscard]] ciphertext combine_plain(const ciphertext& a, const plaintext& b, bool subtract);
  void check_operand(const polynomials& a, const char* what) const;
  void check_pair(const polynomials& a, const polynomials& b, const char* what) const;
  void check_scales(double a, double b, const char* what) const;
  void check_scale(double scale, std::uint32_t primes, const char* what) const;

  context* ctx_;
};

/// 3^steps modulo 2N: the element that rotates slots to the left by `steps`.
/// @throws invalid_argument unless |steps| < N/2
[[nodiscard]] std::uint64_t galois_element(std::uint64_t n, std::int64_t steps);

/// Digits 1 and -1 of the non-adjacent form of `steps`, times their powers of two, lowest first (Reitwiesner,
/// "Binary arithmetic", 1960): the rotations of which SEAL composes one without a key of its own. Of these,
/// N/2 steps are none.
[[nodiscard]] std::vector<std::int64_t> non_adjacent_form(std::int64_t steps);

}  // namespace halocline::seal
