// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/database.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "halocline/core/error.hpp"
#include "halocline/memory/identity.hpp"
#include "halocline/memory/plan/planner.hpp"
#include "halocline/memory/tier/memory_store.hpp"
#include "support/faulty_store.hpp"
#include "support/pir_database.hpp"

namespace halocline::pir {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::uint64_t seed = 20260114;
const storage kinds[] = {storage::transformed, storage::raw};

std::shared_ptr<backend::backend> cpu(const memory::runtime_options& memory = {}) {
  backend::backend_options options;
  options.memory = memory;
  options.threads = 1;
  return backend::make_backend("cpu", options);
}

/// Records of 100 bytes: 14 in a plaintext of 1408 bytes; 7 rows of the last column have none.
geometry small_records() { return test::small_geometry(14 * 24 + 3, 100, 16); }
/// Records of 3000 bytes: three planes, the last of which is filled in part.
geometry split_records() { return test::small_geometry(19, 3000, 4); }

TEST(PirRecords, AreReadAndWrittenWithinTheirBytes) {
  const std::vector<std::byte> bytes = test::random_records(50, seed);
  const std::shared_ptr<record_store> store = make_memory_records(bytes);
  EXPECT_EQ(store->bytes(), 50);
  std::vector<std::byte> read(20);
  store->read(30, read);
  EXPECT_TRUE(std::equal(read.begin(), read.end(), bytes.begin() + 30));
  store->write(10, std::span(bytes).first(7));
  store->read(10, std::span(read).first(7));
  EXPECT_TRUE(std::equal(read.begin(), read.begin() + 7, bytes.begin()));
  EXPECT_THROW(store->read(31, read), invalid_argument);
  EXPECT_THROW(store->read(~std::uint64_t{0}, read), invalid_argument);
  EXPECT_THROW(store->write(44, std::span(bytes).first(7)), invalid_argument);
}

TEST(PirDatabase, HasEveryPlaintextInItsRow) {
  for (const geometry& shape : {small_records(), split_records()}) {
    const std::vector<std::byte> records = test::random_records(shape.records * shape.record_bytes, seed);
    for (const storage kept : kinds) {
      context ctx(shape, cpu());
      const std::size_t column = shape.planes() * shape.at.rows * ctx.polynomial_bytes();
      for (const std::size_t columns : {1, 2, 100}) {
        database data(ctx, make_memory_records(records), {.kept = kept, .group_bytes = columns * column});
        EXPECT_EQ(data.groups().size(), (shape.at.columns - 1) / columns + 1);
        test::expect_database(ctx, data, records);
      }
    }
  }
}

TEST(PirDatabase, HasMorePlanesThanItTransformsAtOnce) {
  // 8 MiB are transformed at once: 1024 polynomials of 8 KiB.
  const geometry shape = test::small_geometry(3, 1100 * 1408 + 5, 2);
  ASSERT_EQ(shape.planes(), 1101);
  std::vector<std::byte> records = test::random_records(shape.records * shape.record_bytes, seed);
  context ctx(shape, cpu());
  database data(ctx, make_memory_records(records), {.group_bytes = 1});
  ASSERT_EQ(data.groups().size(), 2);
  const std::vector<std::byte> fresh = test::random_records(shape.record_bytes, seed + 1);
  data.replace(1, fresh);
  std::ranges::copy(fresh, records.begin() + static_cast<std::ptrdiff_t>(shape.record_bytes));
  memory::buffer scratch;
  for (const column_group& group : data.groups()) {
    const backend::point_matrix points = data.points(group, scratch);
    for (const std::uint32_t plane : {0U, 1023U, 1024U, 1100U}) {
      for (const std::uint32_t row : {0U, 1U}) {
        test::expect_row(ctx, points, plane * 2 + row,
                         test::coefficients_of(shape, records, group.first * 2 + row, plane));
      }
    }
  }
}

TEST(PirDatabase, ShardsHaveTheGroupsOfTheWhole) {
  const geometry shape = small_records();
  ASSERT_EQ(shape.at.columns, 2);
  const std::vector<std::byte> records = test::random_records(shape.records * shape.record_bytes, seed);
  context ctx(shape, cpu());
  const arith::seed_bytes key{3};
  database whole(ctx, make_memory_records(records), {.group_bytes = 1, .lift_key = key});
  database shard(ctx, make_memory_records(records), {.group_bytes = 1, .first_column = 1, .lift_key = key});
  ASSERT_EQ(shard.groups().size(), 1);
  EXPECT_EQ(test::stored(ctx, shard.groups()[0]), test::stored(ctx, whole.groups()[1]));
  EXPECT_FALSE(shard.has(0));
  EXPECT_TRUE(shard.has(14 * 16));
  EXPECT_THAT([&] { shard.replace(0, std::vector<std::byte>(100)); },
              ThrowsMessage<invalid_argument>(HasSubstr("another shard")));
  for (const database_options& wrong :
       {database_options{.first_column = 2}, database_options{.first_column = 1, .columns = 2}}) {
    EXPECT_THROW(database(ctx, make_memory_records(records), wrong), invalid_argument);
  }
}

TEST(PirDatabase, HasReplacedRecords) {
  for (const geometry& shape : {small_records(), split_records()}) {
    for (const storage kept : kinds) {
      std::vector<std::byte> records = test::random_records(shape.records * shape.record_bytes, seed);
      context ctx(shape, cpu());
      database data(ctx, make_memory_records(records), {.kept = kept});
      for (const std::uint64_t record : {std::uint64_t{0}, std::uint64_t{17}, shape.records - 1}) {
        const std::vector<std::byte> fresh = test::random_records(shape.record_bytes, seed + record + 1);
        data.replace(record, fresh);
        std::ranges::copy(fresh, records.begin() + static_cast<std::ptrdiff_t>(record * shape.record_bytes));
      }
      test::expect_database(ctx, data, records);
      EXPECT_THROW(data.replace(0, std::vector<std::byte>(shape.record_bytes - 1)), invalid_argument);
      EXPECT_THROW(data.replace(shape.records, std::vector<std::byte>(shape.record_bytes)), invalid_argument);
      test::expect_database(ctx, data, records);
    }
  }
}

/// Refuses reads or writes.
class refusing_records final : public record_store {
 public:
  explicit refusing_records(std::vector<std::byte> bytes) : inner_(make_memory_records(std::move(bytes))) {}
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return inner_->bytes(); }
  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (refuses_reads) throw io_error("refused");
    inner_->read(offset, out);
  }
  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    if (refuses_writes) throw io_error("refused");
    inner_->write(offset, bytes);
  }
  bool refuses_reads = false;
  bool refuses_writes = false;

 private:
  std::shared_ptr<record_store> inner_;
};

