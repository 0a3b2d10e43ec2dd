// SPDX-License-Identifier: Apache-2.0
#include "message_frame.hpp"

#include <cstring>

#include "halocline/core/expects.hpp"
#include "halocline/io/byte_codec.hpp"
#include "halocline/io/checksum.hpp"

namespace halocline::pir {
namespace {

template <std::size_t Size>
std::array<std::uint8_t, Size> get_array(io::byte_reader& in) {
  std::array<std::uint8_t, Size> out{};
  std::memcpy(out.data(), in.get_bytes(Size).data(), Size);
  return out;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void check_checksum(const message_kind& kind, std::span<const std::byte> bytes) {
  const std::size_t covered = bytes.size() - checksum_bytes;
  std::uint64_t found = 0;
  std::memcpy(&found, bytes.data() + covered, sizeof found);
  HALOCLINE_EXPECTS(found == io::checksum64(bytes.first(covered)), corrupt_data, kind.what,
                    ": the checksum is wrong; the message is damaged or incomplete, send it again");
}

}  // namespace

std::string hexadecimal(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t byte : bytes) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

std::vector<std::byte> begin_frame(const message_kind& kind, const message_header& header,
                                   std::size_t content_bytes) {
  io::byte_writer out;
  out.put_bytes(std::as_bytes(std::span(kind.magic)));
  out.put(message_version);
  out.put(header.levels);
  out.put_bytes(std::as_bytes(std::span(header.of)));
  out.put_bytes(std::as_bytes(std::span(header.client)));
  std::vector<std::byte> frame(header_bytes + content_bytes + checksum_bytes);
  std::memcpy(frame.data(), out.bytes().data(), header_bytes);
  return frame;
}

std::span<std::byte> content_of(std::vector<std::byte>& frame) noexcept {
  return std::span(frame).subspan(header_bytes, frame.size() - header_bytes - checksum_bytes);
}

void finish_frame(std::vector<std::byte>& frame) noexcept {
  const std::size_t covered = frame.size() - checksum_bytes;
  const std::uint64_t checksum = io::checksum64(std::span(frame).first(covered));
  std::memcpy(frame.data() + covered, &checksum, sizeof checksum);
}

open_frame read_frame(const message_kind& kind, const fingerprint& of, std::string_view belongs,
                      std::span<const std::byte> bytes) {
  HALOCLINE_EXPECTS(bytes.size() >= header_bytes + checksum_bytes, corrupt_data, kind.what, ": only ",
                    bytes.size(), " bytes; a message has at least ", header_bytes + checksum_bytes);
  io::byte_reader in(bytes.first(header_bytes), std::string(kind.what));
  HALOCLINE_EXPECTS(text_of(in.get_bytes(kind.magic.size())) == kind.magic, corrupt_data, kind.what,
                    ": the bytes are no such message; it must begin with ", kind.magic);
  const auto version = in.get<std::uint32_t>();
  HALOCLINE_EXPECTS(version == message_version, corrupt_data, kind.what, ": format version ", version,
                    ", this library reads version ", message_version);
  check_checksum(kind, bytes);
  open_frame found;
  found.header.levels = in.get<std::uint32_t>();
  found.header.of = get_array<16>(in);
  found.header.client = get_array<16>(in);
  found.content = bytes.subspan(header_bytes, bytes.size() - header_bytes - checksum_bytes);
  HALOCLINE_EXPECTS(found.header.of == of, invalid_argument, kind.what, ": it belongs to the ", belongs, " ",
                    hexadecimal(found.header.of), ", not to ", hexadecimal(of),
                    "; both sides must have the same one");
  HALOCLINE_EXPECTS(found.header.levels == 0 || kind.magic == keys_kind.magic, corrupt_data, kind.what,
                    ": bytes 12 to 15 are not zero");
  return found;
}

void expect_content(const message_kind& kind, const open_frame& frame, std::size_t bytes) {
  HALOCLINE_EXPECTS(frame.content.size() == bytes, corrupt_data, kind.what, ": ",
                    frame.content.size() + header_bytes + checksum_bytes, " bytes; expected ",
                    bytes + header_bytes + checksum_bytes);
}

}  // namespace halocline::pir
