// SPDX-License-Identifier: Apache-2.0
#include "ckks/small_poly.hpp"

#include <algorithm>

#include "ckks/client_tables.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks {
namespace {

/// Bytes that a transfer holds on the host at a time.
constexpr std::size_t transfer_piece = std::size_t{1} << 20;

}  // namespace

memory::buffer draw_ternary(context& ctx, ring::random_source& random, const char* tag) {
  return ring::draw_small(ctx.ring(), random, nullptr, tag);
}

void draw_error(context& ctx, ring::random_source& random, const backend::limb_view& dst) {
  draw_error(ctx, random, std::span(&dst, 1));
}

void draw_error(context& ctx, ring::random_source& random, std::span<const backend::limb_view> dst) {
  constexpr const char* tag = "error.coefficients";
  const double stddev = ctx.parameters().error_stddev();
  if (stddev <= ring::max_table_stddev) {
    expand_small(ctx, ring::draw_small(ctx.ring(), random, &ctx.client_tables().error(), tag), dst);
    return;
  }
  small_coefficients host(ctx.parameters().n());  // wider than any parameters that are in use
  if (!ctx.runtime().is_ghost()) ring::sample_gaussian(random, stddev, host.values());
  expand_small(ctx, upload_small(ctx, host, tag), dst);
}

void draw_mask(context& ctx, ring::random_source& random, const backend::limb_view& dst) {
  expand_small(ctx, draw_ternary(ctx, random, "ephemeral.coefficients"), {&dst, 1});
}

backend::limb_view secret_limbs(const secret_key& secret, arith::window primes) {
  // Special and chain limbs lie one behind the other: limb i belongs to prime i.
  return {&secret.value.data(), primes.first, primes};
}

void check_secret(const context& ctx, const secret_key& secret, const char* operation) {
  HALOCLINE_EXPECTS(secret.value, invalid_argument, operation, ": the secret key is empty");
  HALOCLINE_EXPECTS(secret.value.data().owner() == &ctx.runtime(), invalid_argument, operation,
                    ": the secret key belongs to another context; keys stay with the client that made them");
  HALOCLINE_EXPECTS(secret.value.limb_count() == ctx.parameters().prime_count(), invalid_argument, operation,
                    ": the secret key has ", secret.value.limb_count(), " limbs; these parameters have ",
                    ctx.parameters().prime_count(), " primes. It was made for other parameters");
}

void transfer_bytes(const ring::home& from, const memory::buffer& source, context& to,
                    const memory::buffer& target) {
  HALOCLINE_EXPECTS(from.parameters, invalid_argument, "transfer: the source is of no CKKS parameters");
  HALOCLINE_EXPECTS(*from.parameters == to.parameters(), invalid_argument,
                    "transfer: the source has parameters '", from.parameters->name(), "', the target has '",
                    to.parameters().name(), "'; both sides must use equal ones");
  HALOCLINE_EXPECTS(!from.device->runtime().is_ghost() || to.runtime().is_ghost(), invalid_argument,
                    "transfer: the source is on the ghost backend, which holds no contents");
  std::vector<std::byte> piece(std::min(transfer_piece, source.size()));
  for (std::size_t offset = 0; offset < source.size(); offset += piece.size()) {
    const std::span<std::byte> part(piece.data(), std::min(piece.size(), source.size() - offset));
    from.device->download(part, source, offset);
    to.device().upload(target, offset, part);
  }
}

}  // namespace halocline::ckks
