// SPDX-License-Identifier: Apache-2.0
#include "halocline/core/process.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "support/forked.hpp"

namespace halocline {
namespace {

using namespace std::chrono_literals;
using test::exit_code_of_child;
using test::value_of_child;

TEST(ProcessGeneration, IsOneNumberInOneProcess) {
  const std::uint64_t here = process_generation();
  std::atomic<int> others = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { others += process_generation() == here ? 0 : 1; });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(others, 0);
  EXPECT_EQ(process_generation(), here);
}

TEST(ProcessGeneration, DiffersFromThatOfEveryAncestor) {
  const std::uint64_t here = process_generation();
  const int code = exit_code_of_child([&] {
    const std::uint64_t child = process_generation();
    if (child == here) return 1;
    return exit_code_of_child([&] {
             const std::uint64_t grandchild = process_generation();
             return grandchild != child && grandchild != here ? 0 : 1;
           }) == 0
               ? 0
               : 2;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(process_generation(), here);
}

/// A child that never asked has a number that its own child does not share.
TEST(ProcessGeneration, DiffersAfterTwoForksWithoutAQuestion) {
  const std::uint64_t here = process_generation();
  EXPECT_EQ(exit_code_of_child([&] { return exit_code_of_child([&] { return process_generation() != here ? 0 : 1; }); }),
            0);
}

/// All threads of a child agree, although each of them may be the first to ask.
TEST(ProcessGeneration, IsOneNumberForTheThreadsOfAChild) {
  const int code = exit_code_of_child([] {
    std::atomic<bool> go = false;
    std::mutex guard;
    std::set<std::uint64_t> seen;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        while (!go) std::this_thread::yield();
        const std::uint64_t mine = process_generation();
        const std::lock_guard lock(guard);
        seen.insert(mine);
      });
    }
    go = true;
    for (std::thread& each : threads) each.join();
    return seen.size() == 1 ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
}

/// Children that the C library does not know of: no handler of pthread_atfork runs.
TEST(ProcessGeneration, DiffersInChildrenOfTheSystemCall) {
  const std::uint64_t here = process_generation();
  const long child = ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(process_generation() != here ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(static_cast<pid_t>(child), &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(ForkGate, AForkWaitsForThreadsAtWork) {
  std::atomic<bool> inside = false;
  std::atomic<int> halves = 0;
  std::thread worker([&] {
    const fork_gate::scope outer;
    const fork_gate::scope nested;
    halves = 1;
    inside = true;
    std::this_thread::sleep_for(50ms);
    halves = 2;
  });
  while (!inside) std::this_thread::yield();
  const int seen = exit_code_of_child([&] { return halves.load(); });
  worker.join();
  EXPECT_EQ(seen, 2);
}

TEST(ForkGate, ScopesBeginInParentAndChildAfterAFork) {
  const fork_gate::scope own;  // the thread that forks does not wait for itself
  const int code = exit_code_of_child([] {
    std::thread other([] { const fork_gate::scope scope; });
    other.join();
    return 0;
  });
  EXPECT_EQ(code, 0);
  std::thread other([] { const fork_gate::scope scope; });
  other.join();
}

TEST(ForkHook, IsHeldInOrderAndReleasedInBoth) {
  std::vector<int> steps;
  const auto actions = [&steps](int number, bool holds) {
    return fork_actions{[&steps, number, holds](fork_deadline) {
                          steps.push_back(number);
                          return holds;
                        },
                        [&steps, number] { steps.push_back(10 + number); },
                        [&steps, number](bool held) { steps.push_back(held ? 20 + number : 30 + number); }};
  };
  const fork_hook last(fork_order::table, actions(3, true));
  const fork_hook first(fork_order::context, actions(1, true));
  const fork_hook never(fork_order::store, actions(2, false));
  const int code = exit_code_of_child([&] { return steps == std::vector<int>{1, 2, 3, 23, 32, 21} ? 0 : 1; });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(steps, (std::vector<int>{1, 2, 3, 13, 11}));
}

TEST(ForkMutex, IsFreeInAChildWhileOtherThreadsUseIt) {
  fork_mutex mutex(fork_order::table);
  std::atomic<bool> stop = false;
  std::thread user([&] {
    while (!stop) {
      const std::lock_guard lock(mutex);
      std::this_thread::sleep_for(1ms);
    }
  });
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(exit_code_of_child([&] {
                const std::lock_guard lock(mutex);
                return 0;
              }),
              0);
  }
  stop = true;
  user.join();
}

}  // namespace
}  // namespace halocline
