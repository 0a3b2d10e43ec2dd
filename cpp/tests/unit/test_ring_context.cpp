// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <span>
#include <vector>

#include "halocline/arith/arith.hpp"
#include "halocline/backend/registry.hpp"
#include "halocline/core/error.hpp"
#include "halocline/params/presets.hpp"
#include "halocline/ring/automorphism.hpp"
#include "halocline/ring/context.hpp"
#include "halocline/ring/ntt_tables.hpp"
#include "halocline/ring/poly.hpp"

namespace {

using namespace halocline;

TEST(NttTables, RootIsTheSmallestPrimitiveOne) {
  const auto q = arith::make_modulus<std::uint32_t>(97);  // 96 = 2^5 * 3, so 2N = 32 divides it
  const std::uint32_t root = ring::smallest_primitive_root(q, 4);
  EXPECT_EQ(arith::pow_mod(root, 16, q), 96U);
  for (std::uint32_t x = 2; x < root; ++x) EXPECT_NE(arith::pow_mod(x, 16, q), 96U) << x;
  EXPECT_THROW((void)ring::smallest_primitive_root(q, 5), invalid_argument);
}

TEST(NttTables, PowersStandInBitReversedOrder) {
  const auto q = arith::make_modulus<std::uint64_t>(97);
  std::vector<std::uint64_t> words(4 * 8);
  ring::fill_roots<std::uint64_t>(q, 3, words);
  const std::uint64_t psi = ring::smallest_primitive_root(q, 3);
  for (std::uint32_t i = 0; i < 8; ++i) {
    const std::uint32_t at = ring::bit_reverse(i, 3);
    EXPECT_EQ(words[at], arith::pow_mod(psi, i, q));
    EXPECT_EQ(words[8 + at], arith::shoup_quotient(words[at], q));
    if (at != 0) {
      EXPECT_EQ(arith::mul_mod(words[at], words[16 + at], q), 1U);
    }
  }
  EXPECT_EQ(words[16] * 8 % 97, 1U);
}

TEST(Automorphism, ComposesAndInverts) {
  constexpr unsigned log_n = 6;
  const auto g = ring::automorphism_permutation(5, log_n);
  const auto h = ring::automorphism_permutation(77, log_n);
  const auto gh = ring::automorphism_permutation(5 * 77 % 128, log_n);
  const auto inverse = ring::automorphism_permutation(ring::inverse_galois_element(5, log_n), log_n);
  for (std::size_t j = 0; j < g.size(); ++j) {
    EXPECT_EQ(h[g[j]], gh[j]);
    EXPECT_EQ(inverse[g[j]], j);
  }
  EXPECT_THROW((void)ring::automorphism_permutation(4, log_n), invalid_argument);
  EXPECT_THROW((void)ring::automorphism_permutation(129, log_n), invalid_argument);
}

/// Reads one limb of a polynomial.
template <typename WordT>
std::vector<WordT> read_limb(ring::context& ring, const backend::limb_view& view, std::uint32_t i) {
  std::vector<WordT> words(ring.tables().n());
  ring.device().download(std::as_writable_bytes(std::span(words)), *view.data,
                         (view.limb + i) * ring.tables().limb_bytes());
  return words;
}

TEST(RingContext, PermutationAppliesTheAutomorphismToCoefficients) {
  ring::context ring(ring::shape_of(params::preset("test-n10-d3")), backend::make_backend("cpu"));
  const arith::window window{0, static_cast<std::uint32_t>(ring.tables().primes.size())};
  const auto poly = [&] { return ring::make_poly(ring, window, memory::object_class::scratch, "test"); };
  const ring::poly source = poly();
  const ring::poly image = poly();
  const std::size_t n = ring.tables().n();
  std::mt19937 random(1);
  std::vector<std::vector<std::uint32_t>> coefficients(window.count, std::vector<std::uint32_t>(n));
  for (std::uint32_t i = 0; i < window.count; ++i) {
    for (auto& c : coefficients[i]) c = random() % static_cast<std::uint32_t>(ring.tables().primes[i]);
    ring.device().upload(source.data(), i * ring.tables().limb_bytes(),
                         std::as_bytes(std::span(coefficients[i])));
  }
  constexpr std::uint64_t element = 25;
  const backend::unary_job forward{source.chain(), source.chain()};
  ring.device().ntt(ring.tables(), {&forward, 1});
  const backend::automorphism_job job{image.chain(), source.chain(), &ring.permutation(element)};
  ring.device().automorphism(ring.tables(), {&job, 1});
  const backend::unary_job back{image.chain(), image.chain()};
  ring.device().intt(ring.tables(), {&back, 1});
  for (std::uint32_t i = 0; i < window.count; ++i) {
    const auto q = arith::make_modulus(static_cast<std::uint32_t>(ring.tables().primes[i]));
    std::vector<std::uint32_t> expected(n);
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t exponent = element * k % (2 * n);
      const std::uint32_t c = coefficients[i][k];
      expected[exponent % n] = exponent < n ? c : arith::negate_mod(c, q);
    }
    EXPECT_EQ(read_limb<std::uint32_t>(ring, image.chain(), i), expected) << "limb " << i;
  }
}

TEST(RingContext, ImaginaryUnitsSquareToMinusOne) {
  for (const char* preset : {"test-n10-d3", "test-n10-d3-w64"}) {
    ring::context ring(ring::shape_of(params::preset(preset)), backend::make_backend("cpu"));
    for (std::size_t i = 0; i < ring.tables().primes.size(); ++i) {
      const auto q = arith::make_modulus<std::uint64_t>(ring.tables().primes[i]);
      const std::uint64_t unit = ring.imaginary_units()[i];
      EXPECT_EQ(arith::mul_mod(unit, unit, q), q.value - 1);
    }
  }
}

TEST(RingContext, TransformTablesMayComeLater) {
  const auto parameters = params::preset("test-n10-d3");
  ring::context early(ring::shape_of(parameters), backend::make_backend("cpu"));
  ring::context late(ring::shape_of(parameters), backend::make_backend("cpu"), ring::transform_tables::later);
  EXPECT_LT(16 * late.runtime().statistics().live_bytes, early.runtime().statistics().live_bytes);
  ring::poly value(late, late.shape().special, {}, memory::object_class::scratch, "test");
  std::vector<backend::unary_job> jobs;
  for (const backend::limb_view& view : value.views()) jobs.push_back({view, view});
  EXPECT_THROW(late.device().ntt(late.tables(), jobs), invalid_argument);
  late.prepare_transforms();
  late.prepare_transforms();
  EXPECT_EQ(late.imaginary_units(), early.imaginary_units());
  EXPECT_EQ(late.tables().roots.size(), early.tables().roots.size());
  EXPECT_NO_THROW(late.device().ntt(late.tables(), jobs));
}

}  // namespace
