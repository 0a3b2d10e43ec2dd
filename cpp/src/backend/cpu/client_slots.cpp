// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "backend/cpu/client_kernels.hpp"
#include "backend/cpu/parallel.hpp"

namespace halocline::backend::cpu {
namespace {

using arith::fft_factors;
using arith::fft_point;

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

/// Applies `step` to the corresponding points of the quarters of a block of 4 `quarter` points.
template <typename StepT>
void for_each_quad(double* re, double* im, std::size_t quarter, const StepT& step) {
  const fft_run c0{re, im};
  const fft_run c1{re + quarter, im + quarter};
  const fft_run c2{re + 2 * quarter, im + 2 * quarter};
  const fft_run c3{re + 3 * quarter, im + 3 * quarter};
  for (std::size_t j = 0; j < quarter; ++j) {
    const arith::fft_quad out = step(arith::fft_quad{c0[j], c1[j], c2[j], c3[j]});
    c0.set(j, out.c0);
    c1.set(j, out.c1);
    c2.set(j, out.c2);
    c3.set(j, out.c3);
  }
}

/// The same with halves.
template <typename StepT>
void for_each_pair(double* re, double* im, std::size_t half, const StepT& step) {
  const fft_run low{re, im};
  const fft_run high{re + half, im + half};
  for (std::size_t j = 0; j < half; ++j) {
    const arith::fft_pair out = step(arith::fft_pair{low[j], high[j]});
    low.set(j, out.low);
    high.set(j, out.high);
  }
}

void to_coefficients(const slot_job& job, const fft_factors* factors, const fft_point* slots, double* re) {
  const std::size_t n = std::size_t{1} << job.log_slots;
  const std::uint32_t* const places = arith::slot_places(factors, job.log_slots);
  double* const im = re + n;
  for (std::size_t k = 0; k < job.count; ++k) {
    const std::size_t p = places[k] / 2;
    re[p] = slots[k].re;
    im[p] = places[k] % 2 == 0 ? slots[k].im : -slots[k].im;
  }
  for (std::size_t k = job.count; k < n; ++k) re[places[k] / 2] = im[places[k] / 2] = 0.0;
  slots_inverse(re, im, factors, job.log_slots);
}

void to_slots(const slot_job& job, const fft_factors* factors, double* re, fft_point* slots) {
  const std::size_t n = std::size_t{1} << job.log_slots;
  const std::uint32_t* const places = arith::slot_places(factors, job.log_slots);
  double* const im = re + n;
  slots_forward(re, im, factors, job.log_slots);
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t p = places[k] / 2;
    slots[k] = {re[p], places[k] % 2 == 0 ? im[p] : -im[p]};
  }
}

/// Rounds factor * in[j] to out[j], all below 2^51: adding 1.5 * 2^52 leaves the integer in the low bits of
/// the sum.
void round_small(const double* in, std::size_t count, double factor, std::uint64_t* out) {
  constexpr double magic = 0x1.8p52;
  constexpr auto magic_bits = std::bit_cast<std::uint64_t>(magic);
  for (std::size_t j = 0; j < count; ++j) {
    out[j] = std::bit_cast<std::uint64_t>(in[j] * factor + magic) - magic_bits;
  }
}

/// The definition.
void round_any(const double* in, const round_job& job, std::size_t n, std::uint64_t* out) {
  std::fill(out, out + n * job.words, 0);
  const std::size_t stride = n / job.count;
  for (std::size_t j = 0; j < job.count; ++j) {
    const arith::wide_coefficient whole = arith::to_wide(arith::rounded_coefficient(in[j], job.factor));
    std::uint64_t* const target = out + j * stride * job.words;
    target[0] = whole.low;
    if (job.words == 2) target[1] = whole.high;
  }
}

double largest_magnitude(const double* values, std::size_t count) {
  constexpr std::size_t lanes = 8;  // independent maxima, so that the loop vectorises
  std::array<double, lanes> found{};
  for (std::size_t i = 0; i < count; ++i) {
    found[i % lanes] = std::max(found[i % lanes], std::abs(values[i]));
  }
  return *std::max_element(found.begin(), found.end());
}

/// A job is one item: its passes depend on each other, and a client has one message at a time.
template <typename BodyT>
void for_each_job(const client_site& on, std::size_t jobs, const BodyT& body) {
  constexpr std::size_t weight = 8;
  parallel_for(on.pool, jobs, jobs > 1 ? weight * jobs * on.ring.n() : 0, body);
}

}  // namespace

void slots_forward(double* re, double* im, const fft_factors* factors, unsigned log_slots) {
  const std::size_t n = std::size_t{1} << log_slots;
  if (log_slots % 2 == 1) for_each_pair(re, im, n / 2, arith::fft_split_first);
  for (unsigned depth = log_slots % 2; depth < log_slots; depth += 2) {
    const fft_factors* const own = factors + arith::fft_factor_offset(log_slots, depth);
    const std::size_t block = n >> depth;
    for (std::size_t p = 0; p < std::size_t{1} << depth; ++p) {
      const fft_factors w = own[p];
      for_each_quad(re + p * block, im + p * block, block / 4,
                    [&](const arith::fft_quad& in) { return arith::fft_split(in, w); });
    }
  }
}

void slots_inverse(double* re, double* im, const fft_factors* factors, unsigned log_slots) {
  const std::size_t n = std::size_t{1} << log_slots;
  for (unsigned depth = log_slots; depth > log_slots % 2;) {
    depth -= 2;
    const fft_factors* const own = factors + arith::fft_factor_offset(log_slots, depth);
    const std::size_t block = n >> depth;
    for (std::size_t p = 0; p < std::size_t{1} << depth; ++p) {
      const fft_factors w = own[p];
      for_each_quad(re + p * block, im + p * block, block / 4,
                    [&](const arith::fft_quad& in) { return arith::fft_join(in, w); });
    }
  }
  if (log_slots % 2 == 1) for_each_pair(re, im, n / 2, arith::fft_join_first);
}

void run_slot_transform(const client_site& on, std::span<const slot_job> jobs) {
  for_each_job(on, jobs.size(), [&](std::size_t i) {
    const slot_job& job = jobs[i];
    const auto* const factors = reinterpret_cast<const fft_factors*>(on.at.pointer(*job.table));
    auto* const slots = reinterpret_cast<fft_point*>(on.at.pointer(*job.slots));
    auto* const coefficients = reinterpret_cast<double*>(on.at.pointer(*job.coefficients));
    if (job.direction == slot_direction::to_coefficients) {
      to_coefficients(job, factors, slots, coefficients);
    } else {
      to_slots(job, factors, coefficients, slots);
    }
  });
}

void run_round_coefficients(const client_site& on, std::span<const round_job> jobs) {
  for_each_job(on, jobs.size(), [&](std::size_t i) {
    const round_job& job = jobs[i];
    const auto* const in = reinterpret_cast<const double*>(on.at.pointer(*job.src));
    if (job.largest != nullptr) {
      *reinterpret_cast<double*>(on.at.pointer(*job.largest)) = largest_magnitude(in, job.count);
    }
    if (job.dst == nullptr) return;
    auto* const out = reinterpret_cast<std::uint64_t*>(on.at.pointer(*job.dst));
    const std::size_t integers = job.dense ? job.count : on.ring.n();
    if (!on.scalar && job.words == 1 && job.count == integers && job.bound < 0x1p50) {
      round_small(in, job.count, job.factor, out);
    } else {
      round_any(in, job, integers, out);
    }
  });
}

}  // namespace halocline::backend::cpu
