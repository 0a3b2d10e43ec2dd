// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "files.hpp"
#include "seal/detail/access.h"

/// Objects of programs and of files.
namespace seal::halocline_detail {

[[nodiscard]] format::plaintext to_format(const Plaintext& from);
/// With a seed in place of polynomial 1 where the object has one.
[[nodiscard]] format::ciphertext to_format(const Ciphertext& from);

/// Sets an object; its pool stays.
void set(Plaintext& to, const format::plaintext& from);
/// Expands a seed. @throws std::logic_error for one whose parameters the context does not have
void set(Ciphertext& to, const format::ciphertext& from, const SEALContext& context);

/// @throws std::invalid_argument unless the context's parameters are valid
void expect_parameters(const SEALContext& context);

/// Bytes of an object without compression.
[[nodiscard]] std::size_t file_bytes(const Plaintext& of) noexcept;
[[nodiscard]] std::size_t file_bytes(const Ciphertext& of) noexcept;

}  // namespace seal::halocline_detail
