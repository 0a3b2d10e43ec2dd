// SPDX-License-Identifier: Apache-2.0
#include "halocline/ring/ntt_tables.hpp"

#include "halocline/arith/arith.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ring {

template <typename WordT>
WordT smallest_primitive_root(const arith::modulus<WordT>& q, unsigned log_n) {
  const std::uint64_t order = std::uint64_t{2} << log_n;
  const std::uint64_t group = static_cast<std::uint64_t>(q.value) - 1;
  HALOCLINE_EXPECTS(group % order == 0, invalid_argument, "prime ", q.value, " is not 1 modulo 2N = ", order);
  // x^((q-1)/2N) has order exactly 2N when its N-th power is -1; half of all x qualify.
  WordT root = 0;
  for (WordT x = 2; root == 0; ++x) {
    const WordT candidate = arith::pow_mod(x, group / order, q);
    if (arith::pow_mod(candidate, order / 2, q) == q.value - 1) root = candidate;
  }
  // The primitive roots are the odd powers of any one of them.
  const WordT step = arith::mul_mod(root, root, q);
  WordT smallest = root;
  for (std::uint64_t i = 1; i < order / 2; ++i) {
    root = arith::mul_mod(root, step, q);
    if (root < smallest) smallest = root;
  }
  return smallest;
}

template <typename WordT>
void fill_roots(const arith::modulus<WordT>& q, unsigned log_n, std::span<WordT> out) {
  const std::size_t n = std::size_t{1} << log_n;
  HALOCLINE_EXPECTS(out.size() == 4 * n, invalid_argument, "fill_roots: ", out.size(), " words, expected ",
                    4 * n);
  const WordT psi = smallest_primitive_root(q, log_n);
  const WordT psi_inverse = arith::inverse_mod(psi, q);
  WordT forward = 1;
  WordT inverse = 1;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t at = bit_reverse(static_cast<std::uint32_t>(i), log_n);
    out[at] = forward;
    out[2 * n + at] = inverse;
    forward = arith::mul_mod(forward, psi, q);
    inverse = arith::mul_mod(inverse, psi_inverse, q);
  }
  out[2 * n] = arith::inverse_mod(static_cast<WordT>(n % q.value), q);
  for (std::size_t i = 0; i < n; ++i) {
    out[n + i] = arith::shoup_quotient(out[i], q);
    out[3 * n + i] = arith::shoup_quotient(out[2 * n + i], q);
  }
}

template std::uint32_t smallest_primitive_root(const arith::modulus<std::uint32_t>&, unsigned);
template std::uint64_t smallest_primitive_root(const arith::modulus<std::uint64_t>&, unsigned);
template void fill_roots(const arith::modulus<std::uint32_t>&, unsigned, std::span<std::uint32_t>);
template void fill_roots(const arith::modulus<std::uint64_t>&, unsigned, std::span<std::uint64_t>);

}  // namespace halocline::ring
