// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "halocline/circuits/chebyshev.hpp"
#include "halocline/circuits/polynomial.hpp"

/// EvalMod, the step of bootstrapping that takes the integer part off: x = I + e to about e, |e| small. e is
/// read off sin(2 pi x) / (2 pi), and the sine from a cosine of a 2^r times smaller angle,
///
///     sin(2 pi x) = cos(2 pi (x - 1/4)),   cos(2 a) = 2 cos(a)^2 - 1   r times
///
/// so that a Chebyshev series of low degree does (Han, Ki, ePrint 2019/688). Shifted by 1/4 the cosine is
/// even, and its series has half of the terms.
namespace halocline::circuits {

/// What EvalMod shall do.
struct mod1_options {
  double range = 14;           ///< |x| up to this, 1 to 1024
  double fraction = 0x1p-8;    ///< |e| up to this, in (0, 1/4)
  double tolerance = 0x1p-41;  ///< error of sin(2 pi x) / (2 pi) that the series may cause
  /// Levels that may be taken; what needs least key switches within them is chosen. Nothing: the fewest
  /// levels that do.
  std::optional<unsigned> max_levels;
  std::optional<unsigned> double_angles;  ///< r, if it is not to be chosen
  /// Degree of a correction by an arcsine, odd. 0: none, and e comes out as sin(2 pi e) / (2 pi), which is
  /// off by up to (2 pi)^2 e^3 / 6.
  unsigned arcsine_degree = 0;
};

/// EvalMod for one range and precision. Pure data; immutable.
class mod1 {
 public:
  /// Chooses double angles and degree.
  /// @throws invalid_argument for options outside the bounds given there, or when no degree up to 254 does
  explicit mod1(const mod1_options& options = {});

  [[nodiscard]] const mod1_options& options() const noexcept { return options_; }
  [[nodiscard]] unsigned degree() const noexcept { return cosine_.degree(); }  ///< of the cosine
  [[nodiscard]] unsigned double_angles() const noexcept { return double_angles_; }
  /// Levels that `evaluate` takes.
  [[nodiscard]] unsigned levels() const noexcept;
  /// Relinearizations of one `evaluate`, each a key switch.
  [[nodiscard]] std::size_t key_switches() const;
  /// What the input is divided by: it shall hold x / divisor().
  [[nodiscard]] double divisor() const noexcept { return options_.range + 0.25; }
  /// Largest error found of what is computed against sin(2 pi x) / (2 pi) (or with arcsin, e), for |x| <=
  /// range and |e| <= fraction.
  [[nodiscard]] double max_error() const noexcept { return max_error_; }
  /// Largest |sin(2 pi e) / (2 pi) - e| for |e| <= `largest`; 0 with an arcsin, whose error is in
  /// `max_error`.
  [[nodiscard]] double linearity_error(double largest) const noexcept;
  /// What is computed, for one number x.
  [[nodiscard]] double operator()(double x) const;
  /// Keys that `evaluate` uses: the relinearization key.
  [[nodiscard]] std::vector<ckks::key_request> key_requests(unsigned input_level) const;

  /// factor * e in every slot. The factor (positive) is part of the constants: it costs nothing, and large
  /// ones lose less to noise than a product afterwards.
  ///
  /// The result has the scale of a product that arrives at its level: the canonical one, unless a group of
  /// levels with another scale ends there.
  /// @param x holds x / divisor() in real slots, of canonical scale
  /// @throws level_exhausted when the level is below `levels()`
  [[nodiscard]] ckks::ciphertext evaluate(ckks::evaluator& eval, const ckks::ciphertext& x,
                                          double factor = 1.0) const;
  /// The same of several ciphertexts of one shape, which go through every step together: result i is that of
  /// many[i], with the same integers.
  /// @throws as above; invalid_argument also for no ciphertexts and for different shapes
  [[nodiscard]] std::vector<ckks::ciphertext> evaluate(ckks::evaluator& eval, ckks::ciphertext_span many,
                                                       double factor = 1.0) const;
  /// The same of complex numbers, whose real and imaginary parts are two ciphertexts each: result i is
  /// evaluate(parts[2 i]) + i evaluate(parts[2 i + 1]). The last double angles of both are one sum with one
  /// relinearization, so that the integers differ from those of two calls.
  /// @param together at most so many ciphertexts go through the steps before that together, at least 1
  /// @throws as above; invalid_argument also for an odd number of parts
  [[nodiscard]] std::vector<ckks::ciphertext> evaluate_complex(ckks::evaluator& eval,
                                                               ckks::ciphertext_span parts,
                                                               double factor = 1.0,
                                                               unsigned together = 1) const;

 private:
  [[nodiscard]] bool fits(unsigned angles, unsigned degree);
  [[nodiscard]] bool find_degree(unsigned angles, unsigned most_levels);
  void choose();
  [[nodiscard]] unsigned levels_of_arcsine() const noexcept;
  [[nodiscard]] double measured_error() const;
  /// Factors b_0 .. b_r of the cosines, b_r = `last`: y_i = b_i cos(2^i a), y_(i+1) = y_i^2 - b_i^2 / 2.
  [[nodiscard]] std::vector<double> weights(double last) const;
  /// Up to the first `angles` double angles. `last` is the last weight.
  [[nodiscard]] std::vector<ckks::ciphertext> angles(ckks::evaluator& eval, ckks::ciphertext_span many,
                                                     double last, unsigned count) const;

  mod1_options options_;
  unsigned double_angles_ = 0;
  polynomial cosine_;   ///< cos(2 pi divisor u / 2^r) on [-1, 1]
  polynomial arcsine_;  ///< arcsin(sigma w) / (2 pi) on [-1, 1], sigma = sin(2 pi fraction)
  double max_error_ = 1.0;
};

}  // namespace halocline::circuits
