// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/decryptor.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ckks/coefficient_lift.hpp"
#include "ckks/small_poly.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks {
namespace {

using backend::limb_view;

/// Bits by which flooding noise stays below 2^bits times its standard deviation, with certainty for all
/// purposes.
constexpr double noise_tail_bits = 5.0;

/// dst = c_0 + c_1 s (+ c_2 s^2) on the primes of dst, NTT form (Horner's rule).
void add_up(context& ctx, const ciphertext& source, const secret_key& secret, const limb_view& dst) {
  const limb_view s = secret_limbs(secret, dst.primes);
  limb_view sum = source.parts.back().chain().slice(dst.primes);
  for (std::size_t i = source.parts.size() - 1; i-- > 0;) {
    const backend::binary_job product{dst, sum, s};
    ctx.device().multiply(ctx.tables(), {&product, 1});
    const backend::binary_job step{dst, dst, source.parts[i].chain().slice(dst.primes)};
    ctx.device().add(ctx.tables(), {&step, 1});
    sum = dst;
  }
}

/// @throws key_mismatch when the ciphertext belongs to another secret key
void check_keys(const ciphertext& source, const secret_key& secret) {
  (void)common_key(source.key, secret.id, "decrypt", "the ciphertext", "the client");
}

/// Coefficients of flooding noise; empty when none is wanted.
std::optional<memory::buffer> draw_noise(context& ctx, ring::random_source& random, double flooding_bits,
                                         double modulus_bits) {
  if (flooding_bits == 0.0) return std::nullopt;
  const double most = std::min(std::log2(ring::max_gaussian_stddev), modulus_bits - 1.0 - noise_tail_bits);
  HALOCLINE_EXPECTS(flooding_bits > 0.0 && flooding_bits <= most, invalid_argument,
                    "decrypt: flooding noise of ", flooding_bits, " bits; expected 0 (none) up to ", most,
                    " at this level");
  small_coefficients host(ctx.parameters().n());
  if (!ctx.runtime().is_ghost()) ring::sample_gaussian(random, std::exp2(flooding_bits), host.values());
  return upload_small(ctx, host, "decryptor.noise");
}

/// dst += coefficients (coefficient form).
void add_noise(context& ctx, const memory::buffer& coefficients, const limb_view& dst) {
  const ring::poly residues(ctx.ring(), {}, dst.primes, memory::object_class::scratch, "decryptor.noise",
                            true);
  const backend::encode_job job{residues.chain(), &coefficients, 1};
  ctx.device().encode_expand(ctx.tables(), {&job, 1});
  const backend::binary_job sum{dst, dst, residues.chain()};
  ctx.device().add(ctx.tables(), {&sum, 1});
}

}  // namespace

plaintext decryptor::decrypt(const ciphertext& source, const secret_key& secret) {
  check(ctx_, source, "decrypt");
  check_secret(ctx_, secret, "decrypt");
  check_keys(source, secret);
  plaintext result;
  result.value = ring::make_poly(ctx_.ring(), ctx_.parameters().level(source.level).q,
                                 memory::object_class::plaintext, "plaintext");
  result.level = source.level;
  result.scale = source.scale;
  result.slots = source.slots;
  add_up(ctx_, source, secret, result.value.chain());
  return result;
}

std::vector<std::complex<double>> decryptor::decrypt_values(const ciphertext& source,
                                                            const secret_key& secret, encoder& decode,
                                                            double flooding_bits) {
  check(ctx_, source, "decrypt");
  check_secret(ctx_, secret, "decrypt");
  check_keys(source, secret);
  const params::level_info& level = ctx_.parameters().level(source.level);
  // Drawn once: a second sum with other noise would disclose more than the caller agreed to.
  const std::optional<memory::buffer> noise = draw_noise(ctx_, random_, flooding_bits, level.log2_modulus);
  const double message_bits = std::log2(source.scale) + lift_headroom_bits;
  const double noise_bits = noise ? flooding_bits + noise_tail_bits : 0.0;
  lift_plan plan = plan_lift(ctx_.parameters(), level.q, std::max(message_bits, noise_bits));
  const auto stride = static_cast<std::uint32_t>(ctx_.parameters().slots() / source.slots);
  while (true) {
    const ring::poly sum(ctx_.ring(), {}, plan.primes, memory::object_class::scratch, "decryptor.sum", true);
    add_up(ctx_, source, secret, sum.chain());
    const backend::unary_job job{sum.chain(), sum.chain()};
    ctx_.device().intt(ctx_.tables(), {&job, 1});
    if (noise) add_noise(ctx_, *noise, sum.chain());
    const std::optional<memory::buffer> lifted =
        lift_coefficients(ctx_, sum.chain(), plan.guarded, 2 * source.slots, stride, source.scale, true);
    if (lifted) return decode.to_slots(*lifted, source.slots, true);
    plan = {level.q, false};
  }
}

}  // namespace halocline::ckks
