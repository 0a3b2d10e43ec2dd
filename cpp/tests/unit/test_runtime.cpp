// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <sstream>
#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/core/format.hpp"
#include "halocline/memory/runtime.hpp"
#include "support/message_of.hpp"

namespace {

using namespace halocline;
using namespace halocline::memory;
using halocline::test::message_of;

runtime_options with_budget(std::size_t bytes) {
  runtime_options options;
  options.budget_bytes = bytes;
  return options;
}

TEST(Runtime, CountsBytesByClassAndReturnsToTheBaseline) {
  const auto memory = runtime::create({});
  {
    const buffer a = memory->allocate(1000, object_class::ciphertext, "a");
    const buffer b = memory->allocate(500, object_class::scratch, "b");
    const stats now = memory->statistics();
    EXPECT_EQ(now.live_bytes, 1500U);
    EXPECT_EQ(now.live_buffers, 2U);
    EXPECT_EQ(now.live_by_class[static_cast<std::size_t>(object_class::ciphertext)], 1000U);
    EXPECT_NE(a.id(), b.id());
  }
  const stats after = memory->statistics();
  EXPECT_EQ(after.live_bytes, 0U);
  EXPECT_EQ(after.peak_bytes, 1500U);
  EXPECT_EQ(after.allocations, after.frees);
}

TEST(Runtime, BuffersKeepTheirRuntimeAlive) {
  auto memory = runtime::create({});
  buffer survivor = memory->allocate(64, object_class::plaintext, "survivor");
  memory.reset();
  EXPECT_EQ(survivor.size(), 64U);
}

TEST(Runtime, MovedFromBufferIsEmpty) {
  const auto memory = runtime::create({});
  buffer a = memory->allocate(64, object_class::scratch, "a");
  const std::uint64_t id = a.id();
  buffer b = std::move(a);
  EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move): the state after a move is what is tested
  EXPECT_EQ(b.id(), id);
  b = memory->allocate(32, object_class::scratch, "b");
  EXPECT_EQ(memory->statistics().live_bytes, 32U);
}

/// With a list that is copied for every new buffer this would take minutes.
TEST(Runtime, ManyLiveBuffersAreFreedInAnyOrder) {
  runtime_options options;
  options.ghost = true;
  const auto memory = runtime::create(options);
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<buffer> held;
  for (std::size_t i = 0; i < 200'000; ++i) {
    held.push_back(memory->allocate(1 + i % 7, object_class::ciphertext, "small"));
  }
  EXPECT_EQ(memory->statistics().live_buffers, held.size());
  std::shuffle(held.begin(), held.end(), random);
  std::size_t left = memory->statistics().live_bytes;
  for (std::size_t i = 0; i < held.size() / 2; ++i) {
    left -= held[i].size();
    held[i] = {};
  }
  EXPECT_EQ(memory->statistics().live_bytes, left);
  const operand last{&held.back(), 0, 1};
  (void)memory->acquire({&last, 1}, {}, "look");
  held.clear();
  EXPECT_EQ(memory->statistics().live_bytes, 0U);
  EXPECT_EQ(memory->statistics().live_buffers, 0U);
}

TEST(Runtime, OutOfMemoryNamesTheLargestObjectsAndTheBudgetThatWouldDo) {
  const auto memory = runtime::create(with_budget(4096));
  const buffer keys = memory->allocate(3000, object_class::evaluation_key, "relinearization");
  const buffer other = memory->allocate(1000, object_class::ciphertext, "ciphertext");
  const std::string message =
      message_of<error>([&] { (void)memory->allocate(2000, object_class::scratch, "key_switch.digits"); });
  EXPECT_THAT(message, testing::HasSubstr("key_switch.digits"));
  EXPECT_THAT(message, testing::HasSubstr("relinearization"));
  EXPECT_THAT(message, testing::HasSubstr("6000 bytes"));
  EXPECT_THROW((void)memory->allocate(2000, object_class::scratch, "x"), out_of_memory);
  EXPECT_EQ(memory->statistics().live_bytes, 4000U) << "a refused request changes nothing";
  EXPECT_NO_THROW((void)memory->allocate(96, object_class::scratch, "fits exactly"));
}

TEST(Runtime, CacheNeverPushesTheTierOverTheBudget) {
  const auto memory = runtime::create(with_budget(4096));
  { const buffer a = memory->allocate(3000, object_class::scratch, "a"); }
  EXPECT_EQ(memory->statistics().cached_bytes, 3000U);
  const buffer b = memory->allocate(2000, object_class::scratch, "b");
  const stats now = memory->statistics();
  EXPECT_LE(now.live_bytes + now.cached_bytes, 4096U);
}

TEST(Runtime, FreedBlocksAreReused) {
  const auto memory = runtime::create({});
  const operand whole{nullptr, 0, 4096};
  const auto address = [&](const buffer& b) {
    operand each = whole;
    each.data = &b;
    return memory->acquire({&each, 1}, {}, "probe").pointer(b);
  };
  std::byte* first = nullptr;
  {
    const buffer a = memory->allocate(4096, object_class::scratch, "a");
    first = address(a);
  }
  const buffer b = memory->allocate(4096, object_class::scratch, "b");
  EXPECT_EQ(address(b), first);
}

