// SPDX-License-Identifier: Apache-2.0
// The GPU transforms, run on the host: every thread of every block, step by step, with the code that the
// kernels run between two barriers.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "backend/cpu/scalar_elementwise.hpp"
#include "backend/cpu/scalar_ntt.hpp"
#include "backend/cpu/scalar_rns.hpp"
#include "backend/cuda/ntt/ntt_converted.cuh"
#include "backend/cuda/ntt/ntt_groups.hpp"
#include "backend/cuda/ntt/ntt_items.hpp"
#include "backend/cuda/ntt/ntt_kernels.cuh"
#include "backend/cuda/ntt/ntt_tuning.hpp"
#include "halocline/params/primes.hpp"
#include "halocline/ring/ntt_tables.hpp"

namespace {

using namespace halocline;
using namespace halocline::backend::cuda;

/// Polynomials of a few limbs, tables, and what the scalar kernels make of them.
template <typename WordT>
struct machine {
  /// `last_bits`: of the last prime, if it differs from the others.
  explicit machine(unsigned log_n, unsigned primes = 2, unsigned polys = 3, double last_bits = 0)
      : log_n(log_n), polys(polys) {
    const std::size_t n = std::size_t{1} << log_n;
    for (const std::uint64_t q : params::primes_below(sizeof(WordT) == 4 ? 30 : 61, primes, 2 * n))
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

/// Threads of one block between barriers.
template <typename WordT, unsigned e, unsigned k>
struct block {
  std::vector<ntt_thread<WordT, e, k>> threads;
  std::vector<std::array<WordT, 1U << e>> x;

  template <typename StepT>
  void step(const StepT& run) {
    for (std::size_t t = 0; t < threads.size(); ++t)
      run(threads[t], *reinterpret_cast<WordT(*)[1U << e]>(x[t].data()));
  }
};

/// Calls `run(place, block number)` for all limbs of the launch.
template <bool inverse, typename ParamsT, typename RunT>
void for_each_limb(const ParamsT& params, const RunT& run) {
  for (std::uint32_t limb = 0; limb < params.groups.limbs; ++limb) {
    for (std::uint32_t poly = 0; poly < params.groups.items[params.groups.find(limb)].polys; ++poly)
      run(find_limb<inverse>(params, params.groups.find(limb), limb, poly), poly);
  }
}

template <unsigned e, unsigned k, bool inverse, unsigned sources, typename WordT, typename ParamsT>
void run_columns(ParamsT& params, const ntt_choice& choice) {
  params.bits = params.log_n - row_stages;
  params.log_columns = choice.log_columns;
  const unsigned threads = 1U << (params.bits - e + choice.log_columns);
  std::vector<WordT> shared(((1U << params.bits) + (1U << (params.bits - e))) << choice.log_columns);
  for_each_limb<inverse>(params, [&](ntt_place<WordT> place, std::uint32_t poly) {
    if (inverse) place.src = place.dst;
    const first_words<sources, WordT, ParamsT> first(params, place, poly);
    for (std::uint32_t b = 0; b < 1U << (row_stages - choice.log_columns); ++b) {
      block<WordT, e, k> on;
      for (unsigned t = 0; t < threads; ++t)
        on.threads.push_back(column_thread<e, k>(params, place, b, t, shared.data()));
      on.x.resize(threads);
      const unsigned rounds = on.threads[0].rounds();
      on.step([&](const auto& each, auto& x) { inverse ? each.load(rounds - 1, x) : first.load(each, x); });
      for (unsigned s = 0; s < rounds; ++s) {
        on.step([&](const auto& each, auto& x) {
          if constexpr (inverse) {
            each.template inverse_step<true>(s, x);
          } else {
            each.forward_loaded(s, x);
          }
        });
      }
      on.step([&](const auto& each, auto& x) { each.store(inverse ? 0 : rounds - 1, x); });
    }
  });
}

/// Steps of one block of the rows kernel.
template <bool inverse, bool last, unsigned e, unsigned k, typename WordT, typename FirstT>
void run_row_block(block<WordT, e, k>& on, const twiddle_table<WordT>& at, const FirstT& first) {
  const unsigned rounds = on.threads[0].rounds();
  if (inverse) {
    on.step([](const auto& each, auto&) { each.load_chunks(); });
    on.step([](const auto& each, auto& x) { each.get_neighbours(x); });
  } else {
    on.step([&](const auto& each, auto& x) { first.load(each, x); });
  }
  for (unsigned s = 0; s < rounds; ++s) {
    on.step([&](const auto& each, auto& x) {
      if constexpr (inverse) {
        each.template inverse_step<last>(s, x);
      } else {
        each.forward_loaded(s, x);
      }
    });
  }
  if (inverse) {
    on.step([](const auto& each, auto& x) { each.store(0, x); });
    return;
  }
  on.step([](const auto& each, auto& x) { each.put_neighbours(x); });
  on.step([&](const auto& each, auto&) {
    each.store_chunks([&](std::uint32_t, const chunk<WordT>& got) { return reduce_chunk(got, at); });
  });
}

template <unsigned e, unsigned k, bool inverse, unsigned sources, typename WordT, typename ParamsT>
void run_rows(ParamsT& params, const ntt_choice& choice) {
  const bool alone = params.log_n <= one_kernel_log_n;
  params.bits = alone ? params.log_n : row_stages;
  const unsigned team = 1U << (params.bits - e);
  const unsigned rows = alone ? 1U : std::max(1U, choice.row_threads / team);
  std::vector<chunk<WordT>> shared(rows * exchange_words(params.bits, e) / chunk<WordT>::words);
  for_each_limb<inverse>(params, [&](ntt_place<WordT> place, std::uint32_t poly) {
    if (!inverse && !alone) place.src = place.dst;
    const first_words<k == 0 ? sources : 0, WordT, ParamsT> words(params, place, poly);
    for (std::uint32_t first = 0; first < 1U << (params.log_n - params.bits); first += rows) {
      block<WordT, e, k> on;
      for (unsigned t = 0; t < team * rows; ++t)
        on.threads.push_back(row_thread<e, k>(params, place, first, t, shared[0].word));
      on.x.resize(on.threads.size());
      run_row_block<inverse, k == 0>(on, place.at, words);
    }
  });
}

template <unsigned e, bool inverse, unsigned sources = 0, typename WordT, typename GroupT>
void transform_words(const ntt_params<WordT, GroupT>&, auto& params, ntt_choice choice) {
  choice = fitted(choice, e, params.log_n);
  const auto columns = [&] {
    params.log_n == 16 ? run_columns<e, 8, inverse, sources, WordT>(params, choice)
                       : run_columns<e, 0, inverse, sources, WordT>(params, choice);
  };
  if (params.log_n <= one_kernel_log_n) return run_rows<e, 0, inverse, sources, WordT>(params, choice);
  if (!inverse) columns();
  run_rows<e, row_stages, inverse, sources, WordT>(params, choice);
  if (inverse) columns();
}

template <unsigned e, bool inverse, unsigned sources = 0, typename ParamsT>
void transform(ParamsT& params, const ntt_choice& choice) {
  transform_words<e, inverse, sources>(params, params, choice);
}

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

/// Converts the last limbs of two polynomials to the first two primes in the first phase, which must be what
/// the scalar conversion and transform yield. The table has another target first.
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
  const auto got = combine_chunk(left, lazy, factors, {nullptr, nullptr, q.value, lazy_bound(q.value)});
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
