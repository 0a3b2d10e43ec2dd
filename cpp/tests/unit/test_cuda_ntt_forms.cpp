// SPDX-License-Identifier: Apache-2.0
// Forms of the GPU transforms of 64-bit words, run on the host: lean arithmetic.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "backend/cpu/scalar_elementwise.hpp"
#include "cuda_ntt_rig.hpp"
#include "halocline/params/primes.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using word = std::uint64_t;

/// Calls `run(inverse flag, params)` both ways and compares with the scalar kernels.
template <typename RunT>
void expect_cpu_integers(machine<word>& on, const RunT& run, const char* what) {
  auto params = on.params();
  run(std::false_type{}, params);
  for (unsigned p = 0; p < on.polys; ++p)
    EXPECT_EQ(on.results[p], on.expected(on.data[p], false)) << what << ", forward, N = 2^" << on.log_n;
  params = on.params();
  run(std::true_type{}, params);
  for (unsigned p = 0; p < on.polys; ++p)
    EXPECT_EQ(on.results[p], on.expected(on.data[p], true)) << what << ", inverse, N = 2^" << on.log_n;
}

TEST(CudaNttForms, LeanReductionLeavesLessThanTwicePrimes) {
  std::mt19937_64 random(56);
  for (unsigned bits = 15; bits <= lean_bits; ++bits) {
    for (const std::uint64_t value :
         {params::primes_below(bits, 1, 1 << 4)[0], params::primes_below(bits - 0.9, 1, 1 << 4)[0]}) {
      const auto q = arith::make_modulus(value);
      lean_table<word> at{};
      set_prime<true>(at, q);
      EXPECT_EQ(at.bound, 128 * value);
      for (unsigned i = 0; i < 2000; ++i) {
        const word multiple = random() % 129 * value, x = i % 3 == 0   ? random() % (128 * value)
                                                          : i % 3 == 1 ? multiple - (multiple != 0 ? 1 : 0)
                                                                       : multiple % (128 * value);
        const word got = reduce_sum(x, at);
        ASSERT_LT(got, 2 * value) << x << " modulo " << value;
        ASSERT_EQ(got % value, x % value) << x << " modulo " << value;
        ASSERT_EQ(reduce_result(x, at), x % value);
      }
      const word w = random() % value, x = random();
      ASSERT_EQ(times(x, w, arith::shoup_quotient(w, q), at) % value, arith::mul_mod(x % value, w, q));
      ASSERT_LT(times(x, w, arith::shoup_quotient(w, q), at), 4 * value);
    }
  }
}

TEST(CudaNttForms, LeanArithmeticEqualsTheScalarKernels) {
  for (unsigned log_n = 6; log_n <= 15; ++log_n) {
    for (const double bits : {30.0, 55.0, 56.0}) {
      machine<word> on(log_n, 2, 2, 0, bits);
      expect_cpu_integers(
          on,
          [](auto inverse, auto& params) {
            transform<3, inverse(), 0, lean_table>(params, {3, 64, 2, false});
          },
          "8 words");
      expect_cpu_integers(
          on,
          [](auto inverse, auto& params) {
            transform<4, inverse(), 0, lean_table>(params, {4, 64, 2, false});
          },
          "16 words");
    }
  }
  machine<word> on(17, 1, 1, 0, lean_bits);
  expect_cpu_integers(
      on,
      [](auto inverse, auto& params) {
        transform<3, inverse(), 0, lean_table>(params, {3, 64, 1, false});
      },
      "largest ring");
}

/// Rounds of a transform back from the largest words that they may begin with.
TEST(CudaNttForms, LeanRoundsDoNotOverflow) {
  const auto q = arith::make_modulus(params::primes_below(lean_bits, 1, 1 << 9)[0]);
  std::vector<word> roots(4 << 8);
  ring::fill_roots<word>(q, 8, roots);
  lean_table<word> at{};
  at.roots = roots.data() + (2 << 8);
  at.quotients = at.roots + (1 << 8);
  set_prime<true>(at, q);
  const twiddle_table<word> exact{at.roots, at.quotients, q.value, lazy_bound(q.value)};
  word x[16], y[16];
  for (unsigned i = 0; i < 16; ++i) {
    x[i] = 8 * q.value - 1 - i % 3;
    y[i] = x[i] % q.value;
  }
  for (unsigned round = 0; round < 4; ++round) {
    inverse_round<4, 4>(x, at, 1 + round);
    inverse_round<4, 4>(y, exact, 1 + round);
    for (unsigned i = 0; i < 16; ++i) {
      EXPECT_LT(x[i], 8 * q.value) << i;
      EXPECT_EQ(x[i] % q.value, y[i] % q.value) << i;
    }
  }
}

