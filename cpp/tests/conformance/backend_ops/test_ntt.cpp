// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <utility>

#include "ops_fixture.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using arith::window;
using backend::limb_view;
using backend::unary_job;

/// Value of the polynomial at psi^(2 bitrev(j) + 1), by Horner's rule.
template <typename WordT>
std::uint64_t evaluate(const std::vector<WordT>& coefficients, std::uint64_t psi, std::uint64_t q,
                       unsigned log_n, std::uint32_t j) {
  const std::uint64_t point = naive_pow(psi, 2 * std::uint64_t{ring::bit_reverse(j, log_n)} + 1, q);
  std::uint64_t value = 0;
  for (std::size_t i = coefficients.size(); i-- > 0;) {
    value = static_cast<std::uint64_t>((static_cast<u128>(value) * point + coefficients[i]) % q);
  }
  return value;
}

template <typename WordT>
class NttOps : public testing::Test {
 protected:
  /// Some points of the transform, from the definition: all for small N, else a few.
  void check_points(const host_ring<WordT>& host, window w, const limbs<WordT>& input,
                    const limbs<WordT>& output, std::mt19937_64& random) {
    for (std::size_t i = 0; i < w.count; ++i) {
      const std::uint64_t q = host.primes[w.first + i];
      const std::uint64_t psi =
          ring::smallest_primitive_root(arith::make_modulus(static_cast<WordT>(q)), host.log_n);
      ASSERT_EQ(naive_pow(psi, host.n(), q), q - 1);
      const std::size_t points = std::min<std::size_t>(host.n(), 128 * 128 / host.n() + 2);
      for (std::size_t k = 0; k < points; ++k) {
        const auto j = static_cast<std::uint32_t>(points == host.n() ? k : random() % host.n());
        ASSERT_EQ(output[i][j], evaluate(input[i], psi, q, host.log_n, j))
            << "prime " << q << ", point " << j;
      }
    }
  }
};

using words = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(NttOps, words);

/// Windows that overlap in all ways.
template <typename WordT>
std::vector<window> mixed_windows(const host_ring<WordT>& host, unsigned count, std::mt19937_64& random) {
  std::vector<window> windows;
  const auto primes = static_cast<std::uint32_t>(host.primes.size());
  for (unsigned i = 0; i < count; ++i) {
    const auto first = static_cast<std::uint32_t>(random() % primes);
    windows.push_back({first, static_cast<std::uint32_t>(1 + random() % (primes - first))});
  }
  return windows;
}

/// Hundreds of limbs in one batch: more than the parameters of one launch of a device backend hold, and
/// windows that it must cut to process equal primes together. N = 2^16 in two sizes: device backends choose
/// kernels by the size of the batch.
TYPED_TEST(NttOps, LargeBatchesOfMixedWindows) {
  for (const auto& [log_n, count] : {std::pair{5U, 300U}, std::pair{13U, large_batch(60)},
                                     std::pair{16U, large_batch(14)}, std::pair{16U, large_batch(60)}}) {
    const host_ring<TypeParam> host(log_n);
    std::vector<limbs<TypeParam>> forward, inverse;
    for (const device_under_test& dut : devices_under_test()) {
      SCOPED_TRACE(testing::Message() << dut.name << ", N = 2^" << log_n);
      device_ring<TypeParam> ring(host, *dut.device);
      std::mt19937_64 random(test_seed() + log_n);
      std::vector<unary_job> there, back;
      for (const window w : mixed_windows(host, count, random)) {
        const limb_view source = ring.filled(w, random_limbs(host, w, random));
        there.push_back({random() % 2 == 0 ? source : ring.poisoned(w), source});
        back.push_back({ring.poisoned(w), there.back().dst});
      }
      ring.device().ntt(ring.tables(), there);
      ring.device().intt(ring.tables(), back);
      const bool first = forward.empty();
      for (std::size_t i = 0; i < count; ++i) {
        if (first) {
          forward.push_back(ring.read(there[i].dst));
          inverse.push_back(ring.read(back[i].dst));
        }
        ASSERT_EQ(ring.read(there[i].dst), forward[i]) << "job " << i;
        ASSERT_EQ(ring.read(back[i].dst), inverse[i]) << "job " << i;
        ASSERT_TRUE(ring.guards_intact(there[i].dst) && ring.guards_intact(back[i].dst)) << "job " << i;
      }
    }
  }
}

