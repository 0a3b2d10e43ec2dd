// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "halocline/seal_format/objects.hpp"

namespace halocline::seal_format {

/// How an object is packed, as files number it.
enum class compression : std::uint8_t { none = 0, zlib = 1, zstd = 2 };

/// Whether this build can read and write it. SEAL itself may lack it too: `none` is read everywhere.
[[nodiscard]] bool is_supported(compression how) noexcept;

/// How objects are written.
struct write_options {
  compression how = compression::none;
  /// SEAL 4.`minor` that headers name, 0 to 4. SEAL 4.4 reads all of them, 4.0 to 4.3 their own only.
  unsigned minor = 4;
};

/// The bytes of one object; a secret key is a plaintext, a public key a ciphertext.
/// @throws invalid_argument for another minor version, or an object whose parts do not fit together;
///   device_error when this build lacks the compression
[[nodiscard]] std::vector<std::byte> write(const parameters& object, const write_options& options = {});
[[nodiscard]] std::vector<std::byte> write(const ciphertext& object, const write_options& options = {});
[[nodiscard]] std::vector<std::byte> write(const plaintext& object, const write_options& options = {});
[[nodiscard]] std::vector<std::byte> write(const switch_keys& object, const write_options& options = {});

}  // namespace halocline::seal_format
