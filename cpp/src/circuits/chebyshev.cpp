// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/chebyshev.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "halocline/core/expects.hpp"

namespace halocline::circuits {
namespace {

constexpr unsigned checks_per_point = 16;
constexpr double negligible = 0x1p-48;

double sample(const std::function<double(double)>& f, double x) {
  const double value = f(x);
  HALOCLINE_EXPECTS(std::isfinite(value), invalid_argument, "chebyshev interpolation: the function is ",
                    value, " at ", x, "; it must be finite on the whole interval");
  return value;
}

void require_interval(double lower, double upper) {
  HALOCLINE_EXPECTS(std::isfinite(lower) && std::isfinite(upper) && lower < upper, invalid_argument,
                    "chebyshev series: interval [", lower, ", ", upper,
                    "]; expected lower < upper, both finite");
}

/// cos(angle) mapped from [-1, 1] to the interval.
double point(double angle, double lower, double upper) {
  return 0.5 * (lower + upper) + 0.5 * (upper - lower) * std::cos(angle);
}

void measure(const std::function<double(double)>& f, chebyshev_fit& fit, unsigned degree) {
  const unsigned steps = checks_per_point * (degree + 1);
  for (unsigned i = 0; i <= steps; ++i) {
    const double x = point(std::numbers::pi * i / steps, fit.series.lower, fit.series.upper);
    const double error = std::abs(fit.series(x).real() - sample(f, x));
    if (error > fit.max_error) {
      fit.max_error = error;
      fit.worst_x = x;
    }
  }
}

}  // namespace

polynomial chebyshev_series(const std::vector<double>& coefficients, double lower, double upper) {
  require_interval(lower, upper);
  HALOCLINE_EXPECTS(!coefficients.empty(), invalid_argument, "chebyshev series: no coefficients");
  return {polynomial_basis::chebyshev, {coefficients.begin(), coefficients.end()}, lower, upper};
}

chebyshev_fit chebyshev_interpolate(const std::function<double(double)>& f, double lower, double upper,
                                    unsigned degree) {
  require_interval(lower, upper);
  HALOCLINE_EXPECTS(degree >= 1, invalid_argument, "chebyshev interpolation: degree 0; expected at least 1");
  const unsigned count = degree + 1;
  std::vector<double> angles(count);
  std::vector<double> values(count);
  for (unsigned j = 0; j < count; ++j) {
    angles[j] = std::numbers::pi * (j + 0.5) / count;
    values[j] = sample(f, point(angles[j], lower, upper));
  }
  // Discrete orthogonality of the cosines on the Chebyshev points of the first kind.
  std::vector<double> coefficients(count);
  for (unsigned k = 0; k < count; ++k) {
    for (unsigned j = 0; j < count; ++j) coefficients[k] += values[j] * std::cos(k * angles[j]);
    coefficients[k] *= (k == 0 ? 1.0 : 2.0) / count;
  }
  double largest = 0.0;
  for (const double c : coefficients) largest = std::max(largest, std::abs(c));
  for (double& c : coefficients) {
    if (std::abs(c) < negligible * largest) c = 0.0;
  }
  chebyshev_fit fit{chebyshev_series(coefficients, lower, upper), 0.0, lower};
  measure(f, fit, degree);
  return fit;
}

chebyshev_fit chebyshev_fit_to(const std::function<double(double)>& f, double lower, double upper,
                               double tolerance, unsigned max_degree) {
  double best = HUGE_VAL;
  for (unsigned degree = 1; degree <= max_degree; degree = 2 * degree + 1) {
    chebyshev_fit fit = chebyshev_interpolate(f, lower, upper, degree);
    if (fit.max_error <= tolerance) return fit;
    best = std::min(best, fit.max_error);
  }
  throw invalid_argument(text("chebyshev fit: error ", best, " is the best up to degree ", max_degree, ", ",
                              tolerance,
                              " is required; allow a higher degree, a larger error or a smaller interval"));
}

}  // namespace halocline::circuits
