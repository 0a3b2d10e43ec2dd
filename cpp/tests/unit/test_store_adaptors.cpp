// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "halocline/core/error.hpp"
#include "halocline/memory/tier/file_store.hpp"
#include "halocline/memory/tier/memory_store.hpp"
#include "support/faulty_store.hpp"
#include "support/message_of.hpp"
#include "support/page_frame.hpp"
#include "support/throttled_store.hpp"

namespace {

using namespace halocline;
using namespace halocline::memory;
using namespace std::chrono_literals;
using halocline::test::fault_script;
using halocline::test::fault_window;
using halocline::test::faulty_store;
using halocline::test::make_throttled_store;
using halocline::test::message_of;
using halocline::test::page_frame;
using std::chrono::steady_clock;
using testing::HasSubstr;

constexpr std::size_t page = 4096;

void write_now(store& place, slot_id slot, const page_frame& frame) {
  place.wait(place.write(slot, frame.data(), frame.size()));
}
void read_now(store& place, slot_id slot, const page_frame& frame) {
  place.wait(place.read(slot, frame.data(), frame.size()));
}

TEST(FaultWindow, CountsFromOne) {
  EXPECT_FALSE((fault_window{}.contains(1)));
  EXPECT_TRUE((fault_window{3, 2}.contains(4)));
  EXPECT_FALSE((fault_window{3, 2}.contains(2)));
  EXPECT_FALSE((fault_window{3, 2}.contains(5)));
  EXPECT_TRUE((fault_window{1, ~std::uint64_t{0}}.contains(1000000)));
}

TEST(FaultyStore, WithoutFaultsItIsTheInnerStore) {
  faulty_store place(make_file_store(), {});
  EXPECT_EQ(place.name(), "file");
  const slot_id slot = place.allocate(4 * page);
  write_now(place, slot, page_frame(4 * page, 1));
  const page_frame back(4 * page);
  const transfer_id transfer = place.read(slot, back.data(), back.size());
  while (!place.poll(transfer)) std::this_thread::yield();
  place.wait(transfer);
  EXPECT_TRUE(back.holds(1));
  EXPECT_THROW(place.wait(transfer), invalid_argument);
  place.free(slot);
  EXPECT_EQ(place.statistics().slots, 0U);
  EXPECT_EQ(place.counts().reads, 1U);
  EXPECT_EQ(place.counts().writes, 1U);
  EXPECT_EQ(place.counts().read_errors + place.counts().short_reads + place.counts().write_errors, 0U);
}

TEST(FaultyStore, DiskFullStrikesTheNamedCallAndChangesNothing) {
  fault_script script;
  script.disk_full = {2, 1};
  faulty_store place(make_memory_store(), script);
  (void)place.allocate(page);
  EXPECT_THAT(message_of<io_error>([&] { (void)place.allocate(page); }), HasSubstr("no room"));
  EXPECT_EQ(place.statistics().slots, 1U);
  (void)place.allocate(page);
  EXPECT_EQ(place.counts().allocations, 3U);
  EXPECT_EQ(place.counts().disk_full, 1U);
}

TEST(FaultyStore, FailedReadsLeaveNoUsableFrame) {
  fault_script script;
  script.read_error = {1, 1};
  script.short_read = {2, 1};
  faulty_store place(make_memory_store(), script);
  const slot_id slot = place.allocate(8 * page);
  write_now(place, slot, page_frame(8 * page, 7));
  const page_frame back(8 * page);
  EXPECT_THAT(message_of<io_error>([&] { read_now(place, slot, back); }), HasSubstr("read error"));
  EXPECT_FALSE(back.holds(7));
  const std::string message = message_of<io_error>([&] { read_now(place, slot, back); });
  EXPECT_THAT(message, HasSubstr("short read after 16384 of 32768 bytes"));
  EXPECT_TRUE(back.holds(7, 4 * page));
  EXPECT_FALSE(back.holds(7));
  read_now(place, slot, back);
  EXPECT_TRUE(back.holds(7)) << "the third read is in order";
  EXPECT_EQ(place.counts().read_errors, 1U);
  EXPECT_EQ(place.counts().short_reads, 1U);
}

TEST(FaultyStore, FailedWritesTearTheSlot) {
  fault_script script;
  script.write_error = {2, 1};
  faulty_store place(make_memory_store(), script);
  const slot_id slot = place.allocate(8 * page);
  write_now(place, slot, page_frame(8 * page, 1));
  EXPECT_THROW(write_now(place, slot, page_frame(8 * page, 2)), io_error);
  const page_frame back(8 * page);
  read_now(place, slot, back);
  EXPECT_TRUE(back.holds(2, 4 * page));
  EXPECT_FALSE(back.holds(2) || back.holds(1));
  place.set_script({});
  write_now(place, slot, page_frame(8 * page, 3));
  EXPECT_EQ(place.counts().writes, 3U);
  EXPECT_EQ(place.counts().write_errors, 1U);
}

TEST(FaultyStore, AOnePageTransferFailsWithoutMovingAnything) {
  fault_script script;
  script.read_error = script.write_error = {1, 1};
  faulty_store place(make_memory_store(), script);
  const slot_id slot = place.allocate(page);
  const page_frame frame(page, 3);
  EXPECT_THROW(write_now(place, slot, frame), io_error);
  EXPECT_THROW(read_now(place, slot, frame), io_error);
  EXPECT_EQ(place.statistics().reads + place.statistics().writes, 0U);
}

TEST(ThrottledStore, DelaysEveryTransfer) {
  const auto place = make_throttled_store(make_memory_store(), 0, 5ms);
  const slot_id slot = place->allocate(page);
  const page_frame frame(page, 1);
  const auto begin = steady_clock::now();
  const transfer_id first = place->write(slot, frame.data(), page);
  const transfer_id second = place->write(slot, frame.data(), page);
  if (steady_clock::now() - begin < 5ms) {
    const bool early = place->poll(second);
    EXPECT_TRUE(!early || steady_clock::now() - begin >= 5ms);
  }
  place->wait(first);
  EXPECT_GE(steady_clock::now() - begin, 5ms);
  place->wait(second);  // latencies overlap: no upper limit is tested, clocks of busy machines jump
  EXPECT_GE(place->statistics().written_busy_ns, 5'000'000U);
  EXPECT_THAT(place->describe(), HasSubstr("5000 us late"));
}

TEST(ThrottledStore, TransfersTakeTurnsOnTheLinkOfTheirDirection) {
  const auto place = make_throttled_store(make_memory_store(), 100 * page * 10);  // 10 pages: 10 ms
  const slot_id slot = place->allocate(10 * page);
  const page_frame frame(10 * page, 1), other(10 * page);
  const auto begin = steady_clock::now();
  const transfer_id one = place->write(slot, frame.data(), frame.size());
  const transfer_id two = place->write(slot, frame.data(), frame.size());
  const transfer_id back = place->read(slot, other.data(), other.size());
  place->wait(back);
  EXPECT_GE(steady_clock::now() - begin, 10ms);
  place->wait(two);
  EXPECT_GE(steady_clock::now() - begin, 20ms);
  place->wait(one);
  const store_stats now = place->statistics();
  EXPECT_GE(now.written_busy_ns, 20'000'000U);
  EXPECT_GE(now.read_busy_ns, 10'000'000U);
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(place->statistics().written_busy_ns, now.written_busy_ns) << "an idle link is not busy";
}

}  // namespace
