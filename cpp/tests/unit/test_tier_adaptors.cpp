// SPDX-License-Identifier: Apache-2.0
// Tiers in front of tiers: calls reach the tier behind, and adaptors can be put together in any order.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "halocline/memory/adaptor/caching_tier.hpp"
#include "halocline/memory/adaptor/tier_adaptor.hpp"
#include "memory/device/lane_tier.hpp"
#include "support/fake_card.hpp"
#include "support/limiting_tier.hpp"

namespace halocline::test {
namespace {

using memory::caching_tier;
using memory::make_host_tier;
using memory::object_class;

/// Writes down what it is asked.
class listening_tier final : public memory::tier {
 public:
  explicit listening_tier(std::vector<std::string>& calls) : calls_(calls) {}
  [[nodiscard]] std::string_view name() const noexcept override { return note("name"), "listening"; }
  [[nodiscard]] void* allocate(std::size_t) override { return note("allocate"), this; }
  [[nodiscard]] void* allocate_for(object_class, std::size_t) override { return note("allocate_for"), this; }
  void free(void*, std::size_t) noexcept override { note("free"); }
  [[nodiscard]] void* resize(void*, std::size_t, std::size_t) noexcept override {
    return note("resize"), this;
  }
  [[nodiscard]] bool joins() const noexcept override { return note("joins"), true; }
  void wipe(void*, std::size_t) noexcept override { note("wipe"); }
  void wipe_inherited(void*, std::size_t) noexcept override { note("wipe_inherited"); }
  [[nodiscard]] std::size_t cached_bytes() const noexcept override { return note("cached_bytes"), 7; }
  [[nodiscard]] std::size_t slack_bytes() const noexcept override { return note("slack_bytes"), 8; }
  void trim() noexcept override { note("trim"); }
  void trim_to(std::size_t) noexcept override { note("trim_to"); }

 private:
  void note(const char* call) const { calls_.emplace_back(call); }
  std::vector<std::string>& calls_;
};

TEST(TierAdaptor, HandsEveryCallOn) {
  std::vector<std::string> calls;
  memory::tier_adaptor front(std::make_unique<listening_tier>(calls));
  EXPECT_EQ(front.name(), "listening");
  void* const block = front.allocate(1);
  EXPECT_EQ(front.allocate_for(object_class::table, 1), block);
  EXPECT_EQ(front.resize(block, 1, 2), block);
  EXPECT_TRUE(front.joins());
  front.wipe(block, 1);
  front.wipe_inherited(block, 1);
  front.free(block, 1);
  EXPECT_EQ(front.cached_bytes(), 7U);
  EXPECT_EQ(front.slack_bytes(), 8U);
  front.trim();
  front.trim_to(3);
  EXPECT_EQ(calls, (std::vector<std::string>{"name", "allocate", "allocate_for", "resize", "joins", "wipe",
                                             "wipe_inherited", "free", "cached_bytes", "slack_bytes", "trim",
                                             "trim_to"}));
}

TEST(TierAdaptor, AdaptorsCanBePutTogetherInAnyOrder) {
  // A cache of a small device: cached blocks are evicted for requests.
  caching_tier outside(std::make_unique<limiting_tier>(make_host_tier(0), 10000));
  void* const a = outside.allocate(6000);
  outside.free(a, 6000);
  EXPECT_EQ(outside.cached_bytes(), 6000U);
  void* const b = outside.allocate(8000);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(outside.cached_bytes(), 0U);
  EXPECT_EQ(outside.allocate(4000), nullptr);
  outside.free(b, 8000);
  // A small device that caches: what is in use counts as it was asked for.
  limiting_tier inside(std::make_unique<caching_tier>(make_host_tier(0)), 10000);
  void* const c = inside.allocate(6000);
  inside.free(c, 6000);
  EXPECT_EQ(inside.cached_bytes(), 6000U);
  void* const d = inside.allocate(1000);
  EXPECT_EQ(d, c) << "the smallest block that suffices";
  EXPECT_EQ(inside.slack_bytes(), 5000U);
  EXPECT_EQ(inside.allocate(9001), nullptr);
  inside.free(d, 1000);
  inside.trim();
}

TEST(TierAdaptor, ACacheDoesNotHandOutBlocksBehindItsBack) {
  caching_tier cache(make_host_tier(0));
  void* const a = cache.allocate_for(object_class::ciphertext, 1000);
  EXPECT_EQ(cache.live_bytes(), 1000U);
  EXPECT_EQ(cache.resize(a, 1000, 2000), nullptr);
  EXPECT_FALSE(cache.joins());
  cache.free(a, 1000);
  EXPECT_EQ(cache.cached_bytes(), 1000U);
}

TEST(TierAdaptor, WipingReachesTheLaneOfADevice) {
  const auto card = std::make_shared<fake_card>(1, 100);
  caching_tier cache(std::make_unique<memory::lane_tier>(card));
  auto* const block = static_cast<std::byte*>(cache.allocate(64));
  std::memset(block, 0xAB, 64);
  cache.wipe_inherited(block, 64);
  card->finish();
  EXPECT_EQ(block[0], std::byte{0xAB}) << "a forked child has no copy";
  cache.wipe(block, 64);
  EXPECT_EQ(block[63], std::byte{0xAB}) << "only when the lane comes to it";
  card->finish();
  EXPECT_EQ(block[0], std::byte{0});
  EXPECT_EQ(block[63], std::byte{0});
  cache.free(block, 64);
}

}  // namespace
}  // namespace halocline::test
