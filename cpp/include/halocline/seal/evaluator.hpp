// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "halocline/seal/context.hpp"
#include "halocline/seal/objects.hpp"

namespace halocline::seal {

/// Operands of a batch: of equal levels, and ciphertexts with equal numbers of polynomials. Scales may
/// differ.
using ciphertexts = std::span<const ciphertext* const>;
using plaintexts = std::span<const plaintext* const>;

/// The operations of `evaluator` on lists: result i is that of operand i, or of both operands i. Each step of
/// an operation is one batch of the backend, which fills a device that single ciphertexts leave idle.
///
/// All throw what `evaluator` throws, and invalid_argument for lists of different lengths or operands that
/// differ in levels or numbers of polynomials. An empty list gives an empty one. Not thread-safe.
class batch_evaluator {
 public:
  /// One for each operand.
  using results = std::vector<ciphertext>;

  explicit batch_evaluator(context& of) noexcept : ctx_(&of) {}

  /// -a.
  [[nodiscard]] results negate(ciphertexts a);
  /// a + b and a - b; numbers of polynomials may differ.
  [[nodiscard]] results add(ciphertexts a, ciphertexts b);
  /// See `add`.
  [[nodiscard]] results sub(ciphertexts a, ciphertexts b);
  /// a + b.
  [[nodiscard]] results add_plain(ciphertexts a, plaintexts b);
  /// a - b.
  [[nodiscard]] results sub_plain(ciphertexts a, plaintexts b);
  /// a b.
  [[nodiscard]] results multiply_plain(ciphertexts a, plaintexts b);
  /// a b with size(a) + size(b) - 1 polynomials; 16 at most.
  [[nodiscard]] results multiply(ciphertexts a, ciphertexts b);
  /// a a.
  [[nodiscard]] results square(ciphertexts a);
  /// To two polynomials. Its digits go in groups of primes (`context::switch_group`), so that their memory is
  /// bounded.
  [[nodiscard]] results relinearize(ciphertexts a, const switch_key_set& keys);
  /// Divides by the last prime and drops it.
  [[nodiscard]] results rescale_to_next(ciphertexts a);
  /// Drops the last prime.
  [[nodiscard]] results mod_switch_to_next(ciphertexts a);
  /// X -> X^element.
  [[nodiscard]] results apply_galois(ciphertexts a, std::uint64_t element, const switch_key_set& keys);
  /// Every one by the same number of steps.
  [[nodiscard]] results rotate_vector(ciphertexts a, std::int64_t steps, const switch_key_set& keys);
  /// Conjugates all slots.
  [[nodiscard]] results complex_conjugate(ciphertexts a, const switch_key_set& keys);

  /// Copies rows * columns ciphertexts of two polynomials and one scale, row by row.
  [[nodiscard]] ciphertext_matrix make_matrix(ciphertexts entries, std::uint32_t rows, std::uint32_t columns);
  /// Copies entries of a matrix, by their number row by row.
  [[nodiscard]] results entries(const ciphertext_matrix& of, std::span<const std::uint32_t> numbers);
  /// a b with three polynomials in each entry: what `multiply` and `add` make, with one reduction for each
  /// word. @throws invalid_argument unless a is m by k and b k by n
  [[nodiscard]] ciphertext_matrix multiply(const ciphertext_matrix& a, const ciphertext_matrix& b);
  /// c += a b, in place. @throws scale_mismatch unless the scale of c is that of the product
  void add_product(ciphertext_matrix& c, const ciphertext_matrix& a, const ciphertext_matrix& b);

 private:
  void matrix_product(const ciphertext_matrix& c, const ciphertext_matrix& a, const ciphertext_matrix& b,
                      bool accumulate);
  [[nodiscard]] results combine(ciphertexts a, ciphertexts b, bool subtract);
  [[nodiscard]] results combine_plain(ciphertexts a, plaintexts b, bool subtract);
  [[nodiscard]] results made_like(ciphertexts a, std::uint32_t size, std::uint32_t primes) const;
  [[nodiscard]] results prefixes(ciphertexts a, std::uint32_t primes);
  void check_operands(ciphertexts a, const char* what) const;
  template <typename SecondT>
  void check_pairs(ciphertexts a, SecondT b, const char* what) const;

  context* ctx_;
};

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
  /// Divides by the last prime and drops it; the scale too. @throws level_exhausted with one prime left
  [[nodiscard]] ciphertext rescale_to_next(const ciphertext& a);
  /// Drops the last prime. @throws level_exhausted with one prime left
  [[nodiscard]] ciphertext mod_switch_to_next(const ciphertext& a);
  [[nodiscard]] plaintext mod_switch_to_next(const plaintext& a);
  /// X -> X^element. @throws missing_key; invalid_argument unless the element is odd and below 2N, and the
  /// ciphertext has two polynomials
  [[nodiscard]] ciphertext apply_galois(const ciphertext& a, std::uint64_t element,
                                        const switch_key_set& keys);
  /// Rotates slots to the left by `steps`, to the right by negative ones; |steps| < N/2. Without the key of
  /// the element, one rotation for each digit of the non-adjacent form of `steps`, lowest first.
  [[nodiscard]] ciphertext rotate_vector(const ciphertext& a, std::int64_t steps, const switch_key_set& keys);
  [[nodiscard]] ciphertext complex_conjugate(const ciphertext& a, const switch_key_set& keys);

 private:
  context* ctx_;
};

/// 3^steps modulo 2N: the element that rotates slots to the left by `steps`.
/// @throws invalid_argument unless |steps| < N/2
[[nodiscard]] std::uint64_t galois_element(std::uint64_t n, std::int64_t steps);

}  // namespace halocline::seal
