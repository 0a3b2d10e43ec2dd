// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/mod1.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "circuits/mode_scope.hpp"
#include "circuits/polynomial_plan.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/scales.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::circuits {
namespace {

using ckks::ciphertext;

constexpr double two_pi = 2.0 * std::numbers::pi;
constexpr unsigned most_angles = 8;
constexpr unsigned highest_degree = 254;
// The error of a Chebyshev series oscillates as slowly as its highest term: with few samples around each
// integer none of its peaks is missed by much.
constexpr int samples_per_integer = 5;

void check(const mod1_options& options) {
  HALOCLINE_EXPECTS(std::isfinite(options.range) && options.range >= 1 && options.range <= 1024,
                    invalid_argument, "mod1: range ", options.range, "; expected 1 to 1024");
  HALOCLINE_EXPECTS(options.fraction > 0 && options.fraction < 0.25, invalid_argument, "mod1: fraction ",
                    options.fraction,
                    "; expected a number between 0 and 1/4, where the sine is still monotonic");
  HALOCLINE_EXPECTS(options.tolerance >= 0x1p-46 && options.tolerance < 1, invalid_argument,
                    "mod1: tolerance ", options.tolerance,
                    "; expected 2^-46, which the coefficients' rounding allows, to 1");
  HALOCLINE_EXPECTS(options.arcsine_degree == 0 || options.arcsine_degree % 2 == 1, invalid_argument,
                    "mod1: arcsine of degree ", options.arcsine_degree,
                    "; expected an odd degree, or 0 for none");
  HALOCLINE_EXPECTS(options.double_angles.value_or(0) <= most_angles, invalid_argument,
                    "mod1: ", options.double_angles.value_or(0), " double angles; expected at most ",
                    most_angles);
}

polynomial scaled(polynomial p, double factor) {
  for (auto& each : p.coefficients) each *= factor;
  return p;
}

void check_factor(double factor) {
  HALOCLINE_EXPECTS(std::isfinite(factor) && factor > 0, invalid_argument, "mod1: factor ", factor,
                    "; expected a positive number");
}

/// With the scale of a product at its level, `depth` below `level`; for a polynomial it is an option, because
/// any scale is possible.
polynomial_options arriving(const ckks::evaluator& eval, unsigned level, unsigned depth) {
  const params::parameters& parameters = eval.context().parameters();
  polynomial_options options;
  const double above = parameters.level(level - depth + 1).scale;
  options.scale = static_cast<double>(above * above / ckks::rescale_ratio(parameters, level - depth + 1));
  return options;
}

}  // namespace

mod1::mod1(const mod1_options& options) : options_(options) {
  check(options_);
  if (options_.arcsine_degree != 0) {
    const double sigma = std::sin(two_pi * options_.fraction);
    const auto inverse = [sigma](double w) { return std::asin(sigma * w) / two_pi; };
    arcsine_ = chebyshev_interpolate(inverse, -1.0, 1.0, options_.arcsine_degree).series;
  }
  choose();
}

/// Takes the cosine of this degree and the number of double angles over and says whether it is good enough.
bool mod1::fits(unsigned angles, unsigned degree) {
  const double rate = two_pi * divisor() / std::exp2(angles);
  double_angles_ = angles;
  cosine_ = chebyshev_interpolate([rate](double u) { return std::cos(rate * u); }, -1.0, 1.0, degree).series;
  max_error_ = measured_error();
  return max_error_ <= options_.tolerance;
}

/// The least degree that does with this number of double angles and does not take more levels.
bool mod1::find_degree(unsigned angles, unsigned most_levels) {
  if (angles + 2 > most_levels) return false;
  const unsigned bits = most_levels - angles;
  unsigned last = bits >= 8 ? highest_degree / 2 : (1U << (bits - 1)) - 1;  // halves of degrees
  if (!fits(angles, 2 * last)) return false;
  for (unsigned first = 1; first < last;) {
    const unsigned middle = (first + last) / 2;
    fits(angles, 2 * middle) ? last = middle : first = middle + 1;
  }
  return fits(angles, 2 * last);
}

void mod1::choose() {
  const unsigned correction = levels_of_arcsine();
  const unsigned limit = options_.max_levels.value_or(8 + most_angles + correction);
  std::optional<mod1> best;
  double least_error = HUGE_VAL;
  for (unsigned angles = options_.double_angles.value_or(0);
       angles <= options_.double_angles.value_or(most_angles); ++angles) {
    const bool found = limit > correction && find_degree(angles, limit - correction);
    least_error = std::min(least_error, max_error_);
    if (!found) continue;
    const auto rank = [&](const mod1& each) {
      return std::pair(options_.max_levels ? 0u : each.levels(), each.key_switches());
    };
    if (!best || rank(*this) < rank(*best)) best = *this;
  }
  HALOCLINE_EXPECTS(best, invalid_argument, "mod1: with up to ", limit, " levels and degree ", highest_degree,
                    " no cosine has an error of ", options_.tolerance, " on a range of ", options_.range,
                    "; the best has ", least_error, "; allow a larger error, more levels",
                    correction != 0 ? ", an arcsine of higher degree" : "",
                    options_.double_angles ? ", another number of double angles" : "", " or a smaller range");
  *this = std::move(*best);
}

double mod1::measured_error() const {
  double most = 0.0;
  const auto whole = static_cast<int>(std::floor(options_.range));
  for (int integer = -whole; integer <= whole; ++integer) {
    for (int i = 0; i < samples_per_integer; ++i) {
      const double e = options_.fraction * (2.0 * i / (samples_per_integer - 1) - 1.0);
      if (std::abs(integer + e) > options_.range) continue;
      const double wanted = options_.arcsine_degree != 0 ? e : std::sin(two_pi * e) / two_pi;
      most = std::max(most, std::abs((*this)(integer + e) - wanted));
    }
  }
  return most;
}

