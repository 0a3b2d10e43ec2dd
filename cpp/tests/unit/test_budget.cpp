// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/budget.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace halocline::memory {
namespace {

using testing::HasSubstr;

TEST(Budget, AccountsCountWhatWasTakenThroughThem) {
  const auto whole = std::make_shared<memory_budget>(100);
  const auto a = whole->open_account("a"), b = whole->open_account("b");
  EXPECT_TRUE(a->take(30));
  EXPECT_TRUE(b->take(60));
  EXPECT_FALSE(a->take(11));
  EXPECT_EQ(a->own(), 30U);
  EXPECT_EQ(a->used(), 90U);
  ASSERT_EQ(a->others().size(), 1U);
  EXPECT_EQ(a->others()[0].name, "b");
  EXPECT_EQ(a->others()[0].bytes, 60U);
  ASSERT_EQ(whole->others().size(), 2U);
  EXPECT_EQ(whole->others()[0].name, "b");
  b->give(60);
  EXPECT_TRUE(a->others().empty());
  EXPECT_EQ(whole->peak(), 90U);
}

TEST(Budget, AccountsKeepTheBudgetAlive) {
  auto whole = std::make_shared<memory_budget>(100);
  const auto a = whole->open_account("a");
  whole.reset();
  EXPECT_TRUE(a->take(100));
  EXPECT_FALSE(a->take(1));
}

TEST(Budget, WithoutPatienceNothingWaits) {
  const auto whole = std::make_shared<memory_budget>(100);
  const auto a = whole->open_account("a"), b = whole->open_account("b");
  ASSERT_TRUE(b->take(100));
  budget_wait patience(*a);
  EXPECT_FALSE(patience.next(nullptr, 1));
  EXPECT_EQ(patience.outcome(), "");
}

TEST(Budget, WaitsUntilOthersGiveBack) {
  const auto whole = std::make_shared<memory_budget>(100, std::chrono::minutes(1));
  const auto a = whole->open_account("a"), b = whole->open_account("b");
  ASSERT_TRUE(b->take(100));
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    b->give(100);
  });
  budget_wait patience(*a);
  while (!a->take(50)) ASSERT_TRUE(patience.next(nullptr, 50));
  other.join();
  EXPECT_EQ(a->own(), 50U);
}

TEST(Budget, DoesNotWaitForItself) {
  const auto whole = std::make_shared<memory_budget>(100, std::chrono::minutes(1));
  const auto a = whole->open_account("a");
  ASSERT_TRUE(a->take(100));
  budget_wait patience(*a);
  EXPECT_FALSE(patience.next(nullptr, 1));
}

TEST(Budget, TwoThatWaitForEachOtherGiveUp) {
  const auto whole = std::make_shared<memory_budget>(100, std::chrono::milliseconds(100));
  const auto a = whole->open_account("a"), b = whole->open_account("b");
  ASSERT_TRUE(a->take(50));
  ASSERT_TRUE(b->take(50));
  std::thread other([&] {
    budget_wait patience(*b);
    while (patience.next(nullptr, 1)) {
    }
  });
  budget_wait patience(*a);
  while (patience.next(nullptr, 1)) {
  }
  EXPECT_THAT(patience.outcome(), HasSubstr("s for them"));
  other.join();
}

TEST(Budget, WaitingCanBeInterrupted) {
  const auto whole = std::make_shared<memory_budget>(100, std::chrono::minutes(1));
  const auto a = whole->open_account("a"), b = whole->open_account("b");
  ASSERT_TRUE(b->take(100));
  memory_budget::set_interruption([] { throw std::runtime_error("stop"); });
  budget_wait patience(*a);
  EXPECT_THROW((void)patience.next(nullptr, 1), std::runtime_error);
  memory_budget::set_interruption({});
}

/// Holds bytes and gives what it is asked for.
class some_member final : public memory::budget_member {
 public:
  explicit some_member(bool rests) : rests_(rests) {}
  std::size_t reclaim(std::size_t bytes) noexcept override { return asked += bytes, bytes; }
  void expect_reclaim() noexcept override { ++expected; }
  [[nodiscard]] bool is_resting() const noexcept override { return rests_; }

  std::size_t asked = 0;
  unsigned expected = 0;

 private:
  bool rests_;
};

TEST(Budget, OnlyWhoRestsIsAskedForWhatIsNotIdle) {
  memory::memory_budget budget(100);
  some_member asking(true), busy(false), resting(true);
  for (some_member* each : {&asking, &busy, &resting}) budget.join(*each);
  EXPECT_EQ(budget.reclaim_idle(asking, 10), 0U);  // no member has been idle for long
  EXPECT_EQ(budget.reclaim_resting(asking, 10), 10U);
  EXPECT_EQ(resting.asked, 10U);
  EXPECT_EQ(busy.asked + asking.asked, 0U);
  for (some_member* each : {&asking, &busy, &resting}) budget.leave(*each);
}

TEST(Budget, MembersOfANearlyFullOneAreToldOfAnother) {
  memory::memory_budget budget(100);
  some_member first(false), second(false), third(false);
  budget.join(first);
  ASSERT_TRUE(budget.take(74));
  budget.join(second);
  EXPECT_EQ(first.expected, 0U);
  ASSERT_TRUE(budget.take(1));
  budget.join(third);
  EXPECT_EQ(first.expected + second.expected, 2U);
  EXPECT_EQ(third.expected, 0U);
  for (some_member* each : {&first, &second, &third}) budget.leave(*each);
}

}  // namespace
}  // namespace halocline::memory
