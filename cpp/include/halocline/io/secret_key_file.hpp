// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "halocline/ckks/keys.hpp"

/// The only way a secret key gets in and out of a file. There is no byte string form and no other function in
/// the library that writes one.
namespace halocline::io {

/// Writes a secret key to a file that only its owner may read (0600, from the first byte on). The file is not
/// encrypted.
/// @throws io_error, invalid_argument as the functions of serialize.hpp.
void save_secret_key(const std::filesystem::path& path, ckks::context& ctx, const ckks::secret_key& key);

/// Reads a secret key: N ternary coefficients, with the Hamming weight of the parameters when that is fixed.
/// @throws io_error, corrupt_data, invalid_argument as the functions of serialize.hpp.
[[nodiscard]] ckks::secret_key load_secret_key(const std::filesystem::path& path, ckks::context& ctx);

}  // namespace halocline::io
