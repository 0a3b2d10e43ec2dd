// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/identity.hpp"

#include <string_view>

namespace halocline::memory {

std::uint64_t identity_of(const char* kind, std::uint64_t first, std::uint64_t second,
                          std::uint64_t third) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&](std::uint8_t byte) { hash = (hash ^ byte) * 0x100000001b3; };
  for (const char c : std::string_view(kind)) mix(static_cast<std::uint8_t>(c));
  for (std::uint64_t value : {first, second, third}) {
    for (int i = 0; i < 8; ++i, value >>= 8) mix(static_cast<std::uint8_t>(value));
  }
  return hash == 0 ? 1 : hash;
}

}  // namespace halocline::memory
