// SPDX-License-Identifier: Apache-2.0
#include "halocline/io/container.hpp"

#include <algorithm>
#include <array>

#include "halocline/core/expects.hpp"

namespace halocline::io {
namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

}  // namespace

std::string_view to_string(object_kind kind) noexcept {
  switch (kind) {
    case object_kind::parameters:
      return "parameters";
    case object_kind::plaintext:
      return "plaintext";
    case object_kind::ciphertext:
      return "ciphertext";
    case object_kind::public_key:
      return "public key";
    case object_kind::secret_key:
      return "secret key";
    case object_kind::evaluation_keys:
      return "evaluation keys";
  }
  return "unknown object";
}

bool is_known_kind(std::uint32_t kind) noexcept {
  return kind >= static_cast<std::uint32_t>(object_kind::parameters) &&
         kind <= static_cast<std::uint32_t>(object_kind::evaluation_keys);
}

bool has_key_id(object_kind kind) noexcept {
  return is_known_kind(static_cast<std::uint32_t>(kind)) && kind != object_kind::parameters &&
         kind != object_kind::plaintext;
}

std::string to_string(const fingerprint& value) {
  std::string out;
  for (std::size_t i = 0; i < 8; ++i) {
    out += hex_digits[value[i] >> 4];
    out += hex_digits[value[i] & 15];
  }
  return out;
}

std::string to_string(const section_id& id) {
  std::string out;
  for (unsigned i = 0; i < 4; ++i) {
    out += static_cast<char>((id.tag >> (8 * i)) & 0xff);
  }
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (!std::all_of(out.begin(), out.end(), printable)) {
    out = "0x";
    for (unsigned i = 8; i-- > 0;) {
      out += hex_digits[(id.tag >> (4 * i)) & 15];
    }
  }
  return id.item == 0 && id.part == 0 ? out : text(out, ' ', id.item, '/', id.part);
}

}  // namespace halocline::io
