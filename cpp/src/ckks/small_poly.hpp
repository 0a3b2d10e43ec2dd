// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/ckks/keys.hpp"
#include "halocline/ring/small_poly.hpp"

/// Secret and error polynomials on their way from the sampler to residues.
namespace halocline::ckks {

using ring::small_coefficients;

/// `ring::upload_small` in a context.
[[nodiscard]] inline memory::buffer upload_small(context& ctx, small_coefficients& source, const char* tag) {
  return ring::upload_small(ctx.ring(), source, tag);
}

/// `ring::expand_small` in a context.
inline void expand_small(context& ctx, const memory::buffer& coefficients,
                         std::span<const backend::limb_view> dst) {
  ring::expand_small(ctx.ring(), coefficients, dst);
}

/// Fresh uniform ternary coefficients, in a buffer that is zeroed when freed.
[[nodiscard]] memory::buffer draw_ternary(context& ctx, ring::random_source& random, const char* tag);

/// dst = a fresh polynomial with the parameters' error distribution, in NTT form. Several views are parts of
/// one polynomial.
void draw_error(context& ctx, ring::random_source& random, std::span<const backend::limb_view> dst);
void draw_error(context& ctx, ring::random_source& random, const backend::limb_view& dst);

/// dst = a fresh uniform ternary polynomial, in NTT form.
void draw_mask(context& ctx, ring::random_source& random, const backend::limb_view& dst);

/// The NTT form of s modulo `primes`.
[[nodiscard]] backend::limb_view secret_limbs(const secret_key& secret, arith::window primes);

/// Checks that a secret key was made for the parameters and the runtime of `ctx`.
/// @throws invalid_argument naming `operation`
void check_secret(const context& ctx, const secret_key& secret, const char* operation);

/// Copies the bytes of a buffer into one of the same size that belongs to another context, in pieces through
/// the host.
/// @throws invalid_argument when the contexts have different parameters, or when `from` is a ghost context
///   and `to` is not: there would be nothing to copy
void transfer_bytes(const ring::home& from, const memory::buffer& source, context& to,
                    const memory::buffer& target);

}  // namespace halocline::ckks
