// SPDX-License-Identifier: Apache-2.0
#include "ckks/small_poly.hpp"

#include <sodium.h>

#include <algorithm>

#include "ckks/client_tables.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks {
namespace {

/// Bytes that a transfer holds on the host at a time.
constexpr std::size_t transfer_piece = std::size_t{1} << 20;

/// A seed on its way to the device; zeroed on destruction.
class private_seed {
 public:
  explicit private_seed(ring::random_source& random) : bytes_(random.next_seed()) {}
  ~private_seed() { sodium_memzero(bytes_.data(), bytes_.size()); }
  private_seed(const private_seed&) = delete;
  private_seed& operator=(const private_seed&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return std::as_bytes(std::span(bytes_)); }

 private:
  backend::seed_bytes bytes_;
};

/// Fresh coefficients: Gaussian with `table`, ternary without. The seed is used once, and its copy on the
/// device is zeroed when this returns.
memory::buffer draw(context& ctx, ring::random_source& random, const memory::buffer* table, const char* tag) {
  const auto scratch = memory::object_class::scratch;
  const private_seed host(random);
  const memory::buffer seed = ctx.runtime().allocate(host.bytes().size(), scratch, "sampler.seed", true);
  ctx.device().upload(seed, 0, host.bytes());
  memory::buffer result =
      ctx.runtime().allocate(ctx.parameters().n() * sizeof(std::int64_t), scratch, tag, true);
  const backend::small_job job{&result, &seed, 0, table};
  ctx.device().sample_small(ctx.tables(), {&job, 1});
  return result;
}

}  // namespace

small_coefficients::~small_coefficients() {
  sodium_memzero(values_.data(), values_.size() * sizeof(std::int64_t));
}

memory::buffer upload_small(context& ctx, small_coefficients& source, const char* tag) {
  const auto bytes = std::as_bytes(source.values());
  memory::buffer result = ctx.runtime().allocate(bytes.size(), memory::object_class::scratch, tag, true);
  ctx.device().upload(result, 0, bytes);
  return result;
}

void expand_small(context& ctx, const memory::buffer& coefficients, std::span<const backend::limb_view> dst) {
  std::vector<backend::encode_job> residues;
  std::vector<backend::unary_job> transforms;
  for (const backend::limb_view& view : dst) {
    residues.push_back({view, &coefficients, 1});
    transforms.push_back({view, view});
  }
  ctx.device().encode_expand(ctx.tables(), residues);
  ctx.device().ntt(ctx.tables(), transforms);
}

memory::buffer draw_ternary(context& ctx, ring::random_source& random, const char* tag) {
  return draw(ctx, random, nullptr, tag);
}

void draw_error(context& ctx, ring::random_source& random, const backend::limb_view& dst) {
  draw_error(ctx, random, std::span(&dst, 1));
}

void draw_error(context& ctx, ring::random_source& random, std::span<const backend::limb_view> dst) {
  constexpr const char* tag = "error.coefficients";
  const double stddev = ctx.parameters().error_stddev();
  if (stddev <= ring::max_table_stddev) {
    expand_small(ctx, draw(ctx, random, &ctx.client_tables().error(), tag), dst);
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
