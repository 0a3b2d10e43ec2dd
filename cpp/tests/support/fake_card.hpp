// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "halocline/memory/device_memory.hpp"
#include "support/fake_lanes.hpp"

namespace halocline::test {

inline constexpr std::size_t page = 4096;  ///< frames and slots are multiples of it

/// An accelerator in host memory. Work on its lanes is done later, in an order that only the lanes and their
/// tickets restrict, as seldom as `laziness` says: bytes that are used too early or too late are wrong.
/// Free memory is poisoned.
class fake_card final : public memory::device_memory {
 public:
  using lane = memory::lane;
  using ticket = memory::ticket;
  static constexpr std::size_t card_bytes = std::size_t{64} << 20;

  /// @param laziness 0: work is done at once; 100: only when a caller waits
  fake_card(std::uint64_t seed, unsigned laziness) : lanes_(seed, laziness) {}
  ~fake_card() override {
    finish();
    EXPECT_EQ(pinned_blocks, 0U);
    EXPECT_EQ(used_, 0U);
  }

  /// Queues work.
  void enqueue(lane on, std::function<void()> work) { lanes_.enqueue(on, std::move(work)); }
  /// Does all work.
  void finish() { lanes_.finish(); }
  /// Bytes that ranges and tiers may take from now on.
  void set_capacity(std::size_t bytes) { capacity_ = bytes; }
  [[nodiscard]] std::size_t used_bytes() const noexcept { return used_; }
  [[nodiscard]] std::size_t peak_bytes() const noexcept { return peak_; }
  [[nodiscard]] std::size_t host_waits() const noexcept { return lanes_.host_waits(); }
  [[nodiscard]] std::size_t marks() const noexcept { return lanes_.marks(); }
  /// How often a copy was queued while the compute lane had work left, or the other way round.
  [[nodiscard]] std::size_t overlaps() const noexcept { return lanes_.overlaps(); }
  [[nodiscard]] std::size_t managed_allocations() const noexcept { return managed_allocations_; }
  [[nodiscard]] std::size_t managed_frees() const noexcept { return managed_frees_; }

