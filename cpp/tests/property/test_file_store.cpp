// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/tier/file_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "halocline/core/error.hpp"
#include "memory/tier/extent_list.hpp"
#include "support/page_frame.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace halocline;
using namespace halocline::memory;
using halocline::test::page_frame;

constexpr std::size_t page = 4096;

/// The same as an extent list, one flag per unit.
class flag_model {
 public:
  explicit flag_model(std::size_t units) : free_(units, false) {}
  /// Begin of the smallest run of free units that is long enough; of equal ones, the first.
  [[nodiscard]] std::optional<std::size_t> best_fit(std::size_t units) const {
    std::optional<std::size_t> best;
    std::size_t best_length = free_.size() + 1;
    for (std::size_t begin = 0; begin < free_.size(); ++begin) {
      if (!free_[begin]) continue;
      std::size_t end = begin;
      while (end < free_.size() && free_[end]) ++end;
      if (end - begin >= units && end - begin < best_length) {
        best = begin;
        best_length = end - begin;
      }
      begin = end;
    }
    return best;
  }
  void set(std::size_t begin, std::size_t units, bool value) {
    std::fill_n(free_.begin() + static_cast<std::ptrdiff_t>(begin), units, value);
  }
  [[nodiscard]] std::size_t total() const {
    return static_cast<std::size_t>(std::count(free_.begin(), free_.end(), true));
  }
  [[nodiscard]] std::size_t runs() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < free_.size(); ++i) count += free_[i] && (i == 0 || !free_[i - 1]) ? 1U : 0U;
    return count;
  }

 private:
  std::vector<bool> free_;
};

TEST(ExtentListProperty, EqualsFlagsPerUnit) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    constexpr std::size_t units = 300;
    extent_list list;
    flag_model model(units);
    list.give(0, units);
    model.set(0, units, true);
    std::vector<std::pair<std::size_t, std::size_t>> taken;
    for (int step = 0; step < 500; ++step) {
      if (taken.empty() || random() % 2 == 0) {
        const std::size_t size = 1 + random() % 30;
        const auto expected = model.best_fit(size);
        const auto got = list.take(size);
        ASSERT_EQ(got.has_value(), expected.has_value());
        if (!got) continue;
        ASSERT_EQ(*got, *expected);
        model.set(*got, size, false);
        taken.emplace_back(*got, size);
      } else {
        std::swap(taken[random() % taken.size()], taken.back());
        list.give(taken.back().first, taken.back().second);
        model.set(taken.back().first, taken.back().second, true);
        taken.pop_back();
      }
      ASSERT_EQ(list.total(), model.total());
      ASSERT_EQ(list.parts(), model.runs());
    }
  }
}

/// Random allocations, frees, writes and reads with many transfers under way, beside a table of what each
/// slot must hold.
class random_program {
 public:
  random_program(std::uint32_t seed, const file_store_options& options)
      : random_(seed), place_(make_file_store(options)), capacity_(options.capacity_bytes) {}

  void run(int steps) {
    for (int step = 0; step < steps; ++step) {
      switch (random_() % 8) {
        case 0:
        case 1:
          allocate();
          break;
        case 2:
          free_one();
          break;
        case 3:
        case 4:
          start(true);
          break;
        case 5:
        case 6:
          start(false);
          break;
        default:
          finish_one();
      }
      if (testing::Test::HasFatalFailure()) return;
    }
    while (!pending_.empty()) finish_one();
    while (!slots_.empty()) free_one();
    EXPECT_EQ(place_->statistics().slots, 0U);
    EXPECT_EQ(place_->statistics().slot_bytes, 0U);
  }

 private:
  struct slot {
    slot_id id;
    std::size_t bytes;
    std::optional<std::uint64_t> content;
    bool busy = false;
  };
  struct pending {
    transfer_id id;
    slot* on;
    page_frame frame;
    bool write;
  };

  void allocate() {
    const std::size_t bytes = page * (1 + random_() % 40);
    try {
      slots_.push_back(std::make_unique<slot>(slot{place_->allocate(bytes), bytes, std::nullopt}));
      live_ += bytes;
    } catch (const io_error&) {
      EXPECT_GT(live_ + bytes, capacity_ / 4) << "refused although most of the file is unused";
    }
    ASSERT_EQ(place_->statistics().slot_bytes, live_);
  }

  [[nodiscard]] slot* idle_slot() {
    if (slots_.empty()) return nullptr;
    slot* const chosen = slots_[random_() % slots_.size()].get();
    return chosen->busy ? nullptr : chosen;
  }

  void free_one() {
    slot* const gone = idle_slot();
    if (gone == nullptr) return;
    place_->free(gone->id);
    live_ -= gone->bytes;
    slots_.erase(
        std::find_if(slots_.begin(), slots_.end(), [&](const auto& each) { return each.get() == gone; }));
  }

  void start(bool write) {
    slot* const on = idle_slot();
    if (on == nullptr || (!write && !on->content)) return;
    on->busy = true;
    page_frame frame(on->bytes);
    if (write) frame.fill(*(on->content = random_()));
    const transfer_id id = write ? place_->write(on->id, frame.data(), frame.size())
                                 : place_->read(on->id, frame.data(), frame.size());
    pending_.push_back({id, on, std::move(frame), write});
  }

  void finish_one() {
    if (pending_.empty()) return;
    std::swap(pending_[random_() % pending_.size()], pending_.back());
    pending ended = std::move(pending_.back());
    pending_.pop_back();
    place_->wait(ended.id);
    ended.on->busy = false;
    ASSERT_TRUE(ended.write || ended.frame.holds(*ended.on->content));
  }

  std::mt19937 random_;
  std::unique_ptr<store> place_;
  std::size_t capacity_;
  std::size_t live_ = 0;
  std::vector<std::unique_ptr<slot>> slots_;
  std::vector<pending> pending_;
};

TEST(FileStoreProperty, SlotsHoldWhatWasWrittenLast) {
  const test::temporary_folder folder;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    file_store_options options;
    options.folder = folder.path();
    options.engine = seed % 2 == 0 || !has_io_uring() ? io_engine::threads : io_engine::io_uring;
    options.capacity_bytes = 1500 * page;
    options.queue_depth = 1 + seed;
    options.chunk_bytes = page * (1 + seed % 5 * 4);
    options.direct = seed % 3 != 0;
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_program(seed, options).run(600);
  }
}

}  // namespace