/// Digits of a key switch, and quotients of a division with what they are combined with.
template <unsigned e, typename ParamsT>
void expect_reduced_integers(unsigned n_bits, double bits, double last_bits) {
  constexpr bool combines = std::is_same_v<ParamsT, combine_params<word>>;
  machine<word> on(n_bits, 3, 2, last_bits, bits);
  const std::size_t n = std::size_t{1} << n_bits;
  (void)on.params();  // makes the results
  const auto params = std::make_unique<ParamsT>();
  params->moduli = on.moduli.data();
  params->roots = on.roots.data();
  params->log_n = n_bits;
  typename ParamsT::group_type group;
  group.prime = 1;
  std::vector<std::vector<word>> expected(2, std::vector<word>(2 * n));
  for (group.polys = 0; group.polys < 2; ++group.polys) {
    const unsigned p = group.polys;
    group.from[p][0] = on.data[p].data();
    group.by[p] = {0, p == 1};
    group.src[p] = group.dst[p] = on.results[p].data();
    for (unsigned i = 0; i < 2; ++i) {
      const auto& q = on.moduli[i + 1];
      const word* const at = on.roots.data() + 4 * n * (i + 1);
      const backend::cpu::prime_tables<word> tables{&q, at, at + n, nullptr, nullptr, n_bits};
      const word* const a = combines ? on.data[p].data() + (i + 1) * n : nullptr;
      const word f = q.value - 3, g = q.value / 2;
      backend::cpu::scalar::ntt_reduced<word>(expected[p].data() + i * n, on.data[p].data(), a, f, g,
                                              {on.moduli[0].value, p == 1}, tables);
      if constexpr (combines) {
        group.a[p] = on.data[p].data() + n;
        group.factors[p] = 2 * p;
        params->factors[2 * p + i] = {f, arith::shoup_quotient(f, q), g, arith::shoup_quotient(g, q)};
      }
    }
  }
  ASSERT_TRUE(params->groups.add(group, 2));
  transform<e, false, reduced_source, lean_table>(*params, {e, 64, 2, false});
  for (unsigned p = 0; p < 2; ++p) {
    on.results[p].resize(2 * n);
    EXPECT_EQ(on.results[p], expected[p]) << "polynomial " << p << ", " << bits << " bits";
  }
}

TEST(CudaNttForms, LeanFirstPhaseReducesAndResultsAreCombined) {
  expect_reduced_integers<3, reduced_params<word>>(14, 55, 40);
  expect_reduced_integers<3, reduced_params<word>>(15, lean_bits, 55);
  expect_reduced_integers<4, reduced_params<word>>(15, 55, 54);
  expect_reduced_integers<3, combine_params<word>>(15, 55, 54);
  expect_reduced_integers<4, combine_params<word>>(14, lean_bits, 40);
}

/// Rounds back with twiddles from a block's own table and from the tables of the ring, on the same words.
template <unsigned e>
void expect_near_rounds_equal() {
  machine<word> on(14, 1, 1, 0, 55);
  const auto params = on.params();
  const auto place = find_limb<true, 0, lean_table>(params, 0, 0, 0);
  constexpr std::uint32_t rows = 4, first = 20;  // of 2^6 rows of 2^8 words
  std::vector<word> table(near_table_words<word>(rows, row_stages));
  for (std::uint32_t i = rows; i < rows << row_stages; ++i) {
    const std::uint32_t entry = near_entry(i, rows, (1U << 6) + first);
    table[i] = place.at.quotients[entry];
    table[(rows << row_stages) + i] = place.at.roots[entry];
  }
  std::mt19937_64 random(e);
  for (std::uint32_t t = 0; t < rows << (row_stages - e); ++t) {
    const auto far = row_thread<e, row_stages>(params, place, first, t, table.data());
    const auto near = with_near_table(far, table.data(), rows, t >> (row_stages - e));
    for (unsigned r = 0; r < far.rounds(); ++r) {
      word x[1U << e], y[1U << e];
      for (unsigned i = 0; i < 1U << e; ++i) x[i] = y[i] = random() % (8 * place.at.q);
      far.template inverse<false>(r, x);
      near.template inverse<false>(r, y);
      for (unsigned i = 0; i < 1U << e; ++i) ASSERT_EQ(x[i], y[i]) << "thread " << t << " round " << r;
    }
  }
}

TEST(CudaNttForms, LeanRowsTakeTwiddlesFromSharedMemory) {
  expect_near_rounds_equal<3>();
  expect_near_rounds_equal<4>();
}

TEST(CudaNttForms, TheTableChoosesWhatWasFastest) {
  const auto form = [](int architecture, unsigned word_bits, unsigned log_n, std::size_t limbs) {
    return choose_ntt(architecture, word_bits, log_n, limbs).form;
  };
  EXPECT_EQ(form(90, 64, 15, 1), ntt_form::lean);
  EXPECT_EQ(form(90, 64, 15, 99), ntt_form::lean);
  EXPECT_EQ(form(90, 64, 15, 100), ntt_form::wide);
  EXPECT_EQ(form(90, 64, 14, 1000), ntt_form::lean);
  EXPECT_EQ(form(90, 64, 13, 8), ntt_form::exact);
  EXPECT_EQ(form(90, 64, 16, 128), ntt_form::exact);
  EXPECT_EQ(form(90, 32, 15, 128), ntt_form::exact);
  EXPECT_EQ(form(80, 64, 15, 128), ntt_form::exact);
  for (const ntt_tuning_row& row : ntt_tuning) {
    if (row.choice.form == ntt_form::exact) continue;
    EXPECT_TRUE(row.choice.near_twiddles) << "the kernels have no others";
    for (unsigned log_n = row.log_n_min; log_n <= row.log_n_max; ++log_n) EXPECT_TRUE(has_forms(log_n));
  }
}

TEST(CudaNttForms, OneLargePrimeMakesTheChoiceExact) {
  const std::vector<std::uint64_t> small{(word{1} << lean_bits) - 1, 97}, large{97, word{1} << lean_bits};
  for (const ntt_form each : {ntt_form::lean, ntt_form::wide}) {
    const ntt_choice choice{3, 64, 4, true, 0, each};
    EXPECT_EQ(allowed(choice, small).form, each);
    EXPECT_EQ(allowed(choice, large).form, ntt_form::exact);
  }
}

}  // namespace
