// SPDX-License-Identifier: Apache-2.0
// Forms of the GPU transforms of 64-bit words, run on the host: lean arithmetic, and clusters of blocks.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "backend/cpu/scalar_elementwise.hpp"
#include "backend/cuda/ntt/ntt_cluster.cuh"
#include "cuda_ntt_rig.hpp"
#include "halocline/params/primes.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using word = std::uint64_t;

/// All threads of all blocks of a cluster, one after the other between two barriers.
template <typename ThreadT>
class host_cluster {
 public:
  using thread_type = ThreadT;

  template <typename ParamsT>
  host_cluster(const ParamsT& params, std::uint32_t limb, std::uint32_t poly, std::uint32_t blocks,
               std::uint32_t threads, std::uint32_t words, bool falling)
      : falling_(falling) {
    for (std::uint32_t b = 0; b < blocks; ++b)
      areas_.emplace_back(words / chunk<word>::words, chunk<word>{{~word{0}, ~word{0}}});
    for (std::uint32_t b = 0; b < blocks; ++b) {
      for (std::uint32_t t = 0; t < threads; ++t) threads_.emplace_back(params, limb, poly, b, t, area(b));
    }
    x_.resize(threads_.size());
  }
  template <typename BodyT>
  void alone(const BodyT& body) {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      const std::size_t t = falling_ ? threads_.size() - 1 - i : i;
      body(threads_[t], *reinterpret_cast<word(*)[ThreadT::words]>(x_[t].data()));
    }
  }
  template <typename BodyT>
  void each(const BodyT& body) {
    alone(body);
  }
  template <typename BodyT>
  void each_in_row(const BodyT& body) {
    alone(body);
  }
  void arrive() const {}
  void wait() const {}
  [[nodiscard]] auto put() {
    return [this](std::uint32_t rank, std::uint32_t offset, word value) {
      ASSERT_LT(rank, areas_.size());
      ASSERT_LT(offset, chunk<word>::words * areas_[rank].size());
      area(rank)[offset] = value;
    };
  }

 private:
  [[nodiscard]] word* area(std::uint32_t block) { return areas_[block][0].word; }

  bool falling_;
  std::vector<std::vector<chunk<word>>> areas_;
  std::vector<ThreadT> threads_;
  std::vector<std::array<word, ThreadT::words>> x_;
};

template <bool inverse, typename S, unsigned sources = 0, typename ParamsT>
void transform_in_clusters(const ParamsT& params) {
  using thread = cluster_thread<inverse, S, sources, word, ParamsT>;
  for (std::uint32_t limb = 0; limb < params.groups.limbs; ++limb) {
    const std::uint32_t polys = params.groups.items[params.groups.find(limb)].polys;
    for (std::uint32_t poly = 0; poly < polys; ++poly) {
      host_cluster<thread> team(params, limb, poly, S::blocks, S::threads, S::shared_words, limb % 2 == 1);
      if constexpr (inverse) {
        cluster_inverse_transform(team);
      } else {
        cluster_forward_transform(team);
      }
    }
  }
}

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

template <unsigned e, unsigned n, template <typename, bool> typename TableT>
void expect_clusters(double bits) {
  machine<word> on(n, 2, 2, 0, bits);
  expect_cpu_integers(
      on,
      [](auto inverse, auto& params) {
        transform_in_clusters<inverse(), cluster_shape<e, n, TableT>>(params);
      },
      "clusters");
}

TEST(CudaNttForms, ClustersEqualTheScalarKernels) {
  expect_clusters<4, 14, twiddle_table>(61);
  expect_clusters<4, 15, twiddle_table>(61);
  expect_clusters<4, 14, lean_table>(55);
  expect_clusters<4, 15, lean_table>(lean_bits);
  expect_clusters<3, 14, lean_table>(55);
  expect_clusters<3, 15, lean_table>(lean_bits);
}

TEST(CudaNttForms, ClustersInPlace) {
  machine<word> on(15, 1, 1, 0, 55);
  auto params = on.params();
  const auto wanted = on.expected(on.data[0], false), before = on.data[0];
  params.groups.items[0].dst[0] = on.data[0].data();
  transform_in_clusters<false, cluster_shape<4, 15, lean_table>>(params);
  EXPECT_EQ(on.data[0], wanted);
  transform_in_clusters<true, cluster_shape<4, 15, lean_table>>(params);
  EXPECT_EQ(on.data[0], before);
}

/// Digits of a key switch, and quotients of a division with what they are combined with.
template <unsigned e, template <typename, bool> typename TableT, typename ParamsT>
void expect_reduced_in_clusters(double bits, double last_bits) {
  constexpr bool combines = std::is_same_v<ParamsT, combine_params<word>>;
  constexpr unsigned n_bits = 14;
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
  transform_in_clusters<false, cluster_shape<e, n_bits, TableT>, reduced_source>(*params);
  for (unsigned p = 0; p < 2; ++p) {
    on.results[p].resize(2 * n);
    EXPECT_EQ(on.results[p], expected[p]) << "polynomial " << p << ", " << bits << " bits";
  }
}

TEST(CudaNttForms, ClustersReduceAndCombine) {
  expect_reduced_in_clusters<4, lean_table, reduced_params<word>>(55, 40);
  expect_reduced_in_clusters<4, lean_table, reduced_params<word>>(lean_bits, 55);
  expect_reduced_in_clusters<3, lean_table, reduced_params<word>>(55, 54);
  expect_reduced_in_clusters<4, twiddle_table, reduced_params<word>>(61, 50);
  expect_reduced_in_clusters<4, lean_table, combine_params<word>>(55, 54);
  expect_reduced_in_clusters<3, lean_table, combine_params<word>>(lean_bits, 40);
  expect_reduced_in_clusters<4, twiddle_table, combine_params<word>>(61, 60);
}

TEST(CudaNttForms, LeanRowsTakeTwiddlesFromSharedMemory) {
  machine<word> on(14, 1, 1, 0, 55);
  const auto params = on.params();
  const auto place = find_limb<true, 0, lean_table>(params, 0, 0, 0);
  constexpr unsigned e = 3;
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

TEST(CudaNttForms, LargePrimesAndOtherCardsTakeWhatTheyCan) {
  const std::vector<std::uint64_t> small{(word{1} << lean_bits) - 1, 97}, large{97, word{1} << lean_bits};
  const auto form = [](ntt_form wanted, int architecture, const std::vector<std::uint64_t>& primes) {
    return allowed({3, 64, 1, false, 0, wanted}, architecture, primes).form;
  };
  for (const ntt_form each : {ntt_form::lean, ntt_form::wide, ntt_form::cluster_lean}) {
    EXPECT_EQ(form(each, 90, small), each);
  }
  EXPECT_EQ(form(ntt_form::wide, 90, large), ntt_form::fixed);
  EXPECT_EQ(form(ntt_form::cluster_half, 90, large), ntt_form::cluster);
  EXPECT_EQ(form(ntt_form::cluster_half, 80, small), ntt_form::fixed);
  EXPECT_EQ(form(ntt_form::phases, 80, large), ntt_form::phases);
  EXPECT_TRUE(has_form({3, 64, 1, false, 0, ntt_form::lean}, 15));
  EXPECT_FALSE(has_form({3, 64, 1, false, 0, ntt_form::lean}, 16));
  EXPECT_FALSE(has_form({3, 64, 1, false}, 15));
}

}  // namespace
