// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "halocline/pir/context.hpp"
#include "halocline/pir/database.hpp"
#include "halocline/pir/fusion.hpp"
#include "halocline/pir/messages.hpp"

/// Stages of a batch of queries, each of which may have a client of its own. Exact: every backend and level
/// of fusion gives the same integers.
namespace halocline::pir {

/// Keys of one client in a context: rows as `server_keys_message` has them.
struct server_keys {
  client_id client{};
  std::uint32_t levels = 0;
  memory::buffer rows;  ///< ciphertexts, class `evaluation_key`
  key_stamp stamp{};    ///< for answers that are computed with them
};
/// Uninitialised keys with an empty client name. They have no identity: plans of batches hold for keys of any
/// clients.
[[nodiscard]] server_keys make_keys(context& ctx, std::uint32_t levels);
/// Uploads keys and expands their seed. Levels beyond those that the database needs are left out: they would
/// only take memory.
[[nodiscard]] server_keys load_keys(context& ctx, const server_keys_message& message);

/// A query with the keys of its client.
struct client_query {
  const server_keys* keys = nullptr;
  const query_message* message = nullptr;
};

/// A query after expansion and completion.
struct expanded_query {
  memory::buffer selectors;  ///< point matrix of 2 N0 rows
  memory::buffer bits;       ///< 2 L digits ciphertexts for each bit of the column number, Montgomery form
};

/// Leaves of an expansion: `layout::packed` ciphertexts in NTT form, of which those that select rows may be
/// turned already.
struct query_leaves {
  memory::buffer data;       ///< leaves from number `first` on; nothing where all are turned
  std::uint32_t first = 0;   ///< 0 or the number of rows
  memory::buffer selectors;  ///< the others, as in `expanded_query`
};

/// Leaves of the expansions, for each query.
[[nodiscard]] std::vector<query_leaves> expand(context& ctx, std::span<const client_query> queries,
                                               const fusion_choice& how = {});
/// Turns rows that are not turned yet, and completes the bits. Takes the selectors from the leaves.
[[nodiscard]] std::vector<expanded_query> complete(context& ctx, std::span<const client_query> queries,
                                                   std::span<query_leaves> leaves);
/// Sums over rows of the columns of some groups: planes * columns ciphertexts for each query, plane by plane.
[[nodiscard]] std::vector<memory::buffer> select_rows(context& ctx, database& from,
                                                      std::span<const column_group> groups,
                                                      std::span<const expanded_query> queries);
/// Of all groups.
[[nodiscard]] std::vector<memory::buffer> select_rows(context& ctx, database& from,
                                                      std::span<const expanded_query> queries);
/// Columns of each plane that stand in a buffer. Their numbers differ in the bits from `first_bit` on: for
/// shards, whose columns agree in the lowest bits, and for the results of shards, which differ in those only.
struct column_part {
  std::uint32_t columns = 0;
  unsigned first_bit = 0;
};
/// All columns.
[[nodiscard]] column_part all_columns(const context& ctx) noexcept;

/// Selects a column of each plane, in place: ciphertext p * columns of each buffer is the result of plane p.
void select_columns(context& ctx, std::span<const expanded_query> queries,
                    std::span<const memory::buffer> columns, const column_part& part,
                    const fusion_choice& how = {});
enum class selection_stage : std::uint8_t { rows, columns };

/// What is left of the columns of each query: ciphertext p * stride is the result of plane p.
struct selected_columns {
  std::vector<memory::buffer> data;
  std::uint32_t stride = 0;
};
/// `select_rows` and `select_columns` of all columns of a database, `at_once` of them at a time, so that no
/// more are in memory. The parts decide in which order bits are selected by, and so the noise of the result,
/// but not how large it is.
/// @param first_bit of the columns' numbers, as in `column_part`
/// @param at_once 0 for all; else a power of two, and whole groups
/// @param after called after each `select_rows` and each `select_columns`, with that stage
[[nodiscard]] selected_columns select_in_parts(context& ctx, database& from,
                                               std::span<const expanded_query> queries, unsigned first_bit,
                                               std::uint32_t at_once, const fusion_choice& how = {},
                                               const std::function<void(selection_stage)>& after = {});

/// Rounded answers, 2 N words for each plane.
[[nodiscard]] std::vector<std::vector<std::uint64_t>> round_answers(context& ctx,
                                                                    const selected_columns& columns);

}  // namespace halocline::pir
