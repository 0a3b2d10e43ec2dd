// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "halocline/ring/poly.hpp"
#include "halocline/rns/base_convert.hpp"

namespace halocline::rns {

/// Where a polynomial is raised to.
struct raise_target {
  arith::window special;  ///< special primes; may be empty
  arith::window chain;    ///< chain primes
};

/// Reads every source modulo the product D of its primes as the integers in [-D/2, D/2], and gives these
/// modulo the target primes. Sources and results in NTT form; the source primes are chain primes, of which
/// those in the target are copied. Exact but for coefficients within 2^-14 D of the ends, which may come out
/// as the other representative, x + D or x - D: all primes, and all backends, see the same integer. Cost per
/// source of k primes: k inverse NTTs, one base conversion, one NTT per new prime.
[[nodiscard]] std::vector<ring::poly> raise(ring::context& ring, base_converter& converter,
                                            std::span<const backend::limb_view> sources,
                                            const raise_target& target, memory::object_class result_class,
                                            const char* tag);

/// Product of the primes of `factors` modulo every prime of `primes`, in order.
[[nodiscard]] std::vector<std::uint64_t> product_of(const ring::context& ring, arith::window factors,
                                                    arith::window primes);

}  // namespace halocline::rns