TEST(PirDatabase, IsWhatTheStoreIsWhenSomethingFails) {
  const geometry shape = small_records();
  for (const storage kept : kinds) {
    std::vector<std::byte> records = test::random_records(shape.records * shape.record_bytes, seed);
    const auto store = std::make_shared<refusing_records>(records);
    context ctx(shape, cpu());
    database data(ctx, store, {.kept = kept});
    const std::vector<std::byte> fresh = test::random_records(shape.record_bytes, seed + 1);
    store->refuses_writes = true;
    EXPECT_THROW(data.replace(5, fresh), io_error);
    test::expect_database(ctx, data, records);
    store->refuses_writes = false;
    store->refuses_reads = true;
    EXPECT_THROW(data.replace(5, fresh), io_error);
    memory::buffer scratch;
    EXPECT_THROW(static_cast<void>(data.points(data.groups()[0], scratch)), io_error);
    store->refuses_reads = false;
    std::ranges::copy(fresh, records.begin() + 500);
    test::expect_database(ctx, data, records);
  }
}

TEST(PirDatabase, RefusesStoresOfAnotherSize) {
  context ctx(small_records(), cpu());
  EXPECT_THAT([&] { database(ctx, make_memory_records(std::vector<std::byte>(99)), {}); },
              ThrowsMessage<invalid_argument>(HasSubstr("99 bytes; expected 33900")));
  EXPECT_THROW(database(ctx, nullptr, {}), invalid_argument);
}

TEST(PirDatabase, ReportsProgressAndCanBeInterrupted) {
  const geometry shape = split_records();
  context ctx(shape, cpu());
  const auto store = make_memory_records(test::random_records(shape.records * shape.record_bytes, seed));
  std::vector<std::uint64_t> done;
  database_options options{.group_bytes = 1};
  options.progress = [&](std::uint64_t columns, std::uint64_t all) {
    EXPECT_EQ(all, shape.at.columns);
    done.push_back(columns);
    if (columns == 3) throw cancelled("enough");
  };
  EXPECT_THROW(database(ctx, store, options), cancelled);
  EXPECT_EQ(done, (std::vector<std::uint64_t>{1, 2, 3}));
}

memory::runtime_options moving(const char* policy, std::size_t budget) {
  memory::runtime_options options;
  options.policy = policy;
  options.budget_bytes = budget;
  options.slow = memory::make_memory_store();
  return options;
}