unsigned mod1::levels_of_arcsine() const noexcept {
  return options_.arcsine_degree != 0 ? detail::degree_levels(options_.arcsine_degree) : 0;
}

unsigned mod1::levels() const noexcept {
  return detail::degree_levels(cosine_.degree()) + double_angles_ + levels_of_arcsine();
}

std::size_t mod1::key_switches() const {
  const std::size_t correction = options_.arcsine_degree > 1 ? cost(arcsine_).key_switches : 0;
  return cost(cosine_).key_switches + double_angles_ + correction;
}

double mod1::linearity_error(double largest) const noexcept {
  return options_.arcsine_degree != 0 ? 0.0 : largest - std::sin(two_pi * largest) / two_pi;
}

double mod1::operator()(double x) const {
  double y = cosine_((x - 0.25) / divisor()).real();
  for (unsigned i = 0; i < double_angles_; ++i) y = 2 * y * y - 1;
  if (options_.arcsine_degree == 0) return y / two_pi;
  return arcsine_(y / std::sin(two_pi * options_.fraction)).real();
}

std::vector<ckks::key_request> mod1::key_requests(unsigned input_level) const {
  return {{ckks::relinearization_element, input_level}};
}

std::vector<double> mod1::weights(double last) const {
  std::vector<double> result(double_angles_ + 1, last);
  for (unsigned i = double_angles_; i-- > 0;) result[i] = std::sqrt(2.0 * result[i + 1]);
  return result;
}

ciphertext mod1::evaluate(ckks::evaluator& eval, const ciphertext& x, double factor) const {
  const ciphertext* const one[] = {&x};
  return std::move(evaluate(eval, one, factor).front());
}

std::vector<ciphertext> mod1::angles(ckks::evaluator& eval, ckks::ciphertext_span many, double last,
                                     unsigned count) const {
  HALOCLINE_EXPECTS(!many.empty(), invalid_argument, "mod1: no ciphertexts; expected at least one");
  const unsigned level = many.front()->level;
  HALOCLINE_EXPECTS(level >= levels(), level_exhausted, "mod1: takes ", levels(),
                    " levels, the input is at level ", level, "; ", levels() - level, " more are needed");
  const std::vector<double> b = weights(last);
  std::vector<ciphertext> y = circuits::evaluate(
      eval, scaled(cosine_, b.front()), ckks::pointers(eval.add_constant(many, -0.25 / divisor())),
      arriving(eval, level, detail::degree_levels(cosine_.degree())));
  for (unsigned i = 0; i < count; ++i) {
    const std::vector<const ciphertext*> root = ckks::pointers(y);
    y = eval.multiply(root, root);
    eval.add_constants(y, -0.5 * b[i] * b[i]);
  }
  return y;
}

std::vector<ciphertext> mod1::evaluate(ckks::evaluator& eval, ckks::ciphertext_span many,
                                       double factor) const {
  const backend::scoped_operation named("eval_mod");
  check_factor(factor);
  const detail::mode_scope automatic(eval, ckks::maintenance::automatic);
  if (options_.arcsine_degree == 0) return angles(eval, many, factor / two_pi, double_angles_);
  const double last = 1.0 / std::sin(two_pi * options_.fraction);
  const std::vector<ciphertext> y = angles(eval, many, last, double_angles_);
  return circuits::evaluate(eval, scaled(arcsine_, factor), ckks::pointers(y),
                            arriving(eval, many.front()->level, levels()));
}

std::vector<ciphertext> mod1::evaluate_complex(ckks::evaluator& eval, ckks::ciphertext_span parts,
                                               double factor, unsigned together) const {
  const backend::scoped_operation named("eval_mod");
  check_factor(factor);
  HALOCLINE_EXPECTS(parts.size() % 2 == 0 && together > 0, invalid_argument, "mod1: ", parts.size(),
                    " parts of complex numbers, ", together,
                    " together; expected a real and an imaginary part of each, and at least 1");
  const detail::mode_scope automatic(eval, ckks::maintenance::automatic);
  const bool joins = options_.arcsine_degree == 0 && double_angles_ > 0;
  const double last = factor / two_pi;
  std::vector<std::vector<ciphertext>> made(2);  // real and imaginary parts
  for (std::size_t first = 0; first < parts.size(); first += together) {
    const ckks::ciphertext_span some =
        parts.subspan(first, std::min<std::size_t>(together, parts.size() - first));
    std::vector<ciphertext> y =
        joins ? angles(eval, some, last, double_angles_ - 1) : evaluate(eval, some, factor);
    for (std::size_t k = 0; k < y.size(); ++k) made[(first + k) % 2].push_back(std::move(y[k]));
  }
  const std::vector<const ciphertext*> real = ckks::pointers(made[0]);
  const std::vector<const ciphertext*> imaginary = ckks::pointers(made[1]);
  const std::vector<ciphertext> turned = eval.multiply_constant(imaginary, {0.0, 1.0});
  if (!joins) return eval.add(real, ckks::pointers(turned));
  // c^2 + i s^2 - b^2 / 2 (1 + i)
  const std::vector<const ciphertext*> a[] = {real, imaginary};
  const std::vector<const ciphertext*> b[] = {real, ckks::pointers(turned)};
  std::vector<ciphertext> sums = eval.dot(a, b);
  const double weight = weights(last)[double_angles_ - 1];
  eval.add_constants(sums, std::complex<double>(1.0, 1.0) * (-0.5 * weight * weight));
  return sums;
}

}  // namespace halocline::circuits
