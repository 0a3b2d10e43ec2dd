// SPDX-License-Identifier: Apache-2.0
// Record files of processes that were killed, and of power failures.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "halocline/pir/record_file.hpp"
#include "support/killed_child.hpp"
#include "support/record_files.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::pir {
namespace {

using test::build;
using test::bytes_from;
using test::layout_in;
using test::plain_shape;
using test::read_all;
using test::records_of;

constexpr std::uint64_t crash_seed = 20260116;

TEST(PirRecordFileCrash, IsOldOrNewWhereverTheBuildIsKilled) {
  const test::temporary_folder folder;
  const geometry shape = plain_shape();
  const std::vector<std::byte> records = records_of(shape);
  const std::vector<std::byte> fresh = test::random_records(records.size(), crash_seed + 1);
  const auto path = folder / "a.hlr";
  build(path, shape, records);
  std::uint64_t call = 1;
  std::size_t leftovers = 0;
  test::child_end end{};
  for (; (end = test::kill_at_call(call, [&] { build(path, shape, fresh); })) == test::child_end::killed;
       ++call) {
    const auto file = open_record_file(path, true);
    file->verify();
    const std::vector<std::byte> found = read_all(*file);
    ASSERT_TRUE(found == records || found == fresh) << "killed at call " << call;
    ASSERT_LE(folder.entries(), 2) << "the next build removes what a killed one left";
    leftovers += folder.entries() - 1;
    if (found == fresh) build(path, shape, records);
  }
  if (end == test::child_end::untraceable) GTEST_SKIP() << "children cannot be traced here";
  EXPECT_EQ(end, test::child_end::finished);
  EXPECT_GT(leftovers, 3);
  EXPECT_GT(call, 10);
  EXPECT_EQ(read_all(*open_record_file(path, true)), fresh);
  EXPECT_EQ(folder.entries(), 1);
}

TEST(PirRecordFileCrash, HasTheOldRecordOrTheNewOneWhereverAReplacementIsKilled) {
  const test::temporary_folder folder;
  const geometry shape = plain_shape();
  const std::vector<std::byte> records = records_of(shape);
  std::vector<std::byte> replaced = records;
  const std::vector<std::byte> fresh = test::random_records(1000, crash_seed + 1);
  std::ranges::copy(fresh, replaced.begin() + 65000);  // in two blocks
  const auto path = folder / "a.hlr";
  std::uint64_t call = 1;
  int old_ones = 0;
  int new_ones = 0;
  test::child_end end{};
  const auto replace = [&] { open_record_file(path, true)->write(65000, fresh); };
  for (;; ++call) {
    build(path, shape, records);
    end = test::kill_at_call(call, replace);
    if (end != test::child_end::killed) break;
    // The recovery is killed at one of its calls, too.
    const auto recover = [&] { static_cast<void>(open_record_file(path, true)); };
    static_cast<void>(test::kill_at_call(1 + call % 40, recover));
    const auto file = open_record_file(path, true);
    file->verify();
    const std::vector<std::byte> found = read_all(*file);
    ASSERT_TRUE(found == records || found == replaced) << "killed at call " << call;
    ++(found == records ? old_ones : new_ones);
  }
  if (end == test::child_end::untraceable) GTEST_SKIP() << "children cannot be traced here";
  EXPECT_EQ(end, test::child_end::finished);
  EXPECT_EQ(read_all(*open_record_file(path, true)), replaced);
  EXPECT_GT(old_ones, 3);
  EXPECT_GT(new_ones, 3);
}

// A power failure may leave any of the writes between two synchronizations.
TEST(PirRecordFileCrash, CompletesWhateverAPowerFailureLeft) {
  const test::temporary_folder folder;
  const geometry shape = plain_shape();
  const std::vector<std::byte> records = records_of(shape);
  const record_layout at = layout_in(shape);
  const auto path = folder / "a.hlr";
  build(path, shape, records);
  const std::string before = test::read_file(path);
  const std::vector<std::byte> fresh = test::random_records(1000, crash_seed + 1);
  open_record_file(path, true)->write(65000, fresh);
  const std::string after = test::read_file(path);
  journal_entry entry{65000, 0, {0, 0}, fresh};
  std::memcpy(entry.checksums.data(), after.data() + at.checksums, 16);
  const std::vector<std::byte> journal = write_journal(entry);
  const std::string logged(reinterpret_cast<const char*>(journal.data()), journal.size());
  std::mt19937_64 random(crash_seed);
  for (int i = 0; i < 100; ++i) {
    // The journal is complete: the record and the checksums are anything between old and new.
    std::string torn = before;
    torn.replace(at.journal, logged.size(), logged);
    for (std::uint64_t j = 0; j < 1000; ++j) {
      if (random() % 2 == 0) torn[at.records + 65000 + j] = after[at.records + 65000 + j];
    }
    for (std::uint64_t j = 0; j < 16; ++j) {
      if (random() % 2 == 0) torn[at.checksums + j] = after[at.checksums + j];
    }
    test::write_file(path, torn);
    auto file = open_record_file(path, true);
    file->verify();
    ASSERT_EQ(bytes_from(*file, 65000, 1000), fresh);
    // The journal is not complete: nothing else was written.
    file.reset();
    std::string part = before;
    const std::size_t missing = random() % logged.size();
    part.replace(at.journal, logged.size(), logged);
    part[at.journal + missing] = static_cast<char>(part[at.journal + missing] ^ (1 + random() % 255));
    test::write_file(path, part);
    file = open_record_file(path, true);
    file->verify();
    ASSERT_EQ(read_all(*file), records);
  }
}

}  // namespace
}  // namespace halocline::pir
