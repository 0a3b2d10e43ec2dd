// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/ciphertext.h"
#include "seal/context.h"
#include "seal/galoiskeys.h"
#include "seal/kswitchkeys.h"
#include "seal/plaintext.h"
#include "seal/publickey.h"
#include "seal/relinkeys.h"
#include "seal/secretkey.h"

namespace seal {

/// Whether parameters and sizes of an object are those of a context.
/// @param allow_pure_key_levels whether parameters that serve keys only are accepted
[[nodiscard]] bool is_metadata_valid_for(const Plaintext& in, const SEALContext& context,
                                         bool allow_pure_key_levels = false);
[[nodiscard]] bool is_metadata_valid_for(const Ciphertext& in, const SEALContext& context,
                                         bool allow_pure_key_levels = false);
[[nodiscard]] bool is_metadata_valid_for(const SecretKey& in, const SEALContext& context);
[[nodiscard]] bool is_metadata_valid_for(const PublicKey& in, const SEALContext& context);
[[nodiscard]] bool is_metadata_valid_for(const KSwitchKeys& in, const SEALContext& context);
[[nodiscard]] bool is_metadata_valid_for(const RelinKeys& in, const SEALContext& context);
[[nodiscard]] bool is_metadata_valid_for(const GaloisKeys& in, const SEALContext& context);

/// Whether an object has as many words as its sizes say.
[[nodiscard]] bool is_buffer_valid(const Plaintext& in);
[[nodiscard]] bool is_buffer_valid(const Ciphertext& in);
[[nodiscard]] bool is_buffer_valid(const SecretKey& in);
[[nodiscard]] bool is_buffer_valid(const PublicKey& in);
[[nodiscard]] bool is_buffer_valid(const KSwitchKeys& in);
[[nodiscard]] bool is_buffer_valid(const RelinKeys& in);
[[nodiscard]] bool is_buffer_valid(const GaloisKeys& in);

/// Whether sizes are right and each residue is below its prime.
[[nodiscard]] bool is_data_valid_for(const Plaintext& in, const SEALContext& context);
[[nodiscard]] bool is_data_valid_for(const Ciphertext& in, const SEALContext& context);
[[nodiscard]] bool is_data_valid_for(const SecretKey& in, const SEALContext& context);
[[nodiscard]] bool is_data_valid_for(const PublicKey& in, const SEALContext& context);
[[nodiscard]] bool is_data_valid_for(const KSwitchKeys& in, const SEALContext& context);
[[nodiscard]] bool is_data_valid_for(const RelinKeys& in, const SEALContext& context);
[[nodiscard]] bool is_data_valid_for(const GaloisKeys& in, const SEALContext& context);

/// All of these.
[[nodiscard]] bool is_valid_for(const Plaintext& in, const SEALContext& context);
[[nodiscard]] bool is_valid_for(const Ciphertext& in, const SEALContext& context);
[[nodiscard]] bool is_valid_for(const SecretKey& in, const SEALContext& context);
[[nodiscard]] bool is_valid_for(const PublicKey& in, const SEALContext& context);
[[nodiscard]] bool is_valid_for(const KSwitchKeys& in, const SEALContext& context);
[[nodiscard]] bool is_valid_for(const RelinKeys& in, const SEALContext& context);
[[nodiscard]] bool is_valid_for(const GaloisKeys& in, const SEALContext& context);

}  // namespace seal
