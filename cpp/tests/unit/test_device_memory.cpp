// SPDX-License-Identifier: Apache-2.0
// Parts of a runtime on an accelerator, and what happens when something is full: on a fake card.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "halocline/core/error.hpp"
#include "halocline/memory/runtime.hpp"
#include "halocline/memory/tier/memory_store.hpp"
#include "memory/device/device_frames.hpp"
#include "memory/device/device_store.hpp"
#include "support/counted_contents.hpp"
#include "support/fake_card.hpp"
#include "support/message_of.hpp"
#include "support/page_frame.hpp"

namespace halocline::test {
namespace {

using memory::lane;
using memory::runtime;
using memory::runtime_options;

/// Lets frames move unless they are fixed.
class some_holder final : public memory::frame_holder {
 public:
  [[nodiscard]] bool may_move(std::byte* frame) noexcept override { return !fixed.contains(frame); }
  void moved(std::byte* from, std::byte* to) noexcept override { moves.emplace_back(from, to); }
  std::set<std::byte*> fixed;
  std::vector<std::pair<std::byte*, std::byte*>> moves;
};

struct arena {
  explicit arena(std::size_t budget)
      : frames(card, std::make_shared<memory::memory_budget>(budget), holder) {}
  std::byte* take(std::size_t pages, lane user = lane::load) { return frames.take(pages * page, user); }
  void give(std::byte* frame, std::size_t pages) { frames.give(frame, pages * page, {}); }
  std::shared_ptr<fake_card> card = std::make_shared<fake_card>(1, 100);
  some_holder holder;
  memory::device_frames frames;
};

TEST(DeviceFrames, AreTakenAndJoinedAgain) {
  arena at(8 * page);
  std::byte* const a = at.take(3);
  std::byte* const b = at.take(5);
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_EQ(at.take(1), nullptr);
  at.give(a, 3);
  at.give(b, 5);
  EXPECT_EQ(at.frames.used_bytes(), 0U);
  EXPECT_NE(at.take(8), nullptr);
  EXPECT_EQ(at.card->peak_bytes(), 8 * page);
}

TEST(DeviceFrames, MoveTogetherWhenFreeBytesLieApart) {
  arena at(8 * page);
  std::byte* const a = at.take(2);
  std::byte* const b = at.take(2);
  std::byte* const c = at.take(2);
  std::byte* const d = at.take(2);
  at.give(a, 2);
  at.give(c, 2);
  EXPECT_EQ(at.take(4), nullptr);
  at.card->enqueue(lane::compute, [=] { std::memset(b, 7, 2 * page); });
  EXPECT_TRUE(at.frames.compact(4 * page));
  // Moving b alone makes four pages free: a's and c's meet.
  ASSERT_EQ(at.holder.moves.size(), 1U);
  EXPECT_EQ(at.holder.moves[0], std::pair(b, a));
  EXPECT_EQ(at.take(4), a + 2 * page);
  at.card->finish();
  EXPECT_EQ(a[2 * page - 1], std::byte{7});
  (void)d;
}

TEST(DeviceFrames, FixedFramesStay) {
  arena at(8 * page);
  std::byte* const a = at.take(2);
  std::byte* const b = at.take(2);
  std::byte* const c = at.take(2);
  (void)at.take(2);
  at.give(a, 2);
  at.give(c, 2);
  at.holder.fixed.insert(b);
  EXPECT_FALSE(at.frames.compact(4 * page));
  EXPECT_TRUE(at.holder.moves.empty());
}

TEST(DeviceFrames, KeepsWhatIsLoadedAndWhatIsMadeApart) {
  arena at(12 * page);
  std::byte* const base = at.take(2);
  EXPECT_EQ(at.take(1, lane::compute), base + 11 * page);
  EXPECT_EQ(at.take(3, lane::compute), base + 8 * page);
  EXPECT_EQ(at.take(2), base + 2 * page);
  at.give(base, 2);
  EXPECT_EQ(at.take(1), base);                            // the lowest hole
  EXPECT_EQ(at.take(1, lane::compute), base + 7 * page);  // the high end of the highest
}

TEST(DeviceFrames, GrowShrinkAndTrim) {
  arena at(8 * page);
  std::byte* const a = at.take(2);
  EXPECT_EQ(at.frames.resize(a, 2 * page, 5 * page), a);
  EXPECT_EQ(at.frames.resize(a, 5 * page, 9 * page), nullptr);
  EXPECT_EQ(at.frames.resize(a, 5 * page, page), a);
  EXPECT_EQ(at.frames.used_bytes(), page);
  EXPECT_EQ(at.frames.trim_to(0), 7 * page);
  EXPECT_EQ(at.card->used_bytes(), page);
  at.give(a, 1);
  EXPECT_EQ(at.frames.trim_to(0), page);
  EXPECT_EQ(at.card->used_bytes(), 0U);
}

TEST(DeviceFrames, TheNextUserWaitsForCopiesOfTheOld) {
  arena at(2 * page);
  std::byte* const a = at.take(2);
  at.card->enqueue(lane::save, [] {});
  const memory::ticket saved = at.card->mark(lane::save);
  at.frames.give(a, 2 * page, {0, saved});
  EXPECT_EQ(at.take(2, lane::compute), a);
  at.card->wait(lane::compute, at.card->mark(lane::compute));
  EXPECT_TRUE(at.card->passed(lane::save, saved));
}

TEST(DeviceStore, SlotsSinkAndComeBack) {
  const auto card = std::make_shared<fake_card>(2, 50);
  const auto below = std::shared_ptr<memory::store>(memory::make_memory_store());
  memory::device_store store(card, {4 * page, 4 * page, below});
  std::vector<std::byte> frame(page), seen(page);
  std::vector<memory::slot_id> slots;
  for (int i = 0; i < 10; ++i) {
    slots.push_back(store.allocate(page));
    card->finish();
    std::fill(frame.begin(), frame.end(), static_cast<std::byte>(i));
    store.wait(store.write(slots.back(), frame.data(), page));
    card->finish();
  }
  EXPECT_GE(below->statistics().slots, 6U);
  for (int i = 0; i < 10; ++i) {
    store.wait(store.read(slots[static_cast<std::size_t>(i)], seen.data(), page));
    card->finish();
    EXPECT_EQ(seen[0], static_cast<std::byte>(i));
    EXPECT_EQ(seen[page - 1], static_cast<std::byte>(i));
  }
  for (const memory::slot_id each : slots) store.free(each);
  store.trim();
  EXPECT_EQ(store.statistics().slots, 0U);
  EXPECT_EQ(below->statistics().slots, 0U);
}

TEST(DeviceStore, ReadsOfAGroupShareTheirMarks) {
  const auto card = std::make_shared<fake_card>(2, 100);
  memory::device_store store(card, {16 * page, 16 * page, nullptr});
  std::vector<std::vector<std::byte>> frames(6, std::vector<std::byte>(page));
  std::vector<memory::slot_id> slots;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    slots.push_back(store.allocate(page));
    std::fill(frames[i].begin(), frames[i].end(), static_cast<std::byte>(i));
    store.wait(store.write(slots[i], frames[i].data(), page));
  }
  std::vector<memory::transfer_id> reads;
  const auto spoil = [&](std::size_t i) {
    card->enqueue(lane::compute, [&, i] { std::fill(frames[i].begin(), frames[i].end(), std::byte{99}); });
  };
  for (std::size_t i = 0; i < 4; ++i) spoil(i);
  const std::size_t before = card->marks();
  store.begin_reads();
  for (std::size_t i = 0; i < 4; ++i) reads.push_back(store.read(slots[i], frames[i].data(), page));
  EXPECT_EQ(card->marks(), before + 1);  // of the compute lane
  spoil(4), spoil(5);
  store.compute_went_on();
  for (std::size_t i = 4; i < 6; ++i) reads.push_back(store.read(slots[i], frames[i].data(), page));
  store.end_reads();
  EXPECT_EQ(card->marks(), before + 3);  // and of the load lane
  for (const memory::transfer_id each : reads) store.wait(each);
  EXPECT_EQ(card->marks(), before + 3);
  card->wait(lane::compute, card->mark(lane::compute));
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(frames[i][page - 1], static_cast<std::byte>(i));
  for (const memory::slot_id each : slots) store.free(each);
}

TEST(DeviceStore, WithoutASecondStoreAFullOneSaysSo) {
  const auto card = std::make_shared<fake_card>(2, 50);
  memory::device_store store(card, {2 * page, 2 * page, nullptr});
  const memory::slot_id a = store.allocate(2 * page);
  EXPECT_THROW((void)store.allocate(page), io_error);
  store.free(a);
  store.free(store.allocate(page));
}

struct remote_store {
  explicit remote_store(std::size_t pinned, bool sinks = false, unsigned laziness = 50)
      : card(std::make_shared<fake_card>(7, laziness)) {
    below = memory::make_memory_store();
    memory::device_store_options options;
    options.pinned_bytes = options.slab_bytes = pinned;
    options.overflow = below;
    options.requests = 4;
    options.sinks_remote = sinks;
    store = std::make_unique<memory::device_store>(card, options);
  }
  memory::slot_id adopt(std::uint64_t content, std::size_t pages) {
    contents.push_back(std::make_shared<counted_contents>(log, content, pages * page));
    return store->adopt(contents.back(), pages * page);
  }
  void expect(memory::slot_id slot, std::uint64_t content, std::size_t pages) {
    const page_frame frame(pages * page);
    store->wait(store->read(slot, frame.data(), pages * page));
    card->finish();
    EXPECT_TRUE(frame.holds(content, pages * page)) << "content " << content;
  }

