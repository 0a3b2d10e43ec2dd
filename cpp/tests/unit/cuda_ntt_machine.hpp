// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <span>
#include <vector>

#include "backend/cpu/scalar_ntt.hpp"
#include "backend/cuda/ntt/ntt_params.hpp"
#include "halocline/params/primes.hpp"
#include "halocline/ring/ntt_tables.hpp"

/// Operands of the GPU transforms on the host.
namespace halocline::test {

using namespace backend::cuda;

/// Polynomials of a few limbs, tables, and what the scalar kernels make of them.
template <typename WordT>
struct machine {
  /// `last_bits`: of the last prime, if it differs from the others, which have `bits`.
  explicit machine(unsigned log_n, unsigned primes = 2, unsigned polys = 3, double last_bits = 0,
                   double bits = sizeof(WordT) == 4 ? 30 : 61)
      : log_n(log_n), polys(polys) {
    const std::size_t n = std::size_t{1} << log_n;
    for (const std::uint64_t q : params::primes_below(bits, primes, 2 * n))
      moduli.push_back(arith::make_modulus(static_cast<WordT>(q)));
    if (last_bits != 0) {
      const auto q = params::primes_below(last_bits, 1, 2 * n).front();
      moduli.back() = arith::make_modulus(static_cast<WordT>(q));
    }
    roots.resize(4 * n * primes);
    for (std::size_t i = 0; i < primes; ++i)
      ring::fill_roots<WordT>(moduli[i], log_n, std::span(roots).subspan(4 * n * i, 4 * n));
    std::mt19937_64 random(log_n);
    for (unsigned p = 0; p < polys; ++p) {
      std::vector<WordT> poly(n * primes);
      for (std::size_t i = 0; i < poly.size(); ++i) {
        // Extreme residues every now and then: they decide whether lazy values overflow.
        const WordT q = moduli[i / n].value;
        poly[i] = random() % 4 == 0 ? q - 1 : static_cast<WordT>(random() % q);
      }
      data.push_back(poly);
    }
  }

  [[nodiscard]] std::vector<WordT> expected(const std::vector<WordT>& poly, bool inverse) const {
    const std::size_t n = std::size_t{1} << log_n;
    std::vector<WordT> out(poly.size());
    for (std::size_t i = 0; i < moduli.size(); ++i) {
      const WordT* const at = roots.data() + 4 * n * i;
      const backend::cpu::prime_tables<WordT> tables{&moduli[i], at, at + n, at + 2 * n, at + 3 * n, log_n};
      if (inverse) {
        backend::cpu::scalar::intt(out.data() + n * i, poly.data() + n * i, tables);
      } else {
        backend::cpu::scalar::ntt(out.data() + n * i, poly.data() + n * i, tables);
      }
    }
    return out;
  }

  /// All polynomials in one group, results in `results`.
  [[nodiscard]] plain_ntt_params<WordT> params() {
    plain_ntt_params<WordT> made;
    made.moduli = moduli.data();
    made.roots = roots.data();
    made.log_n = log_n;
    ntt_group<WordT> group;
    results.assign(polys, std::vector<WordT>(data[0].size(), ~WordT{0}));
    for (group.polys = 0; group.polys < polys; ++group.polys) {
      group.src[group.polys] = data[group.polys].data();
      group.dst[group.polys] = results[group.polys].data();
    }
    EXPECT_TRUE(made.groups.add(group, static_cast<std::uint32_t>(moduli.size())));
    return made;
  }

  unsigned log_n;
  unsigned polys;
  std::vector<arith::modulus<WordT>> moduli;
  std::vector<WordT> roots;
  std::vector<std::vector<WordT>> data, results;
};

}  // namespace halocline::test
