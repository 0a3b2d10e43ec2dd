// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <istream>
#include <ostream>
#include <span>
#include <streambuf>
#include <utility>
#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/seal_format/read.hpp"
#include "halocline/seal_format/write.hpp"
#include "seal/serialization.h"

/// Bytes between streams or buffers of a program and `seal_format`, with the exceptions that SEAL documents.
namespace seal::halocline_detail {

namespace format = ::halocline::seal_format;

/// Bytes of an object in a file without compression: header, identifier and so on, around its words.
inline constexpr std::size_t header_bytes = 16;
inline constexpr std::size_t array_bytes = header_bytes + 8;
inline constexpr std::size_t ciphertext_bytes = header_bytes + 32 + 1 + 5 * 8 + array_bytes;
inline constexpr std::size_t plaintext_bytes = header_bytes + 32 + 2 * 8 + array_bytes;
inline constexpr std::size_t seed_bytes = header_bytes + 1 + 64;
inline constexpr std::size_t modulus_bytes = header_bytes + 8;

/// What a program's files may take: no more than the file itself, see `take_object`.
[[nodiscard]] format::read_limits file_limits() noexcept;

/// How objects are written.
/// @throws std::invalid_argument for a compression that this build lacks
[[nodiscard]] format::write_options options_of(compr_mode_type compr_mode);

/// The object at the front of a stream, header included. Memory grows with what is really there, so a header
/// that claims much does no harm.
/// @throws std::runtime_error when the stream fails or ends; std::logic_error for a bad header
[[nodiscard]] std::vector<std::byte> take_object(std::istream& from);
/// The object at the front of a buffer.
/// @throws std::invalid_argument when the buffer is missing or too short; std::logic_error for a bad header
[[nodiscard]] std::span<const std::byte> take_object(const seal_byte* in, std::size_t size);

/// @throws std::runtime_error when the stream fails
std::streamoff put(std::span<const std::byte> bytes, std::ostream& to);
/// @throws std::invalid_argument for no buffer, or one shorter than a header; std::runtime_error when it is
/// too short
std::streamoff put(std::span<const std::byte> bytes, seal_byte* out, std::size_t size);

/// Upper bound of an object of `bytes` bytes without compression.
[[nodiscard]] std::streamoff bound(std::size_t bytes, compr_mode_type compr_mode);

/// Reads a buffer as a stream.
class span_buffer : public std::streambuf {
 public:
  explicit span_buffer(std::span<const std::byte> bytes) {
    char* begin =
        const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));  // get areas are never written
    setg(begin, begin, begin + bytes.size());
  }
  [[nodiscard]] std::size_t left() const noexcept { return static_cast<std::size_t>(egptr() - gptr()); }
};

/// Runs `action`, and throws the exceptions of SEAL in place of this library's.
template <typename ActionT>
auto translated(ActionT action) -> decltype(action()) {
  try {
    return action();
  } catch (const ::halocline::corrupt_data& error) {
    throw std::logic_error(error.what());
  } catch (const ::halocline::invalid_argument& error) {
    throw std::invalid_argument(error.what());
  } catch (const ::halocline::device_error& error) {  // this build lacks the compression
    throw std::logic_error(error.what());
  }
}

}  // namespace seal::halocline_detail
