// SPDX-License-Identifier: Apache-2.0
// Memory policies on a SYCL device: random programs read what they wrote, and budgets hold.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <random>

#include "backend/sycl/memory/sycl_memory.hpp"
#include "halocline/backend/registry.hpp"
#include "halocline/core/error.hpp"
#include "support/device_memory_test.hpp"

namespace halocline::test {
namespace {

class SyclMemory : public device_memory_test {
 protected:
  void SetUp() override {
    if (std::getenv("HALOCLINE_SYCL_ROOT") == nullptr) GTEST_SKIP() << "HALOCLINE_SYCL_ROOT is not set";
    use(backend::sycl::make_sycl_memory(backend::sycl::device_context::open(0)), mib);
  }
  /// Lets a block move down within itself and compares.
  void move_down(std::size_t distance, std::size_t bytes) {
    SCOPED_TRACE(testing::Message() << bytes << " bytes by " << distance);
    const std::unique_ptr<memory::tier> pool = device->make_pool_tier();
    const std::size_t all = distance + bytes;
    auto* const place = static_cast<std::byte*>(pool->allocate(all));
    std::byte* const host = device->allocate_pinned(all);
    std::mt19937_64 random(seed);
    std::vector<std::byte> contents(all);
    for (std::byte& each : contents) each = static_cast<std::byte>(random());
    std::memcpy(host, contents.data(), all);
    std::memmove(contents.data(), contents.data() + distance, bytes);
    const memory::block_move move{place, place + distance, bytes};
    device->copy(lane::compute, place, host, all);
    device->move_down({&move, 1});
    device->copy(lane::compute, host, place, all);
    device->wait(lane::compute, device->mark(lane::compute));
    EXPECT_EQ(std::memcmp(host, contents.data(), all), 0);
    device->free_pinned(host);
    pool->free(place, all);
  }
};

TEST_F(SyclMemory, MovesDownOntoItself) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{65536}, 3 * mib + 4096}) {
    for (const std::size_t distance : {std::size_t{16}, std::size_t{4096}, mib, 4 * mib}) {
      move_down(distance, bytes);
    }
  }
}

TEST_F(SyclMemory, ProgramsAreRightUnderLru) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const memory_program program = some_program(seed);
  run(options_of("lru", live_bytes_of(program) / 3), program);
  runtime_options small = options_of("lru", live_bytes_of(program) / 3);
  small.pinned_bytes = 6 * mib;  // the rest overflows
  run(small, program);
}

TEST_F(SyclMemory, ProgramsAreRightUnderPlans) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const memory_program program = some_program(seed);
  memory::plan::cost_model costs;
  costs.load = costs.store = {10'000, 0.2};
  costs.other_operation = {2'000, 0};
  costs.expand = memory::plan::accelerator_expand;
  for (const auto keys : {memory::recovery::copy, memory::recovery::expand}) {
    const memory::plan::program source = ghost_pass(program, keys, costs);
    memory::plan::planner_options planning;
    planning.costs = costs;
    planning.capacity_bytes = std::max(mib, memory::plan::minimum_capacity(source));
    const auto plan = std::make_shared<const memory::plan::plan>(memory::plan::make_plan(source, planning));
    run(options_of("planned", planning.capacity_bytes), program, plan, 0, keys);
  }
}

TEST_F(SyclMemory, ProgramsAreRightInSharedMemory) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const memory_program program = some_program(seed);
  for (const char* const policy : {"managed", "static", "dynamic"}) {
    SCOPED_TRACE(policy);
    run(options_of(policy, live_bytes_of(program) / 2), program, nullptr, 64 * mib);
  }
}

TEST_F(SyclMemory, ProgramsAreRightWhereNothingMoves) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const memory_program program = some_program(seed);
  for (const char* const policy : {"resident", "async", "cached"}) {
    SCOPED_TRACE(policy);
    run(options_of(policy, live_bytes_of(program) + 512 * mib), program);
  }
}

TEST_F(SyclMemory, WhatABudgetDoesNotHoldIsRefusedAndTheNextWorks) {
  for (const char* const policy : {"resident", "async", "cached", "lru"}) {
    SCOPED_TRACE(policy);
    const auto at = runtime::create(options_of(policy, 8 * mib));
    const auto use = [&](std::size_t bytes) {
      const auto data = at->allocate(bytes, memory::object_class::ciphertext, "ciphertext");
      const memory::operand all{&data, 0, bytes};
      (void)at->acquire({}, {&all, 1}, "write");
    };
    use(mib);
    EXPECT_THROW(use(9 * mib), out_of_memory);
    use(mib);
    EXPECT_EQ(at->statistics().live_bytes, 0U);
  }
}

TEST_F(SyclMemory, ThereIsNoDeviceBeyondTheLast) {
  EXPECT_THROW((void)backend::make_backend("sycl:100"), device_error);
  EXPECT_THROW((void)backend::make_backend("sycl:x"), invalid_argument);
}

}  // namespace
}  // namespace halocline::test
