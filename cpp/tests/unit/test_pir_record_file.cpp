// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/record_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "halocline/core/error.hpp"
#include "support/file_size_limit.hpp"
#include "support/forked.hpp"
#include "support/record_files.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::pir {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using test::build;
using test::bytes_from;
using test::damage;
using test::layout_in;
using test::plain_shape;
using test::read_all;
using test::records_of;

constexpr std::uint64_t seed = 20260115;
constexpr std::size_t block = record_block;

TEST(PirRecordFile, HasTheRecordsThatWereWritten) {
  const test::temporary_folder folder;
  const geometry shape = plain_shape();
  const std::vector<std::byte> records = records_of(shape);
  std::string first;
  for (const std::size_t piece : {std::size_t{1}, std::size_t{999}, block, 3 * block + 1, records.size()}) {
    build(folder / "a.hlr", shape, records, piece);
    const std::string bytes = test::read_file(folder / "a.hlr");
    if (first.empty()) first = bytes;
    EXPECT_EQ(bytes, first) << "pieces of " << piece;
  }
  const auto file = open_record_file(folder / "a.hlr", true);
  EXPECT_EQ(to_json(file->shape()), to_json(shape));
  EXPECT_EQ(file->range(), (record_range{0, 240}));
  EXPECT_EQ(file->bytes(), records.size());
  std::uint64_t done = 0;
  file->verify([&](std::uint64_t now, std::uint64_t all) {
    EXPECT_GT(now, done);
    EXPECT_EQ(all, records.size());
    done = now;
  });
  EXPECT_EQ(done, records.size());
  EXPECT_EQ(read_all(*file), records);
}

TEST(PirRecordFile, KeepsANoteBesideTheGeometry) {
  const test::temporary_folder folder;
  const geometry shape = plain_shape();
  const std::vector<std::byte> records = records_of(shape);
  const std::string longest(max_note_bytes, 'n');
  for (const std::string& note : {std::string(), std::string("{\"hashes\":2}"), longest}) {
    record_file_writer writer(folder / "a.hlr", shape, {}, note);
    writer.append(records);
    writer.finish();
    const auto file = open_record_file(folder / "a.hlr", true);
    EXPECT_EQ(file->note(), note);
    EXPECT_EQ(to_json(file->shape()), to_json(shape));
    EXPECT_EQ(read_all(*file), records);
  }
  for (const std::string& note : {longest + "n", std::string("two\nlines")}) {
    EXPECT_THROW(record_file_writer(folder / "b.hlr", shape, {}, note), invalid_argument);
  }
}

TEST(PirRecordFile, ReadsAnyRange) {
  const test::temporary_folder folder;
  const geometry shape = plain_shape();
  const std::vector<std::byte> records = records_of(shape);
  build(folder / "a.hlr", shape, records);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    const auto file = open_record_file(folder / "a.hlr", true);
    for (int i = 0; i < 10; ++i) {
      const std::uint64_t begin = random() % (records.size() + 1);
      const std::uint64_t count = random() % (records.size() - begin + 1);
      const std::vector<std::byte> got = bytes_from(*file, begin, count);
      ASSERT_TRUE(std::equal(got.begin(), got.end(), records.begin() + static_cast<std::ptrdiff_t>(begin)))
          << begin << " + " << count;
    }
    EXPECT_THROW(bytes_from(*file, 1, records.size()), invalid_argument);
    EXPECT_THROW(bytes_from(*file, ~std::uint64_t{0}, 2), invalid_argument);
  }
}

TEST(PirRecordFile, OfAShardHasItsRecordsAndRefusesOthers) {
  const test::temporary_folder folder;
  const geometry shape = plain_shape();
  const std::vector<std::byte> records = records_of(shape);
  const std::vector<std::byte> part(records.begin() + 70000, records.begin() + 190000);
  build(folder / "s.hlr", shape, part, 777, {70, 120});
  const auto file = open_record_file(folder / "s.hlr", true);
  EXPECT_EQ(file->range(), (record_range{70, 120}));
  EXPECT_EQ(file->bytes(), records.size());
  EXPECT_EQ(bytes_from(*file, 70000, 120000), part);
  EXPECT_THAT([&] { static_cast<void>(bytes_from(*file, 69999, 2)); },
              ThrowsMessage<invalid_argument>(HasSubstr("records 70 to 189")));
  EXPECT_THROW(bytes_from(*file, 189999, 2), invalid_argument);
  const std::vector<std::byte> fresh = test::random_records(1000, seed + 1);
  EXPECT_THROW(file->write(0, fresh), invalid_argument);
  file->write(189000, fresh);
  EXPECT_EQ(bytes_from(*file, 189000, 1000), fresh);
  damage(folder / "s.hlr", layout_in(shape, {70, 120}).records + block + 5);
  EXPECT_THAT([&] { open_record_file(folder / "s.hlr", true)->verify(); },
              ThrowsMessage<corrupt_data>(HasSubstr("records 135 to 189")));
}