TEST(PirDatabase, MayBeLargerThanTheBudget) {
  const geometry shape = test::small_geometry(14 * 320, 100, 16);  // 20 columns of 128 KiB
  for (const char* const policy : {"lru", "planned"}) {
    for (const storage kept : kinds) {
      std::vector<std::byte> records = test::random_records(shape.records * shape.record_bytes, seed);
      // A tenth of the points, or of the bytes; a column is transformed within it.
      const std::size_t budget =
          kept == storage::transformed ? std::size_t{512} << 10 : std::size_t{384} << 10;
      context ctx(shape, cpu(moving(policy, budget)));
      database data(ctx, make_memory_records(records), {.kept = kept, .group_bytes = std::size_t{128} << 10});
      ASSERT_EQ(data.groups().size(), 20);
      for (const std::uint64_t record : {7U, 900U, 4479U}) {
        const std::vector<std::byte> fresh = test::random_records(shape.record_bytes, seed + record);
        data.replace(record, fresh);
        std::ranges::copy(fresh, records.begin() + static_cast<std::ptrdiff_t>(record * shape.record_bytes));
      }
      for (int round = 0; round < 2; ++round) test::expect_database(ctx, data, records);
      EXPECT_GT(ctx.runtime().statistics().moved.loads, 0);
      EXPECT_LE(ctx.runtime().statistics().peak_fast_bytes, budget);
    }
  }
}

/// A plan of one step, the download of a group, before which its recipe runs for so many bytes.
std::shared_ptr<memory::plan::plan> plan_of(const column_group& group, std::uint64_t identity,
                                            std::size_t bytes) {
  auto plan = std::make_shared<memory::plan::plan>();
  memory::plan::object object;
  object.identity = identity;
  object.bytes = group.data.size();
  object.cls = group.data.cls();
  object.preexisting = true;
  plan->objects.push_back(object);
  memory::plan::step_hash hash("download");
  hash.add(group.data.cls(), group.data.size(), false, memory::plan::which_object(object, 0));
  plan->hashes.push_back(hash.value());
  plan->directives.push_back({0, 0, memory::plan::pages_of(bytes), memory::plan::verb::encode});
  return plan;
}

// Plans of other processes name groups so, and have them made from their records, also from replaced ones.
TEST(PirDatabase, RecipesMakeTheSameBytesAgain) {
  for (const geometry& shape : {small_records(), split_records()}) {
    for (const storage kept : kinds) {
      constexpr std::size_t budget = std::size_t{8} << 20;
      context ctx(shape, cpu(moving("planned", budget)));
      memory::runtime& runtime = ctx.runtime();
      database data(ctx, make_memory_records(test::random_records(shape.records * shape.record_bytes, seed)),
                    {.kept = kept, .group_bytes = 1});
      data.replace(0, test::random_records(shape.record_bytes, seed + 1));
      std::uint64_t database_name = 0;
      std::memcpy(&database_name, fingerprint_of(shape).data(), sizeof(database_name));
      for (const column_group& group : data.groups()) {
        const std::vector<std::byte> before = test::stored(ctx, group);
        const char* const kind = kept == storage::raw ? "database.raw" : "database.points";
        const std::uint64_t name = memory::identity_of(kind, database_name, group.first, group.columns);
        // A plan may ask for a part, but a group is made as a whole.
        for (const std::size_t bytes : {group.data.size(), std::size_t{4096}}) {
          runtime.set_budget(4096);
          runtime.set_budget(budget);
          const std::uint64_t encoded = runtime.statistics().moved.encoded_bytes;
          runtime.begin_plan(plan_of(group, name, bytes));
          EXPECT_EQ(test::stored(ctx, group), before);
          EXPECT_FALSE(runtime.end_plan().diverged);
          EXPECT_GE(runtime.statistics().moved.encoded_bytes - encoded, group.data.size());
        }
      }
    }
  }
}

// What a full disk or a bad sector took away comes back from the records.
TEST(PirDatabase, SurvivesTheLossOfCopies) {
  const geometry shape = small_records();
  const std::vector<std::byte> records = test::random_records(shape.records * shape.record_bytes, seed);
  memory::runtime_options options = moving("lru", std::size_t{512} << 10);
  test::fault_script faults;
  faults.damaged_read = {1, 1000};
  options.slow = std::make_shared<test::faulty_store>(memory::make_memory_store(), faults);
  context ctx(shape, cpu(options));
  database data(ctx, make_memory_records(records), {.group_bytes = 1});
  ctx.runtime().set_budget(4096);
  ctx.runtime().set_budget(options.budget_bytes);
  test::expect_database(ctx, data, records);
  EXPECT_GT(ctx.runtime().statistics().moved.repairs, 0);
}

TEST(PirDatabase, IsAllocatedOnAGhostWithoutRecords) {
  const geometry shape = small_records();
  memory::runtime_options ghost;
  ghost.ghost = true;
  backend::backend_options options;
  options.memory = ghost;
  context ctx(shape, backend::make_backend("ghost", options));
  database data(ctx, nullptr, {});
  ASSERT_EQ(data.groups().size(), 1);
  EXPECT_EQ(data.groups()[0].data.size(), 32 * ctx.polynomial_bytes());
  data.replace(3, std::vector<std::byte>(100));
}

}  // namespace
}  // namespace halocline::pir
