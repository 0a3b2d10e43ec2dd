// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/tier/file_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/memory/tier/link_speed.hpp"
#include "halocline/memory/tier/memory_store.hpp"
#include "memory/tier/extent_list.hpp"
#include "support/faulty_store.hpp"
#include "support/file_size_limit.hpp"
#include "support/message_of.hpp"
#include "support/page_frame.hpp"
#include "support/process_counts.hpp"
#include "support/temporary_folder.hpp"
#include "support/throttled_store.hpp"

namespace {

using namespace halocline;
using namespace halocline::memory;
using halocline::test::fault_script;
using halocline::test::faulty_store;
using halocline::test::make_throttled_store;
using halocline::test::message_of;
using halocline::test::page_frame;
using testing::HasSubstr;

constexpr std::size_t page = 4096, MiB = std::size_t{1} << 20;

void write_now(store& place, slot_id slot, const page_frame& frame) {
  place.wait(place.write(slot, frame.data(), frame.size()));
}
void read_now(store& place, slot_id slot, const page_frame& frame) {
  place.wait(place.read(slot, frame.data(), frame.size()));
}

enum class kind { io_uring, threads, buffered, memory };

/// What every store must do, with each engine of the file store and without direct I/O.
class Store : public testing::TestWithParam<kind> {
 protected:
  void SetUp() override {
    if (GetParam() == kind::io_uring && !has_io_uring()) GTEST_SKIP() << "no io_uring on this machine";
  }
  [[nodiscard]] file_store_options options() const {
    file_store_options result;
    result.folder = folder_.path();
    result.engine = GetParam() == kind::io_uring ? io_engine::io_uring : io_engine::threads;
    result.direct = GetParam() != kind::buffered;
    result.chunk_bytes = 16 * page;
    return result;
  }
  [[nodiscard]] std::unique_ptr<store> make(std::size_t capacity = 0) const {
    if (GetParam() == kind::memory) return make_memory_store(capacity);
    file_store_options chosen = options();
    chosen.capacity_bytes = capacity;
    return make_file_store(chosen);
  }

