// SPDX-License-Identifier: Apache-2.0
// Memory policies on a GPU: random programs read what they wrote, budgets and caps hold, and a refused
// allocation leaves everything usable.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>

#include "backend/cuda/memory/open_memory.hpp"
#include "halocline/backend/registry.hpp"
#include "halocline/core/error.hpp"
#include "support/device_memory_test.hpp"

namespace halocline::test {
namespace {

class GpuMemory : public device_memory_test {
 protected:
  void SetUp() override {
    const std::vector<std::string> devices = backend::available_devices();
    if (std::find(devices.begin(), devices.end(), "cuda:0") == devices.end()) GTEST_SKIP() << "no GPU";
    use(backend::cuda::open_memory(0), 64 * mib);  // some 50 us
  }
};

TEST_F(GpuMemory, MovesDownOntoItself) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const std::unique_ptr<memory::tier> pool = device->make_pool_tier();
  const std::size_t most = 48 * mib;
  auto* const place = static_cast<std::byte*>(pool->allocate(most));
  std::byte* const host = device->allocate_pinned(most);
  std::mt19937_64 random(seed);
  std::vector<std::byte> contents(most);
  for (std::size_t i = 0; i < most; i += 8) {
    const std::uint64_t word = random();
    std::memcpy(&contents[i], &word, 8);
  }
  // Sizes below, at and beyond what all threads hold at a time; distances from one word to more than the
  // size.
  const auto check = [&](const std::vector<std::array<std::size_t, 3>>& blocks) {
    std::memcpy(host, contents.data(), most);
    std::vector<std::byte> expected = contents;
    std::vector<memory::block_move> moves;
    for (const auto& [to, from, bytes] : blocks) {
      moves.push_back({place + to, place + from, bytes});
      std::memmove(&expected[to], &expected[from], bytes);
    }
    device->copy(lane::compute, place, host, most);
    device->move_down(moves);
    device->copy(lane::compute, host, place, most);
    device->wait(lane::compute, device->mark(lane::compute));
    ASSERT_EQ(std::memcmp(host, expected.data(), most), 0) << blocks.size() << " blocks";
  };
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{65536}, 17 * mib + 4096, 35 * mib + 16}) {
    for (const std::size_t distance : {std::size_t{16}, std::size_t{4096}, 3 * mib, 12 * mib}) {
      check({{0, distance, bytes}});
    }
  }
  for (int round = 0; round < 4; ++round) {  // holes between blocks; more blocks than one launch takes
    std::vector<std::array<std::size_t, 3>> blocks;
    std::size_t to = 0;
    for (std::size_t from = 16 + random() % 4096 * 16; from < most;) {
      const std::size_t bytes = std::min(most - from, 16 + random() % (round % 2 == 0 ? 4096 : 400'000) * 16);
      blocks.push_back({to, from, bytes});
      to += bytes;
      from += bytes + random() % 64 * 16;
    }
    check(blocks);
  }
  device->free_pinned(host);
  pool->free(place, most);
}

TEST_F(GpuMemory, ProgramsAreRightUnderLru) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const memory_program program = some_program(seed);
  run(options_of("lru", live_bytes_of(program) / 3), program);
  runtime_options small = options_of("lru", live_bytes_of(program) / 3);
  small.pinned_bytes = 6 * mib;  // the rest overflows
  run(small, program);
}

TEST_F(GpuMemory, ProgramsAreRightUnderPlans) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const memory_program program = some_program(seed);
  memory::plan::cost_model costs;
  costs.load = costs.store = {10'000, 0.02};
  costs.other_operation = {2'000, 0};
  costs.expand = memory::plan::accelerator_expand;
  costs.encode = memory::plan::accelerator_encode;
  for (const auto keys : {memory::recovery::copy, memory::recovery::expand, memory::recovery::encode}) {
    const memory::plan::program source = ghost_pass(program, keys, costs);
    for (const std::size_t spare : {std::size_t{0}, 4 * mib}) {
      memory::plan::planner_options planning;
      planning.costs = costs;
      planning.capacity_bytes = std::max(mib, memory::plan::minimum_capacity(source)) + spare;
      const auto plan = std::make_shared<const memory::plan::plan>(memory::plan::make_plan(source, planning));
      run(options_of("planned", planning.capacity_bytes), program, plan, 0, keys);
    }
  }
}

TEST_F(GpuMemory, RemoteKeysAreRightWhenTheyAreFetchedAheadAndEvicted) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const memory_program program = some_program(seed);
  for (const char* const policy : {"lru", "planned"}) {
    for (const std::size_t pinned : {6 * mib, 512 * mib}) {
      SCOPED_TRACE(testing::Message() << policy << ", pinned " << pinned);
      runtime_options options = options_of(policy, live_bytes_of(program) / 2);
      options.pinned_bytes = pinned;
      const auto at = runtime::create(options);
      memory_machine machine(at, program, hands, memory_machine::keys_are::remote);
      std::mt19937_64 random(seed);
      machine.run([&](runtime& now) {
        const std::size_t number = random() % program.keys;
        if (random() % 2 == 0) (void)now.fetch(machine.key(number));
        if (random() % 4 == 0) now.set_spare(machine.key(random() % program.keys), random() % 3 != 0);
        if (random() % 3 == 0) now.leave_fast(machine.key(random() % program.keys), random() % 2 == 0);
        ASSERT_LE(now.statistics().fast_bytes, options.budget_bytes);
      });
      machine.check_all();
      EXPECT_GT(at->link_statistics().back().read_bytes, 0U);
      machine.clear();
      EXPECT_EQ(at->slow_statistics().slots, 0U);
    }
  }
}

