// SPDX-License-Identifier: Apache-2.0
// Files of the file tier that something else changes: reads say so and never give wrong bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/memory/tier/file_store.hpp"
#include "memory/tier/page_checksums.hpp"
#include "support/page_frame.hpp"
#include "support/spill_file.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::test {
namespace {

using memory::io_engine;
using testing::HasSubstr;

constexpr std::size_t page = 4096;

std::vector<std::byte> bytes_of(std::size_t count) {
  std::vector<std::byte> result(count);
  std::mt19937 random(1);
  for (std::byte& each : result) each = static_cast<std::byte>(random());
  return result;
}

TEST(PageChecksums, FindTheFirstWrongPage) {
  const memory::page_checksums sums;
  std::vector<std::byte> data = bytes_of(5 * page);
  std::vector<std::uint64_t> noted(5);
  EXPECT_EQ(sums.first_wrong(data.data(), data.size(), noted.data()), 0U) << "never written";
  sums.note(data.data(), data.size(), noted.data());
  EXPECT_EQ(sums.first_wrong(data.data(), data.size(), noted.data()), std::nullopt);
  data[3 * page + 17] ^= std::byte{1};
  data[4 * page] ^= std::byte{128};
  EXPECT_EQ(sums.first_wrong(data.data(), data.size(), noted.data()), 3 * page);
  EXPECT_EQ(sums.first_wrong(data.data(), 3 * page, noted.data()), std::nullopt) << "a prefix";
}

TEST(PageChecksums, DependOnASecretOfTheirOwn) {
  const std::vector<std::byte> data = bytes_of(page);
  std::uint64_t one = 0;
  std::uint64_t other = 0;
  memory::page_checksums().note(data.data(), page, &one);
  memory::page_checksums().note(data.data(), page, &other);
  EXPECT_NE(one, other);
}

using engine_and_direct = std::tuple<io_engine, bool>;

class DamagedFile : public testing::TestWithParam<engine_and_direct> {
 protected:
  void SetUp() override {
    if (std::get<0>(GetParam()) == io_engine::io_uring && !memory::has_io_uring()) GTEST_SKIP();
    memory::file_store_options options;
    options.folder = folder_.path();
    options.engine = std::get<0>(GetParam());
    options.direct = std::get<1>(GetParam());
    options.chunk_bytes = 4 * page;
    place_ = memory::make_file_store(options);
  }

  memory::slot_id written(std::size_t pages, std::uint64_t content) {
    const memory::slot_id slot = place_->allocate(pages * page);
    write(slot, pages, content);
    return slot;
  }
  void write(memory::slot_id slot, std::size_t pages, std::uint64_t content) {
    const page_frame frame(pages * page, content);
    place_->wait(place_->write(slot, frame.data(), frame.size()));
  }
  [[nodiscard]] bool reads_right(memory::slot_id slot, std::size_t pages, std::uint64_t content) {
    const page_frame frame(pages * page);
    place_->wait(place_->read(slot, frame.data(), frame.size()));
    return frame.holds(content);
  }
  /// What reading says; empty when it succeeds.
  std::string failure(memory::slot_id slot, std::size_t offset, std::size_t pages) {
    const page_frame frame(pages * page);
    const memory::transfer_id read = place_->read_from(slot, offset, frame.data(), frame.size());
    try {
      place_->wait(read);
    } catch (const corrupt_data& error) {
      return error.what();
    }
    return {};
  }

  temporary_folder folder_;
  std::unique_ptr<memory::store> place_;
};

INSTANTIATE_TEST_SUITE_P(Engines, DamagedFile,
                         testing::Combine(testing::Values(io_engine::io_uring, io_engine::threads),
                                          testing::Bool()));

TEST_P(DamagedFile, WhereItEndsWithinAPageIsSaidWithPlaceAndReason) {
  const memory::slot_id slot = written(9, 1);
  const spill_file file(folder_.path());
  file.truncate(6 * page + 100);
  const std::string message = failure(slot, 0, 9);
  EXPECT_THAT(message, HasSubstr(folder_.path().string()));
  EXPECT_THAT(message, HasSubstr("read of 36864 bytes at offset 0"));
  EXPECT_THAT(message, HasSubstr("the file ends here"));
  EXPECT_TRUE(reads_right(slot, 6, 1)) << "what is still there";
  EXPECT_THAT(failure(slot, 8 * page, 1), HasSubstr("at offset 32768"));
}

TEST_P(DamagedFile, AHoleIsNoZeros) {
  const memory::slot_id first = written(8, 1);
  const memory::slot_id second = written(8, 2);
  const spill_file file(folder_.path());
  file.truncate(0);
  const memory::slot_id third = written(8, 3);  // lengthens the file again: the others are holes now
  EXPECT_THAT(failure(first, 0, 8), HasSubstr("not what was written"));
  EXPECT_THAT(failure(second, 0, 1), HasSubstr("not what was written"));
  EXPECT_TRUE(reads_right(third, 8, 3));
}

TEST_P(DamagedFile, OneBitIsFoundInAnyPartThatHasIt) {
  const memory::slot_id slot = written(11, 7);
  const spill_file file(folder_.path());
  std::vector<char> contents = file.copy(11 * page);
  contents[5 * page + 4095] ^= 0x10;
  file.put(contents);
  EXPECT_THAT(failure(slot, 0, 11), HasSubstr("failed at offset " + std::to_string(5 * page)));
  EXPECT_THAT(failure(slot, 5 * page, 1), HasSubstr("checksum"));
  EXPECT_TRUE(reads_right(slot, 5, 7));
  EXPECT_EQ(failure(slot, 6 * page, 5), "");
  write(slot, 11, 8);
  EXPECT_TRUE(reads_right(slot, 11, 8)) << "a new write makes it right again";
}

TEST_P(DamagedFile, PagesInWrongPlacesAndOfEarlierTimesAreFound) {
  const memory::slot_id first = written(2, 1);
  const memory::slot_id second = written(2, 2);
  const spill_file file(folder_.path());
  const std::vector<char> before = file.copy(4 * page);
  write(first, 2, 3);
  file.put(before);
  EXPECT_THAT(failure(first, 0, 2), HasSubstr("not what was written"));
  EXPECT_TRUE(reads_right(second, 2, 2));
  std::vector<char> swapped(before.begin() + 2 * page, before.end());
  swapped.insert(swapped.end(), before.begin(), before.begin() + 2 * page);
  file.put(swapped);
  EXPECT_THAT(failure(first, 0, 2), HasSubstr("not what was written"));
  EXPECT_THAT(failure(second, 0, 2), HasSubstr("not what was written"));
}

TEST_P(DamagedFile, WhatWasNeverWrittenIsNotRead) {
  const memory::slot_id slot = place_->allocate(4 * page);
  write(slot, 2, 1);
  EXPECT_TRUE(reads_right(slot, 2, 1));
  EXPECT_THAT(failure(slot, 0, 4), HasSubstr("not what was written"));
}

}  // namespace
}  // namespace halocline::test
