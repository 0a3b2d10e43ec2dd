// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/key_id.hpp"

#include <sodium.h>

#include <cstddef>
#include <span>
#include <string_view>

#include "halocline/ckks/key_generator.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/params/parameters.hpp"
#include "halocline/ring/sampler.hpp"

namespace halocline::ckks {
namespace {

/// Keeps identifiers apart from all other hashes of the library.
constexpr std::string_view domain = "halocline key identifier 1";

}  // namespace

std::string to_string(const key_id& id) {
  if (!id.is_known()) return "unknown";
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t byte : id.bytes) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

key_id make_key_id(ring::random_source& random, const params::parameters& parameters) {
  key_id id;
  while (!id.is_known()) {
    std::array<std::byte, 32> fresh{};
    random.fill(fresh);
    crypto_generichash_blake2b_state state;
    crypto_generichash_blake2b_init(&state, nullptr, 0, id.bytes.size());
    const auto mix = [&state](const void* data, std::size_t bytes) {
      crypto_generichash_blake2b_update(&state, static_cast<const unsigned char*>(data), bytes);
    };
    mix(domain.data(), domain.size());
    mix(fresh.data(), fresh.size());
    mix(parameters.fingerprint().data(), parameters.fingerprint().size());
    crypto_generichash_blake2b_final(&state, id.bytes.data(), id.bytes.size());
    sodium_memzero(fresh.data(), fresh.size());
    sodium_memzero(&state, sizeof state);
  }
  return id;
}

key_id common_key(const key_id& a, const key_id& b, const char* operation, const char* first,
                  const char* second) {
  if (a == b || !b.is_known()) return a;
  HALOCLINE_EXPECTS(!a.is_known(), key_mismatch, operation, ": ", first, " belongs to the secret key ",
                    to_string(a), ", ", second, " to the secret key ", to_string(b),
                    "; use ciphertexts and keys of one client together (`halocline info FILE` shows to "
                    "which key a file belongs)");
  return b;
}

}  // namespace halocline::ckks
