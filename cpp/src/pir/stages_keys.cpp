// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "halocline/core/expects.hpp"
#include "halocline/pir/stages.hpp"

namespace halocline::pir {
namespace {

std::size_t rows_of(const context& ctx, std::uint32_t levels) {
  const layout& at = ctx.shape().at;
  return (std::size_t{levels} * at.expansion.digits + at.secret.digits) * ctx.limbs();
}

}  // namespace

server_keys make_keys(context& ctx, std::uint32_t levels) {
  return {{},
          levels,
          ctx.make_ciphertexts(rows_of(ctx, levels), memory::object_class::evaluation_key, "pir.keys"),
          {}};
}

server_keys load_keys(context& ctx, const server_keys_message& message) {
  const std::size_t words = ctx.polynomial_bytes() / sizeof(std::uint32_t);
  const geometry& of = ctx.shape();
  const std::size_t sent = rows_of(ctx, message.levels);
  HALOCLINE_EXPECTS(message.levels <= ctx.tables().log_n && message.b.size() == sent * words,
                    invalid_argument, "retrieval keys: ", message.b.size(), " residues for ", message.levels,
                    " levels of expansion; expected ", sent * words, " for at most ", ctx.tables().log_n);
  const std::uint32_t levels = std::min<std::uint32_t>(message.levels, of.at.expansion_depth(of.scheme));
  const std::size_t rows = rows_of(ctx, levels);
  const std::size_t kept_levels = std::size_t{levels} * of.at.expansion.digits * ctx.limbs();
  server_keys made = make_keys(ctx, levels);
  made.client = message.client;
  made.stamp = message.stamp;
  // One copy, with room for the second polynomials, is faster than a copy for each row.
  std::vector<std::uint32_t> pairs(2 * rows * words);
  std::vector<backend::uniform_job> uniform;
  for (std::size_t row = 0; row < rows; ++row) {
    // Rows of the secret's square follow those of all levels that were sent.
    const std::size_t from = row < kept_levels ? row : row + sent - rows;
    std::copy_n(message.b.begin() + static_cast<std::ptrdiff_t>(from * words), words,
                pairs.begin() + static_cast<std::ptrdiff_t>(2 * row * words));
    const auto limb = static_cast<std::uint32_t>((2 * row + 1) * ctx.limbs());
    uniform.push_back(
        {{&made.rows, limb, {0, ctx.limbs()}}, {message.seed, static_cast<std::uint32_t>(from)}});
  }
  ctx.device().upload(made.rows, 0, std::as_bytes(std::span(pairs)));
  ctx.device().sample_uniform(ctx.tables(), uniform);
  return made;
}

}  // namespace halocline::pir
