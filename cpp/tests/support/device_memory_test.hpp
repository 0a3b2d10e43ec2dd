// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "halocline/memory/device_memory.hpp"
#include "halocline/memory/plan/planner.hpp"
#include "halocline/memory/runtime.hpp"
#include "halocline/memory/tier/memory_store.hpp"
#include "support/memory_machine.hpp"

/// Random programs of memory on a real accelerator.
namespace halocline::test {

using memory::device_memory;
using memory::lane;
using memory::runtime;
using memory::runtime_options;

inline constexpr std::size_t mib = std::size_t{1} << 20;

/// On the compute lane of an accelerator, behind work that keeps it busy. Bytes pass through a pinned buffer
/// and are compared when it is full.
class device_hands final : public machine_hands {
 public:
  /// @param busy bytes that are copied before each access, so that the host runs far ahead
  device_hands(std::shared_ptr<device_memory> device, std::size_t busy)
      : device_(std::move(device)), pool_(device_->make_pool_tier()), busy_bytes_(busy) {
    pinned_ = device_->allocate_pinned(pinned_bytes);
    busy_ = static_cast<std::byte*>(pool_->allocate(2 * busy_bytes_));
  }
  ~device_hands() override {
    finish();
    pool_->free(busy_, 2 * busy_bytes_);
    device_->free_pinned(pinned_);
  }
  device_hands(const device_hands&) = delete;
  device_hands& operator=(const device_hands&) = delete;

  void read(const std::byte* data, std::size_t bytes, reader look) override {
    delay();
    std::byte* const copy = room(bytes);
    device_->copy(lane::compute, copy, data, bytes);
    looks_.emplace_back(std::move(look), copy);
  }
  void write(std::byte* data, std::vector<std::byte> contents) override {
    delay();
    std::byte* const copy = room(contents.size());
    std::memcpy(copy, contents.data(), contents.size());
    device_->copy(lane::compute, data, copy, contents.size());
  }
  void finish() override {
    device_->wait(lane::compute, device_->mark(lane::compute));
    for (const auto& [look, copy] : looks_) look(copy);
    looks_.clear();
    used_ = 0;
  }

 private:
  static constexpr std::size_t pinned_bytes = 256 * mib;

  std::byte* room(std::size_t bytes) {
    if (used_ + bytes > pinned_bytes) finish();
    std::byte* const at = pinned_ + used_;
    used_ += bytes;
    return at;
  }
  void delay() { device_->copy(lane::compute, busy_, busy_ + busy_bytes_, busy_bytes_); }

  std::shared_ptr<device_memory> device_;
  std::unique_ptr<memory::tier> pool_;
  std::size_t busy_bytes_;
  std::byte* pinned_ = nullptr;
  std::byte* busy_ = nullptr;
  std::size_t used_ = 0;
  std::vector<std::pair<reader, const std::byte*>> looks_;
};

/// Runs programs under policies.
class device_memory_test : public testing::Test {
 protected:
  /// To be called by SetUp.
  void use(std::shared_ptr<device_memory> opened, std::size_t busy) {
    device = std::move(opened);
    hands = std::make_shared<device_hands>(device, busy);
  }
  [[nodiscard]] runtime_options options_of(const std::string& policy, std::size_t budget) const {
    runtime_options options;
    options.policy = policy;
    options.budget_bytes = budget;
    options.device = device;
    options.pinned_bytes = 512 * mib;
    options.managed_cap_bytes = 256 * mib;
    options.slow = memory::make_memory_store();
    return options;
  }
  /// Runs a program within its budget and expects right contents, and nothing left at the end. `piece`: what
  /// a driver may hold beyond the budget, because it hands out memory in pieces.
  /// `keys`: how they come back.
  void run(const runtime_options& options, const memory_program& program,
           const std::shared_ptr<const memory::plan::plan>& plan = nullptr, std::size_t piece = 0,
           memory::recovery keys = memory::recovery::copy) {
    const auto at = runtime::create(options);
    memory_machine machine(at, program, hands);
    if (keys != memory::recovery::copy) machine.give_recipes(keys);
    if (plan) at->begin_plan(plan);
    const std::size_t limit = options.budget_bytes + piece;
    machine.run([&](const runtime& now) { ASSERT_LE(now.statistics().fast_bytes, limit); });
    if (plan) {
      const memory::plan_outcome outcome = at->end_plan();
      EXPECT_FALSE(outcome.diverged) << outcome.reason;
    }
    machine.check_all();
    EXPECT_LE(at->statistics().peak_fast_bytes, options.budget_bytes);
    if (keys != memory::recovery::copy) {
      const memory::movement moved = at->statistics().moved;
      EXPECT_GT(moved.expanded_bytes + moved.encoded_bytes, 0U);
      EXPECT_GT(moved.regenerate_ns, 0U);
    }
    machine.clear();
    EXPECT_EQ(at->statistics().live_bytes, 0U);
    EXPECT_EQ(at->slow_statistics().slots, 0U);
  }

  std::shared_ptr<device_memory> device;
  std::shared_ptr<machine_hands> hands;
  std::uint64_t seed = std::random_device{}();
};

/// Objects of up to 512 KiB; some 30 MiB live at once.
inline memory_program some_program(std::uint64_t seed) { return program_maker(seed, {40, 120, 128}).make(); }

/// A program as plans see it.
inline memory::plan::program ghost_pass(const memory_program& program, memory::recovery keys,
                                        const memory::plan::cost_model& costs) {
  runtime_options ghostly;
  ghostly.ghost = true;
  const auto ghost = runtime::create(ghostly);
  memory_machine shapes(ghost, program);
  if (keys != memory::recovery::copy) shapes.give_recipes(keys);
  ghost->start_trace();
  shapes.run();
  return memory::plan::make_program(ghost->stop_trace(), costs);
}

}  // namespace halocline::test