  remote_log log;
  std::shared_ptr<fake_card> card;
  std::shared_ptr<memory::store> below;
  std::unique_ptr<memory::device_store> store;
  std::vector<std::shared_ptr<counted_contents>> contents;
};

TEST(DeviceStore, KeepsRemoteContentsInPinnedMemory) {
  remote_store at(16 * page);
  const memory::slot_id slot = at.adopt(1, 4);
  EXPECT_TRUE(at.store->adopts() && at.store->is_renewable(slot));
  EXPECT_THAT(at.store->copies_of(slot), testing::ElementsAre(0, 0));
  at.expect(slot, 1, 2);
  EXPECT_THAT(at.store->copies_of(slot), testing::ElementsAre(2 * page, 0));
  at.expect(slot, 1, 4);  // a longer prefix comes as a whole
  EXPECT_EQ(at.log.bytes(), 6 * page);
  at.expect(slot, 1, 3);
  EXPECT_EQ(at.log.bytes(), 6 * page);
  const auto links = at.store->links();
  ASSERT_EQ(links.size(), 3U);
  EXPECT_EQ(links[0].name, "pinned");
  EXPECT_EQ(links[0].read_bytes, 3 * page);
  EXPECT_EQ(links[0].held_bytes, 4 * page);
  EXPECT_EQ(links[2].read_bytes, 6 * page);
  at.store->forget_copies(slot);
  EXPECT_THAT(at.store->copies_of(slot), testing::ElementsAre(0, 0));
  at.expect(slot, 1, 4);
  EXPECT_EQ(at.log.bytes(), 10 * page);
  at.store->free(slot);
}

TEST(DeviceStore, SeveralReadsWaitForOneArrivalAndOnlyThoseThatNeedIt) {
  remote_store at(64 * page);
  const memory::slot_id slot = at.adopt(1, 4), other = at.adopt(2, 1);
  at.log.close_gate();
  at.store->fetch(slot, 4 * page);
  at.log.await(1);
  const page_frame a(4 * page), b(2 * page);
  const auto first = at.store->read(slot, a.data(), 4 * page);
  const auto second = at.store->read(slot, b.data(), 2 * page);
  EXPECT_FALSE(at.store->poll(first));
  const auto gone = at.store->read(other, b.data(), page);
  (void)at.store->detach(gone);
  at.log.open_gate();
  at.store->wait(second);
  at.store->wait(first);
  at.card->finish();
  EXPECT_TRUE(a.holds(1, 4 * page) && b.holds(1, 2 * page)) << "and a detached read writes nothing";
  at.expect(other, 2, 1);
  EXPECT_EQ(at.log.bytes(), 5 * page) << "every byte was read once";
}

TEST(DeviceStore, RemoteContentsUsedLongestAgoLeaveForOthers) {
  for (const bool sinks : {false, true}) {
    remote_store at(4 * page, sinks);
    const memory::slot_id a = at.adopt(1, 2), b = at.adopt(2, 2), c = at.adopt(3, 2);
    at.expect(a, 1, 2);
    at.expect(b, 2, 2);
    at.expect(a, 1, 2);
    at.expect(c, 3, 2);  // b was used longest ago
    EXPECT_THAT(at.store->copies_of(b), testing::ElementsAre(0, sinks ? 2 * page : 0));
    EXPECT_THAT(at.store->copies_of(a), testing::ElementsAre(2 * page, 0));
    at.expect(b, 2, 2);
    EXPECT_EQ(at.log.bytes(), (sinks ? 6 : 8) * page);
    // What is written needs the room too.
    const memory::slot_id made = at.store->allocate(2 * page);
    at.expect(a, 1, 2);
    at.store->free(made);
  }
}

TEST(DeviceStore, SlotsMayBeFreedWhileTheirContentsArrive) {
  remote_store at(64 * page, false, 100);
  at.log.close_gate();
  std::vector<memory::slot_id> slots;
  for (std::uint64_t i = 0; i < 8; ++i) {
    slots.push_back(at.adopt(i, 4));
    at.store->fetch(slots.back(), 4 * page);
  }
  at.log.await(4);
  for (std::size_t i = 0; i < 4; ++i) at.store->free(slots[i]);
  at.log.open_gate();
  for (std::size_t i = 4; i < 8; ++i) at.expect(slots[i], i, 4);
  at.store->trim();
  EXPECT_EQ(at.store->links()[0].held_bytes, 16 * page);
}

TEST(DeviceStore, ErrorsOfArrivalsAreThoseOfTheReadsThatWait) {
  remote_store at(64 * page);
  const memory::slot_id slot = at.adopt(1, 4);
  at.contents[0]->fault = [] { throw io_error("cut"); };
  const page_frame frame(4 * page);
  const auto read = at.store->read(slot, frame.data(), 4 * page);
  EXPECT_THROW(at.store->wait(read), io_error);
  EXPECT_EQ(at.store->links()[0].held_bytes, 0U);
  at.contents[0]->fault = nullptr;
  at.expect(slot, 1, 4);
  EXPECT_THROW((void)at.store->adopt(nullptr, page), invalid_argument);
  EXPECT_THROW((void)at.store->adopt(at.contents[0], 8 * page), invalid_argument);
}

runtime_options on_card(const std::shared_ptr<fake_card>& card, const char* policy) {
  runtime_options options;
  options.policy = policy;
  options.device = card;
  options.pinned_bytes = std::size_t{16} << 20;
  options.slow = memory::make_memory_store();
  return options;
}

void write_fresh(runtime& at, std::size_t bytes) {
  const auto data = at.allocate(bytes, memory::object_class::ciphertext, "ciphertext");
  const memory::operand all{&data, 0, bytes};
  (void)at.acquire({}, {&all, 1}, "write");
}

TEST(DeviceRuntime, WhatTheCardCannotGiveIsRefusedAndTheNextWorks) {
  for (const char* const policy : {"resident", "async", "cached", "lru", "planned", "managed", "static"}) {
    SCOPED_TRACE(policy);
    const auto card = std::make_shared<fake_card>(3, 50);
    const auto at = runtime::create(on_card(card, policy));
    write_fresh(*at, page);
    EXPECT_THROW(write_fresh(*at, 2 * fake_card::card_bytes), out_of_memory);
    write_fresh(*at, page);
    EXPECT_EQ(at->statistics().live_bytes, 0U);
  }
}

TEST(DeviceRuntime, OnlyLruHasBlockingCopies) {
  runtime_options options = on_card(std::make_shared<fake_card>(3, 50), "planned");
  options.blocking_copies = true;
  const std::string message = message_of<invalid_argument>([&] { (void)runtime::create(options); });
  EXPECT_NE(message.find("the policy is 'planned'; only 'lru'"), std::string::npos) << message;
  options.policy = "lru";
  write_fresh(*runtime::create(options), page);
}

TEST(DeviceRuntime, UnifiedMemoryIsCapped) {
  const auto card = std::make_shared<fake_card>(3, 50);
  card->set_capacity(64 * page);
  const auto at = runtime::create(on_card(card, "managed"));  // the cap is half of that
  auto first = at->allocate(32 * page, memory::object_class::ciphertext, "ciphertext");
  const std::string message = message_of<out_of_memory>(
      [&] { (void)at->allocate(page, memory::object_class::ciphertext, "ciphertext"); });
  EXPECT_NE(message.find("the cap is 128.0 KiB"), std::string::npos) << message;
  EXPECT_NE(message.find("--oversubscribe-managed"), std::string::npos) << message;
  first = {};
  (void)at->allocate(page, memory::object_class::ciphertext, "ciphertext");
}

TEST(DeviceRuntime, TheEnvironmentLowersTheCapAndAnOptionLiftsIt) {
  const auto card = std::make_shared<fake_card>(3, 50);
  setenv("HALOCLINE_MANAGED_CAP", "8KiB", 1);
  const auto capped = runtime::create(on_card(card, "managed"));
  unsetenv("HALOCLINE_MANAGED_CAP");
  EXPECT_THROW((void)capped->allocate(3 * page, memory::object_class::ciphertext, "x"), out_of_memory);
  (void)capped->allocate(2 * page, memory::object_class::ciphertext, "x");
  runtime_options free_hand = on_card(card, "managed");
  free_hand.managed_cap_bytes = page;
  free_hand.oversubscribe_managed = true;
  (void)runtime::create(free_hand)->allocate(100 * page, memory::object_class::ciphertext, "x");
}

TEST(DeviceRuntime, UnifiedBlocksAreUsedAgainInSteadyState) {
  const auto card = std::make_shared<fake_card>(3, 50);
  const auto at = runtime::create(on_card(card, "managed"));
  for (int i = 0; i < 20; ++i) write_fresh(*at, 5 * page);
  EXPECT_EQ(card->managed_allocations(), 1U);
  EXPECT_EQ(card->managed_frees(), 0U);
}

TEST(DeviceRuntime, TwoShareABudget) {
  for (const char* const policy : {"lru", "managed", "static", "dynamic"}) {
    SCOPED_TRACE(policy);
    const auto card = std::make_shared<fake_card>(4, 50);
    runtime_options options = on_card(card, policy);
    options.shared_budget = std::make_shared<memory::memory_budget>(16 * page);
    const auto a = runtime::create(options);
    options.slow = memory::make_memory_store();
    const auto b = runtime::create(options);
    std::vector<memory::buffer> held;
    for (int i = 0; i < 12; ++i) {
      runtime& at = i % 2 == 0 ? *a : *b;
      held.push_back(at.allocate(6 * page, memory::object_class::ciphertext, "ciphertext"));
      const memory::operand all{&held.back(), 0, 6 * page};
      (void)at.acquire({}, {&all, 1}, "write");
      EXPECT_LE(card->used_bytes(), 16 * page);
      EXPECT_LE(options.shared_budget->used(), 16 * page);
    }
    EXPECT_GT(a->statistics().moved.evictions, 0U);
    EXPECT_GT(b->statistics().moved.evictions, 0U);
  }
}

TEST(DeviceRuntime, WhatIdleOnesHoldGoesFirst) {
  for (const char* const policy : {"lru", "managed"}) {
    SCOPED_TRACE(policy);
    const auto card = std::make_shared<fake_card>(4, 50);
    runtime_options options = on_card(card, policy);
    options.shared_budget = std::make_shared<memory::memory_budget>(40 * page);
    const auto done = runtime::create(options);
    options.slow = memory::make_memory_store();
    const auto next = runtime::create(options);
    std::vector<memory::buffer> held;
    const auto touch = [&](runtime& at, std::size_t number) {
      const memory::operand all{&held[number], 0, page};
      (void)at.acquire({}, {&all, 1}, "write");
    };
    for (std::size_t i = 0; i < 36; ++i) {
      held.push_back(done->allocate(page, memory::object_class::ciphertext, "ciphertext"));
      touch(*done, i);
    }
    // One after the other, over and over: without what the idle one holds, nothing would stay.
    for (std::size_t i = 0; i < 200; ++i) {
      if (i < 20) held.push_back(next->allocate(page, memory::object_class::ciphertext, "ciphertext"));
      touch(*next, 36 + i % 20);
    }
    EXPECT_GE(done->statistics().moved.evictions, 16U);
    EXPECT_LT(next->statistics().moved.evictions, 40U);
  }
}

TEST(DeviceRuntime, AnIdleOneGivesItsUnifiedMemoryToAnother) {
  const auto card = std::make_shared<fake_card>(4, 50);
  runtime_options options = on_card(card, "managed");
  options.shared_budget = std::make_shared<memory::memory_budget>(8 * page);
  const auto done = runtime::create(options);
  const auto next = runtime::create(options);
  std::vector<memory::buffer> held;
  for (int i = 0; i < 4; ++i) {
    held.push_back(done->allocate(2 * page, memory::object_class::evaluation_key, "key"));
    const memory::operand all{&held.back(), 0, 2 * page};
    (void)done->acquire({}, {&all, 1}, "write");
  }
  const auto data = next->allocate(6 * page, memory::object_class::ciphertext, "ciphertext");
  const memory::operand all{&data, 0, 6 * page};
  (void)next->acquire({}, {&all, 1}, "write");
  EXPECT_EQ(done->statistics().moved.written_bytes, 6 * page);
  // What the last step of the idle one touched stays; so much more there is no room for.
  const auto more = next->allocate(8 * page, memory::object_class::ciphertext, "ciphertext");
  const memory::operand all_of_it{&more, 0, 8 * page};
  EXPECT_THROW((void)next->acquire({}, {&all_of_it, 1}, "write"), out_of_memory);
}

TEST(DeviceRuntime, SecretsAreWipedInOrder) {
  const auto card = std::make_shared<fake_card>(5, 100);
  const auto at = runtime::create(on_card(card, "lru"));
  std::byte* seen = nullptr;
  {
    const auto secret = at->allocate(page, memory::object_class::scratch, "secret", true);
    const memory::operand all{&secret, 0, page};
    const memory::access step = at->acquire({}, {&all, 1}, "write");
    seen = step.pointer(secret);
    card->enqueue(lane::compute, [=] { std::memset(seen, 1, page); });
  }
  card->finish();
  EXPECT_EQ(seen[0], std::byte{0});
}

}  // namespace
}  // namespace halocline::test
