// SPDX-License-Identifier: Apache-2.0
// Record files of random sizes under random reads, replacements and openings, beside a vector.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "halocline/core/error.hpp"
#include "support/record_files.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::pir {
namespace {

struct case_of_file {
  geometry shape;
  record_range range;
};

/// Records from a byte to several blocks, in files from a few bytes to some blocks.
case_of_file random_case(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  const std::uint64_t record_bytes = 1 + below(std::uint64_t{1} << below(19));
  const std::uint64_t records = 1 + below(std::max<std::uint64_t>(1, 400000 / record_bytes));
  case_of_file made{test::small_geometry(records, record_bytes, 1U << below(6)), {}};
  made.range.first = below(2) == 0 ? 0 : below(records);
  made.range.records = 1 + below(records - made.range.first);
  return made;
}

void check_file(std::mt19937_64& random) {
  const test::temporary_folder folder;
  const auto path = folder / "a.hlr";
  const case_of_file made = random_case(random);
  const std::uint64_t record = made.shape.record_bytes;
  const std::uint64_t begin = made.range.first * record;
  std::vector<std::byte> model = test::random_records(made.range.records * record, random());
  test::build(path, made.shape, model, 1 + random() % 200000, made.range);
  auto file = open_record_file(path, true);
  ASSERT_EQ(file->range(), made.range);
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t from = random() % model.size();
    const std::uint64_t count = 1 + random() % (model.size() - from);
    const std::vector<std::byte> seen = test::bytes_from(*file, begin + from, count);
    ASSERT_TRUE(std::equal(seen.begin(), seen.end(), model.begin() + static_cast<std::ptrdiff_t>(from)));
    const std::uint64_t number = random() % made.range.records;
    const std::uint64_t skipped = random() % 2 == 0 ? 0 : random() % record;
    const std::vector<std::byte> fresh = test::random_records(1 + random() % (record - skipped), random());
    file->write(begin + number * record + skipped, fresh);
    std::ranges::copy(fresh, model.begin() + static_cast<std::ptrdiff_t>(number * record + skipped));
    if (random() % 4 != 0) continue;
    file.reset();
    file = open_record_file(path, true);
    if (random() % 2 == 0) file->verify();
  }
  file.reset();
  // A single wrong bit is found in whatever reads its block.
  const record_layout at = test::layout_in(made.shape, made.range);
  const std::uint64_t wrong = random() % model.size();
  test::damage(path, at.records + wrong);
  file = open_record_file(path, true);
  EXPECT_THROW(static_cast<void>(test::bytes_from(*file, begin + wrong, 1)), corrupt_data);
  EXPECT_THROW(file->verify(), corrupt_data);
}

TEST(PirRecordFileProperty, IsAVectorOfBytesThatLasts) {
  std::random_device fresh;
  for (int i = 0; i < 40; ++i) {
    const std::uint64_t seed = (std::uint64_t{fresh()} << 32) + fresh();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    check_file(random);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace halocline::pir