TEST_F(GpuMemory, PlansBringRemoteKeysThroughPinnedMemory) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const memory_program program = some_program(seed);
  const auto at = runtime::create(options_of("planned", live_bytes_of(program)));
  for (int round = 0; round < 3; ++round) {
    memory_machine machine(at, program, hands, memory_machine::keys_are::remote);
    const memory::plan::planner_options planning = at->planning(at->budget_bytes());
    const auto source = ghost_pass(program, memory::recovery::copy, planning.costs);
    at->begin_plan(std::make_shared<const memory::plan::plan>(memory::plan::make_plan(source, planning)));
    machine.run();
    const memory::plan_outcome outcome = at->end_plan();
    EXPECT_FALSE(outcome.diverged) << outcome.reason;
    machine.check_all();
    machine.clear();
    EXPECT_EQ(at->slow_statistics().slots, 0U);
  }
  EXPECT_GT(at->link_statistics().back().read_bytes, 0U);
}

TEST_F(GpuMemory, ProgramsAreRightInUnifiedMemory) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const memory_program program = some_program(seed);
  for (const char* const policy : {"managed", "static", "dynamic"}) {
    for (const bool pool : {false, true}) {
      SCOPED_TRACE(testing::Message() << policy << (pool ? " from a pool" : ""));
      runtime_options options = options_of(policy, live_bytes_of(program) / 2);
      options.managed_pool = pool;
      // Scratch of `static` and `dynamic` comes from the driver's pool, whose pieces have 32 MiB.
      run(options, program, nullptr, 64 * mib);
    }
  }
}

TEST_F(GpuMemory, ProgramsAreRightWhereNothingMoves) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const memory_program program = some_program(seed);
  // A pool takes memory from the driver in pieces of tens of MiB.
  for (const char* const policy : {"resident", "async", "cached"}) {
    run(options_of(policy, live_bytes_of(program) + 512 * mib), program);
  }
}

TEST_F(GpuMemory, FramesTakeNoMoreThanTheBudgetFromTheCard) {
  const std::size_t budget = 512 * mib;
  const auto at = runtime::create(options_of("lru", budget));
  const std::size_t before = device->free_bytes();
  std::vector<memory::buffer> held;
  for (int i = 0; i < 24; ++i) {
    held.push_back(at->allocate(40 * mib, memory::object_class::ciphertext, "ciphertext"));
    const memory::operand all{&held.back(), 0, 40 * mib};
    (void)at->acquire({}, {&all, 1}, "write");
  }
  EXPECT_GT(at->statistics().moved.written_bytes, 0U);
  // Page tables of the mapping are the driver's: a page of 2 MiB or two.
  EXPECT_LE(before - std::min(before, device->free_bytes()), budget + 4 * mib);
}

TEST_F(GpuMemory, UnifiedMemoryIsCapped) {
  for (const bool pool : {false, true}) {
    runtime_options options = options_of("managed", 0);
    options.managed_cap_bytes = 64 * mib;
    options.managed_pool = pool;
    const auto at = runtime::create(options);
    std::vector<memory::buffer> held;
    for (int i = 0; i < 4; ++i) {
      held.push_back(at->allocate(16 * mib, memory::object_class::ciphertext, "ciphertext"));
    }
    EXPECT_THROW((void)at->allocate(4096, memory::object_class::ciphertext, "x"), out_of_memory);
    held.pop_back();
    held.push_back(at->allocate(16 * mib, memory::object_class::ciphertext, "ciphertext"));
    const memory::operand all{&held.back(), 0, 16 * mib};
    (void)at->acquire({}, {&all, 1}, "write");
  }
}

TEST_F(GpuMemory, WhatTheCardCannotGiveIsRefusedAndTheNextWorks) {
  const std::size_t too_much = device->total_bytes() + mib;
  for (const char* const policy : {"resident", "async", "cached", "lru", "planned", "managed", "static"}) {
    SCOPED_TRACE(policy);
    const auto at = runtime::create(options_of(policy, 0));
    const auto use = [&](std::size_t bytes) {
      const auto data = at->allocate(bytes, memory::object_class::ciphertext, "ciphertext");
      const memory::operand all{&data, 0, bytes};
      (void)at->acquire({}, {&all, 1}, "write");
    };
    use(mib);
    EXPECT_THROW(use(too_much), out_of_memory);
    use(mib);
    EXPECT_EQ(at->statistics().live_bytes, 0U);
  }
}

}  // namespace
}  // namespace halocline::test
