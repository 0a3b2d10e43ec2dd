// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace halocline::io {

/// An open file for reading, by position and as a memory map. Move-only; const members are thread-safe. A
/// file that `atomic_file` replaces while it is open keeps its old content here. When another program
/// shortens the file in place, `read` reports it, whereas touching the map beyond the new end raises SIGBUS,
/// as with any memory map.
class file_map {
 public:
  /// For files that are mapped only, and read piece by piece.
  static constexpr std::uint64_t no_limit = ~std::uint64_t{0};

  /// Holds no file.
  file_map() noexcept = default;
  /// Opens a regular file; anything else (device, pipe, socket, folder) is refused at once, without waiting.
  /// @throws io_error when the file is missing, not readable or not a regular file; corrupt_data when it has
  /// more than `limit` bytes, before anything is allocated or mapped for it.
  explicit file_map(const std::filesystem::path& path, std::uint64_t limit = no_limit);
  file_map(file_map&& other) noexcept;
  file_map& operator=(file_map&& other) noexcept;
  file_map(const file_map&) = delete;
  file_map& operator=(const file_map&) = delete;
  ~file_map();

  /// Whether this holds a file.
  [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }
  /// The mapped content; empty for an empty file.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// Copies bytes [offset, offset + dst.size()). Twice as fast as copying from the map, whose pages fault one
  /// by one.
  /// @throws io_error when the device fails; corrupt_data when the file ends before, because it was
  /// shortened.
  void read(std::uint64_t offset, std::span<std::byte> dst) const;

 private:
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
  int descriptor_ = -1;
};

}  // namespace halocline::io
