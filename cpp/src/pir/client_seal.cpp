// SPDX-License-Identifier: Apache-2.0
// Seals of server keys: a keyed hash by which a client recognises, in an answer, keys that it made itself.
// Under a key of 32 random bytes that is independent of the secret polynomial (BLAKE2b with a key, RFC 7693).
#include <sodium.h>

#include <cstring>

#include "client_core.hpp"
#include "message_frame.hpp"

namespace halocline::pir {
namespace {

std::array<std::uint8_t, 16> seal_of(const client_core& core, const std::array<std::uint8_t, 16>& hash) {
  std::array<std::uint8_t, 16> seal{};
  const std::vector<std::uint8_t>& key = core.seal_key.values;
  crypto_generichash(seal.data(), seal.size(), hash.data(), hash.size(), key.data(), key.size());
  return seal;
}

}  // namespace

void seal_keys(const client_core& core, std::vector<std::byte>& message) {
  const auto seal = seal_of(core, hash_of_keys(message));
  const std::span<std::byte> content = content_of(message);
  std::memcpy(content.last(seal.size()).data(), seal.data(), seal.size());
  finish_frame(message);
}

bool made_keys(const client_core& core, const key_stamp& stamp) {
  const auto expected = seal_of(core, stamp.hash);
  return sodium_memcmp(expected.data(), stamp.seal.data(), expected.size()) == 0;
}

}  // namespace halocline::pir
