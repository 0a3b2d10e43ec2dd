// SPDX-License-Identifier: Apache-2.0
#include "storage/read_ahead.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "halocline/core/error.hpp"

namespace halocline::storage {
namespace {

/// Every byte of an object says where it is.
[[nodiscard]] std::byte byte_at(std::uint64_t offset) {
  return static_cast<std::byte>(offset * 2654435761U >> 13);
}

void fill(std::span<const range_read> parts) {
  for (const range_read& part : parts) {
    for (std::size_t i = 0; i < part.dst.size(); ++i) part.dst[i] = byte_at(part.offset + i);
  }
}

[[nodiscard]] bool is_right(std::uint64_t offset, std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != byte_at(offset + i)) return false;
  }
  return true;
}

TEST(ReadAhead, GivesWhatLiesInOnePart) {
  std::atomic<int> fetches = 0;
  read_ahead ahead([&](std::span<const range_read> parts, const std::stop_token&) {
    ++fetches;
    fill(parts);
  });
  std::vector<std::byte> copy(50);
  EXPECT_FALSE(ahead.copy(100, copy));
  ahead.begin({{100, 60}, {200, 50}});
  ahead.begin({{100, 60}, {200, 50}});  // the same: nothing to do
  ASSERT_TRUE(ahead.copy(105, copy));
  EXPECT_TRUE(is_right(105, copy));
  ASSERT_TRUE(ahead.copy(200, copy));
  EXPECT_TRUE(is_right(200, copy));
  EXPECT_FALSE(ahead.copy(111, copy));  // beyond the part's end
  EXPECT_EQ(fetches, 1);
  ahead.forget({{100, 60}});  // not just these
  EXPECT_TRUE(ahead.copy(100, copy));
  ahead.forget({{100, 60}, {200, 50}});
  EXPECT_FALSE(ahead.copy(100, copy));
}

TEST(ReadAhead, KeepsTwoSetsAndTheirMemoryIsUsedAgain) {
  read_ahead ahead([](std::span<const range_read> parts, const std::stop_token&) { fill(parts); });
  std::vector<std::byte> copy(64);
  for (std::uint64_t i = 0; i < 20; ++i) {
    ahead.begin({{i * 100, 64 + i}});
    ahead.begin({{(i + 1) * 100, 64 + i + 1}});
    ASSERT_TRUE(ahead.copy(i * 100, copy));
    EXPECT_TRUE(is_right(i * 100, copy));
    if (i % 3 != 0) ahead.forget({{i * 100, 64 + i}});
  }
  EXPECT_TRUE(ahead.copy(2000, copy));
  EXPECT_FALSE(ahead.copy(1700, copy)) << "older sets are dropped";
}

TEST(ReadAhead, AFailureIsThrownByTheReadAndTriedAgain) {
  std::atomic<int> fetches = 0;
  read_ahead ahead([&](std::span<const range_read> parts, const std::stop_token&) {
    if (++fetches == 1) throw io_error("the server is gone");
    fill(parts);
  });
  std::vector<std::byte> copy(10);
  ahead.begin({{0, 10}});
  EXPECT_THROW((void)ahead.copy(0, copy), io_error);
  EXPECT_FALSE(ahead.copy(0, copy));
  ahead.begin({{0, 10}});
  EXPECT_TRUE(ahead.copy(0, copy));
  EXPECT_TRUE(is_right(0, copy));
}

TEST(ReadAhead, SetsAreFetchedOneAfterTheOther) {
  std::atomic<int> at_once = 0;
  std::atomic<int> most = 0;
  read_ahead ahead([&](std::span<const range_read> parts, const std::stop_token&) {
    most = std::max(most.load(), ++at_once);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    fill(parts);
    --at_once;
  });
  std::vector<std::byte> copy(10);
  for (std::uint64_t i = 0; i < 10; ++i) {
    ahead.begin({{i * 10, 10}});
    ahead.begin({{i * 10 + 10, 10}});
    EXPECT_TRUE(ahead.copy(i * 10, copy));
  }
  EXPECT_EQ(most, 1);
}

TEST(ReadAhead, WhatIsDroppedIsGivenUp) {
  std::atomic<int> stopped = 0;
  const auto until_stopped = [&](std::span<const range_read>, const std::stop_token& stop) {
    while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++stopped;
    throw io_error("given up");
  };
  {
    read_ahead ahead(until_stopped);
    ahead.begin({{0, 10}});
    ahead.begin({{10, 10}});
    ahead.begin({{20, 10}});  // drops the first one
  }
  EXPECT_EQ(stopped, 3) << "its end waits for nothing else";
}

}  // namespace
}  // namespace halocline::storage
