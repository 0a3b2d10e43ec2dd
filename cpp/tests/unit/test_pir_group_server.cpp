// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/group_server.hpp"

#include <gtest/gtest.h>

#include <string>

#include "halocline/pir/client.hpp"
#include "support/message_of.hpp"
#include "support/pir_database.hpp"
#include "support/pir_rig.hpp"

namespace halocline {
namespace {

using pir::spread;

std::shared_ptr<backend::backend> make_device() {
  backend::backend_options options;
  options.threads = 1;
  return backend::make_backend("cpu", options);
}

std::vector<std::shared_ptr<backend::backend>> make_devices(std::size_t count) {
  std::vector<std::shared_ptr<backend::backend>> made;
  for (std::size_t i = 0; i < count; ++i) made.push_back(make_device());
  return made;
}

/// Eleven columns of four rows, records of two planes: ragged in every shard.
pir::geometry make_shape() {
  pir::layout_request request;
  request.rows = 4;
  return pir::make_geometry(pir::preset("pir-n2048"), 43, 4000, request);
}

class PirGroupServer : public testing::TestWithParam<std::tuple<spread, int>> {
 protected:
  pir::geometry shape_ = make_shape();
  std::vector<std::byte> records_ = test::random_records(shape_.records * shape_.record_bytes, 7);

  [[nodiscard]] std::vector<std::byte> record(std::uint64_t number) const {
    const auto begin = records_.begin() + static_cast<std::ptrdiff_t>(number * shape_.record_bytes);
    return {begin, begin + static_cast<std::ptrdiff_t>(shape_.record_bytes)};
  }
};

TEST_P(PirGroupServer, AnswersAsOneServerDoes) {
  const auto [how, devices] = GetParam();
  const pir::server_options equal = test::with_lift_key();
  pir::server one(shape_, pir::make_memory_records(records_), make_device(), equal);
  pir::group_server group(shape_, pir::make_memory_records(records_),
                          make_devices(static_cast<std::size_t>(devices)), how, equal);
  pir::client first(shape_), second(shape_);
  const auto first_keys = first.server_keys(), second_keys = second.server_keys();
  const auto single_first = one.load_keys(first_keys), single_second = one.load_keys(second_keys);
  const auto group_first = group.load_keys(first_keys), group_second = group.load_keys(second_keys);
  const std::vector<std::uint64_t> wanted{0, 42, 5, 17, 23};
  std::vector<std::vector<std::byte>> queries;
  std::vector<std::shared_ptr<const pir::server_keys>> single;
  std::vector<std::shared_ptr<pir::group_keys>> grouped;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    queries.push_back((i % 2 == 0 ? first : second).query(wanted[i]));
    single.push_back(i % 2 == 0 ? single_first : single_second);
    grouped.push_back(i % 2 == 0 ? group_first : group_second);
  }
  const std::vector<std::span<const std::byte>> spans(queries.begin(), queries.end());
  const auto expected = one.answer(single, spans);
  const auto got = group.answer(grouped, spans);
  ASSERT_EQ(got, expected);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ((i % 2 == 0 ? first : second).decode(wanted[i], queries[i], got[i]), record(wanted[i]));
  }
  // Fewer queries than devices leave some without work.
  EXPECT_EQ(group.answer({grouped.data(), 1}, {spans.data(), 1}),
            std::vector<std::vector<std::byte>>(expected.begin(), expected.begin() + 1));
  EXPECT_TRUE(group.answer({}, {}).empty());
}

TEST_P(PirGroupServer, ReplacesRecordsWhereTheyAre) {
  const auto [how, devices] = GetParam();
  pir::group_server group(shape_, pir::make_memory_records(records_),
                          make_devices(static_cast<std::size_t>(devices)), how);
  pir::client client(shape_);
  const auto keys = group.load_keys(client.server_keys());
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{21}, std::uint64_t{42}}) {
    const std::vector<std::byte> changed = test::random_records(shape_.record_bytes, 100 + number);
    group.replace(number, changed);
    // One query for each device, so that replicas must agree.
    std::vector<std::vector<std::byte>> queries;
    for (int i = 0; i < devices; ++i) queries.push_back(client.query(number));
    const std::vector<std::span<const std::byte>> spans(queries.begin(), queries.end());
    const std::vector<std::shared_ptr<pir::group_keys>> all(queries.size(), keys);
    const auto answers = group.answer(all, spans);
    for (std::size_t i = 0; i < queries.size(); ++i) {
      EXPECT_EQ(client.decode(number, queries[i], answers[i]), changed);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Spreads, PirGroupServer,
                         testing::Combine(testing::Values(spread::replicas, spread::columns),
                                          testing::Values(1, 2, 4)),
                         [](const auto& of) {
                           return std::string(std::get<0>(of.param) == spread::columns ? "Columns"
                                                                                       : "Replicas") +
                                  std::to_string(std::get<1>(of.param));
                         });

TEST(PirGroup, RefusesDevicesThatCannotShareTheDatabase) {
  const pir::geometry shape = make_shape();
  const auto records = pir::make_memory_records(std::vector<std::byte>(shape.records * shape.record_bytes));
  const auto make = [&](std::size_t devices, spread how, pir::server_options options = {}) {
    return [&, devices, how, options] {
      pir::group_server(shape, records, make_devices(devices), how, options);
    };
  };
  EXPECT_THROW(make(0, spread::replicas)(), invalid_argument);
  EXPECT_THROW(make(3, spread::columns)(), invalid_argument);
  pir::server_options chosen;
  chosen.database.columns = 2;
  EXPECT_THROW(make(2, spread::columns, chosen)(), invalid_argument);
  pir::layout_request request;
  request.rows = 64;
  const pir::geometry narrow = pir::make_geometry(pir::preset("pir-n2048"), 100, 2000, request);
  EXPECT_THROW(pir::group_server(narrow, pir::make_memory_records(std::vector<std::byte>(200000)),
                                 make_devices(4), spread::columns),
               invalid_argument);
}

TEST(PirGroup, NamesTheQueryThatIsWrong) {
  const pir::geometry shape = make_shape();
  pir::group_server group(
      shape, pir::make_memory_records(std::vector<std::byte>(shape.records * shape.record_bytes)),
      make_devices(2), spread::columns);
  pir::client first(shape), second(shape);
  const auto keys = group.load_keys(first.server_keys());
  const auto good = first.query(1), foreign = second.query(1);
  const std::vector<std::shared_ptr<pir::group_keys>> both{keys, keys};
  const std::vector<std::span<const std::byte>> queries{good, foreign};
  EXPECT_THROW((void)group.answer(both, queries), key_mismatch);
  EXPECT_NE(test::message_of<key_mismatch>([&] { (void)group.answer(both, queries); }).find("query 1"),
            std::string::npos);
  EXPECT_THROW((void)group.load_keys(good), corrupt_data);
}

}  // namespace
}  // namespace halocline
