// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace halocline::ring {

/// @throws invalid_argument unless the element is odd and below 2N, N = 2^log_n
void check_galois_element(std::uint64_t galois_element, unsigned log_n);

/// Indices such that `dst[j] = src[index[j]]` applies X -> X^galois_element to a polynomial given by its N =
/// 2^log_n NTT points in bit-reversed order (point j is at psi^(2 bitrev(j) + 1)).
/// @throws invalid_argument unless the element is odd and below 2N.
[[nodiscard]] std::vector<std::uint32_t> automorphism_permutation(std::uint64_t galois_element,
                                                                  unsigned log_n);

/// Inverse of an odd element modulo 2N.
[[nodiscard]] std::uint64_t inverse_galois_element(std::uint64_t galois_element, unsigned log_n);

}  // namespace halocline::ring
