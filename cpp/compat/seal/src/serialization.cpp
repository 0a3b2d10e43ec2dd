// SPDX-License-Identifier: Apache-2.0
#include "seal/serialization.h"

#include <sodium.h>

#include <cstring>
#include <optional>
#include <sstream>

#include "files.hpp"
#include "halocline/seal_format/packing.hpp"

namespace seal {
namespace {

using Header = Serialization::SEALHeader;

/// Zeroes bytes when it goes.
class wiper {
 public:
  explicit wiper(std::span<std::byte> bytes) noexcept : bytes_(bytes) {}
  wiper(const wiper&) = delete;
  wiper& operator=(const wiper&) = delete;
  ~wiper() {
    if (!bytes_.empty()) sodium_memzero(bytes_.data(), bytes_.size());
  }

 private:
  std::span<std::byte> bytes_;
};

/// An object from what `save_members` writes.
class made_object {
 public:
  made_object(const std::function<void(std::ostream&)>& save_members, compr_mode_type compr_mode, bool clear)
      : clear_(clear) {
    const auto options = halocline_detail::options_of(compr_mode);
    std::ostringstream members;
    save_members(members);
    if (!members) throw std::runtime_error("I/O error: the members of an object could not be written");
    std::string raw = std::move(members).str();
    const wiper after(clear ? std::as_writable_bytes(std::span(raw)) : std::span<std::byte>());
    std::vector<std::byte> packed;
    std::span<const std::byte> body = std::as_bytes(std::span(raw));
    if (compr_mode != compr_mode_type::none) {
      packed =
          halocline_detail::translated([&] { return halocline_detail::format::pack(body, options.how); });
      body = packed;
    }
    Header header;
    header.compr_mode = compr_mode;
    header.size = sizeof header + body.size();
    bytes_.resize(static_cast<std::size_t>(header.size));
    std::memcpy(bytes_.data(), &header, sizeof header);
    if (!body.empty()) std::memcpy(bytes_.data() + sizeof header, body.data(), body.size());
  }
  made_object(const made_object&) = delete;
  made_object& operator=(const made_object&) = delete;
  ~made_object() {
    if (clear_) sodium_memzero(bytes_.data(), bytes_.size());
  }

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  bool clear_;
};

/// Lets `load_members` read an object.
std::streamoff load_object(const std::function<void(std::istream&, SEALVersion)>& load_members,
                           std::span<const std::byte> object, bool clear) {
  return halocline_detail::translated([&] {
    const auto head = halocline_detail::format::peek(object);
    std::span<const std::byte> body = object.subspan(sizeof(Header));
    std::optional<halocline_detail::format::growing_bytes> raw;
    if (head.compression != 0) {
      const auto limits = halocline_detail::file_limits();
      const std::uint64_t most = limits.unpacked_base + limits.unpacked_factor * body.size();
      raw = halocline_detail::format::unpack(
          body, static_cast<halocline_detail::format::compression>(head.compression), most, clear);
      body = raw->all();
    }
    const wiper after(raw && clear ? raw->all() : std::span<std::byte>());
    halocline_detail::span_buffer buffer(body);
    std::istream from(&buffer);
    SEALVersion version;
    version.major = static_cast<unsigned char>(head.major);
    version.minor = static_cast<unsigned char>(head.minor);
    version.patch = 0;
    load_members(from, version);
    if (!from || buffer.left() != 0)
      throw std::logic_error("invalid data size: an object is longer or shorter than its content");
    return static_cast<std::streamoff>(object.size());
  });
}

}  // namespace

bool Serialization::IsSupportedComprMode(std::uint8_t compr_mode) noexcept {
  return compr_mode <= static_cast<std::uint8_t>(compr_mode_type::zstd) &&
         halocline_detail::format::is_supported(
             static_cast<halocline_detail::format::compression>(compr_mode));
}

std::size_t Serialization::ComprSizeEstimate(std::size_t in_size, compr_mode_type compr_mode) {
  static_cast<void>(halocline_detail::options_of(compr_mode));
  if (compr_mode == compr_mode_type::none) return in_size;
  // Both libraries store what does not shrink in blocks with a few bytes each: less than 1 in 128.
  const std::size_t room = in_size / 128 + 1024;
  if (in_size > std::numeric_limits<std::size_t>::max() - room) {
    throw std::logic_error("ComprSizeEstimate: " + std::to_string(in_size) + " bytes are too many");
  }
  return in_size + room;
}

bool Serialization::IsCompatibleVersion(const SEALHeader& header) noexcept {
  return header.version_major == SEAL_VERSION_MAJOR && header.version_minor <= SEAL_VERSION_MINOR;
}

bool Serialization::IsValidHeader(const SEALHeader& header) noexcept {
  return header.magic == seal_magic && header.header_size == seal_header_size &&
         IsCompatibleVersion(header) && IsSupportedComprMode(header.compr_mode);
}

std::streamoff Serialization::SaveHeader(const SEALHeader& header, std::ostream& stream) {
  return halocline_detail::put(std::as_bytes(std::span(&header, 1)), stream);
}

std::streamoff Serialization::LoadHeader(std::istream& stream, SEALHeader& header, bool) {
  stream.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!stream) throw std::runtime_error("I/O error: the stream ends within a header, or cannot be read");
  return sizeof header;
}

std::streamoff Serialization::SaveHeader(const SEALHeader& header, seal_byte* out, std::size_t size) {
  return halocline_detail::put(std::as_bytes(std::span(&header, 1)), out, size);
}

std::streamoff Serialization::LoadHeader(const seal_byte* in, std::size_t size, SEALHeader& header, bool) {
  if (in == nullptr || size < sizeof header) {
    throw std::invalid_argument("LoadHeader: insufficient size: " + std::to_string(size) +
                                " bytes; a header has 16");
  }
  std::memcpy(&header, in, sizeof header);
  return sizeof header;
}

std::streamoff Serialization::Save(std::function<void(std::ostream&)> save_members, std::streamoff,
                                   std::ostream& stream, compr_mode_type compr_mode, bool clear_buffers) {
  return halocline_detail::put(made_object(save_members, compr_mode, clear_buffers).bytes(), stream);
}

std::streamoff Serialization::Save(std::function<void(std::ostream&)> save_members, std::streamoff,
                                   seal_byte* out, std::size_t size, compr_mode_type compr_mode,
                                   bool clear_buffers) {
  return halocline_detail::put(made_object(save_members, compr_mode, clear_buffers).bytes(), out, size);
}

std::streamoff Serialization::Load(std::function<void(std::istream&, SEALVersion)> load_members,
                                   std::istream& stream, bool clear_buffers) {
  std::vector<std::byte> object = halocline_detail::take_object(stream);
  const wiper after(clear_buffers ? std::span(object) : std::span<std::byte>());
  return load_object(load_members, object, clear_buffers);
}

std::streamoff Serialization::Load(std::function<void(std::istream&, SEALVersion)> load_members,
                                   const seal_byte* in, std::size_t size, bool clear_buffers) {
  return load_object(load_members, halocline_detail::take_object(in, size), clear_buffers);
}

}  // namespace seal
