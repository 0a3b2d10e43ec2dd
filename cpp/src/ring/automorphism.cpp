// SPDX-License-Identifier: Apache-2.0
#include "halocline/ring/automorphism.hpp"

#include "halocline/core/expects.hpp"
#include "halocline/ring/ntt_tables.hpp"

namespace halocline::ring {
void check_galois_element(std::uint64_t galois_element, unsigned log_n) {
  const std::uint64_t two_n = std::uint64_t{2} << log_n;
  HALOCLINE_EXPECTS(galois_element % 2 == 1 && galois_element < two_n, invalid_argument, "Galois element ",
                    galois_element, " must be odd and below 2N = ", two_n);
}

std::vector<std::uint32_t> automorphism_permutation(std::uint64_t galois_element, unsigned log_n) {
  check_galois_element(galois_element, log_n);
  const std::uint64_t mask = (std::uint64_t{2} << log_n) - 1;
  std::vector<std::uint32_t> reversed(std::size_t{1} << log_n);
  for (std::size_t i = 0; i < reversed.size(); ++i) {
    reversed[i] = bit_reverse(static_cast<std::uint32_t>(i), log_n);
  }
  std::vector<std::uint32_t> index(reversed.size());
  for (std::size_t j = 0; j < index.size(); ++j) {
    // The image at psi^e is the source at psi^(g e).
    const std::uint64_t exponent = galois_element * (2 * std::uint64_t{reversed[j]} + 1) & mask;
    index[j] = reversed[(exponent - 1) / 2];
  }
  return index;
}

std::uint64_t inverse_galois_element(std::uint64_t galois_element, unsigned log_n) {
  check_galois_element(galois_element, log_n);
  std::uint64_t inverse = galois_element;  // correct modulo 8; each Newton step doubles the correct bits
  for (int i = 0; i < 5; ++i) inverse *= 2 - galois_element * inverse;
  return inverse & ((std::uint64_t{2} << log_n) - 1);
}

}  // namespace halocline::ring
