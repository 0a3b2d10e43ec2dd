// SPDX-License-Identifier: Apache-2.0
#include "ckks/encoder_fft.hpp"

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>

#include "halocline/arith/slot_fft.hpp"
#include "halocline/ring/ntt_tables.hpp"

namespace halocline::ckks {
namespace {

/// exp(2 pi i numerator / 2^log_denominator), rounded.
arith::fft_point unit(std::uint64_t numerator, unsigned log_denominator) {
  const long double turns =
      std::ldexp(static_cast<long double>(numerator), -static_cast<int>(log_denominator));
  const long double angle = 2.0L * std::numbers::pi_v<long double> * turns;
  return {static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle))};
}

std::vector<arith::fft_factors> make_factors(unsigned log_slots) {
  std::vector<arith::fft_factors> factors;
  // Block p at depth d splits x^m - exp(2 pi i r), r = (1 + 4 bitrev_d(p)) / 2^(d+2), with s = exp(2 pi i r /
  // 2). Its left half splits with w, w^2 = s, and its right half with i w.
  for (unsigned depth = log_slots % 2; depth < log_slots; depth += 2) {
    for (std::uint32_t p = 0; p < (1U << depth); ++p) {
      const std::uint64_t turn = 1 + 4 * std::uint64_t{ring::bit_reverse(p, depth)};
      factors.push_back({unit(turn, depth + 4), unit(2 * turn, depth + 4), unit(3 * turn, depth + 4)});
    }
  }
  return factors;
}

std::vector<std::uint32_t> make_places(unsigned log_slots, unsigned generator) {
  std::vector<std::uint32_t> places;
  const std::uint64_t order = std::uint64_t{4} << log_slots;
  std::uint64_t exponent = 1;
  for (std::uint32_t k = 0; k < (1U << log_slots); ++k) {
    const bool conjugate = exponent % 4 == 3;
    const std::uint64_t mirrored = conjugate ? order - exponent : exponent;
    const std::uint32_t p = ring::bit_reverse(static_cast<std::uint32_t>(mirrored / 4), log_slots);
    places.push_back(2 * p + (conjugate ? 1 : 0));
    exponent = exponent * generator % order;
  }
  return places;
}

}  // namespace

std::vector<std::byte> make_slot_table(std::uint32_t slots, unsigned generator) {
  const auto log_slots = static_cast<unsigned>(std::countr_zero(slots));
  const std::vector<arith::fft_factors> factors = make_factors(log_slots);
  const std::vector<std::uint32_t> places = make_places(log_slots, generator);
  const std::size_t factor_bytes = factors.size() * sizeof(arith::fft_factors);
  std::vector<std::byte> table(arith::slot_table_bytes(log_slots));
  if (factor_bytes > 0) std::memcpy(table.data(), factors.data(), factor_bytes);
  std::memcpy(table.data() + factor_bytes, places.data(), places.size() * sizeof(std::uint32_t));
  return table;
}

}  // namespace halocline::ckks
