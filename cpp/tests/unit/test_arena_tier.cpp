// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/tier/arena_tier.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "support/process_counts.hpp"

namespace {

using namespace halocline::memory;
using halocline::test::process_memory;

constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;

std::uintptr_t address(const void* block) { return reinterpret_cast<std::uintptr_t>(block); }

TEST(ArenaTier, AlignsForVectorsDirectTransfersAndHugePages) {
  const auto arena = make_arena_tier(0);
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{100}, std::size_t{4095}, std::size_t{4096}, std::size_t{5000}, 128 * KiB,
        128 * KiB + 1, 2 * MiB - 1, 2 * MiB, 3 * MiB + 256 * KiB + 8}) {
    void* const block = arena->allocate(bytes);
    ASSERT_NE(block, nullptr) << bytes;
    const std::size_t alignment = bytes >= 2 * MiB ? 2 * MiB : bytes >= 4096 ? 4096 : 64;
    EXPECT_EQ(address(block) % alignment, 0U) << bytes;
    std::memset(block, 1, bytes);
    arena->free(block, bytes);
  }
  EXPECT_EQ(arena->cached_bytes(), 0U);
  EXPECT_EQ(arena->name(), "arena");
}

TEST(ArenaTier, HandsOutCachedBlocksOfTheSameRoundedSizeOrCutsLargerOnes) {
  const auto arena = make_arena_tier(MiB);
  void* const first = arena->allocate(300 * KiB - 5);
  arena->free(first, 300 * KiB - 5);
  EXPECT_EQ(arena->cached_bytes(), 300 * KiB);
  void* const larger = arena->allocate(304 * KiB);
  EXPECT_NE(larger, first);
  void* const much_smaller = arena->allocate(148 * KiB);
  EXPECT_NE(much_smaller, first);
  void* const same = arena->allocate(300 * KiB);
  EXPECT_EQ(same, first);
  EXPECT_EQ(arena->cached_bytes(), 0U);
  arena->free(same, 300 * KiB);
  const std::size_t mapped = process_memory().mapped;
  void* const cut = arena->allocate(200 * KiB);
  EXPECT_EQ(cut, first);
  EXPECT_EQ(arena->cached_bytes(), 0U);
  EXPECT_EQ(process_memory().mapped, mapped - 100 * KiB);
  arena->free(cut, 200 * KiB);
  EXPECT_EQ(arena->cached_bytes(), 200 * KiB);
  arena->free(larger, 304 * KiB);
  arena->free(much_smaller, 148 * KiB);
}

TEST(ArenaTier, GivesBackTheSizeThatWasNotUsedForLongest) {
  const auto arena = make_arena_tier(900 * KiB);
  const auto recycle = [&](std::size_t bytes) { arena->free(arena->allocate(bytes), bytes); };
  recycle(600 * KiB);
  recycle(256 * KiB);
  recycle(600 * KiB);  // now 256 KiB is the older one
  recycle(121 * KiB);
  EXPECT_EQ(arena->cached_bytes(), 856 * KiB) << "less than 128 KiB are not kept";
  void* const third = arena->allocate(512 * KiB);  // of the larger one
  EXPECT_EQ(arena->cached_bytes(), 256 * KiB);
  recycle(600 * KiB);
  recycle(600 * KiB);
  arena->free(third, 512 * KiB);  // 1368 KiB in all: 256 KiB and the 600 KiB must go
  EXPECT_EQ(arena->cached_bytes(), 512 * KiB);
  arena->trim_to(500 * KiB);
  EXPECT_EQ(arena->cached_bytes(), 0U);
  recycle(2 * MiB);
  EXPECT_EQ(arena->cached_bytes(), 0U) << "larger than all that may be kept";
}

TEST(ArenaTier, FreedBytesLeaveTheProcess) {
  const auto arena = make_arena_tier(8 * MiB);
  const std::size_t bytes = 3 * MiB + 256 * KiB;
  const auto before = process_memory();
  std::vector<void*> blocks;
  for (int i = 0; i < 20; ++i) {
    blocks.push_back(arena->allocate(bytes));
    std::memset(blocks.back(), 1, bytes);
  }
  const std::size_t slack = 2 * MiB;  // of the test's own allocations
  const auto full = process_memory();
  EXPECT_GE(full.resident, before.resident + 20 * bytes - slack);
  EXPECT_LE(full.resident, before.resident + 20 * bytes + slack);
  for (void* each : blocks) arena->free(each, bytes);
  EXPECT_EQ(arena->cached_bytes(), 2 * bytes);
  EXPECT_LE(process_memory().resident, before.resident + 2 * bytes + slack);
  arena->trim();
  EXPECT_LE(process_memory().resident, before.resident + slack);
  EXPECT_LE(process_memory().mapped, before.mapped + slack);
}

TEST(ArenaTier, MoreThanTheMachineHasIsRefused) {
  const auto arena = make_arena_tier(0);
  EXPECT_EQ(arena->allocate(std::size_t{1} << 62), nullptr);
  EXPECT_EQ(arena->allocate(~std::size_t{0}), nullptr);
}

TEST(ArenaTier, RandomUseKeepsContentsAndLimits) {
  const std::size_t keep = 4 * MiB;
  const auto arena = make_arena_tier(keep);
  struct block {
    std::byte* data;
    std::size_t bytes;
    std::byte mark;
  };
  std::vector<block> live;
  std::mt19937 random(20);
  for (int step = 0; step < 2000; ++step) {
    if (live.empty() || (live.size() < 40 && random() % 2 == 0)) {
      const std::size_t bytes = 1 + (random() % 64) * (random() % 3 == 0 ? 40000 : 700);
      auto* const data = static_cast<std::byte*>(arena->allocate(bytes));
      ASSERT_NE(data, nullptr);
      const auto mark = static_cast<std::byte>(step);
      data[0] = data[bytes / 2] = data[bytes - 1] = mark;
      live.push_back({data, bytes, mark});
    } else {
      std::swap(live[random() % live.size()], live.back());
      const block gone = live.back();
      live.pop_back();
      ASSERT_EQ(gone.data[0], gone.mark);
      ASSERT_EQ(gone.data[gone.bytes / 2], gone.mark);
      ASSERT_EQ(gone.data[gone.bytes - 1], gone.mark);
      arena->free(gone.data, gone.bytes);
    }
    if (step % 100 == 99) arena->trim_to(random() % keep);
    ASSERT_LE(arena->cached_bytes(), keep);
  }
  for (const block& each : live) arena->free(each.data, each.bytes);
}

TEST(HostTier, TrimsToALimit) {
  const auto host = make_host_tier(MiB);
  void* const large = host->allocate(600 * KiB);
  void* const small = host->allocate(100 * KiB);
  host->free(large, 600 * KiB);
  host->free(small, 100 * KiB);
  host->trim_to(700 * KiB);
  EXPECT_EQ(host->cached_bytes(), 700 * KiB);
  host->trim_to(650 * KiB);
  EXPECT_EQ(host->cached_bytes(), 100 * KiB);
  host->trim();
  EXPECT_EQ(host->cached_bytes(), 0U);
}

}  // namespace
