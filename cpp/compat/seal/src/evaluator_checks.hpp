// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "operation.hpp"
#include "seal/valcheck.h"

/// What operands must be. All throw std::invalid_argument.
namespace seal::halocline_detail {

void check_valid(const Ciphertext& object, const SEALContext& context, const char* name);
void check_valid(const Plaintext& object, const SEALContext& context, const char* name);
/// Keys of this context.
void check_keys(const KSwitchKeys& keys, const SEALContext& context, const char* name);
/// Two valid ciphertexts of the same parameters and form.
void check_pair(const Ciphertext& a, const Ciphertext& b, const SEALContext& context);
/// A valid ciphertext and a valid plaintext in NTT form, of the same parameters.
void check_with_plain(const Ciphertext& a, const Plaintext& b, const SEALContext& context);
void check_ntt_form(const Ciphertext& object);
/// Equal but for rounding.
void check_scales(double a, double b);
/// The scale of a result, which is positive and has fewer bits than the modulus.
void check_scale(const result_shape& shape, const SEALContext& context);
/// The parameters with one prime less.
[[nodiscard]] std::shared_ptr<const SEALContext::ContextData> next_level(const Ciphertext& object,
                                                                         const SEALContext& context);

/// A result like a ciphertext.
[[nodiscard]] result_shape shape_of(const Ciphertext& like);
/// The mark of a ciphertext, or of keys.
[[nodiscard]] std::string place_with(const Ciphertext& a, const KSwitchKeys& keys);

}  // namespace seal::halocline_detail
