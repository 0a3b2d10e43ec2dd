// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "halocline/ckks/evaluator.hpp"

namespace halocline::circuits {

enum class polynomial_basis : unsigned char {
  monomial,   ///< 1, x, x^2, ...
  chebyshev,  ///< T_0(u), T_1(u), ... with u = (2 x - lower - upper) / (upper - lower)
};

/// Which coefficients of a polynomial are non-zero.
enum class polynomial_parity : unsigned char { none, even, odd };

/// p(x) = sum_k coefficients[k] * b_k(x) in one of two bases. The Chebyshev basis keeps intermediate values
/// and coefficients small on its interval; beyond a degree of about ten it is the one to take.
struct polynomial {
  polynomial_basis basis = polynomial_basis::monomial;
  std::vector<std::complex<double>> coefficients;
  double lower = -1.0;  ///< interval of x, Chebyshev basis only
  double upper = 1.0;

  /// Largest k with a non-zero coefficient; 0 for constants.
  [[nodiscard]] unsigned degree() const noexcept;
  /// Whether only even or only odd coefficients are non-zero (exactly); the zero polynomial is even.
  [[nodiscard]] polynomial_parity parity() const noexcept;
  /// The value at x, by Horner's rule or Clenshaw's recurrence.
  [[nodiscard]] std::complex<double> operator()(std::complex<double> x) const;
};

/// p = quotient * b_n + remainder with the degree of the remainder below n.
struct polynomial_division {
  polynomial quotient;
  polynomial remainder;
};

/// Divides by b_n, n at least half the degree of p (n >= 1). In the Chebyshev basis T_(n+j) = 2 T_n T_j -
/// T_(n-j), so coefficients above n count twice in the quotient and come back, negated, in the remainder.
/// @throws invalid_argument when the degree of p exceeds 2 n
[[nodiscard]] polynomial_division divide(const polynomial& p, unsigned n);

/// What an encrypted evaluation costs.
struct polynomial_cost {
  unsigned levels = 0;                ///< change of interval included
  std::size_t key_switches = 0;       ///< relinearizations
  std::size_t products = 0;           ///< ciphertext times ciphertext
  std::size_t constant_products = 0;  ///< ciphertext times constant
};

/// Cost of `evaluate` for one polynomial or for several on one power basis.
[[nodiscard]] polynomial_cost cost(const polynomial& p);
[[nodiscard]] polynomial_cost cost(std::span<const polynomial> batch);

/// Levels of `evaluate`: ceil(log2(degree + 1)), the fewest possible, and one more when a Chebyshev interval
/// must be mapped to [-1, 1] by a factor 2 / (upper - lower) that is no integer.
[[nodiscard]] unsigned levels(const polynomial& p);

/// The keys that `evaluate` uses for an input of canonical scale at `input_level`: the relinearization key,
/// or none for degree 1.
[[nodiscard]] std::vector<ckks::key_request> key_requests(const polynomial& p, unsigned input_level);

/// Where the result of an evaluation shall be.
struct polynomial_options {
  /// Level of the result; nothing means the highest possible, the input's level less `levels`. A lower one is
  /// cheaper: the input is brought down first.
  std::optional<unsigned> level;
  /// Scale of the result; the canonical one of its level unless given.
  std::optional<double> scale{};
};

/// p(x) for every slot, of canonical scale.
///
/// Paterson-Stockmeyer evaluation with baby steps b_1 .. b_(2^m - 1) and giant steps b_(2^k), m chosen by a
/// cost model: p = q b_(2^k) + r recursively, where the level and the scale of every node are fixed from the
/// result backwards, so that all constants are encoded at the scale at which the summands of a node meet
/// exactly (Bossuat, Mouchet, Troncoso-Pastoriza, Hubaux, ePrint 2020/1203, section 5, and Lee et al. for the
/// optimal depth). The products of a node are summed before their one relinearization and rescale. Odd and
/// even polynomials use the powers of their parity only.
///
/// An input whose scale is not canonical is adjusted first, which costs one level (none when the interval is
/// mapped at that price anyway).
/// @throws invalid_argument for a polynomial of degree 0, coefficients that are not finite or an empty
///   interval
/// @throws level_exhausted when the input has too few levels; the message says how many are missing
[[nodiscard]] ckks::ciphertext evaluate(ckks::evaluator& eval, const polynomial& p, const ckks::ciphertext& x,
                                        const polynomial_options& options = {});

/// One polynomial of several ciphertexts of one shape (level, scale, slots), which go through every step
/// together: see the lists of `ckks::evaluator`. Result i is that of many[i], with the same integers.
/// @throws as above; invalid_argument also for no ciphertexts and for different shapes
[[nodiscard]] std::vector<ckks::ciphertext> evaluate(ckks::evaluator& eval, const polynomial& p,
                                                     ckks::ciphertext_span many,
                                                     const polynomial_options& options = {});

/// Several polynomials of one basis and interval, which share the powers of x. Each result has its own
/// highest level unless `options` gives one for all.
[[nodiscard]] std::vector<ckks::ciphertext> evaluate(ckks::evaluator& eval, std::span<const polynomial> batch,
                                                     const ckks::ciphertext& x,
                                                     const polynomial_options& options = {});

}  // namespace halocline::circuits
