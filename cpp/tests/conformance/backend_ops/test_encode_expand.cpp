// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "ops_fixture.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using arith::window;
using backend::limb_view;
__extension__ using i128 = __int128;

template <typename WordT>
class EncodeOp : public testing::Test {};
using words = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(EncodeOp, words);

/// Signed integers of `count` 64-bit words: random of every magnitude, and the ends of the range.
std::vector<i128> random_integers(std::size_t n, unsigned count, std::mt19937_64& random) {
  const unsigned bits = 64 * count;
  const i128 highest = static_cast<i128>((static_cast<u128>(1) << (bits - 1)) - 1);
  std::vector<i128> values{0, 1, -1, highest, -highest - 1, highest - 1, -highest};
  while (values.size() < n) {
    u128 x = static_cast<u128>(random()) << 64 | random();
    x >>= (128 - bits) + random() % bits;
    const i128 magnitude = static_cast<i128>(x & static_cast<u128>(highest));
    values.push_back(random() % 2 == 0 ? magnitude : -magnitude);
  }
  return values;
}

/// Integers that lie apart: between them are zeros, and guards behind them are not read as coefficients.
TYPED_TEST(EncodeOp, CoefficientsApart) {
  for (const unsigned log_n : {4U, 9U, 13U}) {
    const host_ring<TypeParam> host(log_n);
    for (const unsigned count : {1U, 2U}) {
      for (const unsigned log_stride : {1U, 3U, log_n - 1}) {
        std::mt19937_64 random(test_seed() + log_n + count + log_stride);
        std::vector<std::uint64_t> few((host.n() >> log_stride) * count), all(host.n() * count);
        for (std::uint64_t& word : few) word = random();
        for (std::size_t i = 0; i < few.size(); ++i)
          all[(i / count << log_stride) * count + i % count] = few[i];
        for (const device_under_test& dut : devices_under_test()) {
          SCOPED_TRACE(testing::Message() << dut.name << ", N = 2^" << log_n << ", stride 2^" << log_stride);
          device_ring<TypeParam> ring(host, *dut.device);
          const window w{0, host.all().count};
          const limb_view a = ring.poisoned(w), b = ring.poisoned(w);
          ring.device().encode_expand(
              ring.tables(), std::vector<backend::encode_job>{{a, &ring.keep(few), count, log_stride},
                                                              {b, &ring.keep(all), count}});
          ASSERT_EQ(ring.read(a), ring.read(b));
          ASSERT_TRUE(ring.guards_intact(a));
        }
      }
    }
  }
}

TYPED_TEST(EncodeOp, ResiduesOfSignedIntegers) {
  for (const unsigned log_n : {4U, 5U, 9U, 14U}) {
    const host_ring<TypeParam> host(log_n);
    for (const unsigned count : {1U, 2U}) {
      std::mt19937_64 random(test_seed() + log_n + count);
      const auto values = random_integers(host.n(), count, random);
      std::vector<std::uint64_t> packed;
      for (const i128 x : values) {
        packed.push_back(static_cast<std::uint64_t>(x));
        if (count == 2) packed.push_back(static_cast<std::uint64_t>(static_cast<u128>(x) >> 64));
      }
      const window w{1, host.all().count - 1};
      limbs<TypeParam> expected(w.count, std::vector<TypeParam>(host.n()));
      for (std::size_t i = 0; i < w.count; ++i) {
        const i128 q = host.primes[w.first + i];
        for (std::size_t j = 0; j < host.n(); ++j) {
          expected[i][j] = static_cast<TypeParam>((values[j] % q + q) % q);
        }
      }
      for (const device_under_test& dut : devices_under_test()) {
        SCOPED_TRACE(testing::Message() << dut.name << ", N = 2^" << log_n << ", words " << count);
        device_ring<TypeParam> ring(host, *dut.device);
        const limb_view a = ring.poisoned(w), b = ring.poisoned({2, 2});
        const memory::buffer* const coefficients = &ring.keep(packed);
        ring.device().encode_expand(ring.tables(), std::vector<backend::encode_job>{
                                                       {a, coefficients, count}, {b, coefficients, count}});
        ASSERT_EQ(ring.read(a), expected);
        ASSERT_EQ(ring.read(b), (limbs<TypeParam>{expected[1], expected[2]}));
        ASSERT_TRUE(ring.guards_intact(a) && ring.guards_intact(b));
      }
    }
  }
}

}  // namespace
