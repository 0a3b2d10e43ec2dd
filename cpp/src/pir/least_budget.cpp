// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/least_budget.hpp"

#include <memory>
#include <vector>

#include "halocline/backend/registry.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/memory/plan/minimum.hpp"
#include "halocline/pir/stages.hpp"
#include "pir/batch_steps.hpp"

namespace halocline::pir {
namespace {

/// One part in so many of a budget.
constexpr std::uint64_t precision = 16;

/// Keys of all zeros, of exactly the levels that the database needs.
server_keys_message empty_keys(const geometry& of) {
  const std::uint32_t levels = of.at.expansion_depth(of.scheme);
  const std::size_t limbs = of.scheme.primes().size();
  const std::size_t rows = (std::size_t{levels} * of.at.expansion.digits + of.at.secret.digits) * limbs;
  return {key_shape_of(of), {}, levels, {}, std::vector<std::uint32_t>(rows * limbs * of.scheme.n()), {}};
}

/// As `server` does it.
void answer_one(context& ctx, database& records, std::size_t scratch) {
  const geometry& of = ctx.shape();
  const server_keys keys = load_keys(ctx, empty_keys(of));
  const query_message empty{
      fingerprint_of(of), {}, {}, std::vector<std::uint32_t>(of.scheme.primes().size() * of.scheme.n())};
  const std::vector<client_query> batch{{&keys, &empty}};
  const fusion_choice how = choose_fusion(ctx, 1);
  const std::vector<expanded_query> expanded = [&] {
    std::vector<query_leaves> leaves = expand(ctx, batch, how);  // which go before the rest begins
    return complete(ctx, batch, leaves);
  }();
  const batch_steps steps = choose_steps(ctx, records, 1, scratch);
  (void)round_answers(ctx, select_in_parts(ctx, records, expanded, 0, steps.columns, how));
}

/// What a server needs whose budget is `bytes`, in the sizes that it then chooses; 0: in the smallest ones.
std::uint64_t needed(const geometry& of, storage kept, std::uint64_t bytes, std::string_view policy) {
  const bool moves = policy != "resident";
  const std::shared_ptr<backend::backend> ghost = backend::make_backend("ghost", {});
  if (moves) ghost->runtime().start_trace();
  context ctx(of, ghost);
  database_options options{.kept = kept, .group_bytes = bytes == 0 ? 1 : default_group_bytes(bytes)};
  database records(ctx, nullptr, options);
  answer_one(ctx, records, bytes == 0 ? 1 : scratch_within(bytes, moves, records));
  if (!moves) return ghost->runtime().statistics().peak_bytes;
  const memory::plan::minimum_budget found = memory::plan::find_minimum(ghost->runtime().stop_trace());
  return policy == "lru" ? found.lru_bytes : found.planned_bytes;
}

/// A budget that is enough, and about the smallest one.
std::uint64_t least(const geometry& of, storage kept, std::string_view policy) {
  constexpr int most_rounds = 16;
  std::uint64_t low = needed(of, kept, 0, policy), high = low;
  for (int round = 0; round < most_rounds; ++round) {
    const std::uint64_t more = needed(of, kept, high, policy);
    if (more <= high) break;
    high = more;
  }
  while (high - low > high / precision) {
    const std::uint64_t middle = low + (high - low) / 2;
    (needed(of, kept, middle, policy) <= middle ? high : low) = middle;
  }
  return high;
}

}  // namespace

bool falls_short(const geometry& of, storage kept, std::uint64_t budget_bytes, std::string_view policy) {
  HALOCLINE_EXPECTS(policy == "resident" || policy == "lru" || policy == "planned", invalid_argument,
                    "budget of a retrieval server: policy '", policy,
                    "'; expected 'resident', 'lru' or 'planned'");
  return needed(of, kept, budget_bytes, policy) > budget_bytes + budget_bytes / precision;
}

least_budgets find_least_budgets(const geometry& of, storage kept) {
  return {least(of, kept, "resident"), least(of, kept, "lru")};
}

}  // namespace halocline::pir
