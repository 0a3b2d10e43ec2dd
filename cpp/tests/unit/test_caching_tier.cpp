// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/adaptor/caching_tier.hpp"

#include <gtest/gtest.h>

#include "halocline/memory/tier/arena_tier.hpp"
#include "support/limiting_tier.hpp"

namespace {

using namespace halocline::memory;
using halocline::test::limiting_tier;

TEST(CachingTier, TakesTheSmallestFreeBlockThatSuffices) {
  caching_tier cache(make_host_tier(0));
  void* const small = cache.allocate(1000);
  void* const middle = cache.allocate(2000);
  void* const large = cache.allocate(9000);
  cache.free(large, 9000);
  cache.free(small, 1000);
  cache.free(middle, 2000);
  EXPECT_EQ(cache.cached_bytes(), 12000U);
  EXPECT_EQ(cache.allocate(1500), middle);
  EXPECT_EQ(cache.allocate(1500), large) << "far too large, but free";
  EXPECT_EQ(cache.allocate(1000), small);
  EXPECT_EQ(cache.live_bytes(), 12000U) << "capacities, not requests";
  EXPECT_EQ(cache.cached_bytes(), 0U);
  void* const fresh = cache.allocate(500);
  EXPECT_EQ(cache.live_bytes(), 12500U);
  // A request's size comes back with the block; its capacity is what counts.
  cache.free(middle, 1500);
  EXPECT_EQ(cache.cached_bytes(), 2000U);
  cache.free(large, 1500);
  cache.free(small, 1000);
  cache.free(fresh, 500);
  EXPECT_EQ(cache.live_bytes(), 0U);
  EXPECT_EQ(cache.cached_bytes(), 12500U);
}

TEST(CachingTier, FlushesUnderPressure) {
  caching_tier cache(std::make_unique<limiting_tier>(make_host_tier(0), 10000));
  void* const first = cache.allocate(4000);
  void* const second = cache.allocate(4000);
  cache.free(first, 4000);
  EXPECT_EQ(cache.allocate(7000), nullptr) << "flushing the free block is not enough";
  EXPECT_EQ(cache.cached_bytes(), 0U);
  void* const third = cache.allocate(6000);
  EXPECT_NE(third, nullptr);
  cache.free(second, 4000);
  void* const fourth = cache.allocate(3000);
  EXPECT_EQ(fourth, second);
  cache.free(third, 6000);
  cache.free(fourth, 3000);
  cache.trim_to(5000);
  EXPECT_EQ(cache.cached_bytes(), 4000U);
}

TEST(LimitingTier, RefusesBeyondTheCapacityAndCountsCachedBytes) {
  constexpr std::size_t unit = 128 * 1024;
  const auto device = std::make_unique<limiting_tier>(make_arena_tier(8 * unit), 4 * unit);
  EXPECT_EQ(device->allocate(4 * unit + 1), nullptr);
  void* const one = device->allocate(unit);
  void* const three = device->allocate(3 * unit);
  EXPECT_NE(three, nullptr);
  EXPECT_EQ(device->allocate(1), nullptr);
  device->free(three, 3 * unit);
  EXPECT_EQ(device->cached_bytes(), 3 * unit);
  void* const two = device->allocate(2 * unit);
  EXPECT_LE(device->cached_bytes(), unit) << "live and cached bytes share the capacity";
  device->free(one, unit);
  device->free(two, 2 * unit);
  device->trim_to(2 * unit);
  EXPECT_LE(device->cached_bytes(), 2 * unit);
  device->trim();
  EXPECT_EQ(device->cached_bytes(), 0U);
  EXPECT_EQ(device->name(), "arena");
}

}  // namespace
