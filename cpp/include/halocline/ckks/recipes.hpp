// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <span>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/keys.hpp"
#include "halocline/ckks/plaintext.hpp"
#include "halocline/memory/identity.hpp"

/// Describes keys and plaintexts to the memory runtime: identities by which plans find them, and recipes that
/// regenerate them instead of loading them.
namespace halocline::ckks {

using memory::identity_of;

/// Hash of the values of a message, for identities of what is encoded from them.
[[nodiscard]] std::uint64_t hash_of(std::span<const std::complex<double>> values);

/// Names the buffers of a key by its Galois element, and sets the recipe that expands each uniform half from
/// its seed.
void register_key(context& ctx, const evaluation_key& key);

/// Gives the buffers of a key their identities, or takes them away: plans then do not find it.
void name_key(context& ctx, const evaluation_key& key, bool named);

/// Names an encoded plaintext and sets the recipe that encodes it again from its coefficients, which are kept
/// for that.
/// @param value plaintext residues, NTT form
/// @param identity name of the plaintext, or 0 for none
/// @param coefficients integer coefficients in the same context; nullptr: it is reloaded by copies only
void register_plaintext(context& ctx, const ring::poly& value, std::uint64_t identity,
                        std::shared_ptr<const compact_plaintext> coefficients);

}  // namespace halocline::ckks
