// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "halocline/io/container.hpp"

namespace halocline::storage {

/// BLAKE2b-256.
using digest256 = std::array<std::uint8_t, 32>;

/// 64 hexadecimal digits.
[[nodiscard]] std::string to_string(const digest256& digest);

/// What the keys of one user are, so that any part of them can be verified alone: the digest of each 64 KiB
/// of the container, and one digest of everything. All are BLAKE2b-256 (RFC 7693) with a key that is derived
/// of the user's name, the key identifier and the fingerprint of the parameters: blocks and manifests of one
/// user or secret key are never those of another one.
///
/// Who can write to the store can also make a manifest of other contents. Only `root`, taken from a place
/// that can be trusted, shows that it is the one that was put.
struct manifest {
  /// Bytes that share a digest.
  static constexpr std::uint64_t block_bytes = 65536;
  /// Largest encoded form: a container of 64 GiB.
  static constexpr std::uint64_t most_bytes = std::uint64_t{32} << 20;

  std::string user;
  ckks::key_id key{};
  io::fingerprint parameters{};
  std::uint64_t bytes = 0;        ///< of the container
  std::vector<digest256> blocks;  ///< one for each block, the last one is shorter
  digest256 root{};               ///< of everything above

  /// Name of the object with the container: other keys have another name, so that nothing is overwritten.
  [[nodiscard]] std::string object_name() const;
};

/// Threads that digest or check keys in memory: four are as fast as memory is.
[[nodiscard]] std::size_t digest_threads() noexcept;

/// The manifest of a container.
/// @throws invalid_argument when it is larger than 64 GiB or the user's name is none
[[nodiscard]] manifest make_manifest(const std::string& user, const ckks::key_id& key,
                                     const io::fingerprint& parameters, std::span<const std::byte> container);

/// The encoded form: docs/reference/key_store_format.md.
[[nodiscard]] std::vector<std::byte> encode(const manifest& from);
/// Reads a manifest, which is not trusted.
/// @param user whose manifest was asked for
/// @throws corrupt_data unless it is complete, is that user's, and has the root digest that belongs to it
[[nodiscard]] manifest decode_manifest(std::span<const std::byte> bytes, const std::string& user);

/// Digests of the blocks of one manifest, for checks of many of them.
class block_digester {
 public:
  explicit block_digester(const manifest& of);
  /// Digests of blocks that follow each other; the last one may be shorter. SIMD lanes compute several at
  /// once.
  /// @param out one for each block
  void operator()(std::span<const std::byte> bytes, std::span<digest256> out) const noexcept;

 private:
  digest256 key_;
};

}  // namespace halocline::storage