TEST(PirRecordFile, IsNotMadeFromTooManyOrTooFewRecords) {
  const test::temporary_folder folder;
  const geometry shape = plain_shape();
  std::vector<std::byte> records = records_of(shape);
  records.pop_back();
  EXPECT_THAT([&] { build(folder / "a.hlr", shape, records); },
              ThrowsMessage<invalid_argument>(HasSubstr("239999 bytes of records; expected 240000")));
  records.resize(records.size() + 2);
  EXPECT_THROW(build(folder / "a.hlr", shape, records), invalid_argument);
  EXPECT_THROW(record_file_writer(folder / "a.hlr", shape, {240, 0}), invalid_argument);
  EXPECT_THROW(record_file_writer(folder / "a.hlr", shape, {1, 240}), invalid_argument);
  EXPECT_EQ(folder.entries(), 0);
  EXPECT_THROW(static_cast<void>(open_record_file(folder / "a.hlr")), io_error);
}

TEST(PirRecordFile, LeavesTheOldFileWhenTheDiskIsFull) {
  const test::temporary_folder folder;
  const geometry shape = plain_shape();
  const std::vector<std::byte> records = records_of(shape);
  build(folder / "a.hlr", shape, records);
  const std::string before = test::read_file(folder / "a.hlr");
  for (const std::size_t limit : {std::size_t{100}, std::size_t{5000}, std::size_t{200000}}) {
    const test::file_size_limit full(limit);
    EXPECT_THROW(build(folder / "a.hlr", shape, test::random_records(records.size(), 1)), io_error);
    EXPECT_EQ(folder.entries(), 1);
  }
  EXPECT_EQ(test::read_file(folder / "a.hlr"), before);
}

TEST(PirRecordFile, ReplacesRecords) {
  const test::temporary_folder folder;
  for (const geometry& shape : {plain_shape(), test::small_geometry(5, 200000, 2)}) {
    std::vector<std::byte> records = records_of(shape);
    build(folder / "a.hlr", shape, records);
    auto file = open_record_file(folder / "a.hlr", true);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 30; ++i) {
      const std::uint64_t record = random() % shape.records;
      const std::uint64_t skipped = i % 2 == 0 ? 0 : random() % shape.record_bytes;
      const std::vector<std::byte> fresh = test::random_records(
          i % 2 == 0 ? shape.record_bytes : 1 + random() % (shape.record_bytes - skipped), random());
      const std::uint64_t offset = record * shape.record_bytes + skipped;
      file->write(offset, fresh);
      std::ranges::copy(fresh, records.begin() + static_cast<std::ptrdiff_t>(offset));
      EXPECT_EQ(bytes_from(*file, offset, fresh.size()), fresh);
      if (i % 10 != 0) continue;
      file.reset();
      file = open_record_file(folder / "a.hlr", true);
      file->verify();
      EXPECT_EQ(read_all(*file), records);
    }
    // The same bytes as if the file had been built so.
    file.reset();
    const std::string replaced = test::read_file(folder / "a.hlr");
    build(folder / "b.hlr", shape, records);
    const std::string built = test::read_file(folder / "b.hlr");
    const record_layout at = layout_in(shape);
    EXPECT_EQ(replaced.substr(0, at.journal), built.substr(0, at.journal));
    EXPECT_EQ(replaced.substr(at.checksums), built.substr(at.checksums));
    file = open_record_file(folder / "a.hlr", true);
    EXPECT_THROW(file->write(1, test::random_records(shape.record_bytes, 1)), invalid_argument);
    EXPECT_THROW(file->write(0, {}), invalid_argument);
  }
}

