// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace halocline::io {

/// Read-only memory map of a whole file; pages are read when they are touched. Move-only. Files written by
/// `atomic_file` can be replaced while they are mapped: the map keeps the old content. A file that another
/// program shortens in place while it is mapped makes the process receive SIGBUS, as with any memory map.
class file_map {
 public:
  file_map() noexcept = default;
  /// @throws io_error when the file is missing, not readable or not a regular file.
  explicit file_map(const std::filesystem::path& path);
  file_map(file_map&& other) noexcept;
  file_map& operator=(file_map&& other) noexcept;
  file_map(const file_map&) = delete;
  file_map& operator=(const file_map&) = delete;
  ~file_map();

  /// The content; empty for an empty file.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace halocline::io
