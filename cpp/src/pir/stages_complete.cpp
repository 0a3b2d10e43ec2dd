// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "halocline/core/expects.hpp"
#include "pir/stages_detail.hpp"

namespace halocline::pir {
namespace {

using backend::poly_array;

/// 2^32 modulo each prime: what brings residues into Montgomery form.
std::vector<std::uint64_t> montgomery_factors(const context& ctx) {
  std::vector<std::uint64_t> factors;
  for (const std::uint64_t q : ctx.tables().primes) factors.push_back((std::uint64_t{1} << 32) % q);
  return factors;
}

/// Selectors in the order of `row_select`: components of a ciphertext are rows that follow each other, as the
/// polynomials of an array are.
void turn_rows(context& ctx, std::span<query_leaves> leaves, std::span<expanded_query> made) {
  const std::uint32_t rows = 2 * ctx.shape().at.rows;
  std::vector<backend::turn_job> jobs;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].first > 0) {
      made[i].selectors = std::move(leaves[i].selectors);
      continue;
    }
    made[i].selectors =
        ctx.make_ciphertexts(ctx.shape().at.rows, memory::object_class::scratch, "pir.selectors");
    jobs.push_back({{&made[i].selectors, rows, ctx.point_block()},
                    0,
                    1,
                    detail::polynomials(ctx, leaves[i].data),
                    rows});
  }
  if (!jobs.empty()) ctx.device().turn_points(ctx.tables(), jobs);
}

/// Rows of all bits. A leaf (r0, r1) with the phase m has r0 s + r1 s^2 = m s: (0, r0) + switch(r1) encrypts
/// that where the switch has the rows of s^2 under s.
void complete_bits(context& ctx, std::span<const client_query> queries, std::span<const query_leaves> leaves,
                   std::span<expanded_query> made) {
  const layout& at = ctx.shape().at;
  const std::uint32_t half = detail::digits_of(ctx, at.selection);
  const std::uint32_t terms = detail::digits_of(ctx, at.secret);
  const std::uint32_t count = at.column_bits() * half;
  const memory::buffer coefficients =
      detail::make_polynomials(ctx, queries.size() * count, "pir.completion.coefficients");
  const memory::buffer digits =
      detail::make_polynomials(ctx, queries.size() * count * terms, "pir.completion.digits");
  std::vector<detail::digit_task> tasks;
  std::vector<backend::digit_product_job> products;
  std::vector<backend::array_scale_job> scales;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const memory::buffer& bits = made[i].bits =
        ctx.make_ciphertexts(2 * std::size_t{count}, memory::object_class::scratch, "pir.bits");
    const std::uint32_t key =
        queries[i].keys->levels * detail::digits_of(ctx, at.expansion);  // rows of the expansion come first
    tasks.push_back({detail::polynomials(ctx, digits, i * count * terms),
                     detail::polynomials(ctx, coefficients, i * count),
                     ctx.component(leaves[i].data, 1, at.rows - leaves[i].first), count});
    for (std::uint32_t bit = 0; bit < at.column_bits(); ++bit) {
      const std::uint32_t leaf = at.rows - leaves[i].first + bit * half, first = 2 * bit * half;
      const poly_array second = ctx.ciphertexts(bits, first + half);
      products.push_back({.dst = second,
                          .digits = detail::polynomials(ctx, digits, (i * count + bit * half) * terms),
                          .rows = ctx.ciphertexts(queries[i].keys->rows, key),
                          .terms = terms,
                          .count = half,
                          .plus1 = ctx.component(leaves[i].data, 0, leaf)});
      scales.push_back({ctx.ciphertexts(bits, first), ctx.ciphertexts(leaves[i].data, leaf), half,
                        montgomery_factors(ctx)});
      scales.push_back({second, second, half, montgomery_factors(ctx)});
    }
  }
  detail::make_digits(ctx, tasks, at.secret);
  ctx.device().digit_product(ctx.tables(), products);
  ctx.device().array_scale(ctx.tables(), scales);
}

}  // namespace

std::vector<expanded_query> complete(context& ctx, std::span<const client_query> queries,
                                     std::span<query_leaves> leaves) {
  HALOCLINE_EXPECTS(queries.size() == leaves.size(), invalid_argument, "retrieval: leaves of ", leaves.size(),
                    " expansions for ", queries.size(), " queries");
  std::vector<expanded_query> made(queries.size());
  if (queries.empty()) return made;
  turn_rows(ctx, leaves, made);
  if (ctx.shape().at.column_bits() > 0) complete_bits(ctx, queries, leaves, made);
  return made;
}

}  // namespace halocline::pir
