// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace halocline::params {
class parameters;
}
namespace halocline::ring {
class random_source;
}

namespace halocline::ckks {

/// Public name of a secret key. Everything that depends on the key carries it, in memory and in files: the
/// secret key itself, public and evaluation keys, ciphertexts and what is computed from them. Objects of two
/// keys are never combined.
///
/// It is drawn together with the secret key, from fresh random bytes of its own (`make_key_id`), so it says
/// nothing about the secret. It lets observers link the objects of one client, as their Galois keys would
/// too. It protects against mistakes and proves nothing: a file can be given any identifier.
///
/// All zero means unknown: objects of files of format version 1, and those that no key was used for. An
/// unknown key is compatible with every other one.
struct key_id {
  std::array<std::uint8_t, 16> bytes{};

  /// Whether it names a key. @returns false for all zero
  [[nodiscard]] bool is_known() const noexcept { return *this != key_id{}; }
  bool operator==(const key_id&) const = default;
};

/// 32 hexadecimal digits, or "unknown".
[[nodiscard]] std::string to_string(const key_id& id);

/// A fresh identifier: BLAKE2b-128 of a domain string, 32 fresh bytes of `random`, which are used for nothing
/// else, and the fingerprint of the parameters. The hash keeps raw output of the generator private.
[[nodiscard]] key_id make_key_id(ring::random_source& random, const params::parameters& parameters);

/// The key of what is made of objects of the keys `a` and `b`: the one that is known.
/// @param operation,first,second names for the message: "add", "the first operand", "the second operand"
/// @throws key_mismatch, naming both keys, when they are known and differ
[[nodiscard]] key_id common_key(const key_id& a, const key_id& b, const char* operation, const char* first,
                                const char* second);

}  // namespace halocline::ckks
