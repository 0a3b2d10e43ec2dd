// SPDX-License-Identifier: Apache-2.0
// Stages of batches: levels of fusion, ghosts, budgets.
#include "halocline/pir/stages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "halocline/core/error.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/memory/tier/memory_store.hpp"
#include "support/pir_rig.hpp"

namespace halocline::pir {
namespace {

using test::bytes;
using test::pir_rig;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// A small database of a set.
/// @param planes about how many plaintexts a record takes
geometry small(const char* set, double planes, std::uint64_t records = 19, std::uint32_t rows = 4) {
  const parameters scheme = test::set_named(set);
  const auto record = static_cast<std::uint64_t>(static_cast<double>(scheme.plaintext_bytes()) * planes);
  return make_geometry(scheme, records, record, {.rows = rows});
}

/// Queries of two clients.
class pir_batch {
 public:
  explicit pir_batch(pir_rig& rig) : rig_(rig) {
    for (std::uint8_t number = 1; number <= 2; ++number) {
      users_.push_back(rig.make_user(number));
      messages_.push_back(read_query(rig.shape, users_.back().client.query(number * 7U)));
    }
    for (std::size_t i = 0; i < users_.size(); ++i) queries_.push_back({users_[i].keys.get(), &messages_[i]});
  }
  [[nodiscard]] std::span<const client_query> queries() const { return queries_; }
  [[nodiscard]] pir_rig::user& user(std::size_t i) { return users_[i]; }

  /// Everything that the stages make of leaves and later: bits, selectors, columns before and after, answers.
  [[nodiscard]] std::vector<bytes> run(const fusion_choice& how) {
    context& ctx = rig_.server.scope();
    std::vector<bytes> made;
    const auto note = [&](const memory::buffer& data) {
      if (!data) return;
      made.emplace_back(data.size());
      ctx.device().download(made.back(), data, 0);
    };
    const auto note_results = [&](const memory::buffer& data) {  // the first ciphertext of each plane
      const std::size_t pair = 2 * ctx.polynomial_bytes(), planes = ctx.shape().planes();
      for (std::size_t plane = 0; plane < planes; ++plane) {
        made.emplace_back(pair);
        ctx.device().download(made.back(), data, plane * data.size() / planes);
      }
    };
    std::vector<query_leaves> leaves = expand(ctx, queries_, how);
    const std::vector<expanded_query> expanded = complete(ctx, queries_, leaves);
    std::vector<memory::buffer> columns = select_rows(ctx, rig_.server.records(), expanded);
    for (const expanded_query& each : expanded) {
      note(each.selectors);
      note(each.bits);
    }
    for (const memory::buffer& each : columns) note(each);
    select_columns(ctx, expanded, columns, all_columns(ctx), how);
    for (const memory::buffer& each : columns) note_results(each);
    for (const auto& words : round_answers(ctx, {std::move(columns), ctx.shape().at.columns})) {
      const auto view = std::as_bytes(std::span(words));
      made.emplace_back(view.begin(), view.end());
    }
    return made;
  }

