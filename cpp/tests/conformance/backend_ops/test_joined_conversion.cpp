// SPDX-License-Identifier: Apache-2.0
// Conversions that `ntt_linear_combine` does itself.
#include <gtest/gtest.h>

#include "halocline/core/error.hpp"
#include "host_conversion.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using backend::limb_view;
using backend::linear_job;

template <typename WordT>
class JoinedConversion : public testing::Test {
 protected:
  static void add_factors(linear_job& job, const host_ring<WordT>& host, std::mt19937_64& random) {
    for (std::uint32_t p = job.dst.primes.first; p < job.dst.primes.end(); ++p) {
      job.factor_a.push_back(random() % host.primes[p]);
      job.factor_b.push_back(host.primes[p] - 1 - random() % 3);
    }
  }

  /// The residues of the converted integers modulo the primes of `w`.
  static limbs<WordT> converted(const host_ring<WordT>& host, const host_conversion<WordT>& conversion,
                                const limbs<WordT>& from, window w) {
    limbs<WordT> result(w.count, std::vector<WordT>(host.n()));
    for (std::size_t j = 0; j < host.n(); ++j) {
      const cpp_int x = conversion.value(from, j);
      for (std::uint32_t i = 0; i < w.count; ++i) {
        result[i][j] = static_cast<WordT>(residue<WordT>(x, host.primes[w.first + i]));
      }
    }
    return result;
  }

  /// Two windows of targets, one of which takes no a, beside a job without a conversion.
  static void check(const host_ring<WordT>& host, std::uint32_t sources) {
    const window dropped{2, sources}, low{0, 2}, high{6, 3};
    const host_conversion<WordT> conversion(host, {{dropped}, {low, high}});
    std::mt19937_64 random(test_seed() + sources);
    const auto from = random_limbs(host, dropped, random);
    const auto a = random_limbs(host, high, random), b = random_limbs(host, high, random);
    const auto b_low = converted(host, conversion, from, low),
               b_high = converted(host, conversion, from, high);
    linear_job factors{{nullptr, 0, high}, {}, {}, {}, {}};
    add_factors(factors, host, random);
    for (const device_under_test& dut : devices_under_test()) {
      SCOPED_TRACE(testing::Message()
                   << dut.name << ", N = 2^" << host.log_n << ", " << sources << " sources");
      device_ring<WordT> ring(host, *dut.device);
      const std::vector<WordT> words = conversion.words();
      const backend::conversion_table table{conversion.sources(), conversion.targets(),
                                            ring.upload(std::as_bytes(std::span(words)))};
      const limb_view source = ring.filled(dropped, from);
      linear_job joined = factors, plain = factors, expected = factors;
      joined.dst = ring.poisoned(high);
      plain.dst = ring.poisoned(high);
      expected.dst = ring.poisoned(high);
      joined.a = plain.a = expected.a = ring.filled(high, a);
      plain.b = ring.filled(high, b);
      expected.b = ring.filled(high, b_high);
      joined.from = {source};
      joined.conversion = &table;
      linear_job alone{ring.poisoned(low), {}, {}, {0, 0}, {1, 3}, {source}, &table};
      alone.a = alone.dst;
      linear_job alone_expected{
          ring.poisoned(low), ring.filled(low, b_low), ring.filled(low, b_low), {0, 0}, {1, 3}};
      linear_job plain_expected = plain;
      plain_expected.dst = ring.poisoned(high);
      plain_expected.b = ring.filled(high, b);
      ring.device().ntt_linear_combine(ring.tables(), std::vector<linear_job>{plain, joined, alone});
      ring.device().ntt_linear_combine(ring.tables(),
                                       std::vector<linear_job>{plain_expected, expected, alone_expected});
      ASSERT_EQ(ring.read(joined.dst), ring.read(expected.dst));
      ASSERT_EQ(ring.read(alone.dst), ring.read(alone_expected.dst));
      ASSERT_EQ(ring.read(plain.dst), ring.read(plain_expected.dst));
      ASSERT_EQ(ring.read(joined.a), a);
      ASSERT_EQ(ring.read(source), from);
      ASSERT_TRUE(ring.guards_intact(joined.dst) && ring.guards_intact(alone.dst));
    }
  }
};
using words = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(JoinedConversion, words);

