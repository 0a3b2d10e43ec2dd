// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/util/defines.h"
#include "seal/version.h"

namespace seal {

/// How an object is packed.
enum class compr_mode_type : std::uint8_t { none = 0, zlib = 1, zstd = 2 };

/// Files of objects: a header of 16 bytes, and members behind it, packed or not. All numbers are
/// little-endian.
class Serialization {
 public:
  Serialization() = delete;

  /// What `save` does without an argument: the best that this build has.
#if defined(SEAL_USE_ZSTD)
  static constexpr compr_mode_type compr_mode_default = compr_mode_type::zstd;
#elif defined(SEAL_USE_ZLIB)
  static constexpr compr_mode_type compr_mode_default = compr_mode_type::zlib;
#else
  static constexpr compr_mode_type compr_mode_default = compr_mode_type::none;
#endif
  static constexpr std::uint16_t seal_magic = 0xA15E;
  static constexpr std::uint8_t seal_header_size = 0x10;

  struct SEALHeader {
    std::uint16_t magic = seal_magic;
    std::uint8_t header_size = seal_header_size;
    std::uint8_t version_major = SEAL_VERSION_MAJOR;
    std::uint8_t version_minor = SEAL_VERSION_MINOR;
    compr_mode_type compr_mode = compr_mode_type::none;
    std::uint16_t reserved = 0;
    std::uint64_t size = 0;  ///< of the object, header included
  };
  static_assert(sizeof(SEALHeader) == seal_header_size);

  [[nodiscard]] static bool IsSupportedComprMode(std::uint8_t compr_mode) noexcept;
  [[nodiscard]] static bool IsSupportedComprMode(compr_mode_type compr_mode) noexcept {
    return IsSupportedComprMode(static_cast<std::uint8_t>(compr_mode));
  }
  /// Upper bound of `in_size` bytes after packing.
  /// @throws std::invalid_argument for a compression that this build lacks
  [[nodiscard]] static std::size_t ComprSizeEstimate(std::size_t in_size, compr_mode_type compr_mode);
  /// Whether objects of the header's version are read: 4.0 to 4.4.
  [[nodiscard]] static bool IsCompatibleVersion(const SEALHeader& header) noexcept;
  [[nodiscard]] static bool IsValidHeader(const SEALHeader& header) noexcept;
  /// Bytes written. @throws std::runtime_error when the stream fails
  static std::streamoff SaveHeader(const SEALHeader& header, std::ostream& stream);
  /// Bytes read. @throws std::runtime_error when the stream fails or ends
  static std::streamoff LoadHeader(std::istream& stream, SEALHeader& header,
                                   bool try_upgrade_if_invalid = true);
  static std::streamoff SaveHeader(const SEALHeader& header, seal_byte* out, std::size_t size);
  static std::streamoff LoadHeader(const seal_byte* in, std::size_t size, SEALHeader& header,
                                   bool try_upgrade_if_invalid = true);

  /// Writes a header and what `save_members` writes behind it. `raw_size` is an upper bound of header and
  /// members.
  static std::streamoff Save(std::function<void(std::ostream&)> save_members, std::streamoff raw_size,
                             std::ostream& stream, compr_mode_type compr_mode, bool clear_buffers = false);
  static std::streamoff Save(std::function<void(std::ostream&)> save_members, std::streamoff raw_size,
                             seal_byte* out, std::size_t size, compr_mode_type compr_mode,
                             bool clear_buffers = false);
  /// Reads a header, and lets `load_members` read the members.
  static std::streamoff Load(std::function<void(std::istream&, SEALVersion)> load_members,
                             std::istream& stream, bool clear_buffers = false);
  static std::streamoff Load(std::function<void(std::istream&, SEALVersion)> load_members,
                             const seal_byte* in, std::size_t size, bool clear_buffers = false);
};

namespace halocline_detail {

[[nodiscard]] std::streamoff array_save_size(std::size_t bytes, compr_mode_type compr_mode);
std::streamoff save_array(const void* data, std::size_t count, std::size_t width, std::ostream& stream,
                          compr_mode_type compr_mode);
std::streamoff save_array(const void* data, std::size_t count, std::size_t width, seal_byte* out,
                          std::size_t size, compr_mode_type compr_mode);
std::streamoff load_array(std::istream& stream, std::size_t width, std::size_t bound,
                          const std::function<void*(std::size_t)>& room);
std::streamoff load_array(const seal_byte* in, std::size_t size, std::size_t width, std::size_t bound,
                          const std::function<void*(std::size_t)>& room);

}  // namespace halocline_detail
}  // namespace seal
