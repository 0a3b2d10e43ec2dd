// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

namespace halocline::circuits {

/// One odd polynomial of a composite sign approximation, in the Chebyshev basis of its own variable u:
///
///     p(u) = sum_k chebyshev_odd[k] * T_{2k+1}(u)
///
/// u is the plain value divided by `domain`, where "plain" means the units in which sign is +1 or -1. The
/// coefficients are already divided by the domain of the following stage, so p(u) *is* the following stage's
/// u: stages are evaluated one after another with no scaling between them.
///
/// Guarantee: for input_low <= |u| <= input_high, sign(u) * p(u) lies in [output_low, output_high]; for
/// |u| < input_low, p(u) lies between -output_high and output_high. Inside a set, the next stage's input
/// interval is wider than this output interval by the set's margin on both sides.
struct minimax_stage {
  double domain;       ///< half-width in plain units; 1 for the first stage
  double input_low;    ///< smallest |u| whose sign this stage keeps, > 0
  double input_high;   ///< largest |u| allowed: 1 + margin for the first stage, then 1
  double output_low;   ///< smallest |p(u)|, in the next stage's u (plain for the last stage)
  double output_high;  ///< largest |p(u)|, in the same unit
  std::span<const double> chebyshev_odd;  ///< coefficients of T_1, T_3, T_5, ...

  /// Degree of the polynomial, odd.
  [[nodiscard]] constexpr int degree() const noexcept {
    return 2 * static_cast<int>(chebyshev_odd.size()) - 1;
  }
};

/// A chain of minimax polynomials that approximates sign on [-1, 1].
///
/// With s(x) the chain's value: |s(x) - sign(x)| <= error <= 2^-alpha for epsilon <= |x| <= 1, and
/// |s(x)| <= 1 + error for |x| < epsilon. ReLU built as x (1 + s(x)) / 2 is off by at most relu_error on
/// all of [-1, 1], because a wrong sign near zero costs little there; this is why epsilon may be far above
/// 2^-alpha. Noise of up to `margin` on the input of every stage but the first keeps the stages within their
/// guarantees: the bound for |x| >= epsilon then holds up to the noise of the last stage's own evaluation.
/// For |x| < epsilon the chain is steep and amplifies noise, which ReLU's factor x makes small again.
struct composite_sign {
  int alpha;          ///< precision in bits
  int levels;         ///< fewest multiplicative levels of the chain: sum of ceil(log2(degree + 1))
  double epsilon;     ///< smallest |x| whose sign is certain
  double error;       ///< bound of |s(x) - sign(x)| for epsilon <= |x| <= 1
  double relu_error;  ///< bound of |x (1 + s(x)) / 2 - max(x, 0)| for |x| <= 1, at most 1.08 * 2^-alpha
  double margin;      ///< noise tolerated on the input of later stages, in their u
  std::span<const minimax_stage> stages;
};

/// The shipped set for precision `alpha`: 6 to 13, of degrees {3,7}, {7,7}, {7,15}, {15,15}, {7,7,13},
/// {7,7,27}, {7,15,27} and {15,15,27}, which take 5, 6, 7, 8, 10, 11, 12 and 13 levels. The reference stays
/// valid for the life of the program.
///
/// Source: minimax composition after E. Lee, J.-W. Lee, J.-S. No, Y.-S. Kim, "Minimax approximation of sign
/// function by composite polynomial for homomorphic comparison" (ePrint 2020/834); degrees after J. Lee et
/// al., "Precise approximation of convolutional neural networks for homomorphically encrypted data" (arXiv
/// 2105.10879). Numbers by tools/minimax_sign.py.
///
/// @throws invalid_argument for any other alpha; the message lists those available.
[[nodiscard]] const composite_sign& minimax_sign(int alpha);

/// Every alpha that `minimax_sign` accepts, ascending.
[[nodiscard]] std::vector<int> minimax_sign_alphas();

/// The stage's polynomial at `u` in double precision, by Clenshaw's recurrence: the reference for encrypted
/// evaluation. Any finite u is allowed; outside [-1, 1] the value grows like |2u|^degree.
[[nodiscard]] double evaluate(const minimax_stage& stage, double u) noexcept;

/// The whole chain at `x` in double precision.
[[nodiscard]] double evaluate(const composite_sign& chain, double x) noexcept;

}  // namespace halocline::circuits
