// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halocline::backend::sycl {

/// What was compiled for this user, in files: HALOCLINE_SYCL_CACHE, or halocline/sycl below XDG_CACHE_HOME or
/// ~/.cache. Code is loaded from there, so the folder belongs to the user and no other user may write to it.
///
/// A file is its contents followed by a BLAKE2b digest of the key and the contents. It appears under its name
/// at once (rename), and one that is damaged counts as absent.
class disk_cache {
 public:
  /// Opens the folder, and makes it if need be.
  /// @throws device_error when it cannot be made, is another user's, or others may write to it
  disk_cache();

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
  /// File of a key; the suffix begins with a dot.
  [[nodiscard]] std::filesystem::path path_of(std::string_view key, std::string_view suffix) const;
  /// Contents that `store` wrote, if they are undamaged.
  [[nodiscard]] std::optional<std::vector<std::byte>> load(std::string_view key,
                                                           std::string_view suffix) const;
  /// @throws device_error when the file cannot be written
  void store(std::string_view key, std::string_view suffix, std::span<const std::byte> contents) const;

 private:
  std::filesystem::path folder_;
};

/// 32 hexadecimal digits that depend on all parts and their order.
[[nodiscard]] std::string cache_key(std::span<const std::string> parts);

}  // namespace halocline::backend::sycl
