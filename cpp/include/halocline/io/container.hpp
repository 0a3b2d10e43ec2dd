// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "halocline/ckks/key_id.hpp"

/// The one file format of the library (docs/reference/container_format.md): a header page, sections that
/// start on 4-KiB boundaries, and a directory with a checksum for every 64 KiB, so that a part of a section
/// can be mapped, read and verified alone. `container_writer` and `container_reader` are the only code that
/// depends on the layout.
namespace halocline::io {

/// First bytes of every container. The control characters make a transfer in text mode show.
inline constexpr std::array<std::uint8_t, 8> container_magic{0x89, 'H', 'L', 'C', '\r', '\n', 0x1a, '\n'};
/// Version that this library writes, and the newest it reads. In version 1 no header names a key, and all
/// seeds are of rule 0.
inline constexpr std::uint32_t container_version = 2;
/// First version whose header names a secret key.
inline constexpr std::uint32_t key_id_version = 2;
/// First version whose seeds name their rule (`stream_rule`).
inline constexpr std::uint32_t stream_rule_version = 2;
/// Boundary on which sections start: a page, so that a section can be mapped or read with direct I/O.
inline constexpr std::size_t section_alignment = 4096;
/// Bytes that share one checksum: large enough to be free, small enough that one limb can be read alone.
inline constexpr std::size_t block_bytes = std::size_t{64} << 10;
/// Bytes of the header page that carry information.
inline constexpr std::size_t header_bytes = 128;
/// Bytes of one section in the directory.
inline constexpr std::size_t section_entry_bytes = 32;

/// What a container holds. The numbers are part of the format.
enum class object_kind : std::uint32_t {
  parameters = 1,
  plaintext = 2,
  ciphertext = 3,
  public_key = 4,
  secret_key = 5,
  evaluation_keys = 6,
};

/// Name for messages: "public key". "unknown object" for a number outside the list.
[[nodiscard]] std::string_view to_string(object_kind kind) noexcept;
/// Whether a number of a file is one of `object_kind`.
[[nodiscard]] bool is_known_kind(std::uint32_t kind) noexcept;

/// Whether objects of this kind depend on a secret key, so that their header may name one.
[[nodiscard]] bool has_key_id(object_kind kind) noexcept;

/// Fingerprint of the parameters that an object was made for (`params::parameters::fingerprint`).
using fingerprint = std::array<std::uint8_t, 16>;

/// First 16 hexadecimal digits, for messages.
[[nodiscard]] std::string to_string(const fingerprint& value);

/// Number of a four-letter section tag.
[[nodiscard]] constexpr std::uint32_t section_tag(const char (&letters)[5]) noexcept {
  std::uint32_t tag = 0;
  for (unsigned i = 0; i < 4; ++i) {
    tag |= static_cast<std::uint32_t>(static_cast<unsigned char>(letters[i])) << (8 * i);
  }
  return tag;
}

/// Name of a section, unique in its container.
struct section_id {
  std::uint32_t tag = 0;   ///< what it is: see `section_tag`
  std::uint32_t part = 0;  ///< which part of the item, e.g. the digit of a key
  std::uint64_t item = 0;  ///< which item, e.g. the Galois element of a key

  // clang-tidy 14 takes the literal 0 of the generated comparisons for a pointer.
  auto operator<=>(const section_id&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// "BODY" or "KEYB 5/2" (tag, item, part), for messages. Unprintable tags are shown in hexadecimal.
[[nodiscard]] std::string to_string(const section_id& id);

/// Where a section lies in its container.
struct section {
  section_id id;
  std::uint64_t offset = 0;       ///< from the start of the container, a multiple of `section_alignment`
  std::uint64_t bytes = 0;        ///< without padding, at least 1
  std::uint64_t first_block = 0;  ///< number of its first checksum

  /// Bytes with the zero padding up to the next boundary, which the last checksum covers too.
  [[nodiscard]] constexpr std::uint64_t padded_bytes() const noexcept {
    return (bytes + section_alignment - 1) / section_alignment * section_alignment;
  }
  [[nodiscard]] constexpr std::uint64_t blocks() const noexcept {
    return (bytes + block_bytes - 1) / block_bytes;
  }
};

}  // namespace halocline::io
