// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/tier/chain_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "halocline/core/error.hpp"
#include "halocline/memory/tier/file_store.hpp"
#include "halocline/memory/tier/memory_store.hpp"
#include "support/counted_contents.hpp"
#include "support/faulty_store.hpp"
#include "support/page_frame.hpp"

namespace halocline::memory {
namespace {

using test::counted_contents;
using test::page_frame;
using test::remote_log;
using ::testing::ElementsAre;

constexpr std::size_t page = 4096;
constexpr std::size_t size = 4 * page;

struct chain {
  explicit chain(std::size_t memory_bytes, std::shared_ptr<store> file, unsigned requests = 4)
      : place(make_chain_store({memory_bytes, std::move(file), requests})) {}

  /// A slot with remote contents.
  slot_id adopt(std::uint64_t content, std::size_t bytes = size) {
    contents.push_back(std::make_shared<counted_contents>(log, content, bytes));
    return place->adopt(contents.back(), (bytes + page - 1) / page * page);
  }
  /// Whether the first `bytes` bytes of a slot are what they should be.
  bool reads(slot_id slot, std::uint64_t content, std::size_t bytes = size) const {
    const page_frame frame(bytes);
    place->wait(place->read(slot, frame.data(), bytes));
    return frame.holds(content, bytes);
  }
  void write(slot_id slot, std::uint64_t content) const {
    const page_frame frame(size, content);
    place->wait(place->write(slot, frame.data(), size));
  }
  [[nodiscard]] std::vector<std::uint64_t> bytes_read() const {
    std::vector<std::uint64_t> list;
    for (const link_stats& each : place->links()) list.push_back(each.read_bytes);
    return list;
  }

  remote_log log;
  std::vector<std::shared_ptr<counted_contents>> contents;
  std::unique_ptr<store> place;
};

TEST(ChainStore, KeepsInTheFileWhatItHasReadFromAfar) {
  chain at(0, make_file_store());
  const slot_id slot = at.adopt(1);
  EXPECT_TRUE(at.place->is_renewable(slot));
  EXPECT_THAT(at.place->copies_of(slot), ElementsAre(0));
  EXPECT_TRUE(at.reads(slot, 1));
  EXPECT_THAT(at.place->copies_of(slot), ElementsAre(size));
  EXPECT_TRUE(at.reads(slot, 1));
  EXPECT_THAT(at.bytes_read(), ElementsAre(size, size)) << "the second read is the file's";
  EXPECT_EQ(at.log.bytes(), size);
  EXPECT_EQ(at.place->links().front().written_bytes, size);
  at.place->free(slot);
  EXPECT_EQ(at.place->statistics().slots, 0U);
  EXPECT_EQ(at.place->links().front().held_bytes, 0U);
}

TEST(ChainStore, ReadsAPrefixAndThenWhatIsMissing) {
  chain at(4 * size, nullptr);
  const slot_id slot = at.adopt(1);
  EXPECT_TRUE(at.reads(slot, 1, page));
  EXPECT_EQ(at.log.bytes(), page);
  EXPECT_THAT(at.place->copies_of(slot), ElementsAre(page));
  page_frame frame(size);
  at.place->wait(at.place->read(slot, frame.data(), page));
  at.place->wait(at.place->read_from(slot, page, frame.data() + page, size - page));
  EXPECT_TRUE(frame.holds(1));
  EXPECT_EQ(at.log.bytes(), size) << "every byte came once";
  EXPECT_THAT(at.place->copies_of(slot), ElementsAre(size));
}

/// Reads a page of a slot, then the rest of it into a full memory tier, where its first page is what has been
/// used least recently, and checks every byte.
void grow_in_full_memory(chain& at, bool from_file) {
  const slot_id slot = at.adopt(1);
  if (from_file) {  // all of it lies in the file, and nothing in memory
    ASSERT_TRUE(at.reads(slot, 1));
    ASSERT_TRUE(at.reads(at.adopt(2), 2) && at.reads(at.adopt(3), 3));
    ASSERT_EQ(at.place->copies_of(slot).front(), 0U);
  }
  page_frame frame(size);
  at.place->wait(at.place->read(slot, frame.data(), page));
  ASSERT_TRUE(at.reads(at.adopt(4), 4, size - page));  // memory is full
  at.place->wait(at.place->read_from(slot, page, frame.data() + page, size - page));
  EXPECT_TRUE(frame.holds(1));
  EXPECT_TRUE(at.reads(slot, 1)) << "what the read left behind";
  EXPECT_LE(at.place->links().front().held_bytes, size);
}

TEST(ChainStore, APrefixGrowsWhereMemoryIsFull) {
  for (const std::size_t room : {2 * page, size, 16 * size}) {
    SCOPED_TRACE(testing::Message() << "a file of " << room << " bytes");
    chain far(size, make_memory_store(room));
    grow_in_full_memory(far, false);
    if (room <= size) continue;
    chain near(size, make_memory_store(room));
    grow_in_full_memory(near, true);
  }
  chain without(size, nullptr);
  grow_in_full_memory(without, false);
}

/// Prefixes of many lengths of slots that do not fit together, in an order that a seed gives.
TEST(ChainStore, AnyOrderOfReadsGivesTheContents) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const std::size_t memory = (1 + random() % 6) * page, room = (1 + random() % 16) * page;
    chain at(memory, seed % 4 == 0 ? nullptr : make_memory_store(room));
    std::vector<slot_id> slots;
    std::vector<std::size_t> known(5);
    std::vector<page_frame> frames;
    for (std::uint64_t i = 0; i < 5; ++i) {
      slots.push_back(at.adopt(i));
      frames.emplace_back(size);
    }
    for (int step = 0; step < 60; ++step) {
      const std::size_t i = random() % 5, from = random() % 2 == 0 ? 0 : known[i];
      if (from == size) continue;
      const std::size_t bytes = page * (1 + random() % ((size - from) / page));
      at.place->wait(at.place->read_from(slots[i], from, frames[i].data() + from, bytes));
      known[i] = from + bytes;
      ASSERT_TRUE(frames[i].holds(i, known[i])) << "step " << step;
      ASSERT_LE(at.place->links().front().held_bytes, memory);
    }
  }
}

