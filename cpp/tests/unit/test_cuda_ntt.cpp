// SPDX-License-Identifier: Apache-2.0
// The GPU transforms of the tuning table, run on the host.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "backend/cpu/scalar_elementwise.hpp"
#include "backend/cpu/scalar_rns.hpp"
#include "backend/cuda/ntt/ntt_groups.hpp"
#include "backend/cuda/ntt/ntt_items.hpp"
#include "cuda_ntt_rig.hpp"
#include "halocline/params/primes.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using namespace halocline::backend::cuda;

template <typename WordT, unsigned e>
void expect_cpu_integers(unsigned log_n, const ntt_choice& choice, unsigned primes = 2, unsigned polys = 3) {
  machine<WordT> on(log_n, primes, polys);
  auto params = on.params();
  transform<e, false>(params, choice);
  for (unsigned p = 0; p < on.polys; ++p) {
    EXPECT_EQ(on.results[p], on.expected(on.data[p], false)) << "forward, N = 2^" << log_n;
  }
  params = on.params();
  transform<e, true>(params, choice);
  for (unsigned p = 0; p < on.polys; ++p) {
    EXPECT_EQ(on.results[p], on.expected(on.data[p], true)) << "inverse, N = 2^" << log_n;
  }
}

TEST(CudaNtt, SixteenWordsPerThreadEqualTheScalarKernels) {
  for (unsigned log_n = 4; log_n <= 14; ++log_n) {
    expect_cpu_integers<std::uint32_t, 4>(log_n, {4, 128, 2, false});
    expect_cpu_integers<std::uint64_t, 4>(log_n, {3, 64, 1, false});
  }
}

TEST(CudaNtt, EightWordsPerThreadEqualTheScalarKernels) {
  for (unsigned log_n = 4; log_n <= 14; ++log_n) {
    expect_cpu_integers<std::uint32_t, 3>(log_n, {5, 128, 2, false});
    expect_cpu_integers<std::uint64_t, 3>(log_n, {3, 128, 1, false});
  }
}

TEST(CudaNtt, LargestRings) {
  expect_cpu_integers<std::uint32_t, 4>(16, {4, 128, 1, false}, 1, 1);
  expect_cpu_integers<std::uint64_t, 3>(16, {3, 128, 1, false}, 1, 1);
  expect_cpu_integers<std::uint64_t, 4>(17, {4, 128, 1, false}, 1, 1);
}

/// Constants of a conversion, as `conversion_table` has them.
template <typename WordT>
std::vector<WordT> conversion_words(const std::vector<const arith::modulus<WordT>*>& from,
                                    const std::vector<const arith::modulus<WordT>*>& to) {
  using wide = arith::double_word<WordT>;
  constexpr unsigned w = 8 * sizeof(WordT);
  const std::size_t sources = from.size();
  const auto others = [&](std::size_t s,
                          const arith::modulus<WordT>& q) {  // D / d_s mod q; D for s = sources
    WordT product = 1;
    for (std::size_t i = 0; i < sources; ++i)
      if (i != s) product = arith::mul_mod(product, static_cast<WordT>(from[i]->value % q.value), q);
    return product;
  };
  std::vector<WordT> table(3 * sources + to.size() * (sources + 1));
  for (std::size_t s = 0; s < sources; ++s) {
    const auto& d = *from[s];
    table[s] = arith::pow_mod(others(s, d), d.value - 2, d);
    table[sources + s] = arith::shoup_quotient(table[s], d);
    table[2 * sources + s] = static_cast<WordT>((wide{1} << backend::reciprocal_shift(w)) / d.value);
  }
  for (std::size_t t = 0; t < to.size(); ++t) {
    WordT* const factors = table.data() + 3 * sources + t * (sources + 1);
    for (std::size_t s = 0; s <= sources; ++s)
      factors[s] = arith::mul_mod(others(s, *to[t]), to[t]->r, *to[t]);
    factors[sources] = arith::negate_mod(factors[sources], *to[t]);
  }
  return table;
}