TYPED_TEST(NttOps, LargeBatchesOfCombinations) {
  for (const auto& [log_n, count] : {std::pair{5U, 300U}, std::pair{13U, large_batch(40)},
                                     std::pair{16U, large_batch(14)}, std::pair{16U, large_batch(50)}}) {
    const host_ring<TypeParam> host(log_n);
    std::vector<limbs<TypeParam>> expected;
    for (const device_under_test& dut : devices_under_test()) {
      SCOPED_TRACE(testing::Message() << dut.name << ", N = 2^" << log_n);
      device_ring<TypeParam> ring(host, *dut.device);
      std::mt19937_64 random(test_seed() + log_n);
      std::vector<backend::linear_job> jobs;
      for (const window w : mixed_windows(host, count, random)) {
        const limb_view a = ring.filled(w, random_limbs(host, w, random));
        const limb_view b = ring.filled(w, random_limbs(host, w, random));
        jobs.push_back({random() % 2 == 0 ? a : ring.poisoned(w), a, b, {}, {}});
        for (std::uint32_t p = w.first; p < w.end(); ++p) {
          jobs.back().factor_a.push_back(random() % host.primes[p]);
          jobs.back().factor_b.push_back(random() % host.primes[p]);
        }
      }
      ring.device().ntt_linear_combine(ring.tables(), jobs);
      const bool first = expected.empty();
      for (std::size_t i = 0; i < count; ++i) {
        if (first) expected.push_back(ring.read(jobs[i].dst));
        ASSERT_EQ(ring.read(jobs[i].dst), expected[i]) << "job " << i;
        ASSERT_TRUE(ring.guards_intact(jobs[i].dst) && ring.guards_intact(jobs[i].b)) << "job " << i;
      }
    }
  }
}

/// The sizes of real rings, where a device backend uses its fastest kernels.
TYPED_TEST(NttOps, RealRings) {
  for (const unsigned log_n : {15U, 16U}) {
    const host_ring<TypeParam> host(log_n);
    const window w{1, 3};
    limbs<TypeParam> forward;
    for (const device_under_test& dut : devices_under_test()) {
      SCOPED_TRACE(testing::Message() << dut.name << ", N = 2^" << log_n);
      device_ring<TypeParam> ring(host, *dut.device);
      std::mt19937_64 random(test_seed() + log_n);
      const auto input = random_limbs(host, w, random);
      const limb_view source = ring.filled(w, input), in_place = ring.filled(w, input);
      const limb_view points = ring.poisoned(w), back = ring.poisoned(w);
      ring.device().ntt(ring.tables(), std::vector<unary_job>{{points, source}, {in_place, in_place}});
      if (forward.empty()) forward = ring.read(points);
      ASSERT_EQ(ring.read(points), forward);
      ASSERT_EQ(ring.read(in_place), forward);
      ASSERT_EQ(ring.read(source), input);
      ring.device().intt(ring.tables(), std::vector<unary_job>{{back, points}});
      ASSERT_EQ(ring.read(back), input);
      ASSERT_TRUE(ring.guards_intact(points) && ring.guards_intact(back) && ring.guards_intact(in_place));
    }
  }
}

