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
          ctx.make_ciphertexts(rows_of(ctx, levels), memory::object_class::evaluation_key, "pir.keys")};
}

server_keys load_keys(context& ctx, const server_keys_message& message) {
  const std::size_t words = ctx.polynomial_bytes() / sizeof(std::uint32_t);
  const std::size_t rows = rows_of(ctx, message.levels);
  HALOCLINE_EXPECTS(message.levels <= ctx.tables().log_n && message.b.size() == rows * words,
                    invalid_argument, "retrieval keys: ", message.b.size(), " residues for ", message.levels,
                    " levels of expansion; expected ", rows * words, " for at most ", ctx.tables().log_n);
  server_keys made = make_keys(ctx, message.levels);
  made.client = message.client;
  // One copy, with room for the second polynomials, is faster than a copy for each row.
  std::vector<std::uint32_t> pairs(2 * message.b.size());
  std::vector<backend::uniform_job> uniform;
  for (std::size_t row = 0; row < rows; ++row) {
    std::copy_n(message.b.begin() + static_cast<std::ptrdiff_t>(row * words), words,
                pairs.begin() + static_cast<std::ptrdiff_t>(2 * row * words));
    const auto limb = static_cast<std::uint32_t>((2 * row + 1) * ctx.limbs());
    uniform.push_back(
        {{&made.rows, limb, {0, ctx.limbs()}}, {message.seed, static_cast<std::uint32_t>(row)}});
  }
  ctx.device().upload(made.rows, 0, std::as_bytes(std::span(pairs)));
  ctx.device().sample_uniform(ctx.tables(), uniform);
  return made;
}

}  // namespace halocline::pir
