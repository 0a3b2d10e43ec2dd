// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halocline/pir/client.hpp"
#include "halocline/pir/server.hpp"
#include "support/message_of.hpp"
#include "support/pir_database.hpp"
#include "support/pir_rig.hpp"

namespace halocline {
namespace {

/// 79 columns of 16 rows with N = 2048: 20 MiB of points.
struct PirBatchPlans : testing::TestWithParam<pir::storage> {
  static pir::geometry make_shape() {
    pir::layout_request request;
    request.rows = 16;
    return pir::make_geometry(pir::preset("pir-n2048"), 1260, 2560, request);
  }

  [[nodiscard]] std::unique_ptr<pir::server> make(std::size_t budget, const std::string& policy,
                                                  std::size_t scratch = 0) const {
    backend::backend_options options;
    options.threads = 2;
    options.memory.budget_bytes = budget;
    options.memory.policy = policy;
    pir::server_options how = test::with_lift_key();
    how.database.kept = GetParam();
    how.database.group_bytes = std::size_t{1} << 20;
    how.scratch_bytes = scratch;
    return std::make_unique<pir::server>(shape_, pir::make_memory_records(records_),
                                         backend::make_backend("cpu", options), how);
  }

  pir::geometry shape_ = make_shape();
  std::vector<std::byte> records_ = test::random_records(shape_.records * shape_.record_bytes, 11);
};

TEST_P(PirBatchPlans, AnswersEqualThoseWithoutABudget) {
  const std::size_t budget = std::size_t{16} << 20;
  // Parts of the same size, because these decide in which order columns are selected.
  const auto whole = make(0, "resident", budget / 2);
  const auto small = make(budget, "planned");
  pir::client first(shape_), second(shape_);
  const auto first_keys = first.server_keys(), second_keys = second.server_keys();
  const auto load = [&](pir::server& at, const auto& keys) { return at.load_keys(keys); };
  const auto big_first = load(*whole, first_keys), big_second = load(*whole, second_keys);
  const auto small_first = load(*small, first_keys), small_second = load(*small, second_keys);
  using keys = std::vector<std::shared_ptr<const pir::server_keys>>;
  // The same client twice, two clients, one query: plans of three shapes, each used three times.
  for (int round = 0; round < 3; ++round) {
    const auto a = first.query(1259), b = first.query(1), c = second.query(300 + round);
    const auto compare = [&](const keys& big, const keys& little,
                             const std::vector<std::span<const std::byte>>& queries) {
      EXPECT_EQ(small->answer(little, queries), whole->answer(big, queries));
      EXPECT_TRUE(small->last_plan().followed) << small->last_plan().reason;
      EXPECT_LE(small->scope().runtime().statistics().peak_fast_bytes, budget);
    };
    compare({big_first, big_first}, {small_first, small_first}, {a, b});
    compare({big_first, big_second}, {small_first, small_second}, {a, c});
    compare({big_second}, {small_second}, {c});
    if (GetParam() == pir::storage::transformed) {
      const memory::plan::forecast moved = small->last_plan().expected;
      EXPECT_GT(moved.loaded_bytes + moved.encoded_bytes, 0U);
    }
  }
  EXPECT_FALSE(whole->last_plan().followed);
}

TEST_P(PirBatchPlans, ReplacedRecordsAreAnsweredUnderPlans) {
  const auto small = make(std::size_t{16} << 20, "planned");
  pir::client client(shape_);
  const auto keys = small->load_keys(client.server_keys());
  for (std::uint64_t number = 0; number < 3; ++number) {
    const auto changed = test::random_records(shape_.record_bytes, 50 + number);
    small->records().replace(number * 200, changed);
    const auto query = client.query(number * 200);
    const std::vector<std::span<const std::byte>> queries{query};
    const auto answers = small->answer(std::vector{keys}, queries);
    EXPECT_EQ(client.decode(number * 200, query, answers[0]), changed);
    EXPECT_TRUE(small->last_plan().followed) << small->last_plan().reason;
  }
}

/// Expanded, the queries would take several times the budget: they pass over the database in parts.
TEST_P(PirBatchPlans, BatchesBeyondTheBudgetPassInParts) {
  const std::size_t budget = std::size_t{16} << 20;
  const auto small = make(budget, "planned");
  pir::client client(shape_);
  const auto keys = small->load_keys(client.server_keys());
  std::vector<std::vector<std::byte>> queries;
  for (std::uint64_t i = 0; i < 40; ++i) queries.push_back(client.query(i * 31));
  const std::vector<std::span<const std::byte>> views(queries.begin(), queries.end());
  const auto answers = small->answer(std::vector(queries.size(), keys), views);
  for (std::uint64_t i = 0; i < queries.size(); ++i) {
    const auto from = records_.begin() + static_cast<std::ptrdiff_t>(i * 31 * shape_.record_bytes);
    EXPECT_EQ(client.decode(i * 31, queries[i], answers[i]),
              std::vector<std::byte>(from, from + static_cast<std::ptrdiff_t>(shape_.record_bytes)));
  }
  EXPECT_TRUE(small->last_plan().followed) << small->last_plan().reason;
  EXPECT_LE(small->scope().runtime().statistics().peak_fast_bytes, budget);
}

TEST_P(PirBatchPlans, ABudgetBelowTheMinimumIsRefusedUntilItIsRaised) {
  const auto tiny = make(std::size_t{5} << 20, "planned");
  pir::client client(shape_);
  const auto keys = tiny->load_keys(client.server_keys());
  const auto query = client.query(0);
  const std::vector<std::span<const std::byte>> queries{query, query, query};
  const std::vector<std::shared_ptr<const pir::server_keys>> all(queries.size(), keys);
  EXPECT_NE(test::message_of<out_of_memory>([&] { (void)tiny->answer(all, queries); }).find("at least"),
            std::string::npos);
  tiny->scope().runtime().set_budget(std::size_t{20} << 20);
  for (const auto& answer : tiny->answer(all, queries)) {
    EXPECT_EQ(client.decode(0, query, answer),
              std::vector<std::byte>(records_.begin(), records_.begin() + 2560));
  }
  EXPECT_TRUE(tiny->last_plan().followed) << tiny->last_plan().reason;
}

TEST_P(PirBatchPlans, GroupsOfTheChosenSizeArePlanned) {
  backend::backend_options options;
  options.threads = 2;
  options.memory.budget_bytes = std::size_t{16} << 20;
  options.memory.policy = "planned";
  pir::server_options how;
  how.database.kept = GetParam();
  pir::server small(shape_, pir::make_memory_records(records_), backend::make_backend("cpu", options), how);
  EXPECT_EQ(small.records().group_bytes(), std::size_t{2} << 20);
  pir::client client(shape_);
  const auto keys = small.load_keys(client.server_keys());
  for (int round = 0; round < 3; ++round) {
    const auto query = client.query(1259);
    const std::vector<std::span<const std::byte>> queries{query};
    const auto answers = small.answer(std::vector{keys}, queries);
    EXPECT_EQ(client.decode(1259, query, answers[0]),
              std::vector<std::byte>(records_.end() - 2560, records_.end()));
    EXPECT_TRUE(small.last_plan().followed) << small.last_plan().reason;
  }
}

TEST_P(PirBatchPlans, ThereAreNoneWithoutABudget) {
  const auto all = make(0, "planned");
  pir::client client(shape_);
  const auto keys = all->load_keys(client.server_keys());
  const auto query = client.query(3);
  const std::vector<std::span<const std::byte>> queries{query};
  const auto answers = all->answer(std::vector{keys}, queries);
  EXPECT_EQ(client.decode(3, query, answers[0]),
            std::vector<std::byte>(records_.begin() + 3 * 2560, records_.begin() + 4 * 2560));
  EXPECT_FALSE(all->last_plan().followed);
  EXPECT_EQ(all->last_plan().expected, memory::plan::forecast{});
}

INSTANTIATE_TEST_SUITE_P(Storages, PirBatchPlans,
                         testing::Values(pir::storage::transformed, pir::storage::raw), [](const auto& of) {
                           return of.param == pir::storage::raw ? "Raw" : "Transformed";
                         });

}  // namespace
}  // namespace halocline
