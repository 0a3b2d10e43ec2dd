// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "halocline/circuits/polynomial.hpp"

namespace halocline::circuits {

/// A Chebyshev series sum_k coefficients[k] T_k(u), u = (2 x - lower - upper) / (upper - lower).
/// @throws invalid_argument unless lower < upper, both finite, and there is a coefficient
[[nodiscard]] polynomial chebyshev_series(const std::vector<double>& coefficients, double lower = -1.0,
                                          double upper = 1.0);

/// A function replaced by a Chebyshev series.
struct chebyshev_fit {
  polynomial series;
  double max_error = 0.0;  ///< largest |series(x) - f(x)| found on the points where it was measured
  double worst_x = 0.0;    ///< where that is
};

/// The polynomial of the given degree that equals f in the degree + 1 Chebyshev points of [lower, upper]; its
/// error is within a factor 2 + (2 / pi) log(degree + 1) of the best possible (Trefethen, "Approximation
/// Theory and Approximation Practice", theorems 15.1 and 16.1). Coefficients below 2^-48 of the largest one
/// are rounding errors of the sum and set to 0, so that odd and even functions give odd and even series.
///
/// `max_error` is measured at 16 points between neighbouring interpolation points.
/// @throws invalid_argument unless lower < upper, degree >= 1, and f is finite wherever it is sampled
[[nodiscard]] chebyshev_fit chebyshev_interpolate(const std::function<double(double)>& f, double lower,
                                                  double upper, unsigned degree);

/// The interpolation of least degree, at most `max_degree`, whose measured error is at most `tolerance`.
/// Degrees 2^k - 1 use all of their levels, so only those are tried.
/// @throws invalid_argument when none does; the message gives the best error reached
[[nodiscard]] chebyshev_fit chebyshev_fit_to(const std::function<double(double)>& f, double lower,
                                             double upper, double tolerance, unsigned max_degree = 255);

}  // namespace halocline::circuits