 private:
  pir_rig& rig_;
  std::vector<pir_rig::user> users_;
  std::vector<query_message> messages_;
  std::vector<client_query> queries_;
};

constexpr auto operation = fusion::operation;
constexpr auto stage = fusion::stage;

TEST(PirStages, OperationAndStageLevelGiveEqualIntegers) {
  for (const char* set : {"pir-n4096", "pir-n2048", "paper"}) {
    for (const double planes : {0.8, 1.6}) {
      SCOPED_TRACE(testing::Message() << set << ", " << planes << " plaintexts");
      pir_rig rig(small(set, planes));
      pir_batch batch(rig);
      const std::vector<bytes> fused = batch.run({});
      EXPECT_EQ(batch.run({{operation}, {operation}}), fused);
      EXPECT_EQ(batch.run({{stage, operation, operation, stage}, {operation, stage}}), fused);
      EXPECT_EQ(batch.run({{operation, stage, operation}, {stage, operation}}), fused);
      EXPECT_EQ(batch.run({{stage}, {operation}, true}), fused);
      EXPECT_EQ(batch.run({{operation, operation, stage}, {stage}, true}), fused);
      EXPECT_EQ(batch.run({{stage, operation}, {stage}, true}), fused);  // nothing to turn in
      EXPECT_EQ(batch.run({{stage}, {fusion::subtree}}), fused);
      EXPECT_EQ(batch.run({{fusion::subtree}, {stage, fusion::subtree}, true}), fused);
      EXPECT_EQ(batch.run({{stage}, {fusion::subtree, operation, operation}}), fused);
      EXPECT_EQ(batch.run({{stage}, {fusion::subtree_3}}), fused);
    }
  }
}

/// A database of one column has no leaves but those that select rows; one of a row and a column has no level.
TEST(PirStages, AllLeavesMayBeTurned) {
  for (const auto& [records, rows] : {std::pair{4U, 4U}, {1U, 1U}, {5U, 1U}}) {
    pir_rig rig(small("pir-n2048", 0.9, records, rows));
    context& ctx = rig.server.scope();
    pir_rig::user user = rig.make_user(1);
    const query_message message = read_query(rig.shape, user.client.query(records - 1));
    const client_query query{user.keys.get(), &message};
    std::vector<query_leaves> turned = expand(ctx, {&query, 1}, {{stage}, {stage}, true});
    const bool any_level = ctx.shape().at.expansion_depth(ctx.shape().scheme) > 0;
    EXPECT_EQ(turned[0].first, any_level ? rows : 0U) << records;
    EXPECT_EQ(turned[0].selectors.size(), turned[0].first * 2 * ctx.polynomial_bytes());
    EXPECT_EQ(static_cast<bool>(turned[0].data), records != rows || !any_level);
    std::vector<query_leaves> plain = expand(ctx, {&query, 1}, {{stage}, {stage}, false});
    EXPECT_EQ(plain[0].first, 0U);
    const auto selectors = [&](std::span<query_leaves> from) {
      const std::vector<expanded_query> made = complete(ctx, {&query, 1}, from);
      bytes words(made[0].selectors.size());
      ctx.device().download(words, made[0].selectors, 0);
      return words;
    };
    EXPECT_EQ(selectors(turned), selectors(plain)) << records;
  }
}

TEST(PirStages, GroupsOfColumnsDoNotChangeResults) {
  for (const double planes : {0.8, 2.4}) {
    const geometry shape = small("paper", planes);
    std::vector<std::vector<bytes>> found;
    for (const storage kept : {storage::transformed, storage::raw}) {
      for (const std::size_t group : {std::size_t{1}, std::size_t{700000}, std::size_t{1} << 30}) {
        pir_rig rig(shape, test::make_device(), {.database = {.kept = kept, .group_bytes = group}});
        found.push_back(pir_batch(rig).run({}));
        EXPECT_EQ(found.back(), found.front()) << planes << ", groups of " << group;
      }
    }
  }
}

/// Rows of a trace without times.
std::vector<std::string> rows_of(const memory::trace& from) {
  std::vector<std::string> rows;
  for (const memory::trace_event& event : from.events) {
    rows.push_back(text(event.step, ' ', memory::to_string(event.action), ' ', from.op(event), ' ',
                        from.tag(event), ' ', event.bytes, ' ', event.offset));
  }
  return rows;
}

TEST(PirStages, GhostsDoTheSame) {
  for (const fusion how : {stage, operation, fusion::subtree}) {
    const geometry shape = small("paper", 1.6);
    const fusion_choice fused{{how, stage}, {how}, how == stage};
    client asking(shape, test::make_device(), test::seed_of(1));
    const bytes keys = asking.server_keys(), query = asking.query(5);
    std::vector<std::string> expected;
    for (const char* device : {"cpu", "ghost"}) {
      const auto records = make_memory_records(bytes(shape.records * shape.record_bytes));
      server made(shape, records, test::make_device(device),
                  {.database = {.group_bytes = 1}, .fused = fused});
      const auto loaded = made.load_keys(keys);
      const std::span<const std::byte> view = query;
      (void)made.answer({&loaded, 1}, {&view, 1});  // makes the tables
      made.scope().runtime().start_trace();
      EXPECT_EQ(made.answer({&loaded, 1}, {&view, 1}).front().size(), message_sizes_of(shape).answer);
      const std::vector<std::string> rows = rows_of(made.scope().runtime().stop_trace());
      EXPECT_GT(rows.size(), 50U);
      if (expected.empty()) expected = rows;
      EXPECT_EQ(rows, expected) << device;
    }
  }
}

TEST(PirStages, DatabasesMayBeLargerThanTheBudget) {
  const geometry shape = small("pir-n2048", 0.9, 1280, 32);
  memory::runtime_options options;
  options.policy = "lru";
  options.budget_bytes = std::size_t{12} << 20;  // points alone take 20 MiB
  options.slow = memory::make_memory_store();
  pir_rig rig(shape, backend::make_backend("cpu", {.memory = options, .threads = 1}),
              {.database = {.group_bytes = std::size_t{512} << 10}});
  pir_rig::user user = rig.make_user(1);
  for (const std::uint64_t record : {0U, 99U, 1279U}) {
    EXPECT_TRUE(std::ranges::equal(rig.fetch(user, record), rig.record(record)));
  }
  const memory::stats found = rig.server.scope().runtime().statistics();
  EXPECT_GT(found.moved.evictions, 0U);
  EXPECT_LE(found.peak_fast_bytes, options.budget_bytes);
}

TEST(PirStages, RefuseWhatDoesNotBelongTogether) {
  pir_rig rig(small("pir-n2048", 0.9));
  pir_batch batch(rig);
  context& ctx = rig.server.scope();
  EXPECT_THAT([&] { (void)expand(ctx, batch.queries(), {.expansion = {}}); },
              ThrowsMessage<invalid_argument>(HasSubstr("at least one entry")));
  client_query keyless = batch.queries().front();
  keyless.keys = nullptr;
  EXPECT_THAT(
      [&] {
        (void)expand(ctx, {&keyless, 1});
      },
      ThrowsMessage<invalid_argument>(HasSubstr("without keys")));
  server_keys_message forged = read_server_keys(rig.shape, batch.user(0).client.server_keys());
  forged.levels += 1;
  EXPECT_THAT([&] { (void)load_keys(ctx, forged); },
              ThrowsMessage<invalid_argument>(HasSubstr("levels of expansion")));
  EXPECT_THROW((void)complete(ctx, batch.queries(), {}), invalid_argument);
  std::vector<query_leaves> leaves = expand(ctx, batch.queries());
  const std::vector<expanded_query> expanded = complete(ctx, batch.queries(), leaves);
  EXPECT_THROW(select_columns(ctx, expanded, {}, all_columns(ctx)), invalid_argument);
  std::vector<memory::buffer> foreign;
  for (query_leaves& each : leaves) foreign.push_back(std::move(each.data));
  EXPECT_THAT([&] { select_columns(ctx, expanded, foreign, all_columns(ctx)); },
              ThrowsMessage<invalid_argument>(HasSubstr("columns of a query; expected 5")));
  EXPECT_THAT([&] { (void)ctx.monomial(0); }, ThrowsMessage<invalid_argument>(HasSubstr("expected 1 to 11")));
  EXPECT_THROW((void)ctx.monomial(12), invalid_argument);
  EXPECT_TRUE(expand(ctx, {}).empty());
}

}  // namespace
}  // namespace halocline::pir
