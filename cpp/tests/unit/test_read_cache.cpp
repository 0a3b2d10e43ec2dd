// SPDX-License-Identifier: Apache-2.0
#include "halocline/storage/read_cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/storage/manifest.hpp"
#include "support/forked.hpp"

namespace halocline::storage {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::uint64_t block = manifest::block_bytes;

/// Bytes by a formula; counts those that are read.
class formula_source final : public io::byte_source {
 public:
  formula_source(std::uint64_t bytes, std::uint8_t salt) : bytes_(bytes), salt_(salt) {}

  [[nodiscard]] static std::byte at(std::uint64_t i, std::uint8_t salt) {
    return static_cast<std::byte>((i * 2654435761U >> 9) + salt);
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::string name() const override { return "formula"; }
  void read(std::uint64_t offset, std::span<std::byte> dst) const override {
    if (fails) throw io_error("no connection");
    if (during) during();
    for (std::size_t i = 0; i < dst.size(); ++i) dst[i] = at(offset + i, salt_);
    read_bytes += dst.size();
  }
  void prefetch(std::span<const io::byte_range> parts) const override { prefetched += parts.size(); }
  void forget(std::span<const io::byte_range>) const override {}

  mutable std::atomic<std::uint64_t> read_bytes = 0;
  mutable std::atomic<std::uint64_t> prefetched = 0;
  bool fails = false;
  std::function<void()> during;  ///< called by each read

 private:
  std::uint64_t bytes_;
  std::uint8_t salt_;
};

void expect_bytes(const io::byte_source& from, std::uint64_t offset, std::uint64_t count, std::uint8_t salt) {
  std::vector<std::byte> got(count);
  from.read(offset, got);
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSERT_EQ(got[i], formula_source::at(offset + i, salt)) << "byte " << offset + i;
  }
}

class ReadCache : public testing::Test {
 protected:
  void make(std::uint64_t limit) { cache = std::make_shared<read_cache>(limit); }
  std::shared_ptr<cached_object> attach(std::uint8_t salt, std::uint64_t bytes = 10 * block + 100) {
    sources.push_back(std::make_shared<formula_source>(bytes, salt));
    return cache->attach(sources.back());
  }
  std::shared_ptr<read_cache> cache;
  std::vector<std::shared_ptr<formula_source>> sources;
};

TEST_F(ReadCache, ReadsEveryBlockOnce) {
  make(100 * block);
  const auto object = attach(7);
  expect_bytes(*object, 3, 10, 7);
  EXPECT_EQ(sources[0]->read_bytes, block) << "whole blocks";
  expect_bytes(*object, 100, block - 100, 7);
  EXPECT_EQ(sources[0]->read_bytes, block);
  const io::byte_range ranges[] = {{5 * block + 1, block}, {0, 2}, {9 * block, block + 100}};
  object->prefetch(ranges);
  EXPECT_EQ(sources[0]->read_bytes, 4 * block + 100) << "and the last one, which is short";
  EXPECT_EQ(sources[0]->prefetched, 1U + 2U) << "what is missing is asked for at once";
  expect_bytes(*object, 0, object->bytes(), 7);
  EXPECT_EQ(sources[0]->read_bytes, object->bytes());
  EXPECT_EQ(object->held_bytes(), object->bytes());
  const read_cache_counts counts = cache->counts();
  EXPECT_EQ(counts.held_bytes, object->bytes());
  EXPECT_EQ(counts.fetched_bytes, object->bytes());
  EXPECT_EQ(counts.given_bytes, 10 + block - 100 + object->bytes());
  object->drop();
  EXPECT_EQ(cache->counts().held_bytes, 0U);
  expect_bytes(*object, block, block, 7);
}

TEST_F(ReadCache, ReadsOutsideAreRefused) {
  make(100 * block);
  const auto object = attach(1, 1000);
  std::vector<std::byte> got(10);
  EXPECT_THAT([&] { object->read(991, got); }, ThrowsMessage<invalid_argument>(HasSubstr("it has 1000")));
  EXPECT_THROW(object->read(~std::uint64_t{0}, got), invalid_argument);
  object->read(1000, {});
}

TEST_F(ReadCache, TheLeastRecentlyUsedObjectGoesFirstAndFromItsEnd) {
  make(20 * block);
  const auto first = attach(1, 10 * block), second = attach(2, 10 * block), third = attach(3, 10 * block);
  for (std::uint64_t i = 0; i < 10; ++i) {
    expect_bytes(*first, i * block, 1, 1);
    expect_bytes(*second, i * block, 1, 2);
  }
  expect_bytes(*first, 0, 1, 1);  // now the second one was used least recently
  expect_bytes(*third, 0, 3 * block, 3);
  EXPECT_EQ(second->held_bytes(), 7 * block);
  EXPECT_EQ(first->held_bytes(), 10 * block);
  EXPECT_EQ(cache->counts().evicted_bytes, 3 * block);
  const std::uint64_t before = sources[1]->read_bytes;
  expect_bytes(*second, 0, 7 * block, 2);
  EXPECT_EQ(sources[1]->read_bytes, before) << "its beginning stayed";
}

TEST_F(ReadCache, PinnedObjectsStayAndTheLimitHolds) {
  make(4 * block);
  const auto pinned = attach(1, 3 * block), other = attach(2, 8 * block);
  pinned->pin();
  pinned->pin();
  expect_bytes(*pinned, 0, 3 * block, 1);
  expect_bytes(*other, 0, 8 * block, 2);
  EXPECT_EQ(pinned->held_bytes(), 3 * block);
  EXPECT_EQ(other->held_bytes(), 0U) << "eight blocks have no room, and nothing was evicted for them";
  const io::byte_range range{0, 8 * block};
  const std::uint64_t before = sources[1]->read_bytes;
  other->prefetch({&range, 1});
  expect_bytes(*other, 0, 8 * block, 2);
  EXPECT_EQ(sources[1]->read_bytes, before + 8 * block) << "what was prefetched is kept until `forget`";
  other->forget({&range, 1});
  expect_bytes(*other, 0, block, 2);
  EXPECT_EQ(sources[1]->read_bytes, before + 9 * block);
  EXPECT_LE(cache->counts().held_bytes, cache->limit());
  pinned->unpin();
  expect_bytes(*other, 2 * block, 2 * block, 2);
  EXPECT_EQ(pinned->held_bytes(), 3 * block) << "still pinned once";
  pinned->unpin();
  expect_bytes(*other, 2 * block, 2 * block, 2);
  EXPECT_EQ(other->held_bytes(), 3 * block);
  EXPECT_THROW(pinned->unpin(), invalid_argument);
}

TEST_F(ReadCache, ErrorsOfASourceLeaveItAsItWas) {
  make(100 * block);
  const auto object = attach(1);
  expect_bytes(*object, 0, 1, 1);
  sources[0]->fails = true;
  std::vector<std::byte> got(2 * block);
  EXPECT_THROW(object->read(0, got), io_error);
  expect_bytes(*object, 0, block, 1);
  EXPECT_EQ(cache->counts().held_bytes, block);
  sources[0]->fails = false;
  expect_bytes(*object, 0, object->bytes(), 1);
}

TEST_F(ReadCache, AForkDoesNotWaitForAReadOfASource) {
  make(100 * block);
  const auto object = attach(3);
  std::atomic<bool> reads{false}, forked{false}, gave_up{false};
  sources[0]->during = [&] {
    reads = true;
    // As a server that answers late. A fork that waited for it would let it wait until it gives up.
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(4);
    while (!forked && !gave_up) gave_up = std::chrono::steady_clock::now() >= until;
  };
  std::jthread other([&] { expect_bytes(*object, 0, 2 * block, 3); });
  while (!reads) std::this_thread::yield();
  const int code = test::exit_code_of_child([&] {
    sources[0]->during = nullptr;  // the child reads for itself
    std::vector<std::byte> got(4 * block);
    object->read(0, got);
    for (std::uint64_t i = 0; i < got.size(); ++i) {
      if (got[i] != formula_source::at(i, 3)) return 1;
    }
    return gave_up ? 2 : 0;
  });
  forked = true;
  other.join();
  EXPECT_EQ(code, 0);
  expect_bytes(*object, 0, object->bytes(), 3);
}

TEST_F(ReadCache, PartsGoWithTheirObject) {
  make(100 * block);
  auto object = attach(1);
  expect_bytes(*object, 0, object->bytes(), 1);
  object.reset();
  EXPECT_EQ(cache->counts().held_bytes, 0U);
}

TEST_F(ReadCache, RandomReadsOfThreadsAreRight) {
  make(12 * block);
  std::vector<std::shared_ptr<cached_object>> objects;
  for (std::uint8_t i = 0; i < 4; ++i) objects.push_back(attach(i));
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937_64 rng(t);
        for (int i = 0; i < 150; ++i) {
          const std::size_t which = rng() % objects.size();
          const cached_object& object = *objects[which];
          const std::uint64_t offset = rng() % object.bytes();
          const std::uint64_t count = rng() % std::min<std::uint64_t>(object.bytes() - offset, 3 * block);
          const io::byte_range range{offset, count};
          const bool pinned = rng() % 4 == 0;
          if (pinned) object.pin();
          if (rng() % 3 == 0) object.prefetch({&range, 1});
          expect_bytes(object, offset, count, static_cast<std::uint8_t>(which));
          if (rng() % 16 == 0) object.drop();
          object.forget({&range, 1});
          if (pinned) object.unpin();
          EXPECT_LE(cache->counts().held_bytes, cache->limit());
        }
      });
    }
  }
  std::uint64_t held = 0;
  for (const auto& each : objects) held += each->held_bytes();
  EXPECT_EQ(held, cache->counts().held_bytes);
}

}  // namespace
}  // namespace halocline::storage