TYPED_TEST(NttOps, MatchDefinitionAndInvert) {
  for (unsigned log_n = 4; log_n <= 14; ++log_n) {
    const host_ring<TypeParam> host(log_n);
    const window w{1, 4};
    limbs<TypeParam> specification;
    for (const device_under_test& dut : devices_under_test()) {
      SCOPED_TRACE(testing::Message() << dut.name << ", N = 2^" << log_n);
      device_ring<TypeParam> ring(host, *dut.device);
      std::mt19937_64 random(test_seed() + log_n);
      const auto input = random_limbs(host, w, random);
      const limb_view source = ring.filled(w, input), in_place = ring.filled(w, input);
      const limb_view points = ring.poisoned(w), back = ring.poisoned(w);
      ring.device().ntt(ring.tables(), std::vector<unary_job>{{points, source}, {in_place, in_place}});
      const auto output = ring.read(points);
      if (specification.empty()) {
        this->check_points(host, w, input, output, random);
        specification = output;
      }
      ASSERT_EQ(output, specification);
      ASSERT_EQ(ring.read(in_place), specification);
      ASSERT_EQ(ring.read(source), input);
      ring.device().intt(ring.tables(), std::vector<unary_job>{{back, points}, {in_place, in_place}});
      ASSERT_EQ(ring.read(back), input);
      ASSERT_EQ(ring.read(in_place), input);
      ASSERT_TRUE(ring.guards_intact(points) && ring.guards_intact(back) && ring.guards_intact(in_place));
    }
  }
}

/// Inputs at the upper end of the range stress the lazy reductions most.
TYPED_TEST(NttOps, LargestResidues) {
  for (const unsigned log_n : {9U, 12U}) {
    const host_ring<TypeParam> host(log_n);
    const window w = host.all();
    const auto largest = map_limbs(host, w, [](auto q) { return q - 1; });
    limbs<TypeParam> forward, inverse;
    for (const device_under_test& dut : devices_under_test()) {
      SCOPED_TRACE(testing::Message() << dut.name << ", N = 2^" << log_n);
      device_ring<TypeParam> ring(host, *dut.device);
      const limb_view a = ring.filled(w, largest), b = ring.filled(w, largest);
      ring.device().ntt(ring.tables(), std::vector<unary_job>{{a, a}});
      ring.device().intt(ring.tables(), std::vector<unary_job>{{b, b}});
      if (forward.empty()) {
        forward = ring.read(a);
        inverse = ring.read(b);
      }
      ASSERT_EQ(ring.read(a), forward);
      ASSERT_EQ(ring.read(b), inverse);
    }
  }
}

TYPED_TEST(NttOps, LinearCombineEqualsItsParts) {
  for (const unsigned log_n : {4U, 7U, 8U, 10U, 14U}) {
    const host_ring<TypeParam> host(log_n);
    const window w{2, 5};
    for (const device_under_test& dut : devices_under_test()) {
      SCOPED_TRACE(testing::Message() << dut.name << ", N = 2^" << log_n);
      device_ring<TypeParam> ring(host, *dut.device);
      std::mt19937_64 random(test_seed() + log_n);
      const auto a = random_limbs(host, w, random), b = random_limbs(host, w, random);
      backend::linear_job job{ring.poisoned(w), ring.filled(w, a), ring.filled(w, b), {}, {}};
      for (std::uint32_t i = 0; i < w.count; ++i) {
        const std::uint64_t q = host.primes[w.first + i];
        job.factor_a.push_back(i == 0 ? q - 1 : random() % q);
        job.factor_b.push_back(i == 1 ? q - 1 : random() % q);
      }
      backend::linear_job in_a = job, in_b = job, expected = job;
      in_a.dst = in_a.a = ring.filled(w, a);
      in_a.b = ring.filled(w, b);
      in_b.dst = in_b.b = ring.filled(w, b);
      expected.dst = ring.poisoned(w);
      expected.b = ring.filled(w, b);
      ring.device().ntt_linear_combine(ring.tables(), std::vector<backend::linear_job>{job, in_a, in_b});
      ring.device().ntt(ring.tables(), std::vector<unary_job>{{expected.b, expected.b}});
      ring.device().linear_combine(ring.tables(), std::vector<backend::linear_job>{expected});
      const auto values = ring.read(expected.dst);
      ASSERT_EQ(ring.read(job.dst), values);
      ASSERT_EQ(ring.read(in_a.dst), values);
      ASSERT_EQ(ring.read(in_b.dst), values);
      ASSERT_EQ(ring.read(job.a), a);
      ASSERT_TRUE(ring.guards_intact(job.dst) && ring.guards_intact(job.b) && ring.guards_intact(in_a.b));
    }
  }
}

}  // namespace
