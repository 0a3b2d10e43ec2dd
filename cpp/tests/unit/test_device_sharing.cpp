// SPDX-License-Identifier: Apache-2.0
// Runtimes that take the memory of an accelerator from each other, and host memory that is pinned in advance
// for that: on a fake card.
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "halocline/memory/runtime.hpp"
#include "halocline/memory/tier/memory_store.hpp"
#include "memory/device/pinned_slabs.hpp"
#include "support/fake_card.hpp"

namespace halocline::test {
namespace {

using memory::runtime;
using memory::runtime_options;

/// A runtime that keeps what it evicts in pinned memory.
std::shared_ptr<runtime> sharing(const std::shared_ptr<fake_card>& card,
                                 const std::shared_ptr<memory::memory_budget>& budget) {
  runtime_options options;
  options.policy = "lru";
  options.device = card;
  options.pinned_bytes = std::size_t{16} << 20;
  options.slow = memory::make_memory_store();
  options.shared_budget = budget;
  return runtime::create(options);
}

memory::buffer written(runtime& at, std::size_t bytes) {
  memory::buffer made = at.allocate(bytes, memory::object_class::ciphertext, "ciphertext");
  const memory::operand whole{&made, 0, bytes};
  (void)at.acquire({}, {&whole, 1}, "write");
  return made;
}

TEST(DeviceSharing, WhatAnIdleOneKeepsMovesSeldom) {
  constexpr std::size_t all = 1024, wanted = 512;  // pages
  const auto card = std::make_shared<fake_card>(4, 50);
  const auto budget = std::make_shared<memory::memory_budget>(all * page);
  const auto done = sharing(card, budget), next = sharing(card, budget);
  std::vector<memory::buffer> held;
  for (std::size_t i = 0; i < all; ++i) held.push_back(written(*done, page));
  const std::size_t before = card->moved_bytes;
  for (std::size_t i = 0; i < wanted; ++i) held.push_back(written(*next, page));
  // What stays moves when a quarter has gone: 768 pages, then 576, and 432 at most. Page by page it were half
  // a million.
  EXPECT_LE(card->moved_bytes - before, (768 + 576 + 432) * page);
  EXPECT_LE(card->used_bytes(), all * page);
}

/// What cannot be written anywhere stays, and what need not be is given all the same.
TEST(DeviceSharing, AFullSlowTierKeepsOnlyWhatMustBeWritten) {
  const auto card = std::make_shared<fake_card>(4, 50);
  const auto budget = std::make_shared<memory::memory_budget>(16 * page);
  const auto open = [&](std::size_t pinned) {
    runtime_options options;
    options.policy = "lru";
    options.device = card;
    options.pinned_bytes = pinned;
    options.slow = memory::make_memory_store(pinned);
    options.shared_budget = budget;
    return runtime::create(options);
  };
  const auto done = open(2 * page), next = open(64 * page);
  std::vector<memory::buffer> held;
  for (int i = 0; i < 14; ++i) held.push_back(written(*done, page));
  std::vector<memory::buffer> others;
  for (int i = 0; i < 6; ++i)
    others.push_back(written(*next, page));  // two are free, four have a place to go
  EXPECT_THROW((void)written(*next, 8 * page), out_of_memory);
  EXPECT_EQ(done->statistics().moved.evictions, 4U);
}

TEST(DeviceSharing, WhoSharesAFullBudgetPinsInAdvance) {
  const auto card = std::make_shared<fake_card>(4, 50);
  const auto budget = std::make_shared<memory::memory_budget>(16 * page);
  const auto first = sharing(card, budget);
  std::vector<memory::buffer> held;
  held.push_back(written(*first, 4 * page));
  (void)sharing(card, budget);  // three quarters are free: there is nothing to be ready for
  for (int i = 0; i < 3; ++i) held.push_back(written(*first, 4 * page));
  EXPECT_EQ(card->pinned_blocks, 0U);
  const auto other = sharing(card, budget);
  while (card->pinned_blocks == 0) std::this_thread::yield();
  held.push_back(written(*other, 4 * page));
  EXPECT_GT(first->statistics().moved.evictions, 0U);
  EXPECT_EQ(card->pinned_blocks, 1U);  // what was pinned in advance is what is used
}

TEST(PinnedSlabs, PreparedMemoryIsUsedFirst) {
  const auto card = std::make_shared<fake_card>(2, 50);
  memory::pinned_slabs slabs(card, 10 * page, 4 * page);
  slabs.prepare(5 * page);  // two slabs
  const auto a = slabs.take(3 * page), b = slabs.take(3 * page);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(card->pinned_blocks, 2U);
  EXPECT_EQ(slabs.pinned_bytes(), 8 * page);
  slabs.prepare(page);                 // there is as much
  EXPECT_FALSE(slabs.take(3 * page));  // two pages are left of the limit
  EXPECT_TRUE(slabs.take(2 * page));
  EXPECT_EQ(slabs.pinned_bytes(), 10 * page);
  slabs.prepare(100 * page);  // beyond the limit
  EXPECT_FALSE(slabs.take(3 * page));
}

TEST(PinnedSlabs, WhatIsPreparedAndNotUsedGoes) {
  const auto card = std::make_shared<fake_card>(2, 50);
  memory::pinned_slabs slabs(card, 64 * page, 4 * page);
  slabs.prepare(40 * page);
  slabs.trim();
  EXPECT_EQ(card->pinned_blocks, 0U);
  slabs.prepare(8 * page);
  const auto large = slabs.take(6 * page);  // larger than those that were prepared
  ASSERT_TRUE(large);
  EXPECT_EQ(card->pinned_blocks, 3U);
}

}  // namespace
}  // namespace halocline::test
