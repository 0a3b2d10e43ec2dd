// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "halocline/arith/modulus.hpp"

namespace halocline::ring {

/// Reverses the lowest `bits` bits of x.
[[nodiscard]] constexpr std::uint32_t bit_reverse(std::uint32_t x, unsigned bits) noexcept {
  std::uint32_t reversed = 0;
  for (unsigned i = 0; i < bits; ++i) reversed |= ((x >> i) & 1U) << (bits - 1 - i);
  return reversed;
}

/// Smallest primitive 2N-th root of unity modulo q, N = 2^log_n (the convention of SEAL).
/// @throws invalid_argument unless q = 1 mod 2N.
template <typename WordT>
[[nodiscard]] WordT smallest_primitive_root(const arith::modulus<WordT>& q, unsigned log_n);

/// Writes the 4 N words of one prime as `backend::ring_tables::roots` documents them.
template <typename WordT>
void fill_roots(const arith::modulus<WordT>& q, unsigned log_n, std::span<WordT> out);

extern template std::uint32_t smallest_primitive_root(const arith::modulus<std::uint32_t>&, unsigned);
extern template std::uint64_t smallest_primitive_root(const arith::modulus<std::uint64_t>&, unsigned);
extern template void fill_roots(const arith::modulus<std::uint32_t>&, unsigned, std::span<std::uint32_t>);
extern template void fill_roots(const arith::modulus<std::uint64_t>&, unsigned, std::span<std::uint64_t>);

}  // namespace halocline::ring