/// Converts the last limbs of two polynomials to the first two primes in the first phase and combines the
/// results with the first two limbs: as the scalar kernels do. The table has another target first.
template <typename WordT, unsigned e, unsigned sources>
void expect_converted_integers(unsigned log_n, const ntt_choice& choice) {
  machine<WordT> on(log_n, 2 + sources, 2);
  const std::size_t n = std::size_t{1} << log_n;
  std::vector<const arith::modulus<WordT>*> from, to{&on.moduli[1], &on.moduli[0], &on.moduli[1]};
  for (unsigned s = 0; s < sources; ++s) from.push_back(&on.moduli[2 + s]);
  const std::vector<WordT> table = conversion_words(from, to);
  const backend::cpu::conversion<WordT> constants{sources,
                                                  2,
                                                  from.data(),
                                                  to.data() + 1,
                                                  table.data(),
                                                  table.data() + sources,
                                                  table.data() + 2 * sources,
                                                  table.data() + 3 * sources + sources + 1};
  (void)on.params();  // makes the results
  const auto params = std::make_unique<combine_params<WordT>>();
  params->moduli = on.moduli.data();
  params->roots = on.roots.data();
  params->log_n = log_n;
  params->sources = sources;
  params->table = table.data();
  combine_group<WordT> group;
  group.target = 1;
  std::vector<std::vector<WordT>> expected;
  for (group.polys = 0; group.polys < 2; ++group.polys) {
    const unsigned p = group.polys;
    std::vector<WordT> converted(on.data[p].size());
    WordT* const dst[] = {converted.data(), converted.data() + n};
    std::vector<const WordT*> src;
    for (unsigned s = 0; s < sources; ++s) {
      src.push_back(on.data[p].data() + (2 + s) * n);
      group.from[p][s] = src.back();
      params->source_primes[s] = 2 + s;
    }
    backend::cpu::scalar::base_convert<WordT>(dst, src.data(), {0, n}, constants);
    expected.push_back(on.expected(converted, false));
    expected.back().resize(2 * n);
    group.src[p] = group.dst[p] = on.results[p].data();
    group.a[p] = on.data[p].data();
    group.factors[p] = 2 * p;
    for (unsigned i = 0; i < 2; ++i) {
      const auto& q = on.moduli[i];
      const WordT a = q.value - 3, b = q.value / 2;
      params->factors[2 * p + i] = {a, arith::shoup_quotient(a, q), b, arith::shoup_quotient(b, q)};
      for (std::size_t t = i * n; t < (i + 1) * n; ++t) {
        expected[p][t] =
            arith::add_mod(arith::mul_mod(on.data[p][t], a, q), arith::mul_mod(expected[p][t], b, q), q);
      }
    }
  }
  ASSERT_TRUE(params->groups.add(group, 2));
  transform<e, false, sources>(*params, choice);
  for (unsigned p = 0; p < 2; ++p) {
    on.results[p].resize(2 * n);
    EXPECT_EQ(on.results[p], expected[p]) << sources << " sources, N = 2^" << log_n;
  }
}

TEST(CudaNtt, FirstPhaseConverts) {
  for (const unsigned log_n : {4U, 9U, 12U, 13U, 14U, 16U}) {
    expect_converted_integers<std::uint32_t, 4, 1>(log_n, {4, 64, 2, true});
    expect_converted_integers<std::uint32_t, 4, 2>(log_n, {4, 64, 2, true});
    expect_converted_integers<std::uint64_t, 3, 1>(log_n, {3, 64, 1, false});
    if (log_n == 16) continue;
    expect_converted_integers<std::uint32_t, 4, 3>(log_n, {5, 128, 1, false});
    expect_converted_integers<std::uint32_t, 4, 4>(log_n, {4, 64, 2, true});
    expect_converted_integers<std::uint64_t, 3, 4>(log_n, {3, 64, 1, false});
  }
}