TEST(Runtime, WipedBuffersAreZeroWhenTheirBlockIsReused) {
  const auto memory = runtime::create({});
  {
    const buffer secret = memory->allocate(256, object_class::scratch, "secret", true);
    const operand all{&secret, 0, 256};
    std::memset(memory->acquire({}, {&all, 1}, "fill").pointer(secret), 0xAB, 256);
  }
  const buffer reused = memory->allocate(256, object_class::scratch, "reused");
  const operand all{&reused, 0, 256};
  const std::byte* bytes = memory->acquire({&all, 1}, {}, "read").pointer(reused);
  EXPECT_TRUE(std::all_of(bytes, bytes + 256, [](std::byte b) { return b == std::byte{0}; }));
}

TEST(Runtime, AcquireRefusesForeignEmptyAndOutOfRangeOperands) {
  const auto one = runtime::create({});
  const auto two = runtime::create({});
  const buffer mine = one->allocate(100, object_class::scratch, "mine");
  const buffer empty;
  const auto acquire = [](runtime& r, const operand& o) { (void)r.acquire({&o, 1}, {}, "op"); };
  EXPECT_THROW(acquire(*two, {&mine, 0, 100}), invalid_argument);
  EXPECT_THROW(acquire(*one, {&empty, 0, 0}), invalid_argument);
  EXPECT_THROW(acquire(*one, {&mine, 50, 51}), invalid_argument);
  EXPECT_THROW(acquire(*one, {&mine, ~std::size_t{0}, 2}), invalid_argument);
  EXPECT_NO_THROW(acquire(*one, {&mine, 50, 50}));
}

TEST(Runtime, ZeroBytesAreRefused) {
  EXPECT_THROW((void)runtime::create({})->allocate(0, object_class::scratch, "none"), invalid_argument);
}

TEST(Runtime, UnknownPolicyNamesTheKnownOnes) {
  runtime_options options;
  options.policy = "no-such-policy";
  EXPECT_THAT(message_of<error>([&] { (void)runtime::create(options); }), testing::HasSubstr("resident"));
}

TEST(Runtime, GhostCountsWithoutMemory) {
  runtime_options options;
  options.ghost = true;
  const auto memory = runtime::create(options);
  const buffer huge = memory->allocate(std::size_t{1} << 50, object_class::evaluation_key, "huge");
  EXPECT_EQ(memory->statistics().live_bytes, std::size_t{1} << 50);
  const operand part{&huge, 0, 4096};
  EXPECT_EQ(memory->acquire({&part, 1}, {}, "op").pointer(huge), nullptr);
}

trace record_program(bool ghost) {
  runtime_options options;
  options.ghost = ghost;
  options.record_trace = true;
  const auto memory = runtime::create(options);
  const buffer a = memory->allocate(128, object_class::ciphertext, "a");
  {
    const buffer b = memory->allocate(64, object_class::scratch, "b");
    const operand read{&a, 64, 64};
    const operand write{&b, 0, 64};
    (void)memory->acquire({&read, 1}, {&write, 1}, "copy", stream_view(3));
  }
  return memory->stop_trace();
}

TEST(Trace, RecordsEveryEventInOrder) {
  const trace t = record_program(true);
  ASSERT_EQ(t.events.size(), 5U);
  EXPECT_EQ(t.events[2].action, trace_action::read);
  EXPECT_EQ(t.events[2].offset, 64U);
  EXPECT_EQ(t.events[2].stream, 3U);
  EXPECT_EQ(t.op(t.events[3]), "copy");
  EXPECT_EQ(t.events[4].action, trace_action::free);
  EXPECT_EQ(t.events[4].step, 1U);
}

TEST(Trace, GhostTracesAreDeterministic) {
  EXPECT_EQ(record_program(true).events, record_program(true).events);
}

TEST(Trace, CsvRoundTrip) {
  const trace t = record_program(false);
  std::stringstream csv;
  t.write_csv(csv);
  EXPECT_EQ(trace::read_csv(csv).events, t.events);
}

TEST(Trace, MalformedCsvNamesTheLine) {
  const std::string header = "step,op,action,object,class,bytes,offset,stream,time_ns,tag\n";
  for (const char* row : {"1,ntt,read,1,scratch,8,0,0\n", "x,ntt,read,1,scratch,8,0,0,0,t\n",
                          "1,ntt,chew,1,scratch,8,0,0,0,t\n", "1,ntt,read,1,secret,8,0,0,0,t\n"}) {
    std::istringstream in(header + row);
    EXPECT_THAT(message_of<error>([&] { (void)trace::read_csv(in); }), testing::HasSubstr("line 2")) << row;
  }
  std::istringstream foreign("Thread,Time\n");
  EXPECT_THROW((void)trace::read_csv(foreign), corrupt_data);
}

TEST(Format, BytesForPeople) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(std::size_t{3} << 30), "3.0 GiB");
  for (const std::size_t bytes : {0U, 1023U, 1025U, 18665000U, 37749096U, 1U << 30, (1U << 30) + 1}) {
    EXPECT_GE(bytes == 0 ? 0 : parse_bytes(format_bytes_up(bytes)), bytes);
    EXPECT_LE(bytes == 0 ? 0 : parse_bytes(format_bytes_up(bytes)), bytes + bytes / 10);
  }
  EXPECT_EQ(format_bytes_up(18665000), "17.9 MiB");
}

TEST(Format, ParsesSizes) {
  EXPECT_EQ(parse_bytes("4096"), 4096U);
  EXPECT_EQ(parse_bytes("2GiB"), std::size_t{2} << 30);
  EXPECT_EQ(parse_bytes("1.5 mb"), 1500000U);
  for (const char* bad : {"", "GiB", "-1", "0", "nan", "inf", "12 parsecs", "1e400", "99999999999TiB"}) {
    EXPECT_THROW((void)parse_bytes(bad), invalid_argument) << bad;
  }
}

}  // namespace
