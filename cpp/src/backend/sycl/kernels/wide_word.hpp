// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <sycl/sycl.hpp>

namespace halocline::sycl_kernels {

/// 128 bits in two words, for devices without such integers: what `arith` needs of them, modulo 2^128.
struct wide_word {
  std::uint64_t low = 0, high = 0;

  constexpr wide_word() = default;
  constexpr explicit wide_word(std::uint64_t word) : low(word) {}
  constexpr wide_word(std::uint64_t low_word, std::uint64_t high_word) : low(low_word), high(high_word) {}
  constexpr explicit operator std::uint64_t() const { return low; }
};

constexpr wide_word operator+(wide_word a, wide_word b) {
  const std::uint64_t low = a.low + b.low;
  return {low, a.high + b.high + (low < a.low ? 1U : 0U)};
}
constexpr wide_word operator+(wide_word a, std::uint64_t b) { return a + wide_word(b); }
inline wide_word operator*(wide_word a, std::uint64_t b) {
  return {a.low * b, sycl::mul_hi(a.low, b) + a.high * b};
}
/// Shifts by less than 128 bits.
constexpr wide_word operator>>(wide_word a, unsigned bits) {
  if (bits == 0) return a;
  if (bits >= 64) return {a.high >> (bits - 64), 0U};
  return {a.low >> bits | a.high << (64 - bits), a.high >> bits};
}
constexpr wide_word operator<<(wide_word a, unsigned bits) {
  if (bits == 0) return a;
  if (bits >= 64) return {0, a.low << (bits - 64)};
  return {a.low << bits, a.high << bits | a.low >> (64 - bits)};
}

}  // namespace halocline::sycl_kernels

#define HALOCLINE_DOUBLE_WORD_64 halocline::sycl_kernels::wide_word
