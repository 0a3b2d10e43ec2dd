// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

namespace halocline::memory {

/// A file without a name: it vanishes with the process, however that ends. Readable by its owner only.
class tier_file {
 public:
  /// `folder` empty: see `file_store_options`. `direct`: past the page cache, where the file system can.
  /// @throws io_error when no file can be made there.
  tier_file(const std::filesystem::path& folder, bool direct);
  ~tier_file();
  tier_file(const tier_file&) = delete;
  tier_file& operator=(const tier_file&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
  [[nodiscard]] bool direct() const noexcept { return direct_; }
  /// Whether the file system keeps its files in memory, so that nothing is gained by moving bytes there.
  [[nodiscard]] bool in_memory() const noexcept { return in_memory_; }

  /// Makes the file `to` bytes long, from `from`, with room on the disk for all of it. Returns 0 or a value
  /// of errno; the file is as long as before then. File systems that cannot reserve room only set the length.
  [[nodiscard]] int grow(std::uint64_t from, std::uint64_t to) noexcept;
  /// Closes the file, in a forked child: it belongs to the parent.
  void forsake() noexcept;

 private:
  std::filesystem::path folder_;
  int descriptor_ = -1;
  bool direct_ = false;
  bool in_memory_ = false;
};

}  // namespace halocline::memory