  test::temporary_folder folder_;
};

std::string name_of(const testing::TestParamInfo<kind>& each) {
  return std::vector<std::string>{"IoUring", "Threads", "Buffered",
                                  "Memory"}[static_cast<std::size_t>(each.param)];
}

INSTANTIATE_TEST_SUITE_P(Kinds, Store,
                         testing::Values(kind::io_uring, kind::threads, kind::buffered, kind::memory),
                         name_of);

TEST_P(Store, ManySlotsKeepTheirBytesWhateverTheOrder) {
  const auto place = make();
  const std::size_t count = 100, bytes = 33 * page;
  std::vector<page_frame> frames;
  std::vector<slot_id> slots;
  std::vector<transfer_id> transfers;
  for (std::size_t i = 0; i < count; ++i) {
    frames.emplace_back(bytes, i);
    slots.push_back(place->allocate(bytes));
    transfers.push_back(place->write(slots[i], frames[i].data(), bytes));
  }
  for (std::size_t i = count; i-- > 0;) place->wait(transfers[i]);
  for (std::size_t i = 0; i < count; ++i) {
    transfers[i] = place->read(slots[(i * 7) % count], frames[i].data(), bytes);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t which = (i * 31) % count;
    place->wait(transfers[which]);
    EXPECT_TRUE(frames[which].holds((which * 7) % count)) << which;
  }
  const store_stats now = place->statistics();
  EXPECT_EQ(now.reads, count);
  EXPECT_EQ(now.writes, count);
  EXPECT_EQ(now.read_bytes, count * bytes);
  EXPECT_EQ(now.written_bytes, count * bytes);
  EXPECT_EQ(now.slots, count);
  EXPECT_EQ(now.slot_bytes, count * bytes);
  EXPECT_GT(now.read_busy_ns, 0U);
  EXPECT_GT(now.written_busy_ns, 0U);
}

TEST_P(Store, PrefixesAreReadAndWritten) {
  const auto place = make();
  const slot_id slot = place->allocate(40 * page);
  write_now(*place, slot, page_frame(40 * page, 1));
  write_now(*place, slot, page_frame(10 * page, 2));
  const page_frame whole(40 * page), prefix(17 * page);
  read_now(*place, slot, prefix);
  EXPECT_TRUE(prefix.holds(2, 10 * page));
  EXPECT_FALSE(prefix.holds(2));
  read_now(*place, slot, whole);
  const page_frame expected(40 * page, 1);
  EXPECT_TRUE(std::equal(whole.data() + 10 * page, whole.data() + 40 * page, expected.data() + 10 * page));
}

TEST_P(Store, PollNeverBlocksAndSeesTheEnd) {
  const auto place = make();
  const page_frame frame(64 * page, 9);
  const transfer_id transfer = place->write(place->allocate(frame.size()), frame.data(), frame.size());
  while (!place->poll(transfer)) std::this_thread::yield();
  EXPECT_TRUE(place->poll(transfer));
  place->wait(transfer);
}

TEST_P(Store, WrongArgumentsAreRefusedAndChangeNothing) {
  const auto place = make();
  const page_frame frame(4 * page, 0);
  const slot_id slot = place->allocate(2 * page);
  EXPECT_THROW((void)place->allocate(0), invalid_argument);
  EXPECT_THROW((void)place->allocate(page + 1), invalid_argument);
  EXPECT_THROW((void)place->read(slot + 1, frame.data(), page), invalid_argument);
  EXPECT_THROW((void)place->read(slot, frame.data(), 3 * page), invalid_argument);
  EXPECT_THROW((void)place->read(slot, frame.data(), 0), invalid_argument);
  EXPECT_THROW((void)place->write(slot, frame.data(), 100), invalid_argument);
  EXPECT_THROW((void)place->write(slot, frame.data() + 64, page), invalid_argument);
  EXPECT_THROW(place->wait(17), invalid_argument);
  place->free(slot);
  EXPECT_THROW((void)place->read(slot, frame.data(), page), invalid_argument);
  EXPECT_EQ(place->statistics().slots, 0U);
  EXPECT_EQ(place->statistics().reads, 0U);
}

TEST_P(Store, CapacityIsALimitThatFreeingLifts) {
  const auto place = make(10 * page);
  const slot_id first = place->allocate(6 * page);
  (void)place->allocate(4 * page);
  const std::string message = message_of<io_error>([&] { (void)place->allocate(page); });
  EXPECT_THAT(message, testing::AllOf(HasSubstr("4096 bytes"), HasSubstr("Raise the limit")));
  EXPECT_EQ(place->statistics().slots, 2U);
  place->free(first);
  EXPECT_EQ(place->statistics().slot_bytes, 4 * page);
  const slot_id again = place->allocate(6 * page);
  write_now(*place, again, page_frame(6 * page, 3));
}

TEST_P(Store, DestructionWaitsForTransfersAndLeavesNothingBehind) {
  const page_frame frame(8 * MiB, 1);
  const auto use = [&] {
    const auto place = make();
    const slot_id slot = place->allocate(frame.size());
    (void)place->write(slot, frame.data(), frame.size());
    EXPECT_EQ(folder_.entries(), 0U) << "the file has no name from the begin";
  };
  use();
  const std::size_t descriptors = test::open_descriptors();
  const auto memory = test::process_memory();
  for (int round = 0; round < 5; ++round) use();
  EXPECT_EQ(test::open_descriptors(), descriptors);
  EXPECT_THAT(test::read_file("/proc/self/maps"), testing::Not(HasSubstr("[io_uring]")));
  // Threads leave heaps of their own behind, which the C library keeps for the next ones.
  if (GetParam() == kind::memory) {
    EXPECT_LE(test::process_memory().mapped, memory.mapped + 16 * MiB);
  }
}

TEST_P(Store, LinkSpeedIsMeasuredAndTheSlotFreed) {
  const auto place = make();
  const link_speed speed = measure_link(*place, 256 * page);
  EXPECT_GT(speed.read_bytes_per_second, 1e6);
  EXPECT_GT(speed.write_bytes_per_second, 1e6);
  EXPECT_GT(speed.read_latency_ns, 0U);
  EXPECT_GT(speed.write_latency_ns, 0U);
  EXPECT_EQ(place->statistics().slots, 0U);
  EXPECT_THROW((void)measure_link(*place, 100), invalid_argument);
  EXPECT_THROW((void)measure_link(*make(page), MiB), io_error);
}

TEST(LinkSpeed, SeesAThrottledLinkAndLeavesAfterAFailedTransfer) {
  const auto slow = make_throttled_store(make_memory_store(), 100'000'000, std::chrono::microseconds(300));
  const link_speed speed = measure_link(*slow, MiB);
  EXPECT_LT(speed.read_bytes_per_second, 100e6);
  EXPECT_GE(speed.read_latency_ns, 300'000U);
  fault_script broken;
  broken.read_error.first = 1;
  faulty_store faulty(make_memory_store(), broken);
  EXPECT_THROW((void)measure_link(faulty, MiB), io_error);
  EXPECT_EQ(faulty.statistics().slots, 0U);
}

class FileStore : public Store {};

INSTANTIATE_TEST_SUITE_P(Kinds, FileStore, testing::Values(kind::io_uring, kind::threads, kind::buffered),
                         name_of);

TEST_P(FileStore, FullDiskShowsWhenAllocating) {
  const auto place = make();
  const test::file_size_limit limit(20 * page);
  const slot_id first = place->allocate(12 * page);
  const std::string message = message_of<io_error>([&] { (void)place->allocate(12 * page); });
  EXPECT_THAT(message, testing::AllOf(HasSubstr(folder_.path().string()), HasSubstr("49152 bytes"),
                                      HasSubstr("File too large"), HasSubstr("Free space")));
  EXPECT_EQ(place->statistics().slots, 1U);
  const page_frame frame(12 * page, 5), back(12 * page);
  write_now(*place, first, frame);
  read_now(*place, first, back);
  EXPECT_TRUE(back.holds(5));
  place->free(first);
  (void)place->allocate(20 * page);
}

TEST_P(FileStore, FailedWritesShowInWaitAndOtherSlotsStayWhole) {
  const auto place = make();
  const page_frame frame(64 * page, 6), back(64 * page);
  const slot_id first = place->allocate(64 * page), second = place->allocate(64 * page);
  {
    const test::file_size_limit limit(96 * page);
    const transfer_id good = place->write(first, frame.data(), frame.size());
    const transfer_id bad = place->write(second, frame.data(), frame.size());
    EXPECT_THAT(message_of<io_error>([&] { place->wait(bad); }),
                testing::AllOf(HasSubstr("write of 262144 bytes"), HasSubstr("File too large")));
    place->wait(good);
  }
  read_now(*place, first, back);
  EXPECT_TRUE(back.holds(6));
  write_now(*place, second, frame);
}

TEST_P(FileStore, RoomIsUsedAgain) {
  const auto place = make(64 * page);
  std::vector<slot_id> slots;
  for (int i = 0; i < 16; ++i) slots.push_back(place->allocate(4 * page));
  for (int i = 0; i < 16; i += 2) place->free(slots[static_cast<std::size_t>(i)]);
  EXPECT_THAT(message_of<io_error>([&] { (void)place->allocate(8 * page); }), HasSubstr("parts of at most"));
  for (int i = 1; i < 16; i += 2) place->free(slots[static_cast<std::size_t>(i)]);
  (void)place->allocate(64 * page);
}

TEST_P(FileStore, DescribesItself) {
  const auto place = make();
  EXPECT_EQ(place->name(), "file");
  const std::string text = place->describe();
  EXPECT_THAT(text, HasSubstr(folder_.path().string()));
  EXPECT_THAT(text, HasSubstr(GetParam() == kind::io_uring ? "io_uring" : "threads"));
  EXPECT_TRUE(GetParam() != kind::buffered || text.find("direct") == std::string::npos) << text;
}

TEST_P(FileStore, TransfersGoOnWhenTheThreadThatStartedThemEnds) {
  const auto place = make();
  const page_frame frame(8 * MiB, 11), back(8 * MiB);
  const slot_id slot = place->allocate(frame.size());
  transfer_id transfer = 0;
  std::thread([&] { transfer = place->write(slot, frame.data(), frame.size()); }).join();
  place->wait(transfer);
  read_now(*place, slot, back);
  EXPECT_TRUE(back.holds(11));
}

TEST_P(FileStore, AForkedChildMayDestroyItOnly) {
  auto place = make();
  const page_frame frame(4 * MiB, 1);
  const slot_id slot = place->allocate(frame.size());
  const transfer_id transfer = place->write(slot, frame.data(), frame.size());
  const pid_t child = ::fork();
  if (child == 0) {
    bool refused = false;
    try {
      (void)place->read(slot, frame.data(), page);
    } catch (const io_error&) {
      refused = true;
    }
    place.reset();
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  place->wait(transfer);
}

TEST(FileStoreOptions, BadOnesAreRefused) {
  file_store_options options;
  options.folder = "/nonexistent/folder";
  EXPECT_THAT(message_of<io_error>([&] { (void)make_file_store(options); }),
              testing::AllOf(HasSubstr("/nonexistent/folder"), HasSubstr("HALOCLINE_TIER_DIR")));
  const test::temporary_folder folder;
  options.folder = folder.path();
  for (const std::size_t chunk : {std::size_t{0}, std::size_t{1000}}) {
    options.chunk_bytes = chunk;
    EXPECT_THROW((void)make_file_store(options), invalid_argument) << chunk;
  }
  options.chunk_bytes = page;
  options.queue_depth = 0;
  EXPECT_THROW((void)make_file_store(options), invalid_argument);
}

TEST(FileStoreOptions, TheFolderComesFromTheEnvironmentWhenNoneIsNamed) {
  const test::temporary_folder folder;
  ASSERT_EQ(::setenv("HALOCLINE_TIER_DIR", folder.path().c_str(), 1), 0);
  EXPECT_THAT(make_file_store()->describe(), HasSubstr(folder.path().string()));
  ASSERT_EQ(::unsetenv("HALOCLINE_TIER_DIR"), 0);
  EXPECT_THAT(make_file_store()->describe(), testing::Not(HasSubstr(folder.path().string())));
}

TEST(ExtentList, TakesTheBestFitAndJoinsNeighbours) {
  extent_list list;
  list.give(0, 100);
  list.give(200, 50);
  list.give(300, 60);
  EXPECT_EQ(list.take(55), 300U);
  EXPECT_EQ(list.take(50), 200U);
  EXPECT_EQ(list.take(101), std::nullopt);
  EXPECT_EQ(list.parts(), 2U);
  EXPECT_EQ(list.total(), 105U);
  list.give(200, 50);
  list.give(100, 100);  // joins [0, 100) and [200, 250)
  EXPECT_EQ(list.largest(), 250U);
  EXPECT_EQ(list.bytes_before(250), 250U);
  EXPECT_EQ(list.bytes_before(251), 0U);
  list.give(250, 105);  // and what is left of the part at 300
  EXPECT_EQ(list.parts(), 1U);
  EXPECT_EQ(list.largest(), 360U);
}

}  // namespace