TEST(PirRecordFile, IsReplacedByOneObjectAtATime) {
  const test::temporary_folder folder;
  const geometry shape = plain_shape();
  const std::vector<std::byte> records = records_of(shape);
  build(folder / "a.hlr", shape, records);
  const std::vector<std::byte> fresh = test::random_records(1000, seed + 1);
  const auto file = open_record_file(folder / "a.hlr", true);
  auto other = open_record_file(folder / "a.hlr", true);
  EXPECT_THAT([&] { file->write(0, fresh); }, ThrowsMessage<io_error>(HasSubstr("has the file open")));
  EXPECT_EQ(read_all(*file), records);
  other.reset();
  EXPECT_EQ(test::exit_code_of_child([&] {
              const auto third = open_record_file(folder / "a.hlr", true);
              try {
                third->write(0, fresh);
              } catch (const io_error&) {
                return 7;
              }
              return 0;
            }),
            7);
  file->write(0, fresh);
  build(folder / "a.hlr", shape, records);  // another file now has the name
  EXPECT_THAT([&] { file->write(0, fresh); },
              ThrowsMessage<io_error>(HasSubstr("another file has the name")));
  EXPECT_EQ(bytes_from(*file, 0, 1000), fresh);
}

TEST(PirRecordFile, WithoutPermissionToWriteIsRead) {
  constexpr unsigned nobody = 65534;
  const test::temporary_folder folder;
  const geometry shape = plain_shape();
  build(folder / "a.hlr", shape, records_of(shape));
  std::filesystem::permissions(folder / "a.hlr", static_cast<std::filesystem::perms>(0444));
  EXPECT_EQ(test::exit_code_of_child([&] {
              if (::geteuid() == 0 && ::setuid(nobody) != 0) return 1;  // root may write every file
              const auto file = open_record_file(folder / "a.hlr", true);
              if (read_all(*file) != records_of(shape)) return 2;
              try {
                file->write(0, test::random_records(1000, 1));
              } catch (const io_error&) {
                return 7;
              }
              return 3;
            }),
            7);
}

TEST(PirRecordFile, KeepsTheOldRecordWhenTheJournalCannotBeWritten) {
  const test::temporary_folder folder;
  const geometry shape = plain_shape();
  const std::vector<std::byte> records = records_of(shape);
  build(folder / "a.hlr", shape, records);
  const auto file = open_record_file(folder / "a.hlr", true);
  const std::vector<std::byte> fresh = test::random_records(1000, seed + 1);
  {
    // The journal does not fit, but the zeros that empty it do.
    const test::file_size_limit full(layout_in(shape).journal + 100);
    EXPECT_THROW(file->write(0, fresh), io_error);
  }
  EXPECT_EQ(read_all(*file), records);
  EXPECT_EQ(read_all(*open_record_file(folder / "a.hlr", true)), records);
  file->write(0, fresh);
  EXPECT_EQ(bytes_from(*file, 0, 1000), fresh);
}

TEST(PirRecordFile, CompletesAReplacementThatFailedHalfWay) {
  const test::temporary_folder folder;
  const geometry shape = plain_shape();
  const std::vector<std::byte> records = records_of(shape);
  build(folder / "a.hlr", shape, records);
  auto file = open_record_file(folder / "a.hlr", true);
  const std::vector<std::byte> fresh = test::random_records(1000, seed + 1);
  {
    const test::file_size_limit full(layout_in(shape).records + 65000 + 300);
    EXPECT_THROW(file->write(65000, fresh), io_error);
  }
  EXPECT_THAT([&] { static_cast<void>(read_all(*file)); },
              ThrowsMessage<io_error>(HasSubstr("open the file again")));
  EXPECT_THROW(file->write(0, fresh), io_error);
  file.reset();
  file = open_record_file(folder / "a.hlr", true);
  file->verify();
  EXPECT_EQ(bytes_from(*file, 65000, 1000), fresh);
}

TEST(PirRecordFile, NamesTheRecordsOfDamagedBlocks) {
  const test::temporary_folder folder;
  const geometry shape = plain_shape();
  const std::vector<std::byte> records = records_of(shape);
  const record_layout at = layout_in(shape);
  for (std::uint64_t number = 0; number < at.blocks(); ++number) {
    for (const std::uint64_t place :
         {at.records + number * block, at.records + number * block + at.block_bytes(number) - 1,
          at.checksums + number * 8 + 3}) {
      build(folder / "a.hlr", shape, records);
      damage(folder / "a.hlr", place);
      const auto file = open_record_file(folder / "a.hlr", true);
      const std::uint64_t first = number * block / 1000;
      const std::uint64_t last = (number * block + at.block_bytes(number) - 1) / 1000;
      const std::string named = "records " + std::to_string(first) + " to " + std::to_string(last);
      EXPECT_THAT([&] { file->verify(); }, ThrowsMessage<corrupt_data>(HasSubstr(named)));
      EXPECT_THAT([&] { static_cast<void>(bytes_from(*file, number * block + 17, 5)); },
                  ThrowsMessage<corrupt_data>(HasSubstr(named)));
      const std::vector<std::byte> fresh = test::random_records(1000, 1);
      EXPECT_THROW(file->write((first + 1) * 1000, fresh), corrupt_data);  // the rest of the block is damaged
      const std::uint64_t other = (number + 2) % at.blocks() * block;
      EXPECT_EQ(bytes_from(*file, other, 5),
                std::vector<std::byte>(records.begin() + static_cast<std::ptrdiff_t>(other),
                                       records.begin() + static_cast<std::ptrdiff_t>(other) + 5));
    }
  }
}

