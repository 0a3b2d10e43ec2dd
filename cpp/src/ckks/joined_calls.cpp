// SPDX-License-Identifier: Apache-2.0
#include "ckks/joined_calls.hpp"

#include <algorithm>

namespace halocline::ckks::detail {

std::size_t call_bytes(const context& ctx, std::size_t most) {
  constexpr std::size_t call_share = 6, scratch_share = 4;
  const std::size_t budget = ctx.joining_budget();
  if (budget == 0) return most;
  const std::size_t room = budget / scratch_share;
  const std::size_t scratch =
      ctx.runtime().statistics().live_by_class[static_cast<std::size_t>(memory::object_class::scratch)];
  return std::min({most, budget / call_share, room - std::min(room, scratch)});
}

std::size_t joined_bytes(const context& ctx) {
  return ctx.cache_bytes() == 0 ? 0 : call_bytes(ctx, std::size_t{512} << 20);
}

std::size_t products_per_call(const context& ctx, std::size_t shared, std::span<const std::size_t> each) {
  return each.size() < 2 ? each.size() : products_within(joined_bytes(ctx), shared, each);
}

std::size_t products_within(std::size_t limit, std::size_t shared, std::span<const std::size_t> each) {
  if (each.size() < 2) return each.size();
  std::size_t count = 1;
  for (std::size_t bytes = shared + each.front(); count < each.size(); ++count) {
    bytes += each[count];
    if (bytes > limit) break;
  }
  return count;
}

std::size_t bytes_of(const evaluation_key& key, std::span<const std::uint32_t> numbers) {
  std::size_t bytes = 0;
  for (const std::uint32_t number : numbers) {
    const evaluation_key_digit& digit = key.digits[number];
    bytes += digit.b.size() + (digit.a ? digit.a.size() : 0);
  }
  return bytes;
}

}  // namespace halocline::ckks::detail
