// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/sim/page_faults.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "halocline/core/error.hpp"

namespace halocline::test {
namespace {

using memory::advice;
using memory::sim::fault_work;
using memory::sim::managed_range;
using memory::sim::unified_memory;

// Blocks of 100 bytes, pages of 10, batches of 16 faults.
unified_memory make(std::uint64_t capacity) { return unified_memory(capacity, 100, 10, 16); }

fault_work touch(unified_memory& memory, std::uint64_t object, std::uint64_t begin, std::uint64_t end,
                 bool writes = false) {
  const std::vector<managed_range> ranges{{object, begin, end, writes}};
  return memory.touch(ranges);
}

TEST(PageFaults, MigrateWholeBlocksOnce) {
  unified_memory memory = make(1000);
  memory.add(1, 250, advice::none, true);
  const fault_work first = touch(memory, 1, 120, 130);
  EXPECT_EQ(first.migrated_bytes, 100U);
  EXPECT_EQ(first.faults, 10U);
  EXPECT_EQ(first.batches, 1U);
  const fault_work rest = touch(memory, 1, 0, 250);
  EXPECT_EQ(rest.migrated_bytes, 150U);  // the last block has five pages
  EXPECT_EQ(rest.faults, 15U);
  EXPECT_EQ(touch(memory, 1, 0, 250), fault_work{});
  EXPECT_EQ(memory.resident_bytes(), 250U);
}

TEST(PageFaults, FirstTouchPopulates) {
  unified_memory memory = make(1000);
  memory.add(1, 195, advice::none, false);
  const fault_work work = touch(memory, 1, 0, 195, true);
  EXPECT_EQ(work.populated_bytes, 200U);
  EXPECT_EQ(work.migrated_bytes, 0U);
  EXPECT_EQ(work.batches, 2U);  // 20 faults
}

TEST(PageFaults, OldestMigrationLeavesAndHitsDoNotCount) {
  unified_memory memory = make(300);
  for (std::uint64_t object = 1; object <= 4; ++object) memory.add(object, 100, advice::none, true);
  for (std::uint64_t object = 1; object <= 3; ++object) (void)touch(memory, object, 0, 100);
  EXPECT_EQ(touch(memory, 1, 0, 100), fault_work{});  // a hit, which the driver does not see
  const fault_work fourth = touch(memory, 4, 0, 100);
  EXPECT_EQ(fourth.evicted_bytes, 100U);
  EXPECT_EQ(touch(memory, 2, 0, 100), fault_work{});
  EXPECT_EQ(touch(memory, 1, 0, 100).migrated_bytes, 100U);  // 1 had left
}

TEST(PageFaults, ReadMostlyIsDroppedUntilItIsWritten) {
  unified_memory memory = make(100);
  memory.add(1, 100, advice::read_mostly, true);
  memory.add(2, 100, advice::read_mostly, true);
  (void)touch(memory, 1, 0, 100);
  const fault_work dropped = touch(memory, 2, 0, 100);
  EXPECT_EQ(dropped.dropped_bytes, 100U);
  EXPECT_EQ(dropped.evicted_bytes, 0U);
  EXPECT_EQ(touch(memory, 2, 0, 100, true).faults, 1U);  // the host's copy is given up
  EXPECT_EQ(touch(memory, 1, 0, 100).evicted_bytes, 100U);
}

TEST(PageFaults, PreferredObjectsLeaveLast) {
  unified_memory memory = make(200);
  memory.add(1, 100, advice::preferred_device, true);
  memory.add(2, 100, advice::none, true);
  memory.add(3, 100, advice::none, true);
  memory.add(4, 100, advice::preferred_device, true);
  EXPECT_EQ(memory.prefetch(1), 100U);
  (void)touch(memory, 2, 0, 100);
  (void)touch(memory, 3, 0, 100);
  EXPECT_EQ(touch(memory, 1, 0, 100), fault_work{});
  (void)touch(memory, 4, 0, 100);
  EXPECT_EQ(touch(memory, 2, 0, 100).evicted_bytes, 100U);  // only preferred ones are left: 1 goes
  EXPECT_EQ(touch(memory, 1, 0, 100).migrated_bytes, 100U);
}

TEST(PageFaults, OperandsOfAKernelEvictEachOther) {
  unified_memory memory = make(300);
  memory.add(1, 200, advice::none, true);
  memory.add(2, 200, advice::none, true);
  const std::vector<managed_range> both{{1, 0, 200, false}, {2, 0, 200, false}};
  const fault_work work = memory.touch(both);  // 1a 2a 1b 2b: the last one pushes 1a out
  EXPECT_EQ(work.migrated_bytes, 400U);
  EXPECT_EQ(work.evicted_bytes, 100U);
  EXPECT_EQ(memory.touch(both).migrated_bytes, 400U);  // and so on: every block has left before its turn
}

TEST(PageFaults, RangesThatOverlapAreOne) {
  const auto work_of = [](const std::vector<managed_range>& ranges) {
    unified_memory memory = make(300);
    memory.add(1, 1000, advice::none, true);
    memory.add(2, 300, advice::none, true);
    const fault_work work = memory.touch(ranges);
    EXPECT_EQ(memory.resident_bytes(), 300U);
    return work;
  };
  const fault_work whole = work_of({{1, 0, 1000, false}, {2, 0, 300, false}});
  EXPECT_EQ(whole.migrated_bytes, 1300U);
  EXPECT_EQ(work_of({{1, 300, 1000, false}, {2, 0, 300, false}, {1, 0, 301, false}}), whole);
  EXPECT_EQ(work_of({{1, 0, 1000, false}, {1, 10, 20, false}, {2, 0, 300, false}, {1, 500, 999, false}}),
            whole);
  // Ranges behind each other are touched at the same time: 1a 1f 1b 1g and so on, with the blocks of 2
  // between.
  EXPECT_EQ(work_of({{1, 0, 500, false}, {1, 500, 1000, false}, {2, 0, 300, false}}).migrated_bytes, 1300U);
}

TEST(PageFaults, ReadsAndWritesOfTheSameBytesStayApart) {
  const std::vector<managed_range> both{{1, 0, 100, false}, {1, 0, 100, true}};
  unified_memory memory = make(100);
  memory.add(1, 100, advice::read_mostly, true);
  const fault_work work = memory.touch(both);
  EXPECT_EQ(work.migrated_bytes, 100U);
  EXPECT_EQ(work.faults, 11U);  // ten pages, and the write that gives the host's copy up
}

TEST(PageFaults, VeryManyRangesThatOverlap) {
  constexpr std::uint64_t blocks = 100'000, rows = 200'000;
  unified_memory memory = make(100 * blocks);
  memory.add(1, 100 * blocks, advice::none, true);
  std::vector<managed_range> ranges;  // each goes to the end of the object
  for (std::uint64_t i = rows; i-- > 0;) ranges.push_back({1, 50 * i, 100 * blocks, false});
  const fault_work work = memory.touch(ranges);
  EXPECT_EQ(work.migrated_bytes, 100 * blocks);
  EXPECT_EQ(work.faults, 10 * blocks);
  EXPECT_EQ(memory.touch(ranges), fault_work{});
}

TEST(PageFaults, WithoutRoomKernelsReadTheHost) {
  unified_memory memory = make(50);
  memory.add(1, 100, advice::none, true);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(touch(memory, 1, 0, 100).remote_bytes, 100U);
  EXPECT_EQ(memory.resident_bytes(), 0U);
}

TEST(PageFaults, ShrinkingAndRemovingMakeRoom) {
  unified_memory memory = make(300);
  memory.add(1, 300, advice::none, false);
  (void)touch(memory, 1, 0, 300, true);
  EXPECT_EQ(memory.set_capacity(150).evicted_bytes, 200U);
  EXPECT_EQ(memory.resident_bytes(), 100U);
  memory.remove(1);
  EXPECT_EQ(memory.resident_bytes(), 0U);
  EXPECT_EQ(memory.live_bytes(), 0U);
}

TEST(PageFaults, ChecksItsArguments) {
  unified_memory memory = make(300);
  memory.add(1, 10, advice::none, false);
  EXPECT_THROW(memory.add(1, 10, advice::none, false), invalid_argument);
  EXPECT_THROW(memory.remove(2), invalid_argument);
  EXPECT_THROW((void)touch(memory, 2, 0, 1), invalid_argument);
  EXPECT_THROW(unified_memory(100, 10, 20, 1), invalid_argument);
}

TEST(PageFaults, ServiceTimeAddsUp) {
  memory::sim::device_model device;
  device.load_bytes_per_s = 1e9;
  device.store_bytes_per_s = 2e9;
  device.remote_bytes_per_s = 0.5e9;
  device.fault_batch_us = 7;
  device.migrate_us_per_mib = 100;
  device.populate_us_per_mib = 50;
  device.evict_us_per_mib = 10;
  constexpr std::uint64_t mib = 1 << 20;
  const double copy_us = static_cast<double>(mib) / 1e3;  // at 1 GB/s
  fault_work work;
  work.batches = 2;
  work.migrated_bytes = mib;
  EXPECT_DOUBLE_EQ(memory::sim::service_us(work, device), 14 + 100 + copy_us);
  work = {};
  work.populated_bytes = 2 * mib;
  EXPECT_DOUBLE_EQ(memory::sim::service_us(work, device), 100);
  work = {};
  work.evicted_bytes = mib;
  work.dropped_bytes = mib;
  EXPECT_DOUBLE_EQ(memory::sim::service_us(work, device), 10 + copy_us / 2);
  work = {};
  work.remote_bytes = mib;
  EXPECT_DOUBLE_EQ(memory::sim::service_us(work, device), 2 * copy_us);
}

}  // namespace
}  // namespace halocline::test
