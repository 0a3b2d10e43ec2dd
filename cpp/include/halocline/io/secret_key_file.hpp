// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "halocline/ckks/keys.hpp"

/// The only functions that write or read a file of a secret key. There is no byte string form.
namespace halocline::io {

/// Writes a secret key to a file that only its owner may read (0600, from the first byte on). The file is not
/// encrypted.
/// @throws io_error, invalid_argument as the functions of serialize.hpp.
void save_secret_key(const std::filesystem::path& path, ckks::context& ctx, const ckks::secret_key& key);

/// Reads a secret key: N ternary coefficients, with the Hamming weight of the parameters when that is fixed.
/// @throws io_error, corrupt_data, invalid_argument as the functions of serialize.hpp.
[[nodiscard]] ckks::secret_key load_secret_key(const std::filesystem::path& path, ckks::context& ctx);

}  // namespace halocline::io
