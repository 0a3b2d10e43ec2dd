// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/policy/decision_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "halocline/core/error.hpp"
#include "support/message_of.hpp"

namespace halocline::test {
namespace {

using memory::trace_action;
using decisions = std::vector<std::uint8_t>;

constexpr std::uint64_t second = 1'000'000'000;

void add(memory::trace& to, trace_action action, std::uint64_t object, std::uint64_t bytes,
         std::uint64_t time_ns) {
  memory::trace_event event;
  event.action = action;
  event.object = object;
  event.bytes = bytes;
  event.time_ns = time_ns;
  event.op = to.intern("-");
  event.tag = to.intern("x");
  to.events.push_back(event);
}

/// Object 9 was there before; 1 lives for 4 s, 2 for 1 s, 3 for 2 s, 4 for ever.
memory::trace sample() {
  memory::trace result;
  add(result, trace_action::exists, 9, 500, 0);
  add(result, trace_action::allocate, 1, 100, 0);
  add(result, trace_action::allocate, 2, 70, 1 * second);
  add(result, trace_action::free, 2, 70, 2 * second);
  add(result, trace_action::allocate, 3, 60, 2 * second);
  add(result, trace_action::free, 1, 100, 4 * second);
  add(result, trace_action::free, 3, 60, 4 * second);
  add(result, trace_action::allocate, 4, 10, 4 * second);
  add(result, trace_action::free, 9, 500, 5 * second);
  return result;
}

TEST(DecisionFile, MeasuresLifetimes) {
  const std::vector<memory::lifetime> lives = memory::lifetimes_of(sample());
  ASSERT_EQ(lives.size(), 4U);
  EXPECT_DOUBLE_EQ(lives[0].seconds(), 4);
  EXPECT_EQ(lives[0].end_ordinal, 3U);
  EXPECT_DOUBLE_EQ(lives[1].seconds(), 1);
  EXPECT_EQ(lives[1].end_ordinal, 2U);
  EXPECT_FALSE(lives[3].freed);
  EXPECT_EQ(lives[3].end_ns, 5 * second);
}

TEST(DecisionFile, AppliesTheLifetimeThreshold) {
  EXPECT_EQ(memory::make_decisions(sample(), {1}), (decisions{0, 0, 0, 0}));
  EXPECT_EQ(memory::make_decisions(sample(), {1.5}), (decisions{0, 1, 0, 0}));
  EXPECT_EQ(memory::make_decisions(sample(), {3}), (decisions{0, 1, 1, 0}));
  EXPECT_EQ(memory::make_decisions(sample(), {1000}), (decisions{1, 1, 1, 0}));
  EXPECT_THROW((void)memory::make_decisions(sample(), {-1}), invalid_argument);
}

TEST(DecisionFile, AppliesTheAsyncPeakThreshold) {
  // 2 and 3 follow each other; 1 overlaps with both.
  EXPECT_EQ(memory::make_decisions(sample(), {1000, 170}), (decisions{1, 1, 1, 0}));
  EXPECT_EQ(memory::make_decisions(sample(), {1000, 169}), (decisions{0, 1, 1, 0}));
  EXPECT_EQ(memory::make_decisions(sample(), {1000, 69}), (decisions{0, 0, 1, 0}));
  EXPECT_EQ(memory::make_decisions(sample(), {1000, 0}), (decisions{0, 0, 0, 0}));
}

TEST(DecisionFile, RefusesTracesThatContradictThemselves) {
  memory::trace twice = sample();
  add(twice, trace_action::allocate, 4, 10, 6 * second);
  EXPECT_THROW((void)memory::lifetimes_of(twice), corrupt_data);
  memory::trace unknown = sample();
  add(unknown, trace_action::free, 77, 10, 6 * second);
  EXPECT_THROW((void)memory::lifetimes_of(unknown), corrupt_data);
  memory::trace backwards = sample();
  add(backwards, trace_action::free, 4, 10, 0);
  EXPECT_THROW((void)memory::lifetimes_of(backwards), corrupt_data);
}

memory::trace random_trace(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  memory::trace result;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> live;
  std::uint64_t now = 0;
  for (std::uint64_t id = 0; id < 300;) {
    now += random() % 1000;
    if (live.empty() || random() % 5 < 3) {
      live.emplace_back(id, 1 + random() % 100);
      add(result, trace_action::allocate, id++, live.back().second, now);
    } else {
      std::swap(live[random() % live.size()], live.back());
      add(result, trace_action::free, live.back().first, live.back().second, now);
      live.pop_back();
    }
  }
  return result;
}

TEST(DecisionFile, FillsThePoolUpToThePeakAndNotBeyond) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const memory::trace source = random_trace(seed);
    const std::vector<memory::lifetime> lives = memory::lifetimes_of(source);
    const std::uint64_t limit = 400;
    const decisions chosen = memory::make_decisions(source, {1000, limit});
    // Bytes of the pool right after allocation `at`, with one more object if asked for.
    const auto held = [&](std::size_t at, std::size_t also) {
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i <= at; ++i) {
        if ((chosen[i] == 1 || i == also) && lives[i].end_ordinal > at) sum += lives[i].bytes;
      }
      return sum;
    };
    for (std::size_t i = 0; i < lives.size(); ++i) {
      EXPECT_LE(held(i, lives.size()), limit) << "seed " << seed;
      if (chosen[i] == 1 || !lives[i].freed) continue;
      std::uint64_t peak = 0;
      for (std::size_t at = i; at < lives[i].end_ordinal; ++at) peak = std::max(peak, held(at, i));
      EXPECT_GT(peak, limit) << "seed " << seed << ": allocation " << i << " would have fitted";
    }
  }
}

