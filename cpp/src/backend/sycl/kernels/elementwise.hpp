// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel.hpp"

/// Operations on single words: one work item for each.
namespace halocline::sycl_kernels {

using elements = batch<element_item<word>>;

HALOCLINE_KERNEL(halocline_add, elements) {
  const position at(*p);
  at.item.dst[at.j] = arith::add_mod(at.item.a[at.j], at.item.b[at.j], *at.item.q);
}

HALOCLINE_KERNEL(halocline_sub, elements) {
  const position at(*p);
  at.item.dst[at.j] = arith::sub_mod(at.item.a[at.j], at.item.b[at.j], *at.item.q);
}

HALOCLINE_KERNEL(halocline_negate, elements) {
  const position at(*p);
  at.item.dst[at.j] = arith::negate_mod(at.item.a[at.j], *at.item.q);
}

HALOCLINE_KERNEL(halocline_multiply, elements) {
  const position at(*p);
  at.item.dst[at.j] = arith::mul_mod(at.item.a[at.j], at.item.b[at.j], *at.item.q);
}

/// One reduction for product and sum: a b + c <= (q - 1) q.
HALOCLINE_KERNEL(halocline_multiply_add, elements) {
  const position at(*p);
  const wide sum = static_cast<wide>(at.item.a[at.j]) * at.item.b[at.j] + at.item.dst[at.j];
  at.item.dst[at.j] = arith::reduce<word>(sum, *at.item.q);
}

HALOCLINE_KERNEL(halocline_scalar_multiply, elements) {
  const position at(*p);
  const word factor = at.j >> (p->log_n - 1) == 0 ? at.item.low : at.item.high;
  at.item.dst[at.j] = arith::mul_mod(at.item.a[at.j], factor, *at.item.q);
}

HALOCLINE_KERNEL(halocline_scalar_add, elements) {
  const position at(*p);
  const word summand = at.j >> (p->log_n - 1) == 0 ? at.item.low : at.item.high;
  at.item.dst[at.j] = arith::add_mod(at.item.a[at.j], summand, *at.item.q);
}

/// Operands that are not reduced may meet a factor of 0, so the products are reduced apart.
HALOCLINE_KERNEL(halocline_linear_combine, elements) {
  const position at(*p);
  const modulus q = *at.item.q;
  at.item.dst[at.j] = arith::add_mod(arith::mul_mod(at.item.a[at.j], at.item.low, q),
                                     arith::mul_mod(at.item.b[at.j], at.item.high, q), q);
}

HALOCLINE_KERNEL(halocline_automorphism, elements) {
  const position at(*p);
  at.item.dst[at.j] = at.item.a[at.item.permutation[at.j]];
}

HALOCLINE_KERNEL(halocline_negacyclic_shift, elements) {
  const position at(*p);
  const std::size_t n = std::size_t{1} << p->log_n;
  const std::size_t from = (at.j + 2 * n - at.item.place) & (2 * n - 1);
  at.item.dst[at.j] = from < n ? at.item.a[from] : arith::negate_mod(at.item.a[from - n], *at.item.q);
}

/// A repeated destination keeps the words whose places are multiples of 2^place.
HALOCLINE_KERNEL(halocline_copy, elements) {
  const position at(*p);
  const std::size_t between = (std::size_t{1} << at.item.place) - 1;
  if ((at.j & between) == 0) at.item.dst[at.j >> at.item.place] = at.item.a[at.j];
}

HALOCLINE_KERNEL(halocline_set_zero, elements) {
  const position at(*p);
  at.item.dst[at.j] = 0;
}

HALOCLINE_KERNEL(halocline_dot, batch<dot_item<word>>) {
  const position at(*p);
  const modulus q = *at.item.q;
  word sum = at.item.accumulate != 0 ? at.item.dst[at.j] : word{0};
  for (std::uint32_t first = 0; first < at.item.count; first += terms_per_reduction) {
    wide part = static_cast<wide>(word{0});
    for (std::uint32_t t = first; t < at.item.count && t < first + terms_per_reduction; ++t) {
      const dot_term<word> term = at.item.terms[t];
      part = part + static_cast<wide>(term.a[at.j]) * term.b[at.j >> term.repeat];
    }
    sum = arith::add_mod(sum, reduce_sum(part, q), q);
  }
  at.item.dst[at.j] = sum;
}

HALOCLINE_KERNEL(halocline_tensor, batch<tensor_item<word>>) {
  const position at(*p);
  const tensor_item<word>& of = at.item;
  const modulus q = *of.q;
  const word a0 = of.a[0][at.j], a1 = of.a[1][at.j], b0 = of.b[0][at.j], b1 = of.b[1][at.j];
  of.d[0][at.j] = arith::mul_mod(a0, b0, q);
  of.d[1][at.j] = reduce_sum(static_cast<wide>(a0) * b1 + static_cast<wide>(a1) * b0, q);
  of.d[2][at.j] = arith::mul_mod(a1, b1, q);
}

}  // namespace halocline::sycl_kernels
