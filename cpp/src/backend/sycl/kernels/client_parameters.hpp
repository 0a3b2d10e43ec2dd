// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "halocline/arith/coefficient_math.hpp"
#include "halocline/arith/slot_fft.hpp"
#include "parameters.hpp"

/// Parameters of the kernels on messages and secrets.
namespace halocline::sycl_kernels {

/// One private polynomial.
struct small_item {
  std::int64_t* dst;
  const std::uint8_t* seed;
  const std::uint64_t* table;  ///< nullptr: ternary
  std::uint32_t entries;
  std::uint32_t stream;
};

/// One slot transform; `depth` is that of the pass.
struct slot_item {
  arith::fft_point* slots;
  double* points;
  const arith::fft_factors* factors;
  std::uint32_t count;
};
struct slot_launch {
  batch<slot_item> all;  ///< of one size: log_n is log2 of the slots
  std::uint32_t depth;
};

/// One rounding.
struct round_item {
  const double* src;
  std::uint64_t* dst;
  double* largest;
  double factor;
  std::uint32_t count;
  std::uint32_t integers;
  std::uint32_t words;
};

/// One lift.
template <typename WordT>
struct lift_item {
  WordT* limbs;
  double* dst;
  const arith::modulus<WordT>* moduli;
  const arith::elimination<WordT>* table;
  std::uint64_t* overflow;
  double scale;
  std::uint32_t primes;
  std::uint32_t count;
  std::uint32_t stride;
  std::uint32_t log_n;
};

}  // namespace halocline::sycl_kernels
