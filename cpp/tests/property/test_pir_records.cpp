// SPDX-License-Identifier: Apache-2.0
// Records as clients get them are those of the database.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <random>

#include "support/pir_rig.hpp"

namespace halocline::pir {
namespace {

using test::bytes;
using test::pir_rig;

/// A small database.
struct shape_case {
  const char* name;
  std::uint64_t records;
  double plaintexts_each;  ///< bytes of a record in those of a plaintext
  std::uint32_t rows;
  unsigned digits = 0;                 ///< of all gadgets; 0: what is chosen for the set
  std::size_t group_bytes = 1U << 20;  ///< of the database's groups
  storage kept = storage::transformed;
};

std::ostream& operator<<(std::ostream& out, const shape_case& shape) { return out << shape.name; }

geometry geometry_of(const std::string& set, const shape_case& shape) {
  const parameters scheme = test::set_named(set);
  layout_request request{.rows = shape.rows};
  request.max_key_bytes = 8U << 20;
  if (shape.digits != 0 && set == "pir-n4096") {
    request.expansion_digits = request.selection_digits = request.secret_digits = shape.digits;
  }
  const auto record =
      static_cast<std::uint64_t>(static_cast<double>(scheme.plaintext_bytes()) * shape.plaintexts_each);
  return make_geometry(scheme, shape.records, std::max<std::uint64_t>(record, 1), request);
}

class PirRecords : public testing::TestWithParam<std::tuple<std::string, shape_case>> {};

TEST_P(PirRecords, EveryOneIsReturned) {
  const auto& [set, shape] = GetParam();
  pir_rig rig(geometry_of(set, shape), test::make_device(),
              {.database = {.kept = shape.kept, .group_bytes = shape.group_bytes}});
  pir_rig::user user = rig.make_user(1);
  for (std::uint64_t record = 0; record < shape.records; ++record) {
    ASSERT_TRUE(std::ranges::equal(rig.fetch(user, record), rig.record(record))) << "record " << record;
  }
}

INSTANTIATE_TEST_SUITE_P(
    SmallDatabases, PirRecords,
    testing::Combine(testing::Values("pir-n4096", "pir-n2048", "paper"),
                     testing::Values(shape_case{"OneRecord", 1, 1, 1}, shape_case{"OneColumn", 7, 1, 8},  //
                                     shape_case{"OneRow", 5, 0.9, 1},
                                     shape_case{"RaggedColumns", 23, 1, 4, 2},
                                     shape_case{"FullColumns", 32, 0.999, 4, 0, 1},
                                     shape_case{"SeveralInOnePlaintext", 31, 0.2, 2},
                                     shape_case{"SplitRecords", 9, 2.3, 2, 0, 1},
                                     shape_case{"SplitRecordsInOneGroup", 9, 1.5, 4, 2},
                                     shape_case{"KeptRaw", 11, 0.45, 2, 0, 1, storage::raw})),
    [](const auto& param) {
      std::string name = std::get<0>(param.param) + std::get<1>(param.param).name;
      std::erase(name, '-');
      return name;
    });

TEST(PirLargerDatabases, RandomRecordsAreReturned) {
  constexpr std::uint32_t seed = 20261123;
  std::mt19937_64 random(seed);
  for (const char* set : {"pir-n4096", "pir-n2048", "paper"}) {
    SCOPED_TRACE(testing::Message() << set << ", seed " << seed);
    const parameters scheme = test::set_named(set);
    pir_rig rig(make_geometry(scheme, 3001, scheme.plaintext_bytes()), test::make_device("cpu", 2));
    EXPECT_GT(rig.shape.at.columns, 1U);
    pir_rig::user user = rig.make_user(2);
    for (int trial = 0; trial < 6; ++trial) {
      const std::uint64_t record = trial == 0 ? 3000 : random() % 3001;
      ASSERT_TRUE(std::ranges::equal(rig.fetch(user, record), rig.record(record))) << "record " << record;
    }
  }
}

// One batch with queries of three clients, one of which asks twice, one for the record of another.
TEST(PirBatches, QueriesOfSeveralClientsAreAnsweredTogether) {
  for (const char* set : {"pir-n4096", "pir-n2048", "paper"}) {
    SCOPED_TRACE(set);
    pir_rig rig(geometry_of(set, {"batch", 40, 1.2, 4, 0, 1}));
    std::vector<pir_rig::user> users;
    for (std::uint8_t number = 1; number <= 3; ++number) users.push_back(rig.make_user(number));
    const std::size_t asking[] = {0, 1, 0, 2};
    const std::uint64_t wanted[] = {39, 17, 0, 17};
    std::vector<bytes> queries;
    std::vector<std::shared_ptr<const server_keys>> keys;
    for (int i = 0; i < 4; ++i) {
      queries.push_back(users[asking[i]].client.query(wanted[i]));
      keys.push_back(users[asking[i]].keys);
    }
    const std::vector<std::span<const std::byte>> views(queries.begin(), queries.end());
    const std::vector<bytes> answers = rig.server.answer(keys, views);
    ASSERT_EQ(answers.size(), 4U);
    for (int i = 0; i < 4; ++i) {
      EXPECT_TRUE(std::ranges::equal(users[asking[i]].client.decode(wanted[i], queries[i], answers[i]),
                                     rig.record(wanted[i])));
      EXPECT_EQ(answers[i], rig.answer(users[asking[i]], queries[i])) << "alone";
    }
  }
}

TEST(PirBatches, AnswersOfAllBackendsAreEqual) {
  for (const char* set : {"pir-n4096", "pir-n2048", "paper"}) {
    SCOPED_TRACE(set);
    const geometry shape = geometry_of(set, {"backends", 21, 0.8, 4, 2});
    bytes query, first;
    const auto answer_on = [&](std::shared_ptr<backend::backend> device) {
      pir_rig rig(shape, std::move(device));
      pir_rig::user user = rig.make_user(5);
      if (query.empty()) query = user.client.query(13);
      return rig.answer(user, query);
    };
    first = answer_on(test::make_device("cpu", 1, true));
    EXPECT_EQ(answer_on(test::make_device("cpu", 1)), first);
    EXPECT_EQ(answer_on(test::make_device("cpu", 3)), first);
  }
}

}  // namespace
}  // namespace halocline::pir
