// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/tier/frame_tier.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "halocline/memory/budget.hpp"
#include "memory/pager/frame_pool.hpp"
#include "support/process_counts.hpp"

namespace {

using namespace halocline::memory;
using halocline::test::process_memory;

constexpr object_class cls = object_class::scratch;
constexpr std::size_t KiB = 1024, MiB = 1024 * KiB, page = 4 * KiB;

struct block {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::byte mark{};
};

/// Writes into each page.
block filled(void* data, std::size_t bytes, int mark) {
  block made{static_cast<std::byte*>(data), bytes, static_cast<std::byte>(mark)};
  for (std::size_t at = 0; at < bytes; at += page) made.data[at] = made.mark;
  return made;
}

void expect_intact(const block& each, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += page) ASSERT_EQ(each.data[at], each.mark) << at << each.bytes;
}

TEST(FrameTier, JoinsFreeRangesToALargerFrameWithoutFreshPages) {
  const auto frames = make_frame_tier();
  EXPECT_TRUE(frames->joins());
  std::vector<block> blocks;
  for (int i = 0; i < 16; ++i) blocks.push_back(filled(frames->allocate(MiB), MiB, i));
  for (std::size_t i = 0; i < 16; i += 2) frames->free(blocks[i].data, MiB);
  EXPECT_EQ(frames->cached_bytes(), 8 * MiB);
  const auto before = process_memory();
  const block joined = filled(frames->allocate(8 * MiB), 8 * MiB, 99);
  EXPECT_EQ(frames->cached_bytes(), 0U);
  // The test itself allocates next to nothing; fresh pages would be 8 MiB.
  EXPECT_LE(process_memory().resident, before.resident + MiB);
  expect_intact(joined, 8 * MiB);
  for (std::size_t i = 1; i < 16; i += 2) expect_intact(blocks[i], MiB);
  for (std::size_t i = 1; i < 16; i += 2) frames->free(blocks[i].data, MiB);
  frames->free(joined.data, 8 * MiB);
  EXPECT_EQ(frames->cached_bytes(), 16 * MiB);
}

TEST(FrameTier, TakesFreshPagesForWhatIsMissing) {
  const auto frames = make_frame_tier();
  frames->free(filled(frames->allocate(256 * KiB), 256 * KiB, 1).data, 256 * KiB);
  const block larger = filled(frames->allocate(MiB), MiB, 2);
  EXPECT_EQ(frames->cached_bytes(), 0U);
  expect_intact(larger, MiB);
  frames->free(larger.data, MiB);
  EXPECT_EQ(frames->cached_bytes(), MiB);
}

TEST(FrameTier, GrowingAndShrinkingKeepContents) {
  const auto frames = make_frame_tier();
  block first = filled(frames->allocate(512 * KiB), 512 * KiB, 1);
  const block other = filled(frames->allocate(512 * KiB), 512 * KiB, 2);
  frames->free(other.data, other.bytes);
  first.data = static_cast<std::byte*>(frames->resize(first.data, 512 * KiB, 3 * MiB));
  ASSERT_NE(first.data, nullptr);
  EXPECT_EQ(frames->cached_bytes(), 0U);
  expect_intact(first, 512 * KiB);
  first = filled(first.data, 3 * MiB, 3);
  first.data = static_cast<std::byte*>(frames->resize(first.data, 3 * MiB, 160 * KiB));
  EXPECT_EQ(frames->cached_bytes(), 3 * MiB - 160 * KiB);
  expect_intact(first, 160 * KiB);
  auto* const again = static_cast<std::byte*>(frames->resize(first.data, 160 * KiB, MiB));
  EXPECT_EQ(again, first.data) << "the pages behind it are free";
  frames->free(again, MiB);
}

TEST(FrameTier, TrimsToExactlyWhatIsAskedFor) {
  const auto frames = make_frame_tier();
  const auto before = process_memory();
  frames->free(filled(frames->allocate(4 * MiB), 4 * MiB, 1).data, 4 * MiB);
  frames->free(filled(frames->allocate(page), page, 1).data, page);
  frames->trim_to(3 * MiB);
  EXPECT_EQ(frames->cached_bytes(), 3 * MiB);
  frames->trim();
  EXPECT_EQ(frames->cached_bytes(), 0U);
  EXPECT_LE(process_memory().resident, before.resident + MiB);
  EXPECT_EQ(frames->allocate(std::size_t{1} << 62), nullptr);
  EXPECT_EQ(frames->allocate(~std::size_t{0}), nullptr);
}

