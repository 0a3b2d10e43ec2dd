// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halocline/seal_format/objects.hpp"

namespace halocline::seal_format {

/// What reading may take.
struct read_limits {
  /// Bytes of an object, unpacked. Reading takes at most twice as many beside those that are given.
  std::uint64_t bytes = std::uint64_t{4} << 30;
  /// A packed object of n bytes may become so many, and so many times n on top: residues hardly shrink, but
  /// zeros do.
  std::uint64_t unpacked_base = std::uint64_t{64} << 20;
  std::uint64_t unpacked_factor = 32;
  /// Whether parameters without degree or primes, and ciphertexts that are new, are objects too: SEAL writes
  /// them, and nothing can be computed with them. Digits of keys are never empty.
  bool allow_empty = false;
};

/// Version, compression and bytes of an object, from its first 16 bytes.
struct object_header {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned compression = 0;
  std::uint64_t bytes = 0;  ///< of the object, header included
};
/// @throws corrupt_data unless it is the header of an object of SEAL 4.0 to 4.4
[[nodiscard]] object_header peek(std::span<const std::byte> bytes);

/// Each reads one object that takes all of `bytes`, and checks every length before it is used. None depends
/// on parameter sets: see `modulus_chain`.
/// @throws corrupt_data what was found where, and what was expected; device_error when this build lacks the
///   compression
[[nodiscard]] parameters read_parameters(std::span<const std::byte> bytes, const read_limits& limits = {});
[[nodiscard]] ciphertext read_ciphertext(std::span<const std::byte> bytes, const read_limits& limits = {});
[[nodiscard]] plaintext read_plaintext(std::span<const std::byte> bytes, const read_limits& limits = {});
/// The bytes that it unpacks are zeroed afterwards, but for what the libraries of compressions keep in
/// buffers of their own; those of the result are the caller's to zero.
[[nodiscard]] plaintext read_secret_key(std::span<const std::byte> bytes, const read_limits& limits = {});
[[nodiscard]] ciphertext read_public_key(std::span<const std::byte> bytes, const read_limits& limits = {});
[[nodiscard]] switch_keys read_switch_keys(std::span<const std::byte> bytes, const read_limits& limits = {});

}  // namespace halocline::seal_format