/// Reduces the first limbs of two polynomials modulo the other two primes, of which the last one is smaller,
/// in the first phase.
template <typename WordT, unsigned e>
void expect_reduced_integers(unsigned log_n, const ntt_choice& choice, double last_bits) {
  machine<WordT> on(log_n, 3, 2, last_bits);
  const std::size_t n = std::size_t{1} << log_n;
  (void)on.params();  // makes the results
  const auto params = std::make_unique<reduced_params<WordT>>();
  params->moduli = on.moduli.data();
  params->roots = on.roots.data();
  params->log_n = log_n;
  reduced_group<WordT> group;
  group.prime = 1;
  std::vector<std::vector<WordT>> expected(2, std::vector<WordT>(2 * n));
  for (group.polys = 0; group.polys < 2; ++group.polys) {
    const unsigned p = group.polys;
    group.from[p][0] = on.data[p].data();
    group.by[p] = {0, p == 1};
    for (unsigned i = 0; i < 2; ++i) {
      const WordT* const at = on.roots.data() + 4 * n * (i + 1);
      const backend::cpu::prime_tables<WordT> tables{&on.moduli[i + 1], at, at + n, nullptr, nullptr, log_n};
      backend::cpu::scalar::ntt_reduced<WordT>(expected[p].data() + i * n, on.data[p].data(), nullptr, 0, 0,
                                               {on.moduli[0].value, p == 1}, tables);
    }
    group.src[p] = group.dst[p] = on.results[p].data();
  }
  ASSERT_TRUE(params->groups.add(group, 2));
  transform<e, false, reduced_source>(*params, choice);
  for (unsigned p = 0; p < 2; ++p) {
    on.results[p].resize(2 * n);
    EXPECT_EQ(on.results[p], expected[p]) << "polynomial " << p << ", N = 2^" << log_n;
  }
}

TEST(CudaNtt, FirstPhaseReduces) {
  for (const unsigned log_n : {4U, 9U, 12U, 13U, 15U}) {
    expect_reduced_integers<std::uint32_t, 4>(log_n, {4, 64, 2, true}, 24);
    expect_reduced_integers<std::uint32_t, 4>(log_n, {4, 64, 2, true}, 29);
    expect_reduced_integers<std::uint64_t, 3>(log_n, {3, 64, 1, false}, 40);
    expect_reduced_integers<std::uint64_t, 3>(log_n, {3, 64, 1, false}, 60);
  }
}

/// Rounds with twiddles from a block's own table and from the tables of the ring, on the same words.
template <typename WordT, unsigned e, bool inverse>
void expect_near_rounds_equal() {
  machine<WordT> on(14, 1, 1);
  const auto params = on.params();
  const auto place = find_limb<inverse>(params, 0, 0, 0);
  constexpr std::uint32_t rows = 4, first = 20;  // of 2^6 rows of 2^8 words
  std::vector<WordT> table(near_table_words<WordT>(rows, row_stages), WordT{7});
  for (std::uint32_t word = rows; word < rows << row_stages; ++word) {
    const std::uint32_t entry = near_entry(word, rows, (1U << 6) + first);
    table[word] = place.at.quotients[entry];
    if (!quotients_suffice<WordT>) table[(rows << row_stages) + word] = place.at.roots[entry];
  }
  std::mt19937_64 random(e);
  for (std::uint32_t t = 0; t < rows << (row_stages - e); ++t) {
    const auto far = row_thread<e, row_stages>(params, place, first, t, table.data());
    const auto near = with_near_table(far, table.data(), rows, t >> (row_stages - e));
    for (unsigned r = 0; r < far.rounds(); ++r) {
      WordT x[1U << e], y[1U << e];
      for (unsigned i = 0; i < 1U << e; ++i)
        x[i] = y[i] = static_cast<WordT>(random()) % ((inverse ? 1 : 2) * place.at.bound);
      if constexpr (inverse) {
        far.template inverse<false>(r, x);
        near.template inverse<false>(r, y);
      } else {
        far.forward(r, x);
        near.forward(r, y);
      }
      for (unsigned i = 0; i < 1U << e; ++i) ASSERT_EQ(x[i], y[i]) << "thread " << t << " round " << r;
    }
  }
}

TEST(CudaNtt, TablesInSharedMemoryHoldTheTwiddlesOfTheirRows) {
  expect_near_rounds_equal<std::uint32_t, 4, false>();
  expect_near_rounds_equal<std::uint32_t, 4, true>();
  expect_near_rounds_equal<std::uint64_t, 3, false>();
  expect_near_rounds_equal<std::uint64_t, 3, true>();
}

