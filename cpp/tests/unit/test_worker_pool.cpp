// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/worker_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "support/forked.hpp"

namespace {

using halocline::backend::cpu::worker_pool;

/// Runs a batch that counts how often every item is run.
bool each_item_once(worker_pool& pool, std::size_t count) {
  std::vector<int> runs(count, 0);
  pool.run(count, [&](std::size_t i) { ++runs[i]; });
  return std::all_of(runs.begin(), runs.end(), [](int n) { return n == 1; });
}

TEST(WorkerPool, RunsEachItemOnce) {
  for (const unsigned threads : {1U, 2U, 3U, 8U}) {
    worker_pool pool(threads);
    for (const std::size_t count : {0U, 1U, 2U, 3U, 7U, 64U, 1000U}) {
      EXPECT_TRUE(each_item_once(pool, count)) << threads << " threads, " << count << " items";
    }
  }
}

/// Batches that follow each other closely, so that workers meet the end of one and the beginning of the next.
TEST(WorkerPool, ManySmallBatches) {
  worker_pool pool(4);
  for (std::size_t round = 0; round < 20000; ++round) {
    ASSERT_TRUE(each_item_once(pool, 2 + round % 5)) << round;
  }
}

/// Far longer than anything here takes: a test that waits so long fails.
std::chrono::steady_clock::time_point time_limit() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(20);
}

/// Waits until so many workers sleep.
bool fall_asleep(const worker_pool& pool, unsigned workers) {
  for (const auto until = time_limit(); pool.sleeping() != workers;) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Runs items that wait for each other, so that each takes a thread of its own.
bool each_thread_takes_one(worker_pool& pool) {
  std::atomic<unsigned> begun = 0, together = 0;
  const auto until = time_limit();
  pool.run(pool.threads(), [&](std::size_t) {
    ++begun;
    while (begun != pool.threads() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    if (begun == pool.threads()) ++together;
  });
  return together == pool.threads();
}

TEST(WorkerPool, WakesSleepingWorkers) {
  for (const unsigned threads : {2U, 4U}) {
    worker_pool pool(threads);
    EXPECT_TRUE(each_item_once(pool, 10));
    for (int round = 0; round < 3; ++round) {
      ASSERT_TRUE(fall_asleep(pool, threads - 1));
      ASSERT_TRUE(each_thread_takes_one(pool)) << "a worker slept on";
    }
  }
}

TEST(WorkerPool, ResultsOfWorkersAreVisible) {
  worker_pool pool(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> squares(500);
    pool.run(squares.size(), [&](std::size_t i) { squares[i] = i * i; });
    ASSERT_EQ(std::accumulate(squares.begin(), squares.end(), std::uint64_t{0}), 499ULL * 500 * 999 / 6);
  }
}

TEST(WorkerPool, ForkedChildHasWorkersOfItsOwn) {
  worker_pool pool(3);
  ASSERT_TRUE(each_item_once(pool, 50));
  const int code = halocline::test::exit_code_of_child([&] {
    if (!each_item_once(pool, 50)) return 1;
    return each_thread_takes_one(pool) ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(each_item_once(pool, 50));
}

/// The child's copy counts sleepers that it does not have; its own pools have threads in the places of
/// theirs.
TEST(WorkerPool, ForkedChildMayDestroyAPoolWhoseWorkersSlept) {
  auto pool = std::make_unique<worker_pool>(3);
  ASSERT_TRUE(each_item_once(*pool, 50));
  ASSERT_TRUE(fall_asleep(*pool, 2));
  const int code = halocline::test::exit_code_of_child([&] {
    worker_pool own(3);
    if (!each_item_once(own, 50)) return 1;
    pool.reset();
    return each_item_once(own, 50) ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(each_item_once(*pool, 50));
}

}  // namespace