TEST(ChainStore, ASlotThatIsBeingReadIsNotWritten) {
  chain at(4 * size, nullptr);
  const slot_id slot = at.adopt(1);
  ASSERT_TRUE(at.reads(slot, 1));
  const page_frame frame(size), other(size, 2);
  const transfer_id reading = at.place->read(slot, frame.data(), size);
  EXPECT_THROW((void)at.place->write(slot, other.data(), size), invalid_argument);
  at.place->wait(reading);
  EXPECT_TRUE(frame.holds(1, size));
}

TEST(ChainStore, ContentsMayEndWithinAPage) {
  chain at(4 * size, nullptr);
  const slot_id slot = at.adopt(7, size - 100);
  page_frame frame(size);
  at.place->wait(at.place->read(slot, frame.data(), size));
  EXPECT_TRUE(frame.holds(7, size - 104));
  for (std::size_t i = size - 100; i < size; ++i) ASSERT_EQ(frame.data()[i], std::byte{0});
}

TEST(ChainStore, MemoryThatIsFullMovesTheLeastRecentlyUsedToTheFile) {
  chain at(2 * size, make_file_store());
  const slot_id a = at.adopt(1), b = at.adopt(2), c = at.adopt(3);
  EXPECT_TRUE(at.reads(a, 1) && at.reads(b, 2) && at.reads(a, 1));
  EXPECT_TRUE(at.reads(c, 3));  // b leaves
  EXPECT_THAT(at.place->copies_of(a), ElementsAre(size, 0));
  EXPECT_THAT(at.place->copies_of(b), ElementsAre(0, size));
  EXPECT_TRUE(at.reads(b, 2));  // from the file, and a leaves
  EXPECT_THAT(at.place->copies_of(b), ElementsAre(size, size));
  EXPECT_THAT(at.place->copies_of(a), ElementsAre(0, size));
  EXPECT_THAT(at.bytes_read(), ElementsAre(size, size, 3 * size));
  EXPECT_LE(at.place->links().front().held_bytes, 2 * size);
}

TEST(ChainStore, WithoutRoomItIsReadAgain) {
  chain at(size, nullptr);
  const slot_id a = at.adopt(1), b = at.adopt(2);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(at.reads(a, 1) && at.reads(b, 2));
  EXPECT_THAT(at.bytes_read(), ElementsAre(0, 6 * size));
  chain full(0, make_memory_store(size));
  const slot_id c = full.adopt(3), d = full.adopt(4);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(full.reads(c, 3) && full.reads(d, 4));
  EXPECT_EQ(full.log.bytes(), 6 * size) << "the file has room for one copy, which the other one replaces";
}