TEST(CudaNtt, JoinedBlocksDoEveryItemOnceAndWaitOnlyForBlocksBeforeThem) {
  constexpr unsigned log_blocks = 2;
  for (const std::uint32_t limbs : {1U, 3U, 7U}) {
    for (std::uint32_t lead = 1; lead <= limbs; ++lead) {
      std::vector<std::uint32_t> first(limbs), second(limbs);
      for (std::uint32_t b = 0; b < limbs << (log_blocks + 1); ++b) {
        const joined_item item = item_of(b, log_blocks, limbs, lead);
        ASSERT_LT(item.limb, limbs);
        auto& done = item.second ? second : first;
        EXPECT_EQ(item.block, done[item.limb]++);
        EXPECT_TRUE(!item.second || first[item.limb] == 1U << log_blocks) << b << " would wait forever";
      }
      EXPECT_EQ(second, std::vector<std::uint32_t>(limbs, 1U << log_blocks));
    }
  }
}

TEST(CudaNtt, InPlace) {
  machine<std::uint32_t> on(13, 1, 1);
  auto params = on.params();
  const auto want = on.expected(on.data[0], false);
  params.groups.items[0].dst[0] = on.data[0].data();
  transform<4, false>(params, {4, 128, 1, false});
  EXPECT_EQ(on.data[0], want);
}

TEST(CudaNtt, CombinationIsFullyReduced) {
  const auto q = arith::make_modulus(params::primes_below(61, 1, 1 << 14)[0]);
  const std::uint64_t a = q.value - 1, b = q.value - 2;
  const combine_factors<std::uint64_t> factors{a, arith::shoup_quotient(a, q), b,
                                               arith::shoup_quotient(b, q)};
  const chunk<std::uint64_t> left{{q.value - 1, 0}}, lazy{{8 * q.value - 1, 3}};
  const twiddle_table<std::uint64_t> at{nullptr, nullptr, q.value, lazy_bound(q.value)};
  const auto got = combine_chunk(left, lazy, factors, at);
  for (unsigned i = 0; i < 2; ++i) {
    EXPECT_EQ(got.word[i], arith::add_mod(arith::mul_mod(left.word[i], a, q),
                                          arith::mul_mod(lazy.word[i] % q.value, b, q), q));
  }
}

TEST(CudaNtt, ShapesFitOneBlock) {
  for (const ntt_tuning_row& row : ntt_tuning) {
    for (unsigned log_n = 4; log_n <= 17; ++log_n) {
      const unsigned log_words = ntt_log_words(row.word_bits);
      const ntt_choice choice = fitted(row.choice, log_words, log_n);
      EXPECT_LE(choice.polys * choice.row_threads, most_ntt_threads);
      EXPECT_GE(choice.polys, 1);
      EXPECT_LE(choice.polys, max_ntt_polys);
      if (log_n > one_kernel_log_n) {
        EXPECT_LE(1U << (log_n - row_stages - log_words + choice.log_columns), most_ntt_threads);
      }
    }
  }
}

TEST(CudaNtt, GroupsVisitEveryLimbOnce) {
  using arith::window;
  std::mt19937 random(1);
  for (unsigned most = 1; most <= 4; ++most) {
    std::vector<window> windows{{0, 0}};
    for (int i = 0; i < 40; ++i)
      windows.push_back(
          {static_cast<std::uint32_t>(random() % 20), static_cast<std::uint32_t>(random() % 9)});
    std::vector<std::array<int, 32>> seen(windows.size());
    for_each_prime_group(windows, most, [&](window primes, std::span<const std::uint32_t> members) {
      ASSERT_LE(members.size(), most);
      ASSERT_FALSE(members.empty());
      for (const std::uint32_t m : members) {
        for (std::uint32_t i = primes.first; i < primes.end(); ++i) ++seen[m].at(i);
      }
    });
    for (std::size_t m = 0; m < windows.size(); ++m) {
      for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(seen[m][i], windows[m].contains(i) ? 1 : 0);
    }
  }
}

}  // namespace
