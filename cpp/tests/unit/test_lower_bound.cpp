// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <random>

#include "halocline/memory/plan/planner.hpp"
#include "support/random_program.hpp"

namespace halocline::memory::plan {
namespace {

constexpr auto key = object_class::evaluation_key;

program program_of(const test::trace_maker& made) { return make_program(made.result(), {}); }

/// Fewest loads of single pages, by trying out everything that may be kept: cost of each set of pages after
/// each step.
unsigned least_loads(const std::vector<unsigned>& needed, unsigned capacity, unsigned pages) {
  std::map<unsigned, unsigned> cost{{0, 0}};
  for (const unsigned now : needed) {
    std::map<unsigned, unsigned> next;
    for (const auto& [held, loads] : cost) {
      const unsigned total = loads + static_cast<unsigned>(std::popcount(now & ~held));
      for (unsigned kept = 0; kept < (1U << pages); ++kept) {
        if ((kept & ~held) != 0) continue;
        const unsigned after = kept | now;
        if (static_cast<unsigned>(std::popcount(after)) > capacity) continue;
        const auto [at, added] = next.emplace(after, total);
        if (!added) at->second = std::min(at->second, total);
      }
    }
    cost = std::move(next);
  }
  unsigned least = ~0U;
  for (const auto& [held, loads] : cost) least = std::min(least, loads);
  return least;
}

TEST(LowerBound, IsTheOptimumOnPages) {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    test::trace_maker made;
    std::vector<std::uint64_t> keys;  // pages 0 to 2, 3 to 4, 5, 6
    for (const unsigned pages : {3U, 2U, 1U, 1U}) keys.push_back(made.exists(key, pages * page_bytes));
    std::vector<unsigned> needed;
    for (int s = 0; s < 14; ++s) {
      const unsigned i = random() % 4, first[] = {0, 3, 5, 6}, most[] = {3, 2, 1, 1};
      const unsigned count = 1 + random() % most[i];
      made.read(keys[i], count * page_bytes);
      made.end_step();
      needed.push_back(((1U << count) - 1) << first[i]);
    }
    const program source = program_of(made);
    for (unsigned capacity = 3; capacity <= 7; ++capacity) {
      EXPECT_EQ(lower_bound_bytes(source, capacity * page_bytes),
                page_bytes * least_loads(needed, capacity, 7))
          << "round " << round << ", capacity " << capacity;
    }
  }
}

TEST(LowerBound, CountsNeitherBirthsNorOverwriting) {
  test::trace_maker made;
  const auto a = made.allocate(object_class::ciphertext, 4 * page_bytes);
  const auto b = made.allocate(object_class::ciphertext, 4 * page_bytes);
  for (const auto id : {a, b, a, b}) {
    made.write(id);
    made.end_step();
  }
  EXPECT_EQ(lower_bound_bytes(program_of(made), 4 * page_bytes), 0U);
  made.read(a);
  made.end_step();
  EXPECT_EQ(lower_bound_bytes(program_of(made), 4 * page_bytes), 4 * page_bytes);
  EXPECT_EQ(lower_bound_bytes(program_of(made), 8 * page_bytes), 0U);
}

TEST(LowerBound, ScratchTakesRoomFromItsFirstTouchToItsDeath) {
  test::trace_maker made;
  const auto a = made.exists(key, 4 * page_bytes);
  made.read(a);
  made.end_step();
  const auto b = made.allocate(object_class::scratch, 3 * page_bytes);
  made.write(b);
  made.end_step();
  const auto other = made.exists(key, page_bytes);
  made.read(other);
  made.end_step();
  made.free(b);
  made.read(a);
  made.end_step();
  const program source = program_of(made);
  EXPECT_EQ(lower_bound_bytes(source, 8 * page_bytes), 5 * page_bytes);
  // Of 7 pages, scratch and the other key leave 3 for the first key.
  EXPECT_EQ(lower_bound_bytes(source, 7 * page_bytes), 6 * page_bytes);
}

}  // namespace
}  // namespace halocline::memory::plan