TEST(DecisionFile, HandlesAMillionAllocations) {
  memory::trace source;
  constexpr std::uint64_t count = 1'000'000;
  constexpr std::uint64_t depth = 1000;
  for (std::uint64_t i = 0; i < count; ++i) {
    add(source, trace_action::allocate, i, 1, i);
    if (i >= depth) add(source, trace_action::free, i - depth, 1, i);
  }
  const decisions chosen = memory::make_decisions(source, {1, depth / 2});
  EXPECT_EQ(chosen.size(), count);
  EXPECT_EQ(std::count(chosen.begin(), chosen.begin() + 2 * depth, 1), depth);
}

TEST(DecisionFile, ReadsBackWhatItWrote) {
  const decisions chosen{1, 0, 0, 1};
  EXPECT_EQ(memory::decisions_to_text(chosen),
            "halocline decisions 1,4\nordinal,decision\n0,1\n1,0\n2,0\n3,1\n");
  EXPECT_EQ(memory::decisions_from_text(memory::decisions_to_text(chosen), 4), chosen);
  EXPECT_EQ(memory::decisions_from_text(memory::decisions_to_text({})), decisions{});
}

TEST(DecisionFile, RefusesForeignAndDamagedText) {
  const std::string good = memory::decisions_to_text(decisions{1, 0, 1});
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_THROW((void)memory::decisions_from_text(good.substr(0, length)), corrupt_data) << length;
  }
  for (const char* bad :
       {"halocline decisions 2,0\nordinal,decision\n", "halocline decisions 1,1\nordinal,decision\n1,1\n",
        "halocline decisions 1,1\nordinal,decision\n0,2\n",
        "halocline decisions 1,1\nordinal,decision\n0,-1\n",
        "halocline decisions 1,1\nordinal;decision\n0,1\n",
        "halocline decisions 1,0\nordinal,decision\n0,1\n",
        "halocline decisions 1,18446744073709551615\nordinal,decision\n0,1\n"}) {
    EXPECT_THROW((void)memory::decisions_from_text(bad), corrupt_data) << bad;
  }
  EXPECT_THAT(message_of<invalid_argument>([&] { (void)memory::decisions_from_text(good, 4); }),
              testing::HasSubstr("3 allocations"));
}

}  // namespace
}  // namespace halocline::test
