// SPDX-License-Identifier: Apache-2.0
#include "ckks/encoder_fft.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "halocline/ring/ntt_tables.hpp"

namespace halocline::ckks {
namespace {

std::complex<long double> unit(std::uint64_t numerator, unsigned log_denominator) {
  const long double turns =
      std::ldexp(static_cast<long double>(numerator), -static_cast<int>(log_denominator));
  const long double angle = 2.0L * std::numbers::pi_v<long double> * turns;
  return {std::cos(angle), std::sin(angle)};
}

fft_point rounded(const std::complex<long double>& z) {
  return {static_cast<double>(z.real()), static_cast<double>(z.imag())};
}

fft_point operator+(fft_point a, fft_point b) { return {a.re + b.re, a.im + b.im}; }
fft_point operator-(fft_point a, fft_point b) { return {a.re - b.re, a.im - b.im}; }
fft_point operator*(fft_point a, fft_point b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
fft_point times_i(fft_point a) { return {-a.im, a.re}; }
fft_point conjugate(fft_point a) { return {a.re, -a.im}; }

/// A run of complex numbers, real and imaginary parts apart. Runs that a loop uses never overlap.
struct fft_run {
  double* __restrict re;
  double* __restrict im;

  fft_point operator[](std::size_t j) const { return {re[j], im[j]}; }
  void set(std::size_t j, fft_point value) const {
    re[j] = value.re;
    im[j] = value.im;
  }
};

/// s of the split of x^n - i itself: exp(pi i / 4).
constexpr fft_point first_factor{std::numbers::sqrt2 / 2, std::numbers::sqrt2 / 2};

/// C modulo x^(4q) - w^4 to its residues modulo x^q - w, x^q + w, x^q - i w, x^q + i w, q = `quarter`.
void split(double* re, double* im, std::size_t quarter, const fft_factors& w) {
  const fft_run c0{re, im};
  const fft_run c1{re + quarter, im + quarter};
  const fft_run c2{re + 2 * quarter, im + 2 * quarter};
  const fft_run c3{re + 3 * quarter, im + 3 * quarter};
  for (std::size_t j = 0; j < quarter; ++j) {
    const fft_point b1 = c1[j] * w.w1;
    const fft_point b2 = c2[j] * w.w2;
    const fft_point b3 = c3[j] * w.w3;
    const fft_point left = c0[j] + b2;
    const fft_point right = c0[j] - b2;
    const fft_point sum = b1 + b3;
    const fft_point turned = times_i(b1 - b3);
    c0.set(j, left + sum);
    c1.set(j, left - sum);
    c2.set(j, right + turned);
    c3.set(j, right - turned);
  }
}

/// Inverse of `split`, times four.
void join(double* re, double* im, std::size_t quarter, const fft_factors& w) {
  const fft_run c0{re, im};
  const fft_run c1{re + quarter, im + quarter};
  const fft_run c2{re + 2 * quarter, im + 2 * quarter};
  const fft_run c3{re + 3 * quarter, im + 3 * quarter};
  for (std::size_t j = 0; j < quarter; ++j) {
    const fft_point left = c0[j] + c1[j];
    const fft_point right = c2[j] + c3[j];
    const fft_point gap = c0[j] - c1[j];
    const fft_point turned = times_i(c2[j] - c3[j]);
    c0.set(j, left + right);
    c1.set(j, (gap - turned) * conjugate(w.w1));
    c2.set(j, (left - right) * conjugate(w.w2));
    c3.set(j, (gap + turned) * conjugate(w.w3));
  }
}

}  // namespace

slot_transform::slot_transform(std::uint32_t slots, unsigned generator) : slots_(slots) {
  const auto log_n = static_cast<unsigned>(std::countr_zero(slots));
  odd_ = log_n % 2 == 1;
  // Block p at depth d splits x^m - exp(2 pi i r), r = (1 + 4 bitrev_d(p)) / 2^(d+2), with s = exp(2 pi i r /
  // 2). Its left half splits with w, w^2 = s, and its right half with i w.
  for (unsigned depth = odd_ ? 1 : 0; depth < log_n; depth += 2) {
    pass next{{}, std::size_t{slots} >> (depth + 2)};
    for (std::uint32_t p = 0; p < (1U << depth); ++p) {
      const std::uint64_t turn = 1 + 4 * std::uint64_t{ring::bit_reverse(p, depth)};
      next.factors.push_back({rounded(unit(turn, depth + 4)), rounded(unit(2 * turn, depth + 4)),
                              rounded(unit(3 * turn, depth + 4))});
    }
    passes_.push_back(std::move(next));
  }
  const std::uint64_t order = std::uint64_t{4} * slots;
  std::uint64_t exponent = 1;
  for (std::uint32_t k = 0; k < slots; ++k) {
    const bool conjugate = exponent % 4 == 3;
    const std::uint64_t mirrored = conjugate ? order - exponent : exponent;
    const std::uint32_t p = ring::bit_reverse(static_cast<std::uint32_t>(mirrored / 4), log_n);
    place_.push_back(2 * p + (conjugate ? 1 : 0));
    exponent = exponent * generator % order;
  }
}

void slot_transform::forward(double* re, double* im) const {
  if (odd_) {
    const std::size_t half = slots_ / 2;
    const fft_run low{re, im};
    const fft_run high{re + half, im + half};
    for (std::size_t j = 0; j < half; ++j) {
      const fft_point turned = high[j] * first_factor;
      high.set(j, low[j] - turned);
      low.set(j, low[j] + turned);
    }
  }
  for (const pass& each : passes_) {
    const std::size_t block = 4 * each.quarter;
    for (std::size_t p = 0; p < each.factors.size(); ++p) {
      split(re + p * block, im + p * block, each.quarter, each.factors[p]);
    }
  }
}

void slot_transform::inverse(double* re, double* im) const {
  for (std::size_t i = passes_.size(); i-- > 0;) {
    const pass& each = passes_[i];
    const std::size_t block = 4 * each.quarter;
    for (std::size_t p = 0; p < each.factors.size(); ++p) {
      join(re + p * block, im + p * block, each.quarter, each.factors[p]);
    }
  }
  if (odd_) {
    const std::size_t half = slots_ / 2;
    const fft_run low{re, im};
    const fft_run high{re + half, im + half};
    for (std::size_t j = 0; j < half; ++j) {
      const fft_point gap = low[j] - high[j];
      low.set(j, low[j] + high[j]);
      high.set(j, gap * conjugate(first_factor));
    }
  }
}

void slot_transform::to_coefficients(std::span<const std::complex<double>> values,
                                     std::span<double> coefficients) const {
  double* const re = coefficients.data();
  double* const im = re + slots_;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const std::size_t p = place_[k] / 2;
    re[p] = values[k].real();
    im[p] = place_[k] % 2 == 0 ? values[k].imag() : -values[k].imag();
  }
  for (std::size_t k = values.size(); k < slots_; ++k) re[place_[k] / 2] = im[place_[k] / 2] = 0.0;
  inverse(re, im);
}

void slot_transform::to_slots(std::span<double> coefficients, std::span<std::complex<double>> values) const {
  double* const re = coefficients.data();
  double* const im = re + slots_;
  forward(re, im);
  for (std::size_t k = 0; k < slots_; ++k) {
    const std::size_t p = place_[k] / 2;
    values[k] = {re[p], place_[k] % 2 == 0 ? im[p] : -im[p]};
  }
}

}  // namespace halocline::ckks
