// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "halocline/ckks/context.hpp"
#include "halocline/ring/poly.hpp"

namespace halocline::test {

/// X -> X^galois_element of a polynomial in NTT form by a pass of its own: what products with automorphisms
/// are compared with.
[[nodiscard]] inline ring::poly turned_poly(ckks::context& ctx, const ring::poly& source,
                                            std::uint64_t galois_element) {
  ring::poly result(ctx.ring(), source.special().primes, source.chain().primes, memory::object_class::scratch,
                    "turned");
  const memory::buffer& permutation = ctx.ring().permutation(galois_element);
  const std::vector<backend::limb_view> from = source.views(), to = result.views();
  std::vector<backend::automorphism_job> jobs;
  for (std::size_t i = 0; i < from.size(); ++i) jobs.push_back({to[i], from[i], &permutation});
  ctx.device().automorphism(ctx.tables(), jobs);
  return result;
}

}  // namespace halocline::test