TEST(ChainStore, WhatIsOnlyHereGoesOnAndIsNeverDropped) {
  chain at(2 * size, make_memory_store(2 * size));
  std::vector<slot_id> slots;
  for (std::uint64_t i = 0; i < 4; ++i) {
    slots.push_back(at.place->allocate(size));
    at.write(slots.back(), i);
  }
  EXPECT_THROW((void)at.place->allocate(size), io_error);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(at.reads(slots[i], i));
  at.write(slots[0], 9);
  EXPECT_TRUE(at.reads(slots[0], 9) && at.reads(slots[3], 3));
  for (const slot_id each : slots) at.place->free(each);
  EXPECT_EQ(at.place->statistics().slot_bytes, 0U);
}

TEST(ChainStore, CopiesOfRemoteContentsMakeRoomForWhatIsOnlyHere) {
  chain at(0, make_memory_store(size));
  const slot_id remote = at.adopt(1);
  EXPECT_TRUE(at.reads(remote, 1));
  EXPECT_THAT(at.place->copies_of(remote), ElementsAre(size));
  EXPECT_TRUE(at.reads(remote, 1));
  const slot_id own = at.place->allocate(size);
  at.write(own, 2);
  EXPECT_THAT(at.place->copies_of(remote), ElementsAre(0));
  EXPECT_TRUE(at.reads(remote, 1) && at.reads(own, 2));
}

TEST(ChainStore, WritingEndsThatContentsAreRemote) {
  chain at(4 * size, nullptr);
  const slot_id slot = at.adopt(1);
  EXPECT_TRUE(at.reads(slot, 1));
  at.write(slot, 5);
  EXPECT_FALSE(at.place->is_renewable(slot));
  EXPECT_TRUE(at.reads(slot, 5));
  EXPECT_EQ(at.log.bytes(), size);
}

TEST(ChainStore, AFailedReadLeavesNoCopyAndMayBeTriedAgain) {
  chain at(4 * size, nullptr);
  const slot_id slot = at.adopt(1);
  page_frame frame(size);
  at.contents[0]->fault = [] { throw io_error("cut"); };
  EXPECT_THROW(at.place->wait(at.place->read(slot, frame.data(), size)), io_error);
  at.contents[0]->fault = [] { throw corrupt_data("forged"); };
  EXPECT_THROW(at.place->wait(at.place->read(slot, frame.data(), size)), corrupt_data);
  EXPECT_THAT(at.place->copies_of(slot), ElementsAre(0));
  EXPECT_EQ(at.place->links().front().held_bytes, 0U);
  at.contents[0]->fault = nullptr;
  EXPECT_TRUE(at.reads(slot, 1));
}

TEST(ChainStore, ADamagedCopyIsReadFromAfarAgain) {
  test::fault_script script;
  script.damaged_read = {1, 1};
  chain at(0, std::make_shared<test::faulty_store>(make_memory_store(), script));
  const slot_id slot = at.adopt(1);
  EXPECT_TRUE(at.reads(slot, 1));
  EXPECT_TRUE(at.reads(slot, 1)) << "the file's copy is damaged";
  EXPECT_EQ(at.log.bytes(), 2 * size);
}

TEST(ChainStore, RequestsInFlightAreLimited) {
  chain at(0, make_memory_store(), 2);
  std::vector<page_frame> frames;
  std::vector<transfer_id> reads;
  for (std::uint64_t i = 0; i < 5; ++i) frames.emplace_back(size);
  at.log.close_gate();
  for (std::uint64_t i = 0; i < 5; ++i) reads.push_back(at.place->read(at.adopt(i), frames[i].data(), size));
  at.log.await(2);
  EXPECT_FALSE(at.place->poll(reads[0]));
  at.log.open_gate();
  for (std::uint64_t i = 0; i < 5; ++i) {
    at.place->wait(reads[i]);
    EXPECT_TRUE(frames[i].holds(i));
  }
  EXPECT_EQ(at.log.most(), 2U);
  EXPECT_EQ(at.place->links().back().requests, 2U);
}

TEST(ChainStore, RefusesWhatMakesNoSense) {
  EXPECT_THROW((void)make_chain_store({0, nullptr, 4}), invalid_argument);
  EXPECT_THROW((void)make_chain_store({size, nullptr, 0}), invalid_argument);
  EXPECT_THROW((void)make_chain_store({size, nullptr, 65}), invalid_argument);
  chain at(size, nullptr);
  EXPECT_THROW((void)at.place->adopt(nullptr, size), invalid_argument);
  const auto contents = std::make_shared<counted_contents>(at.log, 1, size);
  EXPECT_THROW((void)at.place->adopt(contents, 2 * size), invalid_argument);
  EXPECT_THROW((void)make_memory_store()->adopt(contents, size), invalid_argument);
  EXPECT_THROW((void)at.place->copies_of(99), invalid_argument);
}

}  // namespace
}  // namespace halocline::memory
