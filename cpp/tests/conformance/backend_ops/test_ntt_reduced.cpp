// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halocline/core/error.hpp"
#include "ops_fixture.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using arith::window;
using backend::limb_view;
using backend::linear_job;
using backend::reduce_job;

/// The integers of a limb modulo prime `source`, modulo the primes of `w`.
template <typename WordT>
limbs<WordT> reduced(const host_ring<WordT>& host, const std::vector<WordT>& from, std::uint32_t source,
                     bool centred, window w) {
  limbs<WordT> result(w.count, std::vector<WordT>(host.n()));
  const std::uint64_t p = host.primes[source];
  for (std::uint32_t i = 0; i < w.count; ++i) {
    const std::uint64_t q = host.primes[w.first + i];
    for (std::size_t j = 0; j < host.n(); ++j) {
      const std::uint64_t x = from[j];
      const bool negative = centred && x > (p - 1) / 2;
      result[i][j] = static_cast<WordT>(negative ? (q - (p - x) % q) % q : x % q);
    }
  }
  return result;
}

template <typename WordT>
class NttReduced : public testing::Test {
 protected:
  /// A limb with values next to the middle of its prime, where the centre decides.
  static limbs<WordT> source_limb(const host_ring<WordT>& host, std::uint32_t prime,
                                  std::mt19937_64& random) {
    auto made = random_limbs(host, {prime, 1}, random);
    const std::uint64_t middle = host.primes[prime] / 2;
    made[0][0] = static_cast<WordT>(middle);
    made[0][1] = static_cast<WordT>(middle + 1);
    made[0][host.n() - 1] = static_cast<WordT>(middle - 1);
    return made;
  }

  static std::vector<std::uint64_t> factors(const host_ring<WordT>& host, window w, std::mt19937_64& random) {
    std::vector<std::uint64_t> made;
    for (std::uint32_t p = w.first; p < w.end(); ++p) {
      made.push_back(random() % 4 == 0 ? host.primes[p] - 1 : random() % host.primes[p]);
    }
    return made;
  }

  /// Digits and divisions of every source prime, in windows beside the prime and with it.
  static void check(const host_ring<WordT>& host, std::size_t repeats) {
    const auto count = static_cast<std::uint32_t>(host.primes.size());
    std::mt19937_64 random(test_seed() + host.log_n);
    for (const device_under_test& dut : devices_under_test()) {
      SCOPED_TRACE(testing::Message() << dut.name << ", N = 2^" << host.log_n);
      device_ring<WordT> ring(host, *dut.device);
      std::vector<reduce_job> jobs;
      std::vector<linear_job> expected;
      for (std::size_t i = 0; i < repeats * count; ++i) {
        const auto source = static_cast<std::uint32_t>(i % count);
        const auto from = source_limb(host, source, random);
        const limb_view src = ring.filled({source, 1}, from);
        for (const window w : {window{0, source}, window{source + 1, count - source - 1}, window{0, count}}) {
          if (w.count == 0) continue;
          const bool centred = random() % 2 == 0, combined = random() % 2 == 0;
          reduce_job job{ring.poisoned(w), src, centred};
          const auto x = reduced(host, from[0], source, centred, w);
          linear_job same{ring.poisoned(w), {}, ring.filled(w, x), {}, {}};
          same.factor_a.assign(w.count, 0);
          same.factor_b.assign(w.count, 1);
          if (combined) {
            job.a = ring.filled(w, random_limbs(host, w, random));
            job.factor_a = same.factor_a = factors(host, w, random);
            job.factor_b = same.factor_b = factors(host, w, random);
          }
          same.a = combined ? job.a : same.b;
          if (!combined) same.a = ring.filled(w, x);
          jobs.push_back(job);
          expected.push_back(same);
        }
      }
      ring.device().ntt_reduced(ring.tables(), jobs);
      ring.device().ntt_linear_combine(ring.tables(), expected);
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        ASSERT_EQ(ring.read(jobs[i].dst), ring.read(expected[i].dst)) << "job " << i;
        ASSERT_TRUE(ring.guards_intact(jobs[i].dst) && ring.guards_intact(jobs[i].src)) << "job " << i;
      }
    }
  }
};

using words = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(NttReduced, words);

TYPED_TEST(NttReduced, EqualsReductionTransformAndCombination) {
  for (const unsigned log_n : {4U, 6U, 9U, 12U, 13U, 15U}) this->check(host_ring<TypeParam>(log_n), 1);
}

/// Sizes for which device backends choose other kernels and need several launches.
TYPED_TEST(NttReduced, LargeBatches) {
  this->check(host_ring<TypeParam>(13), 5);
  this->check(host_ring<TypeParam>(16), 1);
}

TYPED_TEST(NttReduced, RefusesWhatDoesNotFit) {
  const host_ring<TypeParam> host(4);
  for (const device_under_test& dut : devices_under_test()) {
    device_ring<TypeParam> ring(host, *dut.device);
    const window w{0, 2}, one{3, 1};
    const reduce_job good{ring.poisoned(w), ring.poisoned(one), true, ring.poisoned(w), {1, 1}, {1, 1}};
    const auto run = [&](const reduce_job& job) {
      ring.device().ntt_reduced(ring.tables(), std::vector<reduce_job>{job});
    };
    EXPECT_NO_THROW(run(good));
    reduce_job two_limbs = good, in_place = good, same_a = good, few = good, lone = good, other = good;
    two_limbs.src = ring.poisoned(w);
    in_place.src = in_place.dst.slice({0, 1});
    same_a.a = same_a.dst;
    few.factor_b = {1};
    lone.a = {};
    other.a = ring.poisoned({1, 2});
    for (const reduce_job& bad : {two_limbs, in_place, same_a, few, lone, other}) {
      EXPECT_THROW(run(bad), invalid_argument);
    }
  }
}

}  // namespace
