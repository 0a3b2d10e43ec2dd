// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace halocline::memory {

/// What a buffer holds. The class decides how a policy may treat it: keys, plaintexts and tables can be
/// reloaded from their source and are never written back; scratch is never evicted; only ciphertexts are ever
/// dirty.
enum class object_class : std::uint8_t { evaluation_key, plaintext, ciphertext, scratch, table };

/// Number of values of `object_class`.
inline constexpr std::size_t object_class_count = 5;

/// Name of a class as traces and messages spell it.
[[nodiscard]] constexpr std::string_view to_string(object_class cls) noexcept {
  constexpr std::array<std::string_view, object_class_count> names{"evaluation_key", "plaintext",
                                                                   "ciphertext", "scratch", "table"};
  return names[static_cast<std::size_t>(cls)];
}

/// Whether the bytes can be dropped without writing them back.
[[nodiscard]] constexpr bool is_recoverable(object_class cls) noexcept {
  return cls == object_class::evaluation_key || cls == object_class::plaintext || cls == object_class::table;
}

}  // namespace halocline::memory