  [[nodiscard]] std::string describe() const override { return "a fake card"; }
  [[nodiscard]] std::size_t total_bytes() const override { return card_bytes; }
  [[nodiscard]] std::size_t free_bytes() const override { return capacity_ - std::min(capacity_, used_); }
  [[nodiscard]] std::unique_ptr<memory::tier> make_pool_tier() override {
    return std::make_unique<heap>(*this, false);
  }
  [[nodiscard]] std::unique_ptr<memory::device_range> make_range(std::size_t bytes) override {
    return std::make_unique<range>(*this, bytes);
  }
  [[nodiscard]] std::unique_ptr<memory::tier> make_managed_tier(bool) override {
    return std::make_unique<heap>(*this, true);
  }
  [[nodiscard]] std::byte* allocate_pinned(std::size_t bytes) override {
    auto* const data = static_cast<std::byte*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096));
    std::memset(data, poison, bytes);
    ++pinned_blocks;
    return data;
  }
  void free_pinned(std::byte* data) noexcept override {
    finish();
    --pinned_blocks;
    std::free(data);
  }

  void copy(lane on, std::byte* to, const std::byte* from, std::size_t bytes) override {
    EXPECT_TRUE(to + bytes <= from || from + bytes <= to) << "a copy onto itself";
    enqueue(on, [=] { std::memcpy(to, from, bytes); });
  }
  void move_down(std::span<const memory::block_move> blocks) override {
    const std::byte* end = nullptr;
    for (const memory::block_move& each : blocks) {
      EXPECT_LT(each.to, each.from);
      EXPECT_LE(end, each.to);
      end = each.to + each.bytes;
      moved_bytes += each.bytes;
      enqueue(lane::compute, [=] { std::memmove(each.to, each.from, each.bytes); });
    }
  }
  void occupy(std::uint64_t) override {
    enqueue(lane::compute, [] {});
  }
  void wipe(std::byte* data, std::size_t bytes) noexcept override {
    enqueue(lane::compute, [=] { std::memset(data, 0, bytes); });
  }
  void advise(std::byte*, std::size_t, memory::advice, bool) override {}
  void prefetch(std::byte*, std::size_t bytes, bool to_device) override {
    enqueue(lane::compute, [=, this] { (to_device ? prefetched_in : prefetched_out) += bytes; });
  }

  [[nodiscard]] ticket mark(lane of) override { return lanes_.mark(of); }
  [[nodiscard]] bool passed(lane of, ticket moment) override { return lanes_.passed(of, moment); }
  void order(lane waiting, lane of, ticket moment) override { lanes_.order(waiting, of, moment); }
  void wait(lane of, ticket moment) override { lanes_.wait(of, moment); }
  [[nodiscard]] memory::stamp take_time(lane of) override { return lanes_.take_time(of); }
  [[nodiscard]] std::optional<std::uint64_t> nanoseconds(memory::stamp begin, memory::stamp end) override {
    return lanes_.nanoseconds(begin, end);
  }

  std::size_t prefetched_in = 0;
  std::size_t prefetched_out = 0;
  std::size_t moved_bytes = 0;                 ///< within ranges
  std::atomic<std::size_t> pinned_blocks = 0;  ///< another thread may pin in advance

 private:
  static constexpr int poison = 0xA5;

  class range final : public memory::device_range {
   public:
    range(fake_card& card, std::size_t bytes) : card_(card), reserved_(bytes) {
      void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      data_ = static_cast<std::byte*>(data);
    }
    ~range() override {
      (void)shrink(0);
      munmap(data_, reserved_);
    }
    [[nodiscard]] std::byte* base() const noexcept override { return data_; }
    [[nodiscard]] bool grow(std::size_t bytes) override {
      if (bytes > reserved_ || !card_.take(bytes - mapped_)) return false;
      std::memset(data_ + mapped_, poison, bytes - mapped_);
      mapped_ = bytes;
      return true;
    }
    std::size_t shrink(std::size_t bytes) noexcept override {
      card_.finish();
      card_.used_ -= mapped_ - bytes;
      std::memset(data_ + bytes, poison, mapped_ - bytes);
      return mapped_ = bytes;
    }

   private:
    fake_card& card_;
    std::size_t reserved_;
    std::size_t mapped_ = 0;
    std::byte* data_;
  };

  /// A pool, or unified memory.
  class heap final : public memory::tier {
   public:
    heap(fake_card& card, bool managed) : card_(card), managed_(managed) {}
    ~heap() override { card_.finish(); }
    [[nodiscard]] std::string_view name() const noexcept override { return "fake"; }
    [[nodiscard]] void* allocate(std::size_t bytes) override {
      if (!managed_ && !card_.take(bytes)) return nullptr;
      if (managed_) ++card_.managed_allocations_;
      void* const data = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
      std::memset(data, poison, bytes);
      return data;
    }
    void free(void* data, std::size_t bytes) noexcept override {
      if (managed_) ++card_.managed_frees_;
      card_.enqueue(lane::compute, [=] {
        std::memset(data, poison, bytes);
        std::free(data);
      });
      if (!managed_) card_.used_ -= bytes;
    }
    [[nodiscard]] std::size_t cached_bytes() const noexcept override { return 0; }
    void trim() noexcept override {}
    void trim_to(std::size_t) noexcept override {}

   private:
    fake_card& card_;
    bool managed_;
  };

  [[nodiscard]] bool take(std::size_t bytes) noexcept {
    if (bytes > capacity_ - std::min(capacity_, used_)) return false;
    used_ += bytes;
    peak_ = std::max(peak_, used_);
    return true;
  }
  fake_lanes lanes_;
  std::size_t capacity_ = card_bytes;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
  std::size_t managed_allocations_ = 0;
  std::size_t managed_frees_ = 0;
};

}  // namespace halocline::test
