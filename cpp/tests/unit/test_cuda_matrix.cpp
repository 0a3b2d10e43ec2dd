// SPDX-License-Identifier: Apache-2.0
// The GPU kernel of matrix products, run on the host thread by thread.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "backend/cuda/elementwise/tensor_matrix.cuh"
#include "halocline/params/primes.hpp"

namespace {

using namespace halocline;
using namespace halocline::backend::cuda;

template <typename WordT>
class CudaMatrix : public testing::Test {
 protected:
  static constexpr std::uint32_t words = 64, primes = 2;

  struct shape {
    std::uint32_t rows, inner, columns, tile;
  };

  CudaMatrix() {
    for (const double bits : {sizeof(WordT) == 4 ? 30.0 : 61.0, sizeof(WordT) == 4 ? 24.0 : 40.0}) {
      moduli.push_back(
          arith::make_modulus(static_cast<WordT>(params::primes_below(bits, 1, 2 * words).front())));
    }
  }

  std::vector<WordT> entries(std::size_t polys) {
    std::vector<WordT> made(polys * primes * words);
    for (std::size_t i = 0; i < made.size(); ++i) {
      const WordT q = moduli[i / words % primes].value;
      made[i] = random() % 4 == 0 ? q - 1 : static_cast<WordT>(random() % q);
    }
    return made;
  }

  /// Products one by one.
  [[nodiscard]] std::vector<WordT> expected(const shape& s, const std::vector<WordT>& a,
                                            const std::vector<WordT>& b, std::vector<WordT> c) const {
    const std::size_t poly = primes * words;
    for (std::size_t i = 0; i < s.rows * s.columns * s.inner; ++i) {
      const std::size_t t = i % s.inner, column = i / s.inner % s.columns, row = i / s.inner / s.columns;
      for (std::size_t w = 0; w < 4 * poly; ++w) {
        const std::size_t x = w / poly / 2, y = w / poly % 2, word = w % poly;
        const auto& q = moduli[word / words];
        WordT& to = c[((row * s.columns + column) * 3 + x + y) * poly + word];
        const WordT product = arith::mul_mod(a[((row * s.inner + t) * 2 + x) * poly + word],
                                             b[((t * s.columns + column) * 2 + y) * poly + word], q);
        to = arith::add_mod(to, product, q);
      }
    }
    return c;
  }

  void check(const shape& s, bool accumulate) {
    const auto a = entries(2 * s.rows * s.inner), b = entries(2 * s.inner * s.columns);
    auto c = entries(3 * s.rows * s.columns);
    const auto wanted = expected(s, a, b, accumulate ? c : std::vector<WordT>(c.size()));
    const std::uint32_t across = (s.columns + s.tile - 1) / s.tile, down = (s.rows + s.tile - 1) / s.tile;
    const matrix_params<WordT> p{a.data(),  b.data(), c.data(), moduli.data(), s.rows, s.inner,
                                 s.columns, primes,   words,    s.tile,        across, accumulate};
    constexpr std::uint32_t threads = 16, blocks = words / pack<WordT>::size / threads + 1;
    for (std::uint32_t i = 0; i < blocks * primes * threads * across * down; ++i) {
      const coordinates at{i % blocks, i / blocks % primes, i / blocks / primes % threads, threads};
      const std::uint32_t tile = i / blocks / primes / threads;
      s.inner == 1 ? matrix_body<true>(p, at, tile) : matrix_body<false>(p, at, tile);
    }
    EXPECT_EQ(c, wanted) << s.rows << " by " << s.inner << " by " << s.columns << ", tiles of " << s.tile;
  }

  std::vector<arith::modulus<WordT>> moduli;
  std::mt19937_64 random{20261123};
};

using word_types = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(CudaMatrix, word_types);

TYPED_TEST(CudaMatrix, EveryShapeAndTileGivesProductsOneByOne) {
  for (const bool accumulate : {false, true}) {
    this->check({1, 1, 1, 8}, accumulate);
    this->check({5, 1, 3, 2}, accumulate);
    this->check({2, 3, 5, 4}, accumulate);
    this->check({2, 70, 1, 1}, accumulate);
  }
}

}  // namespace
