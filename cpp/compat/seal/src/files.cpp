// SPDX-License-Identifier: Apache-2.0
#include "files.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "halocline/seal_format/packing.hpp"

namespace seal::halocline_detail {
namespace {

/// Bytes that are read at least before more room is made.
constexpr std::size_t first_read = std::size_t{1} << 20;

format::object_header header_of(std::span<const std::byte> bytes) {
  return translated([&] { return format::peek(bytes); });
}

void read_exactly(std::istream& from, std::byte* to, std::size_t count) {
  from.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(count));
  if (!from || static_cast<std::size_t>(from.gcount()) != count) {
    throw std::runtime_error("I/O error: the stream ends within an object, or cannot be read");
  }
}

}  // namespace

format::read_limits file_limits() noexcept {
  format::read_limits limits;
  limits.bytes = std::numeric_limits<std::int64_t>::max();
  limits.allow_empty = true;
  return limits;
}

format::write_options options_of(compr_mode_type compr_mode) {
  if (!Serialization::IsSupportedComprMode(compr_mode)) {
    throw std::invalid_argument("unsupported compression mode " +
                                std::to_string(static_cast<unsigned>(compr_mode)) +
                                "; this build has what Serialization::IsSupportedComprMode tells");
  }
  format::write_options options;
  options.how = static_cast<format::compression>(compr_mode);
  return options;
}

std::vector<std::byte> take_object(std::istream& from) {
  std::vector<std::byte> bytes(header_bytes);
  read_exactly(from, bytes.data(), header_bytes);
  const std::uint64_t whole = header_of(bytes).bytes;
  while (bytes.size() < whole) {
    const std::size_t have = bytes.size();
    const std::uint64_t next = std::min<std::uint64_t>(whole, std::max(2 * have, first_read));
    bytes.resize(static_cast<std::size_t>(next));
    read_exactly(from, bytes.data() + have, bytes.size() - have);
  }
  return bytes;
}

std::span<const std::byte> take_object(const seal_byte* in, std::size_t size) {
  if (in == nullptr) throw std::invalid_argument("load: expected a buffer, got null");
  if (size < header_bytes) {
    throw std::invalid_argument("load: insufficient size: " + std::to_string(size) +
                                " bytes; a header has 16");
  }
  const std::span<const std::byte> all(in, size);
  const std::uint64_t whole = header_of(all).bytes;
  if (whole > size) {
    throw std::invalid_argument("load: insufficient size: " + std::to_string(size) +
                                " bytes of an object of " + std::to_string(whole));
  }
  return all.first(static_cast<std::size_t>(whole));
}

std::streamoff put(std::span<const std::byte> bytes, std::ostream& to) {
  to.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!to) throw std::runtime_error("I/O error: the stream cannot be written");
  return static_cast<std::streamoff>(bytes.size());
}

std::streamoff put(std::span<const std::byte> bytes, seal_byte* out, std::size_t size) {
  if (out == nullptr) throw std::invalid_argument("save: expected a buffer, got null");
  if (size < header_bytes) {
    throw std::invalid_argument("save: insufficient size: " + std::to_string(size) +
                                " bytes; a header has 16");
  }
  if (size < bytes.size()) {
    throw std::runtime_error("I/O error: a buffer of " + std::to_string(size) + " bytes for an object of " +
                             std::to_string(bytes.size()) + "; save_size gives an upper bound");
  }
  std::memcpy(out, bytes.data(), bytes.size());
  return static_cast<std::streamoff>(bytes.size());
}

std::streamoff bound(std::size_t bytes, compr_mode_type compr_mode) {
  return static_cast<std::streamoff>(header_bytes +
                                     Serialization::ComprSizeEstimate(bytes - header_bytes, compr_mode));
}

std::streamoff array_save_size(std::size_t bytes, compr_mode_type compr_mode) {
  return bound(array_bytes + bytes, compr_mode);
}

namespace {

auto array_members(const void* data, std::size_t count, std::size_t width) {
  return [=](std::ostream& to) {
    const std::uint64_t words = count;
    to.write(reinterpret_cast<const char*>(&words), sizeof words);
    to.write(static_cast<const char*>(data), static_cast<std::streamsize>(count * width));
  };
}

auto array_loader(std::size_t width, std::size_t most, const std::function<void*(std::size_t)>& room) {
  return [width, most, &room](std::istream& from, SEALVersion) {
    std::uint64_t count = 0;
    from.read(reinterpret_cast<char*>(&count), sizeof count);
    const auto* bytes = dynamic_cast<const span_buffer*>(from.rdbuf());  // what Serialization::Load passes
    if (!from || bytes == nullptr || count > bytes->left() / width || (most != 0 && count > most)) {
      throw std::logic_error("array: " + std::to_string(count) +
                             " values; the object has fewer, or a bound of " + std::to_string(most) +
                             " forbids it");
    }
    from.read(static_cast<char*>(room(static_cast<std::size_t>(count))),
              static_cast<std::streamsize>(count * width));
  };
}

}  // namespace

std::streamoff save_array(const void* data, std::size_t count, std::size_t width, std::ostream& stream,
                          compr_mode_type compr_mode) {
  return Serialization::Save(array_members(data, count, width), array_save_size(count * width, compr_mode),
                             stream, compr_mode);
}

std::streamoff save_array(const void* data, std::size_t count, std::size_t width, seal_byte* out,
                          std::size_t size, compr_mode_type compr_mode) {
  return Serialization::Save(array_members(data, count, width), array_save_size(count * width, compr_mode),
                             out, size, compr_mode);
}

std::streamoff load_array(std::istream& stream, std::size_t width, std::size_t most,
                          const std::function<void*(std::size_t)>& room) {
  return Serialization::Load(array_loader(width, most, room), stream);
}

std::streamoff load_array(const seal_byte* in, std::size_t size, std::size_t width, std::size_t most,
                          const std::function<void*(std::size_t)>& room) {
  return Serialization::Load(array_loader(width, most, room), in, size);
}

}  // namespace seal::halocline_detail
