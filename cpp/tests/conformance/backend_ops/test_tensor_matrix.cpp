// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halocline/core/error.hpp"
#include "ops_fixture.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using arith::window;
using backend::limb_view;
using backend::matrix_job;
using backend::tensor_job;

template <typename WordT>
class TensorMatrix : public testing::Test {
 protected:
  /// One limb after the other, so that a view of as many primes as there are limbs would not fit the ring.
  struct matrix {
    const memory::buffer* data;
    std::uint32_t rows, columns, polys;
    window primes;

    [[nodiscard]] limb_view poly(std::uint32_t row, std::uint32_t column, std::uint32_t k) const {
      return {data, 1 + ((row * columns + column) * polys + k) * primes.count, primes};
    }
    [[nodiscard]] backend::matrix_view view() const { return {data, 1, rows, columns}; }
  };

  static matrix make(device_ring<WordT>& ring, std::uint32_t rows, std::uint32_t columns, std::uint32_t polys,
                     window primes) {
    const std::size_t limbs = std::size_t{rows} * columns * polys * primes.count + 2;
    const std::vector<unsigned char> poison(limbs * ring.tables().limb_bytes(), ring.poison);
    return {&ring.keep(poison), rows, columns, polys, primes};
  }
  static void fill(device_ring<WordT>& ring, const host_ring<WordT>& host, const matrix& of,
                   std::mt19937_64& random) {
    for (std::uint32_t i = 0; i < of.rows * of.columns * of.polys; ++i) {
      ring.write(of.poly(0, 0, i), random_limbs(host, of.primes, random));
    }
  }

  static void check(const host_ring<WordT>& host, std::uint32_t rows, std::uint32_t inner,
                    std::uint32_t columns, bool accumulate) {
    const window w{1, 3};
    for (const device_under_test& dut : devices_under_test()) {
      SCOPED_TRACE(testing::Message() << dut.name << ", N = 2^" << host.log_n << ", " << rows << " x "
                                      << inner << " x " << columns);
      std::mt19937_64 random(test_seed() + rows + inner);
      device_ring<WordT> ring(host, *dut.device);
      const matrix a = make(ring, rows, inner, 2, w), b = make(ring, inner, columns, 2, w);
      const matrix c = make(ring, rows, columns, 3, w);
      for (const matrix* each : {&a, &b, &c}) fill(ring, host, *each, random);
      std::vector<limbs<WordT>> expected;
      for (std::uint32_t i = 0; i < rows * columns; ++i) {
        for (auto& each : entry(host, ring, a, b, c, i / columns, i % columns, accumulate)) {
          expected.push_back(std::move(each));
        }
      }
      const matrix_job job{c.view(), a.view(), b.view(), w, accumulate};
      ring.device().tensor_matrix(ring.tables(), std::vector<matrix_job>{job});
      for (std::uint32_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(ring.read(c.poly(0, 0, i)), expected[i]) << "polynomial " << i;
      }
      ASSERT_TRUE(ring.guards_intact({c.data, 1, w}));
    }
  }

  /// Three polynomials, from products one by one.
  static std::vector<limbs<WordT>> entry(const host_ring<WordT>& host, device_ring<WordT>& ring,
                                         const matrix& a, const matrix& b, const matrix& c, std::uint32_t row,
                                         std::uint32_t column, bool accumulate) {
    const auto zero = map_limbs(host, a.primes, [](auto) { return 0; });
    std::vector<limbs<WordT>> sum;
    for (std::uint32_t k = 0; k < 3; ++k) {
      sum.push_back(accumulate ? ring.read(c.poly(row, column, k)) : zero);
    }
    const auto add = [](auto q, auto z, auto x, auto y) { return (z + naive_mul(x, y, q)) % q; };
    for (std::uint32_t t = 0; t < a.columns; ++t) {
      for (std::uint32_t x = 0; x < 2; ++x) {
        for (std::uint32_t y = 0; y < 2; ++y) {
          sum[x + y] = map_limbs(host, a.primes, add, sum[x + y], ring.read(a.poly(row, t, x)),
                                 ring.read(b.poly(t, column, y)));
        }
      }
    }
    return sum;
  }
};

using tensor_words = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(TensorMatrix, tensor_words);

TYPED_TEST(TensorMatrix, EqualsProductsOneByOne) {
  for (const unsigned log_n : {4U, 8U, 10U}) {
    const host_ring<TypeParam> host(log_n);
    this->check(host, 1, 1, 1, false);
    this->check(host, 11, 1, 9, true);
    this->check(host, 3, 8, 2, false);
    this->check(host, 2, 5, 3, true);
  }
  this->check(host_ring<TypeParam>(13), 9, 1, 9, false);
}

/// More products than a double word holds without a reduction.
TYPED_TEST(TensorMatrix, ManyProducts) { this->check(host_ring<TypeParam>(5), 1, 70, 2, true); }

TYPED_TEST(TensorMatrix, RefusesWhatDoesNotFit) {
  const host_ring<TypeParam> host(4);
  const window w{1, 3};
  for (const device_under_test& dut : devices_under_test()) {
    device_ring<TypeParam> ring(host, *dut.device);
    const auto a = this->make(ring, 2, 3, 2, w), b = this->make(ring, 3, 2, 2, w);
    const auto c = this->make(ring, 2, 2, 3, w);
    const matrix_job good{c.view(), a.view(), b.view(), w};
    const auto run = [&](const matrix_job& job) {
      ring.device().tensor_matrix(ring.tables(), std::vector<matrix_job>{job});
    };
    matrix_job inner = good, rows = good, columns = good, none = good, large = good;
    inner.a.columns = 2;
    rows.c.rows = 1;
    columns.c.columns = 3;
    none.a.columns = none.b.rows = 0;
    large.a.rows = large.c.rows = 5;  // beyond the buffers
    for (const matrix_job& bad : {inner, rows, columns, none, large}) {
      EXPECT_THROW(run(bad), invalid_argument);
    }
  }
}

}  // namespace