TYPED_TEST(JoinedConversion, EqualsTheConversionAndTheCombination) {
  for (const unsigned log_n : {4U, 6U, 9U, 12U, 13U}) {
    const host_ring<TypeParam> host(log_n);
    for (std::uint32_t sources = 1; sources <= backend::max_joined_sources; ++sources) {
      this->check(host, sources);
    }
  }
  this->check(host_ring<TypeParam>(15), 3);
  this->check(host_ring<TypeParam>(16), 2);
}

/// N = 2^16 in sizes for which device backends choose other kernels, with two tables in one batch: three
/// quarters of the jobs share one of them.
TYPED_TEST(JoinedConversion, LargeBatches) {
  const host_ring<TypeParam> host(16);
  const window dropped[] = {{7, 2}, {5, 3}}, w{0, 5};
  const host_conversion<TypeParam> conversions[] = {{host, {{dropped[0]}, {w}}}, {host, {{dropped[1]}, {w}}}};
  for (const unsigned full : {9U, 24U, 48U}) {
    if (full == 48 && sizeof(TypeParam) == 8) continue;
    const std::size_t count = large_batch(full);
    std::vector<limbs<TypeParam>> expected;
    for (const device_under_test& dut : devices_under_test()) {
      SCOPED_TRACE(testing::Message() << dut.name << ", " << count << " jobs");
      device_ring<TypeParam> ring(host, *dut.device);
      std::mt19937_64 random(test_seed() + count);
      std::vector<backend::conversion_table> tables;
      for (const auto& each : conversions) {
        const std::vector<TypeParam> words = each.words();
        tables.push_back({each.sources(), each.targets(), ring.upload(std::as_bytes(std::span(words)))});
      }
      std::vector<linear_job> jobs;
      for (std::size_t i = 0; i < count; ++i) {
        const window from = dropped[i % 4 / 3];
        jobs.push_back({ring.poisoned(w), ring.filled(w, random_limbs(host, w, random)), {}, {}, {}});
        jobs.back().from = {ring.filled(from, random_limbs(host, from, random))};
        jobs.back().conversion = &tables[i % 4 / 3];
        this->add_factors(jobs.back(), host, random);
      }
      ring.device().ntt_linear_combine(ring.tables(), jobs);
      const bool first = expected.empty();
      for (std::size_t i = 0; i < count; ++i) {
        if (first) expected.push_back(ring.read(jobs[i].dst));
        ASSERT_EQ(ring.read(jobs[i].dst), expected[i]) << "job " << i;
        ASSERT_TRUE(ring.guards_intact(jobs[i].dst)) << "job " << i;
      }
    }
  }
}

TYPED_TEST(JoinedConversion, RefusesWhatDoesNotFit) {
  const host_ring<TypeParam> host(4);
  const window dropped{2, 2}, w{0, 2};
  const host_conversion<TypeParam> conversion(host, {{dropped}, {w}});
  const std::vector<TypeParam> words = conversion.words();
  for (const device_under_test& dut : devices_under_test()) {
    device_ring<TypeParam> ring(host, *dut.device);
    const backend::conversion_table table{conversion.sources(), conversion.targets(),
                                          ring.upload(std::as_bytes(std::span(words)))};
    const linear_job good{ring.poisoned(w), ring.poisoned(w),         {},    {1, 1},
                          {1, 1},           {ring.poisoned(dropped)}, &table};
    const auto run = [&](const linear_job& job) {
      ring.device().ntt_linear_combine(ring.tables(), std::vector<linear_job>{job});
    };
    linear_job in_place = good, other_source = good, other_target = good;
    in_place.a = in_place.dst;
    other_source.from = {ring.poisoned(w)};
    other_target.dst = other_target.a = ring.poisoned({1, 2});
    for (const linear_job& bad : {in_place, other_source, other_target}) {
      EXPECT_THROW(run(bad), invalid_argument);
    }
    EXPECT_THROW(ring.device().linear_combine(ring.tables(), std::vector<linear_job>{good}),
                 invalid_argument);
  }
}

}  // namespace