TEST(PirRecordFile, IsRefusedWhereAnythingBeforeTheRecordsIsWrong) {
  const test::temporary_folder folder;
  const geometry shape = plain_shape();
  build(folder / "a.hlr", shape, records_of(shape));
  const std::string good = test::read_file(folder / "a.hlr");
  const record_layout at = layout_in(shape);
  for (std::uint64_t place = 0; place < at.journal; place += place < 256 || place >= 4090 ? 1 : 97) {
    damage(folder / "a.hlr", place);
    EXPECT_THROW(static_cast<void>(open_record_file(folder / "a.hlr", true)), corrupt_data)
        << "byte " << place;
    damage(folder / "a.hlr", place);  // as it was
  }
  EXPECT_EQ(test::read_file(folder / "a.hlr"), good);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{7}, std::size_t{4096}, std::size_t{at.journal}, good.size() - 1}) {
    test::write_file(folder / "a.hlr", good.substr(0, size));
    EXPECT_THROW(static_cast<void>(open_record_file(folder / "a.hlr", true)), corrupt_data)
        << size << " bytes";
  }
  test::write_file(folder / "a.hlr", good + 'x');
  EXPECT_THROW(static_cast<void>(open_record_file(folder / "a.hlr", true)), corrupt_data);
  test::write_file(folder / "a.hlr", good);
  EXPECT_THROW(static_cast<void>(open_record_file(folder / "a.hlr")), insecure_parameters);
  EXPECT_THROW(static_cast<void>(open_record_file(folder.path(), true)), io_error);
}

TEST(PirRecordFile, KeepsReadersAndWritersApart) {
  const test::temporary_folder folder;
  const geometry shape = test::small_geometry(4, 150000, 2);
  std::vector<std::byte> records(shape.records * shape.record_bytes, std::byte{0});
  build(folder / "a.hlr", shape, records);
  const auto file = open_record_file(folder / "a.hlr", true);
  std::atomic<bool> ended = false;
  std::atomic<int> torn = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!ended) {
        const std::vector<std::byte> seen = bytes_from(*file, 150000, 150000);
        if (std::ranges::count(seen, seen[0]) != 150000) ++torn;
      }
    });
  }
  for (int i = 1; i < 100; ++i)
    file->write(150000, std::vector<std::byte>(150000, static_cast<std::byte>(i)));
  ended = true;
  for (std::thread& each : readers) each.join();
  EXPECT_EQ(torn, 0);
}

TEST(PirRecordFile, GivesDatabasesTheGroupsOfRecordsInMemory) {
  const test::temporary_folder folder;
  const geometry shape = plain_shape();
  std::vector<std::byte> records = records_of(shape);
  build(folder / "a.hlr", shape, records);
  backend::backend_options options;
  options.threads = 1;
  context ctx(shape, backend::make_backend("cpu", options));
  for (const storage kept : {storage::transformed, storage::raw}) {
    const database_options equal{.kept = kept, .group_bytes = 1, .lift_key = arith::seed_bytes{5}};
    database from_memory(ctx, make_memory_records(records), equal);
    database from_file(ctx, open_record_file(folder / "a.hlr", true), equal);
    const std::vector<std::byte> fresh = test::random_records(1000, seed + 3);
    from_memory.replace(77, fresh);
    from_file.replace(77, fresh);
    std::ranges::copy(fresh, records.begin() + 77000);
    for (std::size_t i = 0; i < from_file.groups().size(); ++i) {
      EXPECT_EQ(test::stored(ctx, from_memory.groups()[i]), test::stored(ctx, from_file.groups()[i]));
    }
    test::expect_database(ctx, from_file, records);
  }
}

}  // namespace
}  // namespace halocline::pir
