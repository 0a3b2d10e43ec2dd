// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ops_fixture.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using arith::window;
using backend::binary_job;
using backend::limb_view;
using backend::shift_job;
using backend::unary_job;

/// X^exponent times a polynomial, one coefficient after the other from its source's side.
template <typename WordT>
limbs<WordT> shifted(const host_ring<WordT>& host, window primes, const limbs<WordT>& a,
                     std::size_t exponent) {
  limbs<WordT> result = a;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::uint64_t q = host.primes[primes.first + i];
    for (std::size_t j = 0; j < host.n(); ++j) {
      const std::size_t to = j + exponent;
      const bool negative = to / host.n() % 2 != 0;
      result[i][to % host.n()] = negative ? static_cast<WordT>((q - a[i][j]) % q) : a[i][j];
    }
  }
  return result;
}

template <typename WordT>
class NegacyclicShift : public testing::Test {
 protected:
  template <typename BodyT>
  void for_each_case(const BodyT& body) {
    for (const unsigned log_n : {4U, 5U, 6U, 9U, 13U, 14U}) {
      const host_ring<WordT> host(log_n);
      for (const device_under_test& dut : devices_under_test()) {
        SCOPED_TRACE(testing::Message() << dut.name << ", N = 2^" << log_n);
        device_ring<WordT> ring(host, *dut.device);
        std::mt19937_64 random(test_seed() + log_n);
        body(host, ring, random);
        if (this->HasFailure()) return;
      }
    }
  }
};

using words = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(NegacyclicShift, words);

TYPED_TEST(NegacyclicShift, MovesCoefficientsAndNegatesThoseThatPassTheDegree) {
  this->for_each_case([](const auto& host, auto& ring, std::mt19937_64& random) {
    const auto n = static_cast<std::uint32_t>(host.n());
    std::vector<std::uint32_t> exponents{0, 1, n / 2, n - 1, n, n + 1, 2 * n - 1};
    for (int i = 0; i < 3; ++i) exponents.push_back(static_cast<std::uint32_t>(random() % (2 * n)));
    const window w{1, 8};
    const auto a = random_limbs(host, w, random);
    const limb_view src = ring.filled(w, a);
    std::vector<shift_job> jobs;
    for (const std::uint32_t exponent : exponents) jobs.push_back({ring.poisoned(w), src, exponent});
    ring.device().negacyclic_shift(ring.tables(), jobs);
    for (const shift_job& job : jobs) {
      ASSERT_EQ(ring.read(job.dst), shifted(host, w, a, job.exponent)) << "exponent " << job.exponent;
      ASSERT_TRUE(ring.guards_intact(job.dst));
    }
    EXPECT_EQ(ring.read(src), a);
  });
}

TYPED_TEST(NegacyclicShift, ExponentsAddUpModuloTwiceTheDegree) {
  this->for_each_case([](const auto& host, auto& ring, std::mt19937_64& random) {
    const auto twice = static_cast<std::uint32_t>(2 * host.n());
    const window w{0, 3};
    const limb_view src = ring.filled(w, random_limbs(host, w, random));
    for (int round = 0; round < 4; ++round) {
      const auto first = static_cast<std::uint32_t>(random() % twice);
      const auto second = static_cast<std::uint32_t>(random() % twice);
      const limb_view once = ring.poisoned(w), again = ring.poisoned(w), both = ring.poisoned(w);
      ring.device().negacyclic_shift(
          ring.tables(), std::vector<shift_job>{{once, src, first}, {both, src, (first + second) % twice}});
      ring.device().negacyclic_shift(ring.tables(), std::vector<shift_job>{{again, once, second}});
      ASSERT_EQ(ring.read(again), ring.read(both)) << first << " and " << second;
    }
  });
}

/// ntt(X^k a) ntt(b) = ntt(X^k (a b)).
TYPED_TEST(NegacyclicShift, CommutesWithProducts) {
  this->for_each_case([](const auto& host, auto& ring, std::mt19937_64& random) {
    const window w{2, 4};
    const auto exponent = static_cast<std::uint32_t>(random() % (2 * host.n()));
    const limb_view a = ring.filled(w, random_limbs(host, w, random));
    const limb_view b = ring.filled(w, random_limbs(host, w, random));
    const limb_view early = ring.poisoned(w), late = ring.poisoned(w);
    auto& on = ring.device();
    const auto& tables = ring.tables();
    on.negacyclic_shift(tables, std::vector<shift_job>{{early, a, exponent}});
    on.ntt(tables, std::vector<unary_job>{{early, early}, {a, a}, {b, b}});
    on.multiply(tables, std::vector<binary_job>{{early, early, b}, {a, a, b}});
    on.intt(tables, std::vector<unary_job>{{early, early}, {a, a}});
    on.negacyclic_shift(tables, std::vector<shift_job>{{late, a, exponent}});
    EXPECT_EQ(ring.read(early), ring.read(late));
  });
}

TYPED_TEST(NegacyclicShift, RefusesExponentsOutOfRangeAndSharedLimbs) {
  this->for_each_case([](const auto& host, auto& ring, std::mt19937_64& random) {
    const auto twice = static_cast<std::uint32_t>(2 * host.n());
    const window w{0, 4};
    const limb_view src = ring.filled(w, random_limbs(host, w, random)), dst = ring.poisoned(w);
    const limb_view overlapping{src.data, 3, w};
    const auto shift = [&](const shift_job& job) {
      ring.device().negacyclic_shift(ring.tables(), std::span(&job, 1));
    };
    EXPECT_THROW(shift({dst, src, twice}), invalid_argument);
    EXPECT_THROW(shift({src, src, 1}), invalid_argument);
    EXPECT_THROW(shift({overlapping, src, 1}), invalid_argument);
    EXPECT_THROW(shift({dst.slice({1, 3}), src, 1}), invalid_argument);
    EXPECT_TRUE(ring.guards_intact(src));
  });
}

}  // namespace
