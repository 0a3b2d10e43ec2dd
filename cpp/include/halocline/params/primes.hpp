// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// NTT-friendly primes: q = 1 mod 2N, so that Z_q has a primitive 2N-th root of unity.
namespace halocline::params {

/// True when `value` is prime. Exact for all 64-bit numbers: Miller-Rabin with the first twelve primes as
/// bases (Sorenson and Webster, "Strong pseudoprimes to twelve prime bases", 2017: no composite below 3.18e23
/// passes).
[[nodiscard]] bool is_prime(std::uint64_t value) noexcept;

/// The `count` largest primes q = 1 mod `two_n` below 2^bits that are not in `avoid`, descending.
/// @param bits   in (log2(two_n), 61]; may be fractional
/// @param two_n  2N, a power of two
/// @throws invalid_argument when there are fewer such primes above 2^(bits-1)
[[nodiscard]] std::vector<std::uint64_t> primes_below(double bits, std::size_t count, std::uint64_t two_n,
                                                      std::span<const std::uint64_t> avoid = {});

/// The prime q = 1 mod `two_n` nearest to 2^bits on a logarithmic scale that is not in `avoid` and at most
/// half a bit away.
/// @throws invalid_argument when there is none
[[nodiscard]] std::uint64_t nearest_prime(double bits, std::uint64_t two_n,
                                          std::span<const std::uint64_t> avoid = {});

}  // namespace halocline::params
