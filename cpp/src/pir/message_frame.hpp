// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "halocline/pir/messages.hpp"

/// What all messages and secrets have around their content (docs/reference/retrieval_messages.md): 48 bytes
/// of header before it, a checksum behind it.
namespace halocline::pir {

/// A kind of message: the 8 letters it begins with, and what error messages call it.
struct message_kind {
  std::string_view magic;
  std::string_view what;
};
inline constexpr message_kind keys_kind{"HALOPIRK", "retrieval keys"};
inline constexpr message_kind query_kind{"HALOPIRQ", "retrieval query"};
inline constexpr message_kind answer_kind{"HALOPIRA", "retrieval answer"};
inline constexpr message_kind secret_kind{"HALOPIRS", "retrieval secret"};

inline constexpr std::uint32_t message_version = 2;
inline constexpr std::size_t header_bytes = 48;
inline constexpr std::size_t checksum_bytes = 8;

struct message_header {
  std::uint32_t levels = 0;  ///< of keys; 0 in all others
  fingerprint of{};          ///< of what the message belongs to
  client_id client{};
};

/// A message of `content_bytes` between header and checksum. The content is zero, and the checksum missing.
[[nodiscard]] std::vector<std::byte> begin_frame(const message_kind& kind, const message_header& header,
                                                 std::size_t content_bytes);
/// Where its content is.
[[nodiscard]] std::span<std::byte> content_of(std::vector<std::byte>& frame) noexcept;
/// Writes the checksum.
void finish_frame(std::vector<std::byte>& frame) noexcept;

/// A message taken apart; checked but for the length and meaning of its content.
struct open_frame {
  message_header header;
  std::span<const std::byte> content;
};
/// @throws corrupt_data for another kind or version, for fewer bytes than header and checksum have, and for a
/// wrong checksum; invalid_argument unless the message belongs to `of`
/// @param belongs "database" or the like, for the error message
[[nodiscard]] open_frame read_frame(const message_kind& kind, const fingerprint& of, std::string_view belongs,
                                    std::span<const std::byte> bytes);

/// @throws corrupt_data unless the content has exactly that many bytes
void expect_content(const message_kind& kind, const open_frame& frame, std::size_t bytes);

/// Hexadecimal.
[[nodiscard]] std::string hexadecimal(std::span<const std::uint8_t> bytes);

}  // namespace halocline::pir
