// SPDX-License-Identifier: Apache-2.0
// Transforms of limbs within a block, run on the host with the code of the kernels.
#include <gtest/gtest.h>

#include <random>
#include <span>
#include <vector>

#include "backend/cpu/scalar_ntt.hpp"
#include "backend/cuda/retrieval/block_ntt.cuh"
#include "cuda_team.hpp"
#include "halocline/params/primes.hpp"
#include "halocline/ring/ntt_tables.hpp"

namespace {

using namespace halocline;
using namespace halocline::backend::cuda;
using word = std::uint32_t;

/// One prime of 30 bits, a limb with extreme residues, and what the scalar kernels make of it.
struct machine {
  explicit machine(unsigned log_n)
      : q(arith::make_modulus(static_cast<word>(params::primes_below(30, 1, std::size_t{2} << log_n)[0]))),
        roots(std::size_t{4} << log_n),
        data(std::size_t{1} << log_n) {
    ring::fill_roots<word>(q, log_n, std::span(roots));
    std::mt19937_64 random(log_n);
    for (word& x : data) x = random() % 4 == 0 ? q.value - 1 : static_cast<word>(random() % q.value);
  }
  [[nodiscard]] std::vector<word> expected(unsigned log_n, bool inverse) const {
    const std::size_t n = data.size();
    backend::cpu::prime_tables<word> tables{};
    tables.q = &q;
    tables.log_n = log_n;
    tables.roots = roots.data();
    tables.root_quotients = roots.data() + n;
    tables.inverse_roots = roots.data() + 2 * n;
    tables.inverse_root_quotients = roots.data() + 3 * n;
    std::vector<word> out(n);
    inverse ? backend::cpu::scalar::intt(out.data(), data.data(), tables)
            : backend::cpu::scalar::ntt(out.data(), data.data(), tables);
    return out;
  }

  arith::modulus<word> q;
  std::vector<word> roots, data;
};

template <typename NttT>
void expect_both(const machine& on, const NttT& forward, const NttT& inverse, unsigned k) {
  const test::host_team team(NttT::threads);
  typename test::host_team::state<typename NttT::words> x(team);
  std::vector<word> result(on.data.size(), ~word{0});
  team.each([&](std::uint32_t t) { forward.load_strided(on.data.data(), t, x[t]); });
  forward.forward(team, x);
  forward.store_neighbours(team, result.data(), x, [&](std::uint32_t, chunk<word> got) {
    for (word& each : got.word) each = forward.reduced(each);
    return got;
  });
  EXPECT_EQ(result, on.expected(k, false)) << "forward, N = 2^" << k;
  inverse.load_neighbours(team, on.data.data(), x);
  inverse.inverse(team, x);
  team.each([&](std::uint32_t t) { inverse.store_strided(result.data(), t, x[t]); });
  EXPECT_EQ(result, on.expected(k, true)) << "inverse, N = 2^" << k;
}

template <unsigned k, unsigned e>
void expect_scalar_integers() {
  const machine on(k);
  const auto forward = twiddles_of<false>(on.roots.data(), 0, on.q.value, k);
  const auto inverse = twiddles_of<true>(on.roots.data(), 0, on.q.value, k);
  std::vector<chunk<word>> shared(block_ntt<k, false, e>::exchange / 4), table(on.data.size() / 4),
      back(table);
  expect_both(on, far_block_ntt<k, e>(forward, shared[0].word), far_block_ntt<k, e>(inverse, shared[0].word),
              k);
  const test::host_team team(block_ntt<k, true, e>::threads);
  fetch_quotients<k>(team, table[0].word, forward, block_ntt<k, true, e>::threads);
  fetch_quotients<k>(team, back[0].word, inverse, block_ntt<k, true, e>::threads);
  expect_both(on, near_block_ntt<k, e>(forward, table[0].word, shared[0].word),
              near_block_ntt<k, e>(inverse, back[0].word, shared[0].word), k);
}

TEST(CudaRetrievalNtt, EqualsTheScalarKernels) {
  expect_scalar_integers<10, 4>();
  expect_scalar_integers<11, 4>();
  expect_scalar_integers<12, 4>();
  expect_scalar_integers<13, 4>();
  expect_scalar_integers<10, 3>();
  expect_scalar_integers<11, 3>();
  expect_scalar_integers<12, 3>();
  expect_scalar_integers<13, 3>();
}

}  // namespace
