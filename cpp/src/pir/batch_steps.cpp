// SPDX-License-Identifier: Apache-2.0
#include "pir/batch_steps.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace halocline::pir {
namespace {

/// Bytes of a ciphertext.
std::size_t pair_bytes(const context& ctx) { return 2 * ctx.polynomial_bytes(); }

/// Temporaries of one query's expansion: two levels of nodes.
std::size_t expansion_bytes(const context& ctx) {
  const layout& at = ctx.shape().at;
  return pair_bytes(ctx) * at.packed(ctx.shape().scheme) * 3 / 2;
}

/// An expanded query: selectors and rows of bits.
std::size_t expanded_bytes(const context& ctx) {
  const layout& at = ctx.shape().at;
  return pair_bytes(ctx) * (at.rows + std::size_t{2} * at.column_bits() * ctx.limbs() * at.selection.digits);
}

/// Sums over rows of `columns` columns, and what is kept of such parts of `all`.
std::size_t column_bytes(const context& ctx, std::uint32_t columns, std::uint32_t all) {
  const std::size_t parts = columns < all ? (std::size_t{all} - 1) / columns + 1 : 0;
  return pair_bytes(ctx) * ctx.shape().planes() * (columns + parts);
}

/// Columns of a database, and of its largest group.
struct column_counts {
  /// Columns of a part that take the least memory: of a whole group at least, and about as many as there are
  /// parts, each of which leaves a ciphertext.
  [[nodiscard]] std::uint32_t smallest_part() const {
    const auto root = static_cast<std::uint32_t>(std::sqrt(static_cast<double>(all)));
    return std::min(std::bit_ceil(std::max(group, root)), all);
  }
  explicit column_counts(const database& of) {
    for (const column_group& each : of.groups()) {
      all += each.columns;
      group = std::max(group, each.columns);
    }
  }
  std::uint32_t all = 0, group = 1;
};

}  // namespace

std::size_t choose_pass(const context& ctx, const database& of, std::size_t batch, std::size_t limit) {
  const column_counts columns(of);
  const std::size_t each = expanded_bytes(ctx) + column_bytes(ctx, columns.smallest_part(), columns.all);
  const std::size_t most = std::clamp<std::size_t>(limit / each, 1, std::max<std::size_t>(batch, 1));
  const std::size_t passes = (batch + most - 1) / most;
  return passes <= 1 ? std::max<std::size_t>(batch, 1) : (batch + passes - 1) / passes;
}

batch_steps choose_steps(const context& ctx, const database& of, std::size_t batch, std::size_t limit) {
  const column_counts counts(of);
  const std::uint32_t all = counts.all, least = counts.smallest_part();
  const std::size_t kept = batch * expanded_bytes(ctx);
  const std::size_t left = limit > kept ? limit - kept : 0;
  batch_steps made;
  made.queries = std::clamp<std::size_t>(left / expansion_bytes(ctx), 1, std::max<std::size_t>(batch, 1));
  if (batch * column_bytes(ctx, all, all) <= left) return made;
  made.columns = std::bit_ceil(all) / 2;
  while (made.columns > least && batch * column_bytes(ctx, made.columns, all) > left) made.columns /= 2;
  made.columns = std::max(made.columns, least);
  return made;
}

std::size_t scratch_within(std::size_t budget, bool moves, const database& of) noexcept {
  if (moves) return budget / 2;
  std::size_t taken = budget / 10;  // tables, keys of clients, pieces between blocks
  for (const column_group& each : of.groups()) taken += each.data.size();
  return budget > taken ? budget - taken : 0;
}

std::size_t scratch_limit(const context& ctx, const database& of) {
  const memory::runtime& runtime = ctx.runtime();
  const std::size_t budget = runtime.budget_bytes();
  if (budget != 0) return scratch_within(budget, runtime.moves(), of);
  const std::size_t all = ctx.device().describe().memory_bytes;
  if (all == 0) return std::numeric_limits<std::size_t>::max();  // a ghost
  return scratch_within(all, false, of);
}

}  // namespace halocline::pir
