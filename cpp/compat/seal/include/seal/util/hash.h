// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/util/defines.h"

namespace seal::util {

/// Types of the hash that names parameter sets (BLAKE2b with 32 bytes).
class HashFunction {
 public:
  HashFunction() = delete;

  static constexpr std::size_t hash_block_uint64_count = 4;
  static constexpr std::size_t hash_block_byte_count = hash_block_uint64_count * sizeof(std::uint64_t);
  using hash_block_type = std::array<std::uint64_t, hash_block_uint64_count>;
  static constexpr hash_block_type hash_zero_block{};

  /// Hash of `uint64_count` words.
  static void hash(const std::uint64_t* input, std::size_t uint64_count, hash_block_type& destination);
};

}  // namespace seal::util