TEST(FrameTier, TemporariesReuseTheirPagesInAFullTier) {
  const auto frames = make_frame_tier();
  const auto in_place = [&](object_class of, std::size_t bytes) {
    return filled(frames->allocate_for(of, bytes), bytes, 1);
  };
  const block key = in_place(object_class::evaluation_key, 8 * MiB);
  const block first = in_place(object_class::scratch, 4 * MiB);
  frames->free(first.data, first.bytes);
  // A key takes pages of the temporaries, and they come back into the place that temporaries have.
  const block other = in_place(object_class::evaluation_key, MiB);
  EXPECT_EQ(frames->cached_bytes(), 3 * MiB);
  frames->free(other.data, other.bytes);
  const block second = in_place(object_class::scratch, 4 * MiB);
  EXPECT_EQ(second.data, first.data);
  EXPECT_EQ(frames->cached_bytes(), 0U);
  expect_intact(key, key.bytes);
  frames->free(second.data, second.bytes);
  frames->free(key.data, key.bytes);
}

TEST(FrameTier, RandomUseKeepsContents) {
  constexpr std::array<object_class, 3> classes{object_class::evaluation_key, object_class::ciphertext,
                                                object_class::scratch};
  const auto frames = make_frame_tier();
  std::vector<block> live;
  std::mt19937 random(21);
  std::size_t used = 0, most = 0;
  const auto size = [&] { return page * (1 + random() % (random() % 3 == 0 ? 700 : 40)); };
  for (int step = 0; step < 3000; ++step) {
    const auto choice = random() % 4;
    if (live.empty() || (live.size() < 24 && choice < 2)) {
      const std::size_t bytes = size();
      live.push_back(filled(frames->allocate_for(classes[random() % 3], bytes), bytes, step));
      used += bytes;
    } else {
      std::swap(live[random() % live.size()], live.back());
      block& last = live.back();
      expect_intact(last, last.bytes);
      used -= last.bytes;
      if (choice == 3) {
        const std::size_t bytes = size();
        last.data = static_cast<std::byte*>(frames->resize(last.data, last.bytes, bytes));
        ASSERT_NE(last.data, nullptr);
        expect_intact(last, std::min(bytes, last.bytes));
        last = filled(last.data, bytes, step);
        used += bytes;
      } else {
        frames->free(last.data, last.bytes);
        live.pop_back();
      }
    }
    most = std::max(most, used);
    // No fresh page is taken while a free one is there.
    ASSERT_EQ(used + frames->cached_bytes(), most);
  }
  for (const block& each : live) frames->free(each.data, each.bytes);
  EXPECT_EQ(frames->cached_bytes(), most);
}

TEST(FramePool, FreeFramesMakeRoomForOnesOfAnySizeWithinTheBudget) {
  const auto budget = std::make_shared<memory_budget>(8 * MiB);
  frame_pool pool(make_frame_tier(), budget);
  std::vector<std::byte*> small;
  for (int i = 0; i < 8; ++i) small.push_back(pool.take(MiB, cls));
  EXPECT_EQ(pool.take(page, cls), nullptr);
  for (std::size_t i = 0; i < 8; i += 2) pool.give(small[i], MiB);
  EXPECT_TRUE(pool.has_room(4 * MiB));
  EXPECT_FALSE(pool.has_room(4 * MiB + page));
  std::byte* const large = pool.take(3 * MiB, cls);
  ASSERT_NE(large, nullptr);
  EXPECT_EQ(pool.free_bytes(), MiB);
  EXPECT_EQ(pool.resize(large, 3 * MiB, 4 * MiB + page), nullptr);
  std::byte* const larger = pool.resize(large, 3 * MiB, 4 * MiB);
  ASSERT_NE(larger, nullptr);
  EXPECT_EQ(budget->used(), 8 * MiB);
  EXPECT_EQ(budget->peak(), 8 * MiB);
  pool.give(larger, 4 * MiB);
  EXPECT_EQ(pool.trim_to(MiB), 3 * MiB);
  EXPECT_EQ(budget->used(), 5 * MiB);
  for (std::size_t i = 1; i < 8; i += 2) pool.give(small[i], MiB);
}

TEST(FramePool, WithoutJoiningFreeBytesGiveWay) {
  const auto budget = std::make_shared<memory_budget>(MiB);
  frame_pool pool(make_host_tier(MiB), budget);
  std::byte* const first = pool.take(512 * KiB, cls);
  pool.give(first, 512 * KiB);
  EXPECT_EQ(budget->used(), 512 * KiB) << "the place keeps it";
  std::byte* const second = pool.take(768 * KiB, cls);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(budget->used(), 768 * KiB);
  pool.give(second, 768 * KiB);
}

}  // namespace
